"""Critical removals behind what the shell expands, and where a limit ended the analysis."""

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import analyse

HIDDEN: dict[str, list[str]] = {
    "wildcards": [
        "rm -rf .g*",
        "rm -rf .gi?",
        "rm -rf .[g]it",
        "rm -rf .g*/*",
        "rm -rf ../p?oject",
        "rm -rf /w/p*",
        "rm -rf /w/[[:alpha:]]*",
        "rm -rf /h*/u",
        "rm -rf ?*",
        "rm -rf [a-z]*",
        "rm -rf **/*",
        "rm -rf .GIT",
        "shopt -s dotglob; rm -rf ?git",
        "find .g* -delete",
        "find ../p* -type f -delete",
        "echo .g* | xargs rm -rf",
        "x='.g*'; rm -rf $x",
        'for d in .g*; do rm -rf "$d"; done',
        "rm -rf $(echo .g*)",
        "bash -c 'rm -rf .g*'",
    ],
    "braces": [
        "rm -rf ${HOME}{,}",
        "rm -rf ${HOME}{,/x}",
        'rm -rf "${HOME}"{,/.}',
        "rm -rf {${HOME},x}",
        "rm -rf ${PWD}{,}",
        "rm -rf .gi{t,x}",
        "rm -rf ../p{q..s}oject",
        "rm -rf ../{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,1,2,3,4,5,6,7,8,9,project}",
        "rm -rf ../" + "{a,b}" * 12,
        "find {/,x} -delete",
    ],
    "operators": [
        "rm -rf ${HOME%/*}/u",
        "rm -rf ${HOME%%/*}/usr",
        "rm -rf ${HOME:0:1}usr",
        "rm -rf ${HOME/u/}u",
        "rm -rf ${HOME:+/}usr",
        "rm -rf ../${PWD##*/}",
        "rm -rf ${PATH:0:1}usr",
    ],
    "long ways": [
        "a=/; b=$a; c=$b; d=$c; e=$d; f=$e; g=$f; rm -rf $g",
        "rm -rf $(echo $(echo $(echo $(echo $(echo $(echo /))))))",
        "; ".join(f"a{at + 1}=$a{at}" for at in range(60)) + "; rm -rf $a60",
    ],
    "names that are put together": [
        "$(echo rm) -rf /",
        "$(echo rm -rf /)",
        "x=rm; $x -rf /",
        "x='rm -rf /'; $x",
        'x=(rm -rf /); "${x[@]}"',
        "$(which rm) -rf ~",
        "sudo $(echo rm) -rf /",
        "$(echo " * 20 + "rm -rf /" + ")" * 20,
    ],
}
"""Removals of places that matter, behind what the shell still expands, by class."""

PLAIN: list[str] = [
    "rm -rf dist/*",
    "rm *.o",
    "rm -rf ./tmp/*",
    "rm -rf .*cache",
    "rm -rf .github",
    "rm -rf ../other*",
    "rm -rf /tmp/b-*",
    "rm -rf out{1..20}",
    "rm -rf build/{1..2000}",
    "rm -rf ${HOME}/.cache/{a,b}",
    "rm -rf ~/.cache/*",
    "rm -f *.*",
    "rm -rf **/node_modules",
    'rm -rf "/tmp/${PWD##*/}"',
    'rm -rf "${PWD%/*}/sibling"',
    "rm -f [0-9]*",
    "rm -rf */dist",
    "x=build; x=$x/sub; rm -rf $x",
    "$(npm bin)/rimraf build",
    "$(which rm) -rf build",
    "x=rm; $x -rf build",
    "$EDITOR x",
    'rm -rf "$dir"/{a,b}',
    "rm -rf a{1..5}/b{1..5}",
]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", HIDDEN)
def test_a_place_that_matters_is_seen_behind_what_the_shell_expands(name: str) -> None:
    missed = [text for text in HIDDEN[name] if not critical_removal(analyse(text, cwd="/w/project"), cwd="/w/project")]
    assert missed == []


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", PLAIN)
def test_patterns_and_braces_of_ordinary_removals_are_not_critical(command: str) -> None:
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project") is None


UNFOLLOWED = [
    "rm -rf / " + "x" * 200_000,
    "eval " * 12 + "rm -rf /",
    "nice " * 30 + "rm -rf /",
    "(" * 200 + "rm -rf /" + ")" * 200,
    "{ " * 200 + "rm -rf /;" + " }" * 200,
    "eval true;" * 70 + "eval 'rm -rf /'",
    "bash <<E\n" + "true\n" * 3_000 + "rm -rf /\nE",
    "bash -c '" + "true;" * 3_000 + "rm -rf /'",
    "cat <<A\nx\nA\n" * 40 + "rm -rf /",
    "true | " * 310 + "rm -rf /",
    'rm -rf / "',
    "rm -rf / (",
    "if true; then " * 150 + "rm -rf /;" + "fi;" * 150,
    "sudo " * 30 + "rm -rf /",
    "echo " + "${a:-" * 130 + "$(rm -rf /)" + "}" * 130,
    "echo $((" + "(" * 130 + "$(rm -rf /)" + ")" * 130 + "))",
    "r\\\nm -rf / " + "x" * 200_000,
    "find / -delete " + "x" * 200_000,
    "git clean -fdx " + "x" * 200_000,
    "cat " + "<(cat " * 130 + "<(rm -rf /)" + ")" * 130,
    "case x in " * 130 + "x) rm -rf /",
    "env A=1 " * 30 + "rm -rf /",
]


@pytest.mark.parametrize("rule", ["", "Bash"])
@pytest.mark.parametrize("command", UNFOLLOWED, ids=range(len(UNFOLLOWED)))
def test_a_removal_where_a_limit_ended_the_analysis_is_asked_about(command: str, rule: str) -> None:
    assert not analyse(command).parsed
    mode = "default" if rule else "bypassPermissions"
    assert judge("Bash", {"command": command}, mode=mode, allow=[rule] if rule else []).behavior == "ask"


@pytest.mark.parametrize("command", ["echo " + "x" * 200_000, "eval " * 12 + "make", "make (", "nice " * 30 + "make"])
def test_other_text_that_was_not_followed_is_left_to_the_mode(command: str) -> None:
    assert judge("Bash", {"command": command}, mode="bypassPermissions").behavior == "allow"
