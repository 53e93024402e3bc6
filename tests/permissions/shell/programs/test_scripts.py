"""sed, awk and jq programs. The corpus has many more; these pin the parsers' corners."""

import shlex
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.programs.parsers.awk import program_refusal
from holdfast.permissions.shell.programs.parsers.jq import filter_refusal
from holdfast.permissions.shell.programs.parsers.sed import script_refusal
from holdfast.permissions.shell.words.word import Word


@pytest.mark.parametrize(
    "script",
    [
        "p",
        "1p",
        "$p",
        "1,5p",
        "1~2p",
        "/a/p",
        "/a/Ip",
        "\\,a,p",
        "/a/,/b/p",
        "/a/,+2d",
        "2,~4d",
        "0,/a/d",
        "1!p",
        "1 ! p",
        "s/a/b/",
        "s/a/b/g",
        "s/a/b/3gp",
        "s|a|b|",
        "s/a\\/b/c/",
        "s/[^/]*$//",
        "s/[/]/x/",
        "y/ab/cd/",
        "{p}",
        "/a/{p;d}",
        "/a/{p;d;}",
        "/a/{\np\n}",
        ":a;N;$!ba;s/\\n/ /g",
        "b",
        "bend;p;:end",
        "t a;:a",
        "q",
        "q5",
        "Q",
        "l",
        "l 5",
        "=",
        "n;d",
        "x;G;h;H;g;P;D;N",
        "# only a comment",
        "p # print\nd",
        "",
        ";;p;;",
        "s/a/b/;s/c/d/",
    ],
)
def test_sed_scripts_that_only_print_pass(script: str) -> None:
    assert script_refusal(script) is None


@pytest.mark.parametrize(
    "script",
    [
        "w out",
        "1w out",
        "W out",
        "s/a/b/w out",
        "s/a/b/gw out",
        "s/a/b/e",
        "s/a/b/ge",
        "e",
        "e id",
        "1e id",
        "r f",
        "R f",
        "a text",
        "i\\\ntext",
        "c text",
        "v",
        "F",
        "z",
        "L",
        "}",
        "{p",
        "s/a/b",
        "s/a",
        "y/a",
        "/a",
        "p w",
        "pw out",
        "s/a/b/x",
        "s/[/]/x/w out",
        "s/[\\]/]/w out",
        "/[/]/w out",
        "s/a/b/\nw out",
        "p\ne",
        "$!{w out\n}",
        "s\na\nb\n",
        "s\\a\\b\\",
        "1,p",
        ",5p",
        "ba}\nw out",
        ":a b\nw x",
        "p;w /dev/stdout",
        "b#[s/,;}w out",
        "ba # w\nw out",
    ],
)
def test_sed_scripts_that_write_run_or_are_unclear_are_refused(script: str) -> None:
    assert script_refusal(script)


@pytest.mark.parametrize(
    "program",
    [
        "{print}",
        "{print $1}",
        "NR==1",
        "$1>5",
        "$1 > 5 {print $2}",
        "{if ($1>5) print}",
        "{print ($1>5)}",
        "{print($1>5)}",
        "{x=$1>5; print x}",
        "{print $1/2}",
        "{print $1/$2/3}",
        "/a/",
        "/a/{print}",
        "!/a/",
        "/[[:space:]]+/",
        "/a\\/b/",
        "$1~/a/ || $2!~/b/",
        '{print "a > b | c"}',
        "{print; next}",
        "BEGIN{x=1} END{print x}",
        "{a[$1]++} END{for(k in a)print k}",
        "function f(x){return x*2}{print f($1)}",
        '{printf "%s\\n", $1}',
        "{print a[1]/2}",
        "{print (a)/2}",
        "length>80",
        "{n+=length($0)}",
        "{print $1 # note\n}",
        "{print $1,\n$2}",
        '{sub(/a/,"b")}1',
        "{print 1e5}",
        "{while(i<3)i++}",
        "{m=$1>m?$1:m}END{print m}",
        "{print -1 ^ 2 % 3}",
        "{if (x) /re/}",
        "{exit}",
        "{delete a}",
        "{print \\\n$1}",
    ],
)
def test_awk_programs_that_compute_and_print_pass(program: str) -> None:
    assert program_refusal(program) is None


@pytest.mark.parametrize(
    "program",
    [
        '{print>"x"}',
        '{print >>"x"}',
        '{print|"sh"}',
        '{print|&"sh"}',
        '{print $1,$2>"x"}',
        '{printf("a")>"x"}',
        '{print(1)>"x"}',
        '{print a,\nb>"x"}',
        '{print a&&\nb>"x"}',
        '{print a \\\n>"x"}',
        'BEGIN{system("x")}',
        'BEGIN{system ("x")}',
        '3system("x")',
        "{getline}",
        '{getline x<"f"}',
        '"x"|getline',
        '{close("x")}',
        "{fflush()}",
        '@include "x"',
        "{@f()}",
        "{print ENVIRON[1]}",
        "{SYMTAB[1]}",
        "{FUNCTAB[1]}",
        "{PROCINFO[1]}",
        "BEGIN{ARGV[1]=2}",
        '{extension("x","y")}',
        "{unknown(1)}",
        '{print "a}',
        "{print /a}",
        "/[/]/",
        "{print",
        "print}",
        "{print (1}",
        "{x = y++ / 2 / 3}",
        "{print $/a/}",
        "{length /2/ 1}",
        'if (1) /"/; system("x") #"',
        'BEGIN{if (1) /"/; system("x") #"\n}',
        "{print 'a'}",
        "{print `a`}",
        "{a & b}",
        "{print \\x}",
        '{print "a\nb"}',
        "/a\nb/",
        '{if(1)print "a">"b";else print}',
        '{print a?b:c>"x"}',
        '{ print\n; print > "y" }',
        "awk::system(1)",
    ],
)
def test_awk_programs_that_write_run_or_are_unclear_are_refused(program: str) -> None:
    assert program_refusal(program)


