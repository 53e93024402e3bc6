import os

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import analyse


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /", "rm -rf //", "rm -rf /.", "rm -rf /*", "rm -rf /usr", "rm -r /etc/", "rm -rf /home", "rm -rf ~",
        "rm -rf ~/", "rm -rf ~/*", "rm -rf $HOME", 'rm -rf "$HOME"',
        "rm -rf ${HOME}/", "rm -rf .", "rm -rf ./", "rm -rf *", "rm -rf ./*", "rm -rf ..",
        "rm -rf ../..", "rm -rf /w/project", "rm -rf /w", "rm -rf $PWD", 'rm -rf "$(pwd)"',
        "rm -rf .git", "rm -rf ./.git/", "rm -rf /w/project/.git", 'rm -rf "$VAR"/*', "rm -rf $VAR/*",
        "rm -rf ${VAR}/", "rm -rf $VAR/bin", "rm -rf -- /", "rm -r -f /", "rmdir /usr",
        "sudo rm -rf /", "echo $(rm -rf /)", "bash -c 'rm -rf /'", "cd / && rm -rf *", "cd .. && rm -rf project",
        "cd src && rm -rf ..", "find / -delete", "find ~ -delete", "find . -delete",
        "find -L / -name x -delete", "find -H ~ -type f -delete", "find -P / -type f -exec rm {} +", "find -L -delete",
        "find / -name x -exec rm {} +", "/bin/rm -rf /", "\\rm -rf /", "'rm' -rf '/'", "rm -rf ~root",
        "timeout 5 rm -rf /", "FOO=1 rm -rf /", "rm -rf /usr/../", "rm -rf a /", "rm -rf sub/..",
        "shred -u /etc", "rm -rf /w/project/../project", 'rm -rf "/"*', "cd $x && rm -rf *",
    ],
)  # fmt: skip
def test_removals_of_places_that_matter_are_critical(command: str) -> None:
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project"), command


def test_the_home_directory_is_critical_by_its_own_name_too() -> None:
    home = os.path.expanduser("~")
    for command in (f"rm -rf {home}", f"rm -rf {home}/", f"cd {home} && rm -rf ."):
        assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project"), command


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "rm -rf ./dist", "rm *.pyc", "rm -rf node_modules", "rm -rf /tmp/x", "rm -rf /w/project/build",
     'rm -rf "$DIR"', "rm -rf src/*", "rm .gitignore", "rmdir empty",
     "find . -name '*.pyc' -delete", "find build -delete", "find -L build -delete", "ls /",
     "rm -rf ../other", "rm -rf /usr/local/share/x",
     "echo rm -rf /", "rm -rf $BUILD/out/cache", "git rm x",
     "find . -name __pycache__ | xargs rm -rf 2>/dev/null", "find . -name '*.pyc' 2>&1 | xargs rm -rf > log 2>&1"],
)  # fmt: skip
def test_ordinary_removals_are_not(command: str) -> None:
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project") is None, command


