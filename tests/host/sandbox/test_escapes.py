"""No way out of the sandbox: many tries in one command, and what is outside looked at afterwards."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.host.sandbox.escapes import CALLS, LINES
from tests.host.sandbox.surroundings import Outside, snapshot, tried

from holdfast.host.command import Finished

Run = Callable[..., Finished]


@pytest.mark.parametrize("group", sorted(LINES))
def test_no_command_gets_out(run: Run, project: Path, outside: Outside, group: str) -> None:
    if os.geteuid() == 0 and group == "kernel":
        shutil.copy("/usr/bin/python3", project / "setuid")
        (project / "setuid").chmod(0o4755)
        os.chown(project / "setuid", 1, 1)
        (project / "setuid").chmod(0o4755)
    before = snapshot(*outside.kept)
    text, lines = tried(LINES[group])
    done = run(text, outside.policy, env={**outside.variables, **lines})
    assert done.output.stdout.text() == "all tried\n"
    assert snapshot(*outside.kept) == before
    assert not outside.has_guests()
    assert outside.process.poll() is None
    names = {".claude", ".holdfast", ".mcp.json"}
    assert names.isdisjoint(os.listdir(project))
    assert not (project / ".git" / "commondir").exists()


def test_no_system_call_gets_out(run: Run, project: Path, outside: Outside) -> None:
    before = snapshot(*outside.kept)
    (project / "calls.py").write_text(CALLS, encoding="utf-8")
    done = run("python3 calls.py", outside.policy, env=outside.variables)
    assert done.output.stdout.text() == f"tried {CALLS.count('lambda: ') + 3}\n"
    assert snapshot(*outside.kept) == before
    assert not outside.has_guests()


def test_there_are_many_tries_and_without_a_sandbox_they_work(project: Path) -> None:
    assert sum(map(len, LINES.values())) + CALLS.count("lambda: ") >= 250
    text, lines = tried(LINES["governing"])
    done = subprocess.run(
        ["/bin/bash", "-c", text], cwd=project, env={**os.environ, **lines, "FIXED": "code.py"}, stdout=subprocess.PIPE,
        timeout=60, check=True,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) > 25


OPERATIONS = """
import json, os, sys
do = {
    "rename": os.rename, "link": lambda a, b: os.link(a, b, follow_symlinks=False), "symlink": os.symlink,
    "unlink": lambda a, b: os.unlink(a), "rmdir": lambda a, b: os.rmdir(a), "mkdir": lambda a, b: os.mkdir(a),
    "write": lambda a, b: open(a, "w").write("EVIL"), "append": lambda a, b: open(a, "a").write("EVIL"),
    "chmod": lambda a, b: os.chmod(a, 0o777), "replace": os.replace, "truncate": lambda a, b: os.truncate(a, 0),
}
count = 0
for name, a, b in json.load(open("operations.json")):
    try:
        do[name](a, b)
        count += 1
    except OSError:
        pass
print(count)
"""
KINDS = ("rename", "link", "symlink", "unlink", "rmdir", "mkdir", "write", "append", "chmod", "replace", "truncate")
NAMES = (
    ".git", ".git/config", ".git/hooks", ".git/hooks/x", ".git/commondir", ".git/HEAD", ".git/objects", ".claude",
    ".claude/settings.json", ".claude/hooks", ".holdfast", ".holdfast/settings.json", ".mcp.json", "a", "a/b",
    "a/b/kept", "a/c", "d", "d/e", "code.py", "kept-dir", "kept-dir/file", "sub/.git", "../out", "../out/kept",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(int(os.environ.get("SANDBOX_SEEDS", "4"))))
def test_random_changes_leave_what_is_protected_as_it_was(run: Run, project: Path, outside: Outside, seed: int) -> None:
    chance = random.Random(seed)
    (project / "a" / "b").mkdir(parents=True)
    (project / "a" / "b" / "kept").write_text("kept", encoding="utf-8")
    if seed % 2:
        (project / ".claude").mkdir()
        (project / ".claude" / "settings.json").write_text("{}", encoding="utf-8")
    kept = [*outside.kept, project / "a" / "b" / "kept", *([project / ".claude"] if seed % 2 else [])]
    given = msgspec.structs.replace(outside.policy, fixed=(*outside.policy.fixed, str(project / "a" / "b" / "kept")))
    before = snapshot(*kept)
    operations = [(chance.choice(KINDS), chance.choice(NAMES), chance.choice(NAMES)) for _ in range(3000)]
    (project / "operations.json").write_text(json.dumps(operations), encoding="utf-8")
    (project / "operate.py").write_text(OPERATIONS, encoding="utf-8")
    done = run("python3 operate.py", given)
    assert int(done.output.stdout.text()) > 20, done.output.stderr.text()
    assert snapshot(*kept) == before
    made = {".holdfast", ".mcp.json", *(() if seed % 2 else (".claude",))}
    assert made.isdisjoint(os.listdir(project))
    assert not os.path.lexists(project / ".git" / "commondir")
