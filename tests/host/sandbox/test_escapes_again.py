"""The second list of ways out: none passes, and commands that race each other find no moment without a mask."""

import asyncio
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.host.sandbox.escapes import CALLS
from tests.host.sandbox.escapes_again import AGAIN, CALLS_AGAIN, HOSTS
from tests.host.sandbox.escapes_more import CALLS_MORE
from tests.host.sandbox.surroundings import Outside, snapshot, tried

from holdfast.host.command import Command, Finished
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Found, Policy, Wall
from holdfast.host.sandbox.governing import governing_paths, pinned_paths
from holdfast.host.sandbox.placeholders import Placeholders
from holdfast.host.sandbox.proxy import Refused

Run = Callable[..., Finished]
LIMIT_S = 60
AS = ("-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b")
KINDS = ("mnt", "net", "pid", "ipc", "uts", "user")
# Without the second wall only mounts hold pipes back, and a read-only mount does not.
PIPES = tuple(line for line in AGAIN["sockets"] if "FIFO" in line)


def git(place: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(place), *AS, *words], check=True, timeout=LIMIT_S, capture_output=True)


class Again(Outside):
    """With a submodule, a linked worktree, a pipe, a socket for datagrams, and an address of this machine."""

    def __init__(self, project: Path, policy: Policy, process: "subprocess.Popen[bytes]") -> None:
        other = project.parent / "other"
        subprocess.run(["git", "init", "-q", str(other)], check=True, timeout=LIMIT_S)
        for place in (other, project):
            git(place, "commit", "-q", "--allow-empty", "-m", "one")
        git(project, "submodule", "add", "-q", str(other), "lib")
        git(project, "worktree", "add", "-q", "--detach", "tree")
        place = str(project)
        policy = msgspec.structs.replace(
            policy, governing=tuple(governing_paths(place)), pinned=tuple(pinned_paths(place))
        )
        super().__init__(project, policy, process)
        self.kept += [project / ".git" / "modules" / "lib" / name for name in ("config", "hooks")]
        self.kept += [project / ".git" / "worktrees", project / "lib" / ".git", project / "tree" / ".git"]
        self.datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        handle = os.open(project, os.O_PATH)
        self.datagrams.bind(f"/proc/self/fd/{handle}/datagrams")
        os.close(handle)
        self.datagrams.setblocking(False)
        fifo = project.parent / "fifo"
        os.mkfifo(fifo)
        self.pipe = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            try:
                one.connect(("192.0.2.1", 9))
                address = one.getsockname()[0]
            except OSError:
                address = "127.0.0.2"
        self.variables |= {"DGRAM": "datagrams", "FIFO": str(fifo), "ADDRESS": address}
        self.variables |= {f"NS_{kind.upper()}": os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS}

    def has_guests(self) -> bool:
        for read in (lambda: self.datagrams.recv(1), lambda: os.read(self.pipe, 1)):
            try:
                read()
            except BlockingIOError:
                continue
            return True
        return super().has_guests()

    def close(self) -> None:
        super().close()
        self.datagrams.close()
        os.close(self.pipe)


@pytest.fixture
def again(outside: Outside, project: Path, policy: Policy) -> Iterator[Again]:
    # The first list's surroundings have laid their things out already.
    for place in (outside.out / "empty", outside.out, outside.hidden, project / "kept-dir"):
        subprocess.run(["rm", "-rf", str(place)], check=True, timeout=LIMIT_S)
    (project / "socket").unlink()
    around = Again(project, policy, outside.process)
    yield around
    around.close()


@pytest.mark.parametrize("group", sorted(AGAIN))
def test_no_other_command_gets_out(run: Run, project: Path, again: Again, found: Found, group: str) -> None:
    before = snapshot(*again.kept)
    lines = [line for line in AGAIN[group] if found.landlock or line not in PIPES]
    text, variables = tried(lines)
    done = run(text, again.policy, env={**again.variables, **variables})
    assert done.output.stdout.text() == "all tried\n"
    assert snapshot(*again.kept) == before
    assert not again.has_guests()
    assert again.process.poll() is None
    assert {".claude", ".holdfast", ".mcp.json", "project2", "moved", "renamed"}.isdisjoint(
        {*os.listdir(project), *os.listdir(project.parent)}
    )