REACHING: dict[str, list[str]] = {
    "files": [
        "xargs rm -rf < list",
        "cat list | xargs rm -rf",
        "echo a; xargs rm -rf < list",
        "xargs rm -r < list",
        "xargs rm --recursive < list",
        "head -5 list | xargs rm -rf",
        "grep . list | xargs rm -rf",
        "cat list | sort -u | xargs -n1 rm -Rf",
        'while read f; do rm -rf "$f"; done < list',
        'cat list | while read -r f; do rm -rf "$f"/; done',
        "rm -rf $(cat list)",
        'rm -rf "$(cat list)"',
        "rm -rf $(<list)",
        "rm -rf `cat list`",
        "rm -rf $(jq -r .dir x)",
        "for f in $(cat list); do rm -rf $f; done",
        'd=$(head -1 list); rm -rf "$d"',
    ],
    "further spellings": [
        "for i in '/'; do rm -rf \"${i}\"; done",
        'for i in "/"; do sudo rm -rf $i; done',
        'for i in a /; do timeout 5 rm -rf "$i"; done',
        "for i in /; do (rm -rf $i); done",
        "for i in /; do if true; then rm -rf $i; fi; done",
        'if true; then x=/; fi; rm -rf "$x"',
        'x="/"; rm -rf "$x"',
        "x='/'; rm -rf \"$x\"",
        "x=$HOME; rm -rf $x",
        "x=~; rm -rf $x",
        'x="$HOME/"; rm -rf "$x"*',
        "readonly x=/; rm -rf $x",
        "local x=/; rm -rf $x",
        "x=/ y=$x; rm -rf $y",
        "read x <<< /; rm -rf $x",
        'read -r a b <<< "build /"; rm -rf $b',
        "for i in {/,/etc}; do rm -rf $i; done",
        "rm -rf {/,build}",
        "rm -rf ~/{.,..}",
        "select i in /; do rm -rf $i; done",
        "case x in x) d=/;; esac; rm -rf $d",
        "eval 'x=/; rm -rf $x'",
        'x=/; eval "rm -rf $x"',
        "while x=/; do rm -rf $x; done",
        "until false; do rm -rf /; done",
        "for i in ..; do rm -rf $i; done",
        "for i in .; do rm -rf $i; done",
        "for i in .git; do rm -rf ./$i; done",
        "printf '/\\0' | xargs -0 rm -rf",
        "echo \"/ /etc\" | tr ' ' '\\n' | xargs rm -rf",
        "d=/; cd $d && rm -rf *",
        'd=/; cd "$d"; rm -rf ./*',
        "for d in /; do cd $d; rm -rf *; done",
        "pushd / && rm -rf *",
        'x=(/); for i in "${x[@]}"; do rm -rf $i; done',
        'mapfile -t a <<< /; rm -rf "${a[@]}"',
        'rm -rf "${x:-$HOME}"',
        "rm -rf ${1:-/}",
        'rm -rf "${x-/}"',
        "rm -rf $'/'",
        'rm -rf $"/"',
        "rm -rf /e*c",
        "rm -rf /?tc",
        "rm -rf /[e]tc",
        "rm -rf /usr/*",
        "rm -rf /etc/*",
        'rm -rf -- "$x"/*',
        'rm -rf "$x"/.*',
        'rm -rf "$A$B/"',
        'rm -rf "$A/$B"',
        "find ${x:-/} -delete",
        "find -delete",
        "find . -mindepth 1 -delete",
        "find / -type f | xargs rm",
        "find / -print0 | xargs -0 rm -rf",
    ],
    "loops": [
        "for i in /; do rm -rf $i; done",
        'for i in / /etc; do rm -rf "$i"; done',
        'for d in ~ "$HOME"; do rm -rf $d; done',
        "for d in build ~; do rm -rf $d; done",
        "for i in $(echo / /etc); do rm -rf $i; done",
        'for i in /*; do rm -rf "$i"; done',
        'for i in *; do rm -rf "$i"; done',
        "for i in bin etc; do rm -rf /$i; done",
        "for d in / ; do for e in etc; do rm -rf $d$e; done; done",
    ],
    "variables": [
        "x=/; rm -rf $x",
        'x=/ && rm -rf "$x"',
        "x=/; y=$x; rm -rf $y",
        "x=/e; rm -rf ${x}tc",
        "export x=/; rm -rf $x",
        'x=/a/b; rm -rf "${x%/*}"',
        "x=.git; rm -rf $x",
        'x=..; rm -rf "$x"',
        'test -d out && D=out; rm -rf "$D"/*',
        "x=build; x+=/..; rm -rf $x",
    ],
    "arguments": [
        'set -- /; rm -rf "$@"',
        "set -- / /etc; rm -rf $1",
        'f() { rm -rf "$1"; }; f /',
        "bash -c 'rm -rf \"$1\"' _ /",
        'x=/; bash -c "rm -rf $x"',
    ],
    "arrays": [
        'a=(/ /etc); rm -rf "${a[@]}"',
        'declare -a a=(build /); rm -rf "${a[0]}"',
    ],
    "expansions that may be empty": [
        "rm -rf ${x:-/}",
        'rm -rf "$UNSET/"',
        'rm -rf "$UNSET/"*',
        'rm -rf "${TMPDIR}/"*',
    ],
    "braces": [
        "rm -rf /{bin,etc}",
        "rm -rf /{bin,etc}/",
    ],
    "directories": [
        "cd / && rm -rf *",
        "cd /; rm -rf ./*",
    ],
    "plain": [
        "rm -rf -- /",
    ],
    "find": [
        "find / -delete",
        "d=/; find $d -delete",
        "d=/; find $d -name '*.log' -delete",
    ],
    "input": [
        "echo / | xargs rm -rf",
        'echo / | while read d; do rm -rf "$d"; done',
        'while read d; do rm -rf "$d"; done <<< /',
        "ls / | xargs rm -rf",
        "ls | xargs rm -rf",
        "find / | xargs rm -rf",
        "find . | xargs rm -rf",
        "printf '%s\\n' / /etc | xargs -n1 rm -rf",
        "xargs rm -rf <<< /",
        'while read -r d; do rm -rf "$d"; done <<EOF\n/\nEOF',
    ],
    "substitutions": [
        "rm -rf $(echo /)",
        "rm -rf `echo /etc`",
    ],
}
"""Removals that reach a place that matters by a value the text itself tells, by class."""

