"""What single settings of the sandbox open and close, in sessions and by `holdfast sandbox run`."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Options, build_executor
from holdfast.cli.main import run
from holdfast.contract import UsageError
from holdfast.engine import Executor
from holdfast.host.sandbox import probe
from holdfast.testing import ScriptedAsker

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

OUTSIDE = {"command": "touch ../out", "dangerouslyDisableSandbox": True}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "CLAUDE_CONFIG_DIR", "etc"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    project = Path(os.path.realpath(tmp_path)) / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)
    return project


def session(place: Path, *, mode: str | None = None, asker: Any = None, **wanted: Any) -> Executor:
    settings = json.dumps({"sandbox": {"enabled": True, **wanted}})
    return build_executor(Options(cwd=str(place), settings=(settings,), permission_mode=mode), asker=asker)


def told(executor: Executor, command: str) -> str:
    return str(executor.call("Bash", {"command": command}).content)


@pytest.fixture
def sockets() -> Iterator[list[str]]:
    """Three that listen: two with short names, and one with no name on the disk."""
    with tempfile.TemporaryDirectory(prefix="s") as place, contextlib.ExitStack() as stack:
        names = [f"{place}/wanted", f"{place}/others", f"\0abstract-{os.urandom(6).hex()}"]
        for name in names:
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(name)
            one.listen(9)
        yield names


REACH = """python3 - <<'E'
import socket
for name in NAMES:
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(name)
            print("reached", name.strip(chr(0)).split("/")[-1][:6])
    except OSError as problem:
        print("kept", name.strip(chr(0)).split("/")[-1][:6])
