"""What real bash runs, the analysis has seen: generated scripts of marker commands."""

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.permissions.shell.text.analysis import analyse

MARKERS = [f"m{number}" for number in range(10)]
SCRIPTS = 250
BASH = shutil.which("bash") or "/bin/bash"


class Maker:
    """Makes scripts out of markers; nothing else can run, because PATH holds only the markers."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def pick(self, *choices: Callable[[int], str]) -> Callable[[int], str]:
        return self.chance.choice(choices)

    def marker(self) -> str:
        name = self.chance.choice(MARKERS)
        style = self.chance.randrange(9)
        spelled = {
            0: f"'{name}'",
            1: f'"{name}"',
            2: f"m'{name[1]}'",
            3: f"\\{name}",
            4: f'm""{name[1]}',
            5: f"$'m\\x3{name[1]}'",
            6: f"m\\\n{name[1]}",
        }
        return spelled.get(style, name)

    def word(self, depth: int) -> str:
        plain = [
            "a",
            "-x",
            "'b c'",
            '"d $HOME"',
            "e\\ f",
            "$'g\\n'",
            "{h,i}",
            "~",
            "*",
            '"#"',
            "x#y",
            "=",
            "%",
            "@{u}",
            "{}",
        ]
        if depth <= 0 or self.chance.random() < 0.6:
            return self.chance.choice(plain)
        inner = self.statement(depth - 1).replace("\n", " ; ") if self.chance.random() < 0.1 else self.simple(depth - 1)
        return self.chance.choice(
            [
                f"$({inner})",
                f'"$({inner})"',
                f"`{self.chance.choice(MARKERS)}`",
                f"<({inner})",
                f'"${{nope:-$({inner})}}"',
                f"pre$({inner})post",
                f'"a $({inner}) b"',
                f"$(( 1 + $({self.chance.choice(MARKERS)}; echo 1) ))",
            ]
        )

    def simple(self, depth: int) -> str:
        words = [self.word(depth) for _ in range(self.chance.randrange(3))]
        prefix = self.chance.choice(
            ["", "", "", "X=1 ", f"X=$({self.chance.choice(MARKERS)}) ", ">/dev/null ", "2>&1 "]
        )
        suffix = self.chance.choice(
            ["", "", "", " >/dev/null", " 2>&1", " </dev/null", " >/dev/null tail", " <<< text"]
        )
        wrap = self.chance.choice(["", "", "", "", "command ", "eval ", "time ", "! "]) if not prefix else ""
        return f"{wrap}{prefix}{' '.join([self.marker(), *words])}{suffix}"

    def statement(self, depth: int) -> str:
        if depth <= 0:
            return self.simple(0)
        one, two = self.statement(depth - 1), self.statement(depth - 1)
        simple, name = self.simple(depth - 1), self.chance.choice(MARKERS)
        forms = [
            f"{simple} && {one}",
            f"{simple} || {one}",
            f"{one}; {two}",
            f"{one}\n{two}",
            f"{simple} | {simple}",
            f"{simple} |& {name}",
            f"{{ {one}; }}",
            f"( {one} )",
            f"({one})",
            f"if {simple}; then {one}; else {two}; fi",
            f"if ! {simple}; then {one}; elif {name}; then {two}; fi",
            f"for i in 1 2; do {one}; done",
            f"for ((i=0;i<1;i++)); do {one}; done",
            f"while {simple}; do {one}; break; done",
            f"until {name}; do {one}; break; done",
            f"case x in a) {one};; x|y) {two};; esac",
            f"case x in (x) {one};& *) {two} ;; esac",
            f"f() {{ {one}; }}; f",
            f"cat() {{ :; }}; {name} <<EOF\nbody $({name})\nEOF\n{one}",
            f"{name} <<'EOF'\nbody $({name}) `m9`\nEOF\n{one}",
            f"{name} <<EOF && {simple}\nx `{name}`\nEOF",
            f"# comment; {name}\n{one}",
            f"{simple} # {name}\n{one}",
            f"[[ -n x && $({name}) == '' ]] || {one}",
            f'[ "$({name})" = "" ] && {one}',
            f"{simple} & wait\n{one}",
            f"{name} \\\n  a \\\n  b; {one}",
            f"! {simple}; {one}",
            f"time {simple}\n{one}",
            f"x=$({name}); {one}",
            f"x=({name} $({name})); {one}",
            f"export Y=$({name}); {one}",
            f'{name} "multi\nline"; {one}',
            f"{{ {one}; }} >/dev/null 2>&1",
            f"coproc {name}; wait; {one}",
            f"trap '{name}' EXIT; {one}",
            f"eval '{name}; {name} x'; {one}",
        ]
        return self.chance.choice(forms)


@pytest.fixture(scope="module")
def markers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("markers")
    for name in MARKERS:
        path = folder / name
        path.write_text(f'#!{BASH}\necho {name} >> "$MARKER_LOG"\nexit 0\n')
        path.chmod(0o755)
    return folder


def ran(script: str, markers: Path, work: Path, number: int) -> set[str]:
    """Run the script with real bash and tell which markers ran; late children write to this run's own log."""
    log = work / f"log{number}"
    log.write_text("")
    place = work / f"place{number}"
    place.mkdir()
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", script],
        cwd=place,
        env={"PATH": str(markers), "MARKER_LOG": str(log), "HOME": str(work)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    return set(log.read_text().split())


def seen(script: str) -> set[str]:
    analysis = analyse(script)
    names = {part.name for part in analysis.parts}
    return names | {word for piece in analysis.pieces for word in piece.split()}


@pytest.mark.parametrize("seed", range(5))
def test_every_command_bash_runs_is_a_part(seed: int, markers: Path, tmp_path: Path) -> None:
    maker = Maker(seed)
    for number in range(SCRIPTS // 5):
        script = maker.statement(maker.chance.randrange(1, 4))
        missed = ran(script, markers, tmp_path, number) - seen(script)
        assert not missed, f"bash ran {missed} in {script!r}"
        assert not analyse(script).read_only, "markers are not known programs"


TOKENS = [
    "m0", "m1", "m2", "m3", "echo", "a", "-x", " ", " ", " ", "\n", ";", "&", "|", "&&", "||", "'", '"', "\\", "$",
    "`", "(", ")",
    "{", "}", "#", "<", ">", "<<", "E", "\nE\n", "$(", "((", "))", "[[", "]]", "[", "]", "=", "x=", "!", "if", "then",
    "fi", "do",
    "done", "for", "in", "while", "case", "esac", ";;", "*", "?", "~", "$'", "\\\n", "<(", "${", "2>", "&>", ">&1",
    "<<<", ",", "==",
    "=~", "\t", "time", "function", "()", "-", "+", "@", "0", "$x", "$((", "1", " m1 ", "; m3 ", "\nm0 ", "\n\\m1 ",
    "$(m2)", "`m3`",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_token_soup_the_analysis_is_sure_of_runs_nothing_unseen(seed: int, markers: Path, tmp_path: Path) -> None:
    chance = random.Random(seed)
    number = 0
    for _ in range(4_000):
        script = "echo a " + "".join(chance.choice(TOKENS) for _ in range(chance.randrange(3, 14)))
        analysis = analyse(script)
        if analysis.doubt or "m" not in script or "exec" in script:
            continue
        number += 1
        if number > 60:
            break
        names = {part.name for part in analysis.parts}
        missed = ran(script, markers, tmp_path, number) - names
        assert not missed, f"bash ran {missed} in {script!r}"
        if analysis.read_only:
            assert list((tmp_path / f"place{number}").iterdir()) == [], script


@pytest.mark.parametrize(
    "script",
    [
        "echo a >$\nm0 x",
        "echo $10",
        "0>[ m2 x",
        "done0=()}]] m1",
        "x=(a)b m1",
        "true; [ \nm0 ]",
        "echo a >&1*$'>$(m2)E(('!",
    ],
)
def test_texts_the_grammar_cuts_differently_are_doubted(script: str) -> None:
    assert analyse(script).doubt


@pytest.mark.parametrize(
    ("script", "names"),
    [("echo a\n\\m1 x", ("echo", "m1")), ("ls # c\n\\m1 x", ("ls", "m1")), ("export A\n\\m0", ("export", "m0"))],
)
def test_a_line_that_starts_with_a_backslash_is_a_command_of_its_own(script: str, names: tuple[str, ...]) -> None:
    found = analyse(script)
    assert found.names == names
    assert not found.read_only