@pytest.mark.parametrize(
    "program",
    [".a", ".env", '."env"', '"env"', '"\\(.a)"', "map(.x)", ".a # env\n", "$x", "@csv", '"a\\"b"', '.["env"]'],
)
def test_jq_filters_of_the_input_pass(program: str) -> None:
    assert filter_refusal(program) is None


@pytest.mark.parametrize(
    "program",
    [
        "env",
        "$ENV",
        "$ENV.A",
        ".a|env",
        '"\\(env)"',
        '"\\("\\(env)")"',
        'import "a" as a; .',
        'include "a"; .',
        '"open',
        "[env]",
        "{a:env}",
    ],
)
def test_jq_filters_of_the_environment_or_modules_are_refused(program: str) -> None:
    assert filter_refusal(program)


@pytest.mark.parametrize(
    ("command", "accepted"),
    [
        ("jq --arg --arg x env", False),
        ("jq --arg a b .x f", True),
        ("jq --arg a env .x f", True),
        ("jq -rf prog f", False),
        ("jq -n", True),
        ("yq .a f", True),
        ("yq -i .a f", False),
        ("yq 'env(X)' f", False),
        ("yq", False),
        ("sed", False),
        ("sed -n", False),
        ("sed -ne p -e d f", True),
        ("sed --expression=p -n f", True),
        ("sed --expr=p f", True),
        ("sed -e p -f x", False),
        ("sed p -i f", False),
        ("sed --version", True),
        ("awk", False),
        ("awk -F, -v x=1 '{print x}' f", True),
        ("awk -vx=1 -F: 1 f", True),
        ("awk 1 -f x", False),
        ("awk 1 -", True),
        ("awk -- 1 f", True),
        ("awk 1 /inet/tcp/0/h/80", False),
        ("awk --version", True),
    ],
)
def test_calls_of_script_tools(command: str, accepted: bool) -> None:
    name, *words = shlex.split(command)
    assert (inspect_command(name, [Word(word) for word in words]).refusal is None) is accepted


@pytest.mark.parametrize(
    "word", ["case", "switch (3)", "switch(3)", "default", "nextfile", "BEGINFILE", "func", "1 in"]
)
def test_a_keyword_of_one_awk_is_a_variable_of_another_and_is_then_divided(word: str) -> None:
    assert program_refusal(f'BEGIN {{ z = {word} /1; print "hi" > "o"; y = 1/ 2 }}')


@pytest.mark.parametrize(
    "sign",
    [
        "!",
        "~",
        "!~",
        "=",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "+",
        "-",
        "*",
        "/",
        "%",
        "^",
        "+=",
        "-=",
        "*=",
        "/=",
        "%=",
        "^=",
        "**",
        "**=",
        "$",
        "in",
    ],
)
def test_an_awk_line_that_ends_in_an_operator_may_go_on(sign: str) -> None:
    assert program_refusal(f'{{ print a {sign}\n2 > "o" }}')
    assert program_refusal(f'{{ x = a {sign} # b\n\n2 > "o" }}')


def test_an_awk_pattern_may_begin_with_an_equals_sign() -> None:
    assert program_refusal('BEGIN { x = .5NF /==&&/1; print "h" > "o"; y = 1/ 2 }')
    assert program_refusal("{ y = $1 /=b/ ; print }")
    assert program_refusal("{ x /= 2; print x }") is None


@pytest.mark.parametrize("gap", ["", " ", "\t", "\n", " # a\n", "\n\n "])
@pytest.mark.parametrize("form", ["$%sENV", "[.a, $%sENV.PATH]", '"\\($%sENV)"', "{a: $%sENV}", "$%s ENV | keys"])
def test_jq_is_never_shown_the_environment_however_the_name_is_spread(form: str, gap: str) -> None:
    assert filter_refusal(form % gap)


@pytest.mark.parametrize("name", ["sed", "awk", "jq", "yq"])
def test_a_program_known_only_at_run_time_is_refused(name: str) -> None:
    assert inspect_command(name, [Word("", static=False, may_be_flag=False), Word("f")]).refusal


PIECES = [
    "p",
    "s/a/b/",
    "w out",
    "e id",
    "{",
    "}",
    ";",
    "\n",
    "/a/",
    "1,2",
    "!",
    "#",
    "[/]",
    "\\",
    "s,[,],x,w out",
    "y/a/b/",
    ":x",
    "b x",
    "/",
    "I",
    "g",
]


def test_no_sed_script_we_accept_leaves_a_file_behind(tmp_path: Path) -> None:
    """Combine pieces, run what is accepted with the real sed, and look for the file the dangerous pieces write."""
    (tmp_path / "in").write_text("a\nb\n")
    accepted = [
        one + two + three
        for one in PIECES
        for two in PIECES
        for three in PIECES
        if script_refusal(one + two + three) is None
    ]
    assert len(accepted) > 100
    for script in accepted[:: max(1, len(accepted) // 150)]:
        subprocess.run(["sed", "-n", script, "in"], cwd=tmp_path, capture_output=True, timeout=10, check=False)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in"], script