E"""


def test_only_the_unix_sockets_that_are_named_are_reached(place: Path, sockets: list[str]) -> None:
    command = REACH.replace("NAMES", repr(sockets))
    assert "reached" not in told(session(place), command)
    named = session(place, network={"allowUnixSockets": sockets[:1]})
    assert told(named, command).split() == ["reached", "wanted", "kept", "others", "kept", "abstra"]
    every = session(place, network={"allowAllUnixSockets": True})
    assert told(every, command).split()[:4] == ["reached", "wanted", "reached", "others"]


def test_the_socket_of_an_agent_that_is_named_is_reached_where_services_are_hidden(place: Path) -> None:
    if not os.access("/run", os.W_OK):
        pytest.skip("only root may make a socket in /run")
    path = f"/run/holdfast-test-{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)
        one.listen(9)
        try:
            command = REACH.replace("NAMES", repr([path]))
            assert told(session(place, network={"allowUnixSockets": [path]}), command).startswith("reached")
            assert told(session(place, network={"allowUnixSockets": ["/nowhere"]}), command).startswith("kept")
            assert "reached" not in told(session(place), command)
        finally:
            os.unlink(path)


def test_caches_are_written_only_by_choice(place: Path) -> None:
    home = os.environ["HOME"]
    command = (
        "mkdir -p ~/.npm ~/.cache/pip; echo x > ~/.npm/x; echo x > ~/.cache/pip/x; echo x > ~/y; ls -A ~/.npm ~/.cache"
    )
    assert "x" not in [name for _, _, names in os.walk(home) for name in names]
    told(session(place), command)
    assert os.listdir(home) == []
    told(session(place, caches=["npm", "no such program"]), command)
    assert os.listdir(home) == [".npm"]
    assert os.listdir(f"{home}/.npm") == ["x"]


@pytest.mark.parametrize("allowed", [True, False])
def test_a_command_may_listen_in_its_own_network_whatever_the_setting_says(place: Path, allowed: bool) -> None:
    script = "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); print(s.getsockname()[0])'"
    assert told(session(place, network={"allowLocalBinding": allowed}), script) == "127.0.0.1"


def test_known_complaints_are_kept_silent_for_the_commands_that_are_named(place: Path) -> None:
    write = "touch ../out"
    assert "The sandbox keeps" in told(session(place), write)
    for ignored in ({"*": ["../out"]}, {"touch": ["out"]}):
        assert "The sandbox keeps" not in told(session(place, ignoreViolations=ignored), write)
    assert "The sandbox keeps" in told(session(place, ignoreViolations={"make": ["out"], "*": ["other"]}), write)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions"])
def test_to_leave_is_asked_in_every_mode_that_asks(place: Path, mode: str) -> None:
    asker = ScriptedAsker(["deny"])
    reply = session(place, mode=mode, asker=asker).call("Bash", OUTSIDE)
    assert len(asker.questions) == (0 if mode in ("dontAsk", "bypassPermissions") else 1)
    assert (place.parent / "out").exists() is (mode == "bypassPermissions")
    assert ("outside the sandbox" in str(reply.content)) is (mode == "bypassPermissions") or reply.is_error


def test_a_policy_that_requires_the_sandbox_blocks_every_command_where_it_cannot_start(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    etc = place.parent / "etc"

    def managed(_env: object, _platform: object) -> tuple[str, str]:
        return str(etc), str(etc)

    given = {"sandbox": {"enabled": True, "bwrapPath": "/nowhere/bwrap", "enableWeakerLandlockSandbox": True}}
    (etc / "managed-settings.json").write_text(json.dumps(given), encoding="utf-8")
    monkeypatch.setattr("holdfast.settings.sources._managed", managed)
    with pytest.raises(UsageError, match="nothing is started"):
        session(place, enabled=False, excludedCommands=["touch"])
    (etc / "managed-settings.json").write_text('{"sandbox": {"enabled": true}}', encoding="utf-8")
    executor = session(place, enabled=False, excludedCommands=["touch"], mode="bypassPermissions")
    assert executor.call("Bash", {"command": "ls > made; ls > ../out"}).is_error
    assert ((place / "made").exists(), (place.parent / "out").exists()) == (True, False)
    monkeypatch.setattr("holdfast.app.sandbox._find", _cannot)
    for asked in ({"command": "echo x > made2"}, {"command": "touch made2"}, {**OUTSIDE, "command": "touch made2"}):
        reply = executor.call("Bash", asked)
        assert reply.is_error
        assert "cannot start" in str(reply.content)
    assert not (place / "made2").exists()


def _cannot(wanted: object) -> None:
    raise probe.NotAvailable("it is broken")


# Where it cannot work: refused, with the reason and what to do.


@pytest.mark.parametrize(
    ("numbers", "containers", "advice"),
    [
        ({"user/max_user_namespaces": 0}, "", "sysctl user.max_user_namespaces="),
        ({"kernel/unprivileged_userns_clone": 0}, "", "sysctl kernel.unprivileged_userns_clone=1"),
        ({"kernel/apparmor_restrict_unprivileged_userns": 1}, "", "apparmor-profiles"),
        ({}, "/.dockerenv", "--security-opt seccomp=unconfined"),
        ({}, "/run/.containerenv", "enableWeakerNestedSandbox"),
        ({}, "", "unshare -Ur true"),
    ],
)
def test_the_advice_fits_what_is_wrong(
    place: Path, monkeypatch: pytest.MonkeyPatch, numbers: dict[str, int], containers: str, advice: str
) -> None:
    broken = place.parent / "bwrap"
    said = 'case "$1" in --version) echo bubblewrap 0.8.0 ;; --help) ;; *) echo "bwrap: no" >&2; exit 1 ;; esac'
    broken.write_text(f"#!/bin/sh\n{said}\n", encoding="utf-8")
    broken.chmod(0o755)

    def number(path: str) -> int | None:
        return numbers.get(path.removeprefix("/proc/sys/"))

    monkeypatch.setattr(probe, "_number", number)
    monkeypatch.setattr(probe, "_is_there", containers.__eq__)
    reply = session(place, bwrapPath=str(broken)).call("Bash", {"command": "touch made"})
    assert reply.is_error
    assert advice in str(reply.content)
    assert "nothing was run" in str(reply.content)
    assert not (place / "made").exists()


def test_with_user_namespaces_switched_off_everything_is_refused(place: Path) -> None:
    """Really switched off: the limit counts for a user namespace and all below it."""
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    around = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", sys.executable, "-m", "holdfast"]
    if subprocess.run([*around[:-2], "-c", ""], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("no user namespace can be made here")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for words in (["sandbox", "run", "--", "touch", "made"], ["sandbox", "status"]):
        done = subprocess.run(
            [*around, *words], cwd=place, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode
        assert "sysctl user.max_user_namespaces=15000" in done.stdout + done.stderr
    assert not (place / "made").exists()


def test_in_a_container_without_a_new_proc_the_weaker_form_is_chosen_by_setting(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    found = probe.look_for_sandbox()._replace(has_proc=False)

    def look(*, path: str | None = None, outside: object = ()) -> probe.Found:
        del path, outside
        return found

    monkeypatch.setattr("holdfast.host.sandbox.look_for_sandbox", look)
    reply = session(place).call("Bash", {"command": "touch made"})
    assert reply.is_error
    assert "enableWeakerNestedSandbox" in str(reply.content)
    nested = session(place, enableWeakerNestedSandbox=True)
    shown = told(nested, "touch made ../out; kill -0 $PPID; cat /proc/1/environ /proc/self/root/../../proc/1/cwd/x")
    assert ((place / "made").exists(), (place.parent / "out").exists()) == (True, False)
    assert "Permission denied" in shown
    monkeypatch.chdir(place)
    settings = json.dumps({"sandbox": {"enableWeakerNestedSandbox": True}})
    assert run(["sandbox", "status", "--settings", settings]) == 0
    assert "no     other processes cannot be seen or signalled" in capfd.readouterr().out