def test_no_other_system_call_gets_out(run: Run, project: Path, again: Again) -> None:
    before = snapshot(*again.kept)
    (project / "calls.py").write_text(CALLS_AGAIN, encoding="utf-8")
    done = run("python3 calls.py", again.policy, env=again.variables)
    shown = done.output.stdout.text()
    count = CALLS_AGAIN.count('\n    "')
    assert shown.splitlines()[-1:] == [f"tried {count}"], done.output.stderr.text()
    assert len(shown.splitlines()) == 1, shown
    assert snapshot(*again.kept) == before
    assert not again.has_guests()
    assert again.process.poll() is None


@pytest.mark.parametrize("calls", [CALLS, CALLS_AGAIN], ids=["first", "second"])
def test_the_filter_alone_keeps_namespaces_where_bubblewrap_is_too_old_for_it(
    found: Found, project: Path, again: Again, tmp_path: Path, calls: str
) -> None:
    older = found._replace(disables_users=False, binds_handles=False, landlock=0)
    wall = Wall(older, placeholders=Placeholders(str(tmp_path / "journal")))
    (project / "calls.py").write_text(calls, encoding="utf-8")
    command = Command(argv=["python3", "calls.py"], cwd=str(project), env=again.variables)

    async def main() -> str:
        async with Processes() as processes:
            done = await asyncio.wait_for(processes.run(wall.wrap(command, again.policy)), LIMIT_S)
            return done.output.stdout.text()

    shown = asyncio.run(main())
    wall.close()
    assert re.fullmatch(r"tried \d+\n", shown)


def test_where_the_settings_let_sockets_pass_these_calls_do_what_they_say(
    run: Run, project: Path, again: Again
) -> None:
    (project / "calls.py").write_text(CALLS_AGAIN, encoding="utf-8")
    given = msgspec.structs.replace(again.policy, all_sockets=True)
    shown = run("python3 calls.py", given, env=again.variables).output.stdout.text().splitlines()
    named = ["datagram of a pair", "pair of datagrams, connected", "raw pair", "pair with flags"]
    assert shown[:-1] == named
    assert again.has_guests()


def test_no_newer_or_odder_system_call_gets_out(run: Run, project: Path, again: Again) -> None:
    before = snapshot(*again.kept)
    (project / "calls.py").write_text(CALLS_MORE, encoding="utf-8")
    done = run("python3 calls.py", again.policy, env=again.variables)
    count = CALLS_MORE.count('\n    "')
    assert done.output.stdout.text() == f"tried {count}\n", done.output.stderr.text()
    assert count > 50
    assert snapshot(*again.kept) == before
    assert not again.has_guests()
    assert again.process.poll() is None


def test_there_are_many_of_them() -> None:
    assert sum(map(len, AGAIN.values())) + CALLS_AGAIN.count("lambda: ") + len(HOSTS) >= 200


class Border:
    """One host, which is this machine by another of its addresses; any other is refused."""

    own_http_port = own_socks_port = 0

    def __init__(self) -> None:
        self.dialled: set[str] = set()

    def admit(self, host: str, port: int) -> str:
        if host != "only.example":
            raise Refused(f"not {host!r}:{port}")
        return "127.0.0.2"

    def check(self, host: str, address: str) -> None:
        self.dialled.add(f"{host} {address}")


ALLOWED = "curl -s -o /dev/null -w '%{http_code}' http://only.example:9/ | grep 502"
"""Let pass, to a port where nobody is: so the others are refused by the proxy and not for want of one."""
TRICKS = """
no_proxy='*' NO_PROXY='*' curl -sSf http://127.0.0.1:$PORT
curl -sSf --noproxy '*' http://127.0.0.1:$PORT
env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY curl -sSf http://127.0.0.1:$PORT
curl -sSf -x http://127.0.0.1:$PORT http://only.example/
curl -sSf -x http://127.0.0.2:31128 --preproxy socks5h://127.0.0.1:31128 http://only.example:$PORT/
curl -sSf -x socks4://127.0.0.1:31128 http://127.0.0.1:$PORT/
curl -sSf -x socks4a://127.0.0.1:31128 http://localhost:$PORT/
curl -sSf -x socks5://127.0.0.1:31128 http://127.0.0.1:$PORT/
curl -sSf -x socks5h://127.0.0.1:31128 http://evil.example:$PORT/
curl -sSf -x socks5h://user:pass@127.0.0.1:31128 http://localhost:$PORT/
curl -sSfp --connect-to only.example:80:127.0.0.1:$PORT http://only.example/
curl -sSf --resolve only.example:$PORT:127.0.0.1 --noproxy '*' http://only.example:$PORT/
curl -sSf --proxy-header 'Host: 127.0.0.1' -H "Host: 127.0.0.1:$PORT" http://evil.example/
curl -sSf --request-target http://127.0.0.1:$PORT/ http://evil.example/
printf 'GET http://only.example@127.0.0.1:%s/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' $PORT | ask | grep -a ' 200 '
printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\nHost: only.example\\r\\n\\r\\n' $PORT | ask | grep -a ' 200 '
printf 'CONNECT only.example\\t127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' $PORT | ask | grep -a ' 200 '
printf 'GET http://evil.test/ HTTP/1.0\\r\\n\\r\\nCONNECT 127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' $PORT|ask|grep -a ' 200 '
git -c http.proxy= ls-remote http://127.0.0.1:$PORT/x
GIT_CONFIG_COUNT=0 git ls-remote http://127.0.0.1:$PORT/x
GIT_SSH_COMMAND=ssh git ls-remote ssh://127.0.0.1:$PORT/x
pip download --proxy '' --index-url http://127.0.0.1:$PORT/simple x
npm --noproxy='*' --proxy=null ping --registry http://127.0.0.1:$PORT/
"""


