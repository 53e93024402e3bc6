"""Text from a file that bash evaluates as code: each case is proven with a real bash, and none is read-only."""

import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.shell.text.analysis import analyse

BASH = shutil.which("bash") or "/bin/bash"
CODE = "a[$(: >ran)]"

RUNS_WHAT_A_FILE_SAYS = [
    "for i in 1 2; do for j in 1 2; do echo $((i)); read -r i; done; done < f",
    "for i in 1; do while echo $((i)); do read -r i || break; done; done < f",
    "for i in 1; do until ! read -r i; do echo ${x[i]}; done; done < f",
    "for i in 1 2; do for j in 1 2; do [[ $i -gt 0 ]]; command read -r i; done; done < f",
    "for ((i=0;i<3;i++)); do read -r i || break; done < f",
    "for ((i=0;i<3;i++)); do for i in $(cat g); do :; done; read -r j || break; done < f",
    "read -r i < f; false && for ((i=0;i<1;i++)); do :; done; echo $((i))",
    "read -r i < f; (for ((i=0;i<1;i++)); do :; done); echo $((i))",
    "read -r i < f; for ((i=0;i<1;i++)); do :; done | cat; echo $((i))",
    "[[ $(cat f || ls | wc -l) -gt 0 ]]",
    "[[ $(cat f; ls | wc -l) -gt 0 ]]",
    "[[ $(wc -l <g;cat<f) -gt 0 ]]",
    "[[ $(cat f '| wc -l <x') -gt 0 ]]",
    "while read -r y; do cat <<E\n${x[y]}\nE\ndone < f",
    'while read -r l; do [[ "-v $l" =~ (-v)\\ (.*) ]]; test "${BASH_REMATCH[@]:1}"; done < f',
    'while read -r l; do [[ "-v $l" =~ (-v)\\ (.*) ]]; [ "${BASH_REMATCH[@]:1}" ]; done < f',
]


@pytest.mark.parametrize("script", RUNS_WHAT_A_FILE_SAYS)
def test_code_that_a_loop_or_an_array_brings_to_an_evaluated_place_is_seen(script: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(f"{CODE}\n" * 2)
    (tmp_path / "g").write_text("a[$(:>ran)]\n")
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert (tmp_path / "ran").exists(), "the case proves nothing"
    assert not analyse(script).read_only


@pytest.mark.parametrize(
    "script",
    [
        "for i in 1 2; do for j in 1 2; do echo $((i * j)); done; done",
        "for ((i=0;i<3;i++)); do while read -r l; do echo $((i)) $l; done < f; done",
        "for i in 1 2; do for i in 3 4; do echo $((i)); done; done",
    ],
)
def test_loops_that_leave_their_counters_alone_stay_read_only(script: str) -> None:
    assert analyse(script).read_only


@pytest.mark.parametrize("body", ["$(m0 a)", "x $(m0 a) $y", "$((1 + 2)) $(m0 a | m1)", "${x} $(m0 a)\nmore"])
def test_commands_in_a_here_document_are_parts(body: str) -> None:
    found = analyse(f"cat <<E\n{body}\nE")
    assert "m0" in found.names
    assert not found.read_only


@pytest.mark.parametrize(
    "body",
    ["`ls`", "\\\\$(ls)", "$(cat <<F\na\nF\n)", "${x#$(ls)}", "$[1]"],
)
def test_a_here_document_in_which_the_end_of_a_command_is_not_certain_is_doubted(body: str) -> None:
    assert analyse(f"cat <<E\n{body}\nE").doubt


@pytest.mark.parametrize(
    "group", ["(ls)", "{ ls; }", "for i in a; do ls; done", "if ls; then pwd; fi", "[[ -f a ]]", "! ls"]
)
@pytest.mark.parametrize("option", ["", "-p "])
def test_the_keyword_time_is_transparent_and_still_a_part(group: str, option: str) -> None:
    found = analyse(f"time {option}{group}")
    assert found.read_only
    assert not found.doubt
    assert found.names[0] == "time"
    assert found.command == f"time {option}{group}"
    assert not analyse(f"time {option}{group.replace('ls', 'touch x').replace('-f a', '-v $x')}").read_only
    assert not analyse(f"time {option}{group} > f").read_only
