"""Work that is allowed gives the same inside as outside: output, exit code and the files that are left."""

import asyncio
import base64
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from holdfast.host.command import Command, Finished
from holdfast.host.processes import Processes
from holdfast.host.sandbox import Found, Policy, Wall
from holdfast.host.sandbox.governing import governing_paths, pinned_paths
from holdfast.host.sandbox.placeholders import Placeholders
from holdfast.host.sandbox.proxy import Proxy, Refused
from holdfast.host.sandbox.proxy_variables import PORT, proxy_variables

LIMIT_S = 120
HOST = "packages.example"
FIXED = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z", "SOURCE_DATE_EPOCH": "1",
    "PYTHONDONTWRITEBYTECODE": "1", "npm_config_cache": ".npm-cache", "npm_config_update_notifier": "false",
    "npm_config_audit": "false", "npm_config_fund": "false", "PIP_NO_CACHE_DIR": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}  # fmt: skip
VOLATILE = (".git", ".npm-cache", "__pycache__", "tmp", "venv")
"""What holds times and paths that differ from one run to the next."""


class Work(NamedTuple):
    """One piece of work, and the programs that it needs."""

    script: str
    needs: str = ""


WORK = {
    "a build": Work(
        "make -s all && ./prog && make -s all && touch main.c && make all && nm -g prog | grep -c main",
        "make gcc nm",
    ),
    "tests": Work(
        "python3 -B -m unittest -q test_it 2>&1 | sed 's/ in [0-9.]*s//'; python3 -c 'import it; print(it.N)'"
    ),
    "processes": Work("python3 work.py"),
    "the shell": Work(
        "sleep 0 & wait $!; echo $?; cat <(echo one) <<<two; (ulimit -n 64; ulimit -n);"
        " printf '%s\\n' {a..c} | sort -r; mkdir -p d/e; mv d/e f; ln -s f g; cp -r main.c g/;"
        " tar cf - f | tar tf -; chmod 750 f; stat -c %a f; ls; id -u"
    ),
    "git": Work(
        "git add -A .; git commit -qm one -- main.c; git checkout -qb other;"
        " echo x >> main.c; git commit -qam two; git rebase -q - 2>&1; git tag v1;"
        " git log --format='%s %H' main.c; git stash list;"
        " git worktree add -q tree && ls tree; git worktree remove tree; git gc -q; git fsck 2>&1; git branch;"
        " git clone -q . ../project/copy && git -C copy log --format=%H; git status --short; git describe --tags"
    ),
    "a linked worktree": Work(
        "git add main.c; git commit -qm one; git worktree add -q --detach tree; cd tree; git status --short;"
        " git log --format=%s; git switch -q -c more; git commit -q --allow-empty -m two; git log --format='%s %H'"
    ),
    "git over HTTP": Work(
        "git clone -q http://SITE/repo.git cloned && git -C cloned log --format='%H %s' && git ls-remote"
        " http://SITE/repo.git; git ls-remote http://other.example/x 2>&1 | grep -c 403"
    ),
    "pip": Work(
        f"PIP install -q --no-deps --target lib --index-url http://SITE/simple --trusted-host {HOST} demo 2>/dev/null;"
        " echo $?; PYTHONPATH=lib python3 -c 'import demo; print(demo.WORD)'; cd lib; find demo -type f | sort",
        "PIP",
    ),
    "npm": Work(
        "npm install --silent --registry http://SITE/ demo; echo $?; cat package-lock.json;"
        " node -e 'console.log(require(\"demo\"))'; npm run --silent hello",
        "npm node",
    ),
    "curl": Work(
        "curl -sS http://SITE/word; curl -sSp http://SITE/word; curl -sS -x socks5h://$SOCKS http://SITE/word;"
        " curl -s -o /dev/null -w '%{http_code}\\n' http://other.example/",
        "curl",
    ),
}


