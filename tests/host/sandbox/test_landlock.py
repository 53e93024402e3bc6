"""The second wall, and the wall without bubblewrap: what the first program does before it becomes the command."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.host.sandbox.escapes import LINES
from tests.host.sandbox.surroundings import Outside, snapshot, tried

from holdfast.host.command import Command, Finished
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Found, NotAvailable, Policy, Wall, look_for_landlock
from holdfast.host.sandbox.alone import LoneWall
from holdfast.host.sandbox.landlock import grants_for, rights_of
from holdfast.host.sandbox.starter import CODE, Starter, starter_handle, starting

SOURCES = Path(__file__).parents[3] / "src" / "holdfast" / "host" / "sandbox"
WEAK = {
    # Landlock knows nothing of modes, owners and times, and nothing is hidden; both is said.
    "touch $OUT/kept && find $OUT/kept -newer code.py | grep kept",
    "chmod 777 $OUT",
    "chmod u+x $OUT/kept",
    "chown $(id -u):$(id -g) $OUT/kept",
    "grep -v '^ *lo:' /proc/net/dev | grep :",
    "ls /run | grep .",
    "ls -A /var/run | grep .",
    # What a program could get at most; nothing of it can be got.
    "grep -E '^Cap(Eff|Prm|Bnd|Amb):.*[1-9a-f]' /proc/self/status",
}
LIMIT_S = 60
Run = Callable[..., Finished]


@pytest.fixture(scope="module")
def version() -> int:
    try:
        return look_for_landlock()
    except NotAvailable as problem:
        pytest.skip(str(problem))


def assembler(machine: str) -> tuple[str, str] | None:
    prefix = "" if os.uname().machine == machine else f"{machine}-linux-gnu-"
    found = shutil.which(f"{prefix}as"), shutil.which(f"{prefix}objcopy")
    return None if None in found else (str(found[0]), str(found[1]))


@pytest.mark.parametrize("machine", sorted(CODE))
def test_the_bytes_are_what_the_source_says(machine: str, tmp_path: Path) -> None:
    tools = assembler(machine)
    if tools is None:
        pytest.skip(f"no assembler for {machine} is installed")
    made, plain = tmp_path / "made.o", tmp_path / "plain"
    source = SOURCES / f"starter_{machine}.s"
    subprocess.run([tools[0], "-o", str(made), str(source)], check=True, timeout=LIMIT_S)
    subprocess.run([tools[1], "-O", "binary", "-j", ".text", str(made), str(plain)], check=True, timeout=LIMIT_S)
    assert plain.read_bytes() == CODE[machine]


def start(
    version: int, argv: list[str], writable: tuple[str, ...] = (), around: tuple[str, ...] = (), **choices: bool
) -> subprocess.CompletedProcess[str]:
    """Run a command by way of the first program."""
    rights = rights_of(version)
    handles: list[int] = []
    starter = Starter(rights, grants_for(rights, writable, also=("/proc",)), **choices)  # pyright: ignore[reportArgumentType]
    try:
        words = [*around, *starting(starter_handle(starter, handles), argv)]
        return subprocess.run(words, pass_fds=handles, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    finally:
        for handle in handles:
            os.close(handle)


def test_only_what_is_granted_is_written_and_usual_work_goes_on(version: int, tmp_path: Path) -> None:
    inside, outside_ = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside_.mkdir()
    (outside_ / "kept").write_text("kept", encoding="utf-8")
    script = """
    cd "$0"; echo x > a; mkdir d; mv a d/b; ln d/b c; ln -s c l; mkfifo p; rm p; : > d/b; echo x > /dev/null
    python3 -c 'import multiprocessing as m, pty; m.Lock(); pty.openpty(); print("usual")'
    for try in "echo x > $1/new" ": > $1/kept" "rm $1/kept" "mv $1/kept ." "ln d/b $1/l" "mkdir $1/d" "mv c $1/"; do
        if ( eval "$try" ) 2>/dev/null; then echo "got out: $try"; fi
    done
    ls /proc/self/fd | wc -l; grep -E "^(NoNewPrivs|CapEff)" /proc/self/status | sort
    """
    argv = ["/bin/sh", "-c", script, str(inside), str(outside_)]
    done = start(version, argv, (str(inside),), is_alone=True, drops_capabilities=True)
    assert done.stdout.split() == ["usual", "4", "CapEff:", "0000000000000000", "NoNewPrivs:", "1"], done.stderr
    assert [path.name for path in outside_.iterdir()] == ["kept"]
    assert (outside_ / "kept").read_text(encoding="utf-8") == "kept"


def test_a_program_is_started_as_anybody_would_start_it(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without directories that this user may not look into
    script = tmp_path / "script"
    script.write_text("echo plain $1\n", encoding="utf-8")
    script.chmod(0o755)
    assert start(version, [str(script), "a b"], is_alone=True).stdout == "plain a b\n"
    assert start(version, ["sh", "-c", "echo $0 $1", "x", "y"], is_alone=True).stdout == "x y\n"
    named = start(version, ["/bin/bash", "-c", "exec -a other-name /bin/cat /proc/self/cmdline"], is_alone=True)
    assert named.stdout.split("\0")[0] == "other-name"
    missing = start(version, ["no-such-program"], is_alone=True)
    assert (missing.returncode, "not found" in missing.stderr) == (127, True)
    assert start(version, [str(tmp_path / "missing")], is_alone=True).returncode == 127
    assert start(version, [str(tmp_path)], is_alone=True).returncode == 126


def test_the_second_wall_stands_where_the_first_has_a_hole(found: Found, version: int, tmp_path: Path) -> None:
    """Everything is mounted writable here: only Landlock holds."""
    (tmp_path / "in").mkdir()
    around = (found.program, "--unshare-user", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--")
    argv = ["/bin/sh", "-c", "echo x > $0/in/made; echo x > $0/out", str(tmp_path)]
    plain = subprocess.run([*around, *argv], capture_output=True, timeout=LIMIT_S, check=False)
    assert plain.returncode == 0
    (tmp_path / "out").unlink()
    done = start(version, argv, (str(tmp_path / "in"),), around)
    assert "Permission denied" in done.stderr
    assert (tmp_path / "in" / "made").exists()
    assert not (tmp_path / "out").exists()


def test_commands_in_the_sandbox_have_the_second_wall(found: Found, policy: Policy, project: Path) -> None:
    assert found.landlock or look_for_landlock()
    wall = Wall(found)
    entered = wall.enter(Command(argv=["/bin/true"], cwd=str(project)), policy)
    try:
        words = list(entered.command.argv)
        assert str(words[words.index("--") + 1]).startswith("/proc/self/fd/")
    finally:
        entered.left()
        wall.close()


def test_a_program_that_is_not_there_is_told_in_words(run: Run, found: Found, policy: Policy, project: Path) -> None:
    async def main() -> Finished:
        wall = Wall(found)
        async with Processes() as processes:
            done = await processes.run(wall.wrap(Command(argv=["/no/such/program"], cwd=str(project)), policy))
        wall.close()
        return done

    assert "/no/such/program" in asyncio.run(main()).output.stderr.text()


# The wall without bubblewrap.


@pytest.fixture
def run_alone(version: int, project: Path, policy: Policy) -> Iterator[Run]:
    wall = LoneWall(version)

    def run_inside(script: str, given: Policy | None = None, **options: object) -> Finished:
        command = Command(argv=["/bin/bash", "-c", script], cwd=str(project), **options)  # pyright: ignore[reportArgumentType]

        async def main() -> Finished:
            async with Processes() as processes:
                return await asyncio.wait_for(processes.run(wall.wrap(command, given or policy)), LIMIT_S)

        return asyncio.run(main())

    yield run_inside
    wall.close()


@pytest.mark.parametrize("group", ["writes", "network", "kernel"])
def test_the_wall_without_bubblewrap_keeps_what_it_promises(
    run_alone: Run,
    outside: Outside,
    group: str,
    version: int,
) -> None:
    before = {path: text for path, (_, text) in snapshot(outside.out).items()}
    text, lines = tried(LINES[group])
    done = run_alone(text, outside.policy, env={**outside.variables, **lines})
    *got_out, last = done.output.stdout.text().splitlines()
    assert last == "all tried", done.output.stderr.text()
    assert set(got_out) <= WEAK
    assert {path: text for path, (_, text) in snapshot(outside.out).items()} == before
    assert not outside.has_guests()
    assert outside.process.poll() is None or version < 6


def test_without_bubblewrap_there_is_no_network_and_no_new_right(run_alone: Run) -> None:
    script = """
    import ctypes, os, socket
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
        try:
            socket.socket(family)
            print("family", family)
        except PermissionError:
            pass
    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (0x10000000, 0x00020000, 0x40000000):
        if libc.unshare(flags) == 0:
            print("unshare", flags)
    a, b = socket.socketpair()
    print("done")
    """
    done = run_alone(f"python3 - <<'EOF'\n{textwrap.dedent(script)}\nEOF")
    assert done.output.stdout.text() == "done\n", done.output.stderr.text()


def test_signals_do_not_leave_the_wall(run_alone: Run, version: int) -> None:
    if version < 6:
        pytest.skip("this Landlock knows no signals")
    with socket.socket():
        done = run_alone(f"kill -0 {os.getpid()} && echo reached; kill -0 $$ && echo own")
    assert done.output.stdout.text() == "own\n"
