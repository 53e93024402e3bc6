"""Real processes whose standard streams are not what one would wish: no reader, other encodings, closed, full, huge."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.testing import started

TIMEOUT_S = 60
LONG = (
    ["--help"],
    ["--version"],
    ["tools", "list"],
    ["tools", "show", "Bash"],
    ["doctor"],
    ["demo", "--fast"],
)


def holdfast(*arguments: str, **choices: Any) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "holdfast", *arguments]
    return cast(
        "subprocess.CompletedProcess[bytes]", subprocess.run(command, check=False, timeout=TIMEOUT_S, **choices)
    )


@pytest.mark.parametrize("arguments", LONG, ids=" ".join)
def test_without_a_reader_a_command_ends_quietly(arguments: list[str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with (tmp_path / "err").open("wb") as said:
        ended = holdfast(*arguments, stdout=writing, stderr=said, stdin=subprocess.DEVNULL)
    os.close(writing)
    # Nobody reads the answer of a command; a complaint that nobody reads stays a complaint.
    assert (ended.returncode, (tmp_path / "err").read_bytes()) == (2 if arguments == ["nope"] else 141, b"")


def test_a_wrong_command_is_wrong_whoever_reads_the_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = holdfast("nope", stdout=writing, stderr=writing, stdin=subprocess.DEVNULL)
    os.close(writing)
    assert ended.returncode == 2


def test_a_full_disk_is_told_in_words() -> None:
    with open("/dev/full", "wb") as full:
        ended = holdfast("tools", "list", stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"holdfast: ")
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_another_encoding_shows_our_marks_in_plain_letters(encoding: str) -> None:
    ended = holdfast("demo", "--fast", capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding})
    assert (ended.returncode, ended.stderr) == (0, b"")
    if encoding == "latin-1":
        assert b"\n+ The tests pass." in ended.stdout


def test_json_stays_json_whatever_the_terminals_encoding_is(tmp_path: Path) -> None:
    (tmp_path / "said.json").write_text('["naïve → ✓"]', encoding="utf-8")
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ended = holdfast("-p", "é", "--model", "scripted:said.json", cwd=tmp_path, env=latin, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0
    for arguments in (["show", "latest", "--json"], ["export", "latest"]):
        shown = holdfast("sessions", *arguments, cwd=tmp_path, env=latin, capture_output=True)
        assert json.loads(shown.stdout.decode())["messages"][1]["content"][0]["text"] == "naïve → ✓"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["call", "Read", "-"], 1),
        (["permissions", "explain", "Bash", "-"], 2),
        (["permissions", "test", "-"], 2),
        (["trust"], 1),
    ],
)
def test_a_closed_standard_input_is_an_empty_one(arguments: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(make)"]}}', encoding="utf-8")
    command = f'exec "$0" -m holdfast {" ".join(arguments)} <&-'
    ended = subprocess.run(
        ["bash", "-c", command, sys.executable], check=False, capture_output=True, cwd=tmp_path, timeout=TIMEOUT_S
    )
    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr


def test_arguments_from_standard_input_must_be_text(tmp_path: Path) -> None:
    ended = holdfast("call", "Read", "-", input=b'{"file_path": "\xff"}', capture_output=True, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"not UTF-8" in ended.stderr


@pytest.mark.parametrize("arguments", [["tools"], ["sessions"], ["undo"], ["doctor"]], ids=" ".join)
def test_a_directory_that_is_gone_is_told_in_words(arguments: list[str], tmp_path: Path) -> None:
    command = f'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m holdfast {" ".join(arguments)}'
    ended = subprocess.run(
        ["bash", "-c", command, sys.executable], check=False, capture_output=True, cwd=tmp_path, timeout=TIMEOUT_S
    )
    said = ended.stdout + ended.stderr
    assert b"the current directory is gone" in said
    assert b"Traceback" not in said
    assert ended.returncode == (1 if arguments == ["doctor"] else 2)


def test_exec_does_not_wait_at_a_second_signal_for_a_reader_that_never_reads(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 1_000 + "\n", encoding="utf-8")
    call = json.dumps({"type": "tool_use", "id": "1", "name": "Grep", "input": {"pattern": "x", "head_limit": 0}})
    with started(
        [sys.executable, "-m", "holdfast", "exec"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(call.replace('"1"', f'"{number}"') + "\n" for number in range(2_000)).encode())
        process.stdin.flush()
        process.stdout.read(1)  # it writes, and from here on nobody reads
        ended: int | None = None
        for _ in range(TIMEOUT_S * 10):  # two that come close together may count as one
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                ended = process.wait(timeout=0.1)
                break
        process.kill()
        # The last one may meet a process that has let go of its handlers already.
        assert ended in (128 + signal.SIGTERM, -signal.SIGTERM)


def test_without_a_place_for_the_log_the_end_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    nowhere = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "file")}
    ended = holdfast("tools", cwd=tmp_path, env=nowhere, capture_output=True)
    assert ended.returncode == 0
    assert b"holdfast: no log is kept, as " in ended.stderr
    assert b"Traceback" not in ended.stderr