PROGRAM = """
import concurrent.futures, multiprocessing, os, pty, socket, sqlite3, tempfile, threading
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(sum(pool.map(abs, range(-9, 9))))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        print(sum(pool.map(str.__len__, ["abc"] * 99)))
    base = sqlite3.connect("base.db")
    base.execute("create table t (n)")
    base.execute("insert into t values (7)")
    base.commit()
    print(base.execute("select sum(n) from t").fetchone())
    base.close()
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lambda: server.accept()[0].sendall(b"hi")).start()
    print(socket.create_connection(server.getsockname()).recv(9))
    near, far = socket.socketpair()
    near.send(b"x")
    print(far.recv(1), len(pty.openpty()), multiprocessing.Lock().acquire(timeout=9))
    print(os.path.exists(tempfile.mkstemp()[1]), os.memfd_create("x") > 0, os.mkfifo("fifo"))
"""


class Border:
    """Lets one host pass, which is this machine at another port."""

    own_http_port = own_socks_port = 0

    def admit(self, host: str, port: int) -> str:
        if host != HOST:
            raise Refused(f"not {host!r}:{port}")
        return "localhost"

    def check(self, host: str, address: str) -> None:
        assert host == "localhost"
        assert address in ("127.0.0.1", "::1")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        del format, args


def tarball() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as file:
        for name, text in {
            "package/package.json": json.dumps({"name": "demo", "version": "1.0.0", "main": "index.js"}),
            "package/index.js": "module.exports = 'from npm'",
        }.items():
            about = tarfile.TarInfo(name)
            about.size = len(text)
            file.addfile(about, io.BytesIO(text.encode()))
    return made.getvalue()