HARMLESS: dict[str, list[str]] = {
    "files": [
        "cat list | xargs rm",
        "cat list | xargs rm -f",
        'cat list | while read -r f; do rm -rf "build/$f"; done',
        'cat list | while read -r f; do rm -f "$f"; done',
        "rm -rf build/$(cat list)",
        "find . -name node_modules | xargs rm -rf",
        'find . -name x | while read f; do rm -rf "$f"; done',
        "git ls-files -o | xargs rm -rf",
        "fd build | xargs rm -rf",
        'fd build | while read -r f; do rm -rf "$f"; done',
        "rm -rf $(grep -rl x src)",
        "ls | grep tmp | head -3 | xargs rm -rf",
    ],
    "further spellings": [
        "x=build; cd $x && rm -rf *.o",
        "cd build && rm -rf *",
        'rm -rf "$A/b/c"',
        'rm -rf "${A}/node_modules"',
        'rm -rf "$A/build" "$A/dist"',
        "for p in a b; do rm -rf packages/$p/dist; done",
        'for p in packages/*; do rm -rf "$p/dist"; done',
        'for p in packages/*; do rm -rf "$p"/node_modules; done',
        'for f in $(git ls-files -d); do rm -f "$f"; done',
        "rm -rf target/debug && x=/ && ls $x",
        "find . -mtime +7 -name '*.log' -delete",
        "find build -type f -delete",
        "ls *.log | xargs rm -f",
        "ls -t *.log | tail -n +5 | xargs rm -f",
        "rm -f /tmp/$USER.log",
        "rm -rf /tmp/build-*",
        "rm -rf /var/tmp/x",
        "docker ps -aq | xargs docker rm",
        'while read f; do rm -f "$f"; done < files.txt',
        'rm -rf "$(mktemp -d)"',
        "tmp=$(mktemp -d); trap 'rm -rf \"$tmp\"' EXIT",
        "rm -rf ${BUILD_DIR:?}/out",
        'rm -rf "${BUILD_DIR:?}"/*',
        'VERSION=1.2; rm -rf "dist/app-$VERSION"',
        'ROOT=$(git rev-parse --show-toplevel); rm -rf "$ROOT/build"',
        'rm -rf "$ROOT/build/"*',
        'cd "$(dirname "$0")" && rm -rf build',
        "rm -rf *.egg-info build dist .pytest_cache",
    ],
    "plain": [
        "rm -rf build",
        "rm -rf /tmp/x",
        "echo / && rm -rf build",
    ],
    "expansions that may be empty": [
        'rm -rf "$BUILD_DIR/out"',
        "rm -rf $BUILD_DIR",
        'rm -rf "$DIR"',
        'rm -rf "${BUILD:-build}"',
        "rm -rf $OUT/cache $OUT/tmp",
    ],
    "loops": [
        'for d in build dist; do rm -rf "$d"; done',
        'for d in build dist; do rm -rf "./$d"; done',
        'for f in *.pyc; do rm -f "$f"; done',
        'for d in */node_modules; do rm -rf "$d"; done',
        'for f in src/*.c; do rm -f "${f%.c}.o"; done',
    ],
    "variables": [
        "x=build; rm -rf $x",
        'x=build; rm -rf "$x"/*',
        'DIST=dist; rm -rf "$DIST/"',
        'd=$(mktemp -d); rm -rf "$d"',
        'TMP=/tmp/x; rm -rf "$TMP"',
        "x=/; ls $x; rm -rf build",
    ],
    "input": [
        "find . -name '*.pyc' | xargs rm -f",
        "find . -type d -name __pycache__ | xargs rm -rf",
        "ls build | xargs -I{} rm -rf build/{}",
        "ls | grep tmp | xargs rm -rf",
        "git ls-files -o | xargs rm -f",
        'cat list | while read f; do rm -f "$f"; done',
    ],
    "find": [
        "find . -name '*.pyc' -delete",
        "d=.; find $d -name x -delete",
        "find . -name __pycache__ -exec rm -rf {} +",
    ],
    "arrays": [
        'a=(build dist); rm -rf "${a[@]}"',
    ],
    "arguments": [
        'set -- a b; rm -rf "$@"',
        'f() { rm -rf "$1"; }; f build',
        "bash -c 'rm -rf \"$1\"' _ build",
    ],
    "braces": [
        "rm -rf {build,dist}",
    ],
    "substitutions": [
        'rm -rf "$(dirname "$0")/build"',
    ],
}
"""Their ordinary neighbours, which nobody wants to be asked about."""


