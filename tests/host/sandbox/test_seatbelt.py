"""The profile for macOS, on paper: read back and judged as its kernel is said to judge. None of it was ever run."""

import os
import re
from pathlib import Path
from typing import cast

import pytest

from holdfast.cli.main import run
from holdfast.host.sandbox import NotAvailable, Policy, look_for_sandbox
from holdfast.host.sandbox.governing import governing_paths, pinned_paths
from holdfast.host.sandbox.seatbelt import profile_of, starting_under

_PIECE = re.compile(r'\s*(?:(;[^\n]*)|([()])|#?"((?:[^"\\]|\\.)*)"|([^\s()"]+))')


def lines_of(text: str) -> list[list[object]]:
    """The profile as lists within lists."""
    stack: list[list[object]] = [[]]
    at = 0
    while text[at:].strip():
        found = _PIECE.match(text, at)
        assert found is not None, text[at : at + 80]
        at = found.end()
        _, bracket, quoted, word = found.groups()
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            done = stack.pop()
            stack[-1].append(done)
        elif quoted is not None:
            stack[-1].append(re.sub(r"\\(.)", r"\1", quoted))
        elif word is not None:
            stack[-1].append(word)
    assert len(stack) == 1
    return [cast("list[object]", line) for line in stack[0] if isinstance(line, list)]


def fits(operation: str, path: str, line: list[object]) -> bool:
    names = [one for one in line[1:] if isinstance(one, str)]
    filters = [cast("list[object]", one) for one in line[1:] if isinstance(one, list)]
    if not any(operation == name or (name.endswith("*") and operation.startswith(name[:-1])) for name in names):
        return False
    return not filters or any(_matches(str(one[0]), str(one[1]), path) for one in filters)


def _matches(kind: str, value: str, path: str) -> bool:
    if kind == "subpath":
        return path == value or path.startswith(f"{value}/")
    return path == value if kind == "literal" else kind == "regex" and re.search(value, path) is not None


def allows(text: str, operation: str, path: str) -> bool:
    """Of the lines that fit the last one counts."""
    verdict = "deny"
    for line in lines_of(text):
        if line[0] in ("allow", "deny") and fits(operation, path, line):
            verdict = str(line[0])
    return verdict == "allow"


@pytest.fixture
def whole(project: Path) -> Policy:
    place = str(project)
    above = project.parent
    for name in ("hidden", "hidden/shown", "tmp", "a", "a/b"):
        (project / name if name.startswith("a") else above / name).mkdir()
    return Policy(
        writable=(place,),
        governing=tuple(governing_paths(place)),
        pinned=tuple(pinned_paths(place)),
        denied=(f"{place}/a/b/never",),
        hidden=(str(above / "hidden"),),
        shown=(str(above / "hidden" / "shown"),),
        temporary=str(above / "tmp"),
    )


@pytest.mark.parametrize(
    ("operation", "path", "expected"),
    [
        ("file-write-data", "project/code.py", True),
        ("file-write-create", "project/new/deep", True),
        ("file-write-data", "beside", False),
        ("file-write-create", "project-evil/x", False),
        ("file-write-data", "tmp/x", True),
        ("file-write-data", "project/.git/index", True),
        ("file-write-create", "project/.git/hooks/pre-commit", False),
        ("file-write-data", "project/.git/config", False),
        ("file-write-unlink", "project/.git", False),
        ("file-write-unlink", "project", False),
        ("file-write-create", "project/.claude", False),
        ("file-write-create", "project/.claude/settings.json", False),
        ("file-write-create", "project/.mcp.json", False),
        ("file-write-create", "project/.git/commondir", False),
        ("file-write-create", "project/a/b/never", False),
        ("file-write-unlink", "project/a/b", False),
        ("file-write-unlink", "project/a", False),
        ("file-write-unlink", "project/code.py", True),
        ("file-read-data", "hidden/key", False),
        ("file-read-data", "hidden/shown/key", True),
        ("file-write-data", "hidden/shown/key", False),
        ("file-read-data", "anywhere", True),
    ],
)
def test_the_profile_says_what_the_mounts_say(
    whole: Policy, project: Path, operation: str, path: str, expected: bool
) -> None:
    assert allows(profile_of(whole), operation, str(project.parent / path)) is expected


def test_devices_and_services_are_told_apart(whole: Policy) -> None:
    text = profile_of(whole)
    assert allows(text, "file-write-data", "/dev/null")
    assert allows(text, "file-write-data", "/dev/ttys003")
    assert not allows(text, "file-write-data", "/dev/disk0")
    assert not allows(text, "file-read-data", "/private/var/run/mDNSResponder")
    assert not allows(text, "file-write-create", "/etc/hosts")


def test_the_network_is_none_or_the_proxy_or_what_is_named(project: Path) -> None:
    place = str(project)
    (project / "socket").touch()
    assert "network-outbound" not in profile_of(Policy(writable=(place,)))
    assert '(remote ip "localhost:31128")' in profile_of(Policy(border=object()))
    named = profile_of(Policy(sockets=(f"{place}/socket",)))
    assert f'(allow network-outbound (remote unix-socket (path-literal "{place}/socket")))' in named
    assert "(remote unix-socket)" in profile_of(Policy(all_sockets=True))
    assert "(remote ip))" in profile_of(Policy(open_network=True))


def test_no_path_can_become_a_line(tmp_path: Path) -> None:
    place = tmp_path / 'a"))(allow default)("\\'
    place.mkdir()
    text = profile_of(Policy(writable=(str(place),)))
    assert allows(text, "file-write-data", f"{os.path.realpath(place)}/x")
    assert ["allow", "default"] not in lines_of(text)
    with pytest.raises(OSError, match="cannot hold"):
        profile_of(Policy(fixed=("/a\n(allow default)",)))


def test_the_command_stands_behind_the_profile() -> None:
    assert starting_under("(version 1)", ["ls", "-l"]) == [
        "/usr/bin/sandbox-exec",
        "-p",
        "(version 1)",
        "--",
        "ls",
        "-l",
    ]


def test_it_is_printed_and_never_taken_by_itself(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert run(["sandbox", "profile"]) == 0
    told = capsys.readouterr().out
    assert "Never run on a Mac" in told
    assert allows(told, "file-write-data", f"{project}/code.py")
    assert not allows(told, "file-write-data", f"{project}/.git/config")
    assert not allows(told, "file-read-data", f"{os.environ['HOME']}/.ssh/id")
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(NotAvailable, match="was never run: holdfast sandbox profile"):
        look_for_sandbox()