def wheel(place: Path) -> None:
    with zipfile.ZipFile(place / "demo-1.0-py3-none-any.whl", "w") as file:
        files = {
            "demo/__init__.py": "WORD = 'from pip'\n",
            "demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
            "demo-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        for name, text in files.items():
            file.writestr(name, text)
        digests = [
            f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
            f"{len(text)}"
            for name, text in files.items()
        ]
        file.writestr("demo-1.0.dist-info/RECORD", "\n".join([*digests, "demo-1.0.dist-info/RECORD,,", ""]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A repository, a package index and a registry, all as plain files."""
    place = tmp_path_factory.mktemp("served")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(place))) as served:
        port = served.server_address[1]
        fill(place, port)
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield port
        served.shutdown()
        thread.join(60)


def fill(place: Path, port: int) -> None:
    (place / "word").write_text("word\n", encoding="utf-8")
    index = place / "simple" / "demo"
    index.mkdir(parents=True)
    wheel(index)
    (index / "index.html").write_text('<a href="demo-1.0-py3-none-any.whl">demo</a>', encoding="utf-8")
    packed = tarball()
    (place / "demo-1.0.0.tgz").write_bytes(packed)
    digest = f"sha512-{base64.b64encode(hashlib.sha512(packed).digest()).decode()}"
    dist = {"tarball": f"http://{HOST}:{port}/demo-1.0.0.tgz", "integrity": digest}
    about = {"name": "demo", "version": "1.0.0", "main": "index.js", "dist": dist}
    registry = {"name": "demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": about}}
    (place / "demo").write_text(json.dumps(registry), encoding="utf-8")
    environment = {**os.environ, **FIXED}
    for words in (
        ("init", "-q", "--bare", str(place / "repo.git")),
        ("clone", "-q", str(place / "repo.git"), str(place / "work")),
        ("-C", str(place / "work"), "commit", "-q", "--allow-empty", "-m", "first"),
        ("-C", str(place / "work"), "push", "-q", "origin", "HEAD:refs/heads/main"),
        ("-C", str(place / "repo.git"), "symbolic-ref", "HEAD", "refs/heads/main"),
        ("-C", str(place / "repo.git"), "update-server-info"),
    ):
        subprocess.run(["git", *words], check=True, timeout=60, env=environment, capture_output=True)


def lay_out(project: Path) -> None:
    """The same project anew, at the same place."""
    shutil.rmtree(project, ignore_errors=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True, timeout=60)
    makefile = "all: prog\nprog: main.o more.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -O1 -c -o $@ $<\n"
    files = {
        "main.c": '#include <stdio.h>\nint more(void);\nint main(void) { printf("%d\\n", more()); return 0; }\n',
        "more.c": "int more(void) { return 42; }\n", "Makefile": makefile, "it.py": "N = 7\n",
        "work.py": PROGRAM,
        "test_it.py": "import unittest, it\nclass T(unittest.TestCase):\n    def test(self): assert it.N == 7\n",
        "package.json": json.dumps({"name": "p", "version": "1.0.0", "scripts": {"hello": "echo hello"}}),
    }  # fmt: skip
    for name, text in files.items():
        (project / name).write_text(text, encoding="utf-8")
    (project / "tmp").mkdir()


def left_in(project: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(project.rglob("*")):
        name = path.relative_to(project).as_posix()
        if any(part in VOLATILE for part in path.relative_to(project).parts):
            continue
        mode = path.lstat().st_mode
        content = os.readlink(path) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[name] = f"{mode:o} {content}"
    return found


def pip() -> str:
    for words in ([sys.executable, "-m", "pip"], ["python3", "-m", "pip"]):
        try:
            done = subprocess.run([*words, "--version"], capture_output=True, timeout=60, check=False)
        except OSError:
            continue
        if not done.returncode:
            return " ".join(words)
    return ""


class Place(NamedTuple):
    """Where the work is done, twice."""

    project: Path
    found: Found
    journal: str

    async def outside(self, script: str) -> Finished:
        """By way of the same proxy, which listens on the machine itself here."""
        listener = socket.create_server(("127.0.0.1", 0))
        proxy = Proxy(Border(), {})
        await proxy.serve(listener)
        port = str(listener.getsockname()[1])
        variables = {name: value.replace(str(PORT), port) for name, value in proxy_variables({}).items()}
        async with Processes() as processes:
            done = await processes.run(self.command(script, {**variables, "SOCKS": f"127.0.0.1:{port}"}))
        proxy.close()
        return done

    async def inside(self, script: str) -> Finished:
        place = str(self.project)
        policy = Policy(writable=(place,), governing=tuple(governing_paths(place)), pinned=tuple(pinned_paths(place)))
        wall = Wall(self.found, placeholders=Placeholders(self.journal))
        async with Processes() as processes:
            command = self.command(script, {"SOCKS": f"127.0.0.1:{PORT}"})
            done = await processes.run(wall.wrap(command, msgspec.structs.replace(policy, border=Border())))
        wall.close()
        return done

    def command(self, script: str, more: dict[str, str]) -> Command:
        env = {**FIXED, "TMPDIR": str(self.project / "tmp"), **more}
        return Command(argv=["/bin/bash", "-c", script], cwd=str(self.project), env=env)


@pytest.mark.parametrize("name", sorted(WORK))
def test_what_is_allowed_gives_the_same_inside_as_outside(name: str, found: Found, server: int, tmp_path: Path) -> None:
    work = WORK[name]
    script = work.script
    if work.needs == "PIP":
        program = pip()
        if not program:
            pytest.skip("there is no pip for this user")
        script = script.replace("PIP", program)
    elif missing := [one for one in work.needs.split() if shutil.which(one) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    script = script.replace("SITE", f"{HOST}:{server}")
    place = Place(Path(os.path.realpath(tmp_path)) / "project", found, str(tmp_path / "journal"))
    seen: list[tuple[int, str, dict[str, str]]] = []
    for run in (place.outside, place.inside):
        lay_out(place.project)
        done = asyncio.run(asyncio.wait_for(run(script), LIMIT_S))
        seen.append((done.exit.shell_code, done.output.stdout.text(), left_in(place.project)))
        assert done.output.stdout.total_bytes, done.output.stderr.text()
    assert seen[0][0] == 0, done.output.stderr.text()
    assert seen[1] == seen[0]