@pytest.mark.parametrize("kind", ["names", "tricks"])
def test_the_proxy_leads_nowhere_else(run: Run, project: Path, outside: Outside, kind: str) -> None:
    border = Border()
    lines = [f"timeout 9 curl -sSfg 'http://{host}:'$PORT/" for host in HOSTS]
    lines += [f"timeout 9 curl -sSfgp 'http://{host}:'$PORT/" for host in HOSTS]
    if kind == "tricks":
        lines = [f"timeout 9 bash -c {shlex.quote(line)}" for line in TRICKS.strip().splitlines()]
    ask = "ask() { exec 3<>/dev/tcp/127.0.0.1/31128; cat >&3; timeout 5 cat <&3; }; export -f ask"
    text, variables = tried([ALLOWED, *lines])
    given = msgspec.structs.replace(outside.policy, border=border)
    done = run(f"{ask}; export no_proxy= NO_PROXY=; {text}", given, env={**outside.variables, **variables})
    assert done.output.stdout.text() == f"{ALLOWED}\nall tried\n"
    assert not outside.has_guests()
    assert border.dialled == {"127.0.0.2 127.0.0.2"}


RACE = """
while [ ! -e stop ]; do
    mkdir .claude 2>/dev/null && echo x > .claude/settings.json
    echo x > .claude/settings.json; echo x > .mcp.json; rmdir .claude .holdfast .mcp.json
    ln -s ../out .holdfast; mv swap other; ln -s ../out swap; rm swap; mv other swap; mkdir -p swap/deep
    mv .git g; mkdir -p .git/hooks && echo x > .git/hooks/pre-commit; echo ../out > .git/commondir
    mv kept-dir k; mkdir kept-dir; echo x > kept-dir/file; echo x > .git/config; echo x > swap/deep/key
done 2>/dev/null
"""


def test_commands_that_race_others_find_no_moment_without_a_mask(
    found: Found, project: Path, outside: Outside, tmp_path: Path
) -> None:
    """Others start and end meanwhile: their placeholders come and go, and their mounts are being made."""
    (project / "swap" / "deep").mkdir(parents=True)
    (project / "swap" / "deep" / "key").write_text("kept", encoding="utf-8")
    kept = [*outside.kept, project / "swap" / "deep" / "key"]
    given = msgspec.structs.replace(
        outside.policy, fixed=(*outside.policy.fixed, str(project / "swap" / "deep" / "key"))
    )
    before = snapshot(*kept)
    walls = [Wall(found, placeholders=Placeholders(str(tmp_path / "journal"))) for _ in range(2)]

    async def main() -> None:
        async with Processes() as processes:

            async def once(wall: Wall, script: str) -> Finished:
                command = Command(argv=["/bin/bash", "-c", script], cwd=str(project))
                return await asyncio.wait_for(processes.run(wall.wrap(command, given)), LIMIT_S)

            racers = [asyncio.ensure_future(once(wall, RACE)) for wall in walls]
            for _ in range(15):
                shown = await asyncio.gather(*(once(wall, "cat $SECRET swap/deep/key; ls -A") for wall in walls))
                assert all("SECRET-TEXT" not in one.output.stdout.text() for one in shown)
            (project / "stop").touch()
            await asyncio.gather(*racers)

    asyncio.run(main())
    for wall in walls:
        wall.close()
    assert snapshot(*kept) == before
    assert {".claude", ".holdfast", ".mcp.json"}.isdisjoint(os.listdir(project))
    assert not (project / ".git" / "commondir").exists()