@pytest.mark.parametrize("name", REACHING)
def test_a_removal_is_critical_when_a_value_of_the_text_makes_it_so(name: str) -> None:
    missed = [
        command
        for command in REACHING[name]
        if not critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project")
    ]
    assert missed == []


@pytest.mark.parametrize("name", HARMLESS)
def test_a_removal_with_harmless_values_is_not_critical(name: str) -> None:
    needless = [
        command for command in HARMLESS[name] if critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project")
    ]
    assert needless == []


@pytest.mark.parametrize("mode", ["default", "bypassPermissions", "auto"])
@pytest.mark.parametrize("command", ["for i in /; do rm -rf $i; done", "x=/; rm -rf $x", "set -- /; rm -rf $1"])
def test_neither_a_rule_nor_a_mode_lets_a_critical_value_pass(command: str, mode: str) -> None:
    assert judge("Bash", {"command": command}, mode=mode, allow=["Bash(rm:*)", "Bash"]).behavior == "ask"


def test_more_values_than_can_be_followed_are_asked_about() -> None:
    command = "; ".join(f"x={'$x' * 8}; x=a{number}" for number in range(200)) + "; rm -rf $x$x$x$x"
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project")
    many = " ".join(f"a{number}" for number in range(1_100))
    assert critical_removal(analyse(f"for i in {many} /; do rm -rf $i; done", cwd="/w/project"), cwd="/w/project")
    assert critical_removal(analyse(f"for i in {many[:4000]}; do rm -rf $i; done"), cwd="/w/project") is None
    assert critical_removal(analyse("x=.g; x+=it; rm -rf $x"), cwd="/w/project")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf $(git rev-parse --show-toplevel)", 'rm -rf "$(git rev-parse --show-toplevel)"/*',
        'rm -rf "$(git rev-parse --git-dir)"', 'rm -rf "$(dirname "$PWD")"', "rm -rf $(dirname $(pwd))",
        'rm -rf "$(dirname "$(pwd)")"', "rm -rf $(realpath .)", "rm -rf $(readlink -f ..)", "rm -rf $(realpath ~)",
        'rm -rf "$(cd .. && pwd)"', "R=$(git rev-parse --show-toplevel); rm -rf $R", "rm -rf $(/bin/pwd)",
        "rm -rf $(pwd -P)", "find ~ -type f -delete", "find . -type f -delete", "find . ! -name keep -delete",
        "find . -not -name keep -delete", "find . -name '*' -delete", "find . -path './*' -delete",
        "find . -name a -o -delete", "find . -mindepth 1 -delete", "find . ! \\( -name a -o -name b \\) -delete",
        "find . -type f | xargs rm", "find . -type f -exec rm {} +", "find . \\( -name a -o -type f \\) -delete",
    ],
)  # fmt: skip
def test_places_are_known_by_what_prints_them_and_searches_by_what_they_leave(command: str) -> None:
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project"), command
    assert judge("Bash", {"command": command}, mode="bypassPermissions", cwd="/w/project").behavior == "ask"


@pytest.mark.parametrize(
    "command",
    [
        'rm -rf "$(git rev-parse --show-toplevel)/dist"', 'rm -rf "$(realpath build)"', "rm -rf $(dirname build/x)",
        "find . -type f -name '*.pyc' -delete", "find . \\( -name '*.pyc' -o -name '*.pyo' \\) -delete",
        "find . -type d -empty -delete", "find . -type d -name __pycache__ -exec rm -rf {} +",
        "find . -name '*.tmp' ! -path './keep/*' -delete", "find build -type f -delete",
        "find . -path ./node_modules -prune -o -name '*.log' -delete",
    ],
)  # fmt: skip
def test_places_below_and_narrow_searches_are_not_critical(command: str) -> None:
    assert critical_removal(analyse(command, cwd="/w/project"), cwd="/w/project") is None, command
