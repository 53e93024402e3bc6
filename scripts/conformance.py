"""Hold our client and server against the conformance suite of MCP's authors, and against programs of others.

    python scripts/conformance.py [client|server|others|hosts ...]

Both revisions of the protocol, client and server, with every scenario of their frozen requirement sets and those that
the suite runs beside them. Nothing is expected to fail: what we do not claim is named in NOT_CLAIMED, and counts
neither way. Ends with 1 if anything else failed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from host_clients import main as hosts
from mcp_packages import FOR_CONFORMANCE, FOR_TESTS, PLACE, install, node

ROOT = Path(__file__).parents[1]
BIN = PLACE / "node_modules" / ".bin"
REVISIONS = ("2025-11-25", "2026-07-28")
NOT_CLAIMED = (
    "tasks-",  # an extension: work that outlives a request
    "sep-2640-skills",  # an extension: our server offers no skills
    "auth/dpop",  # an extension: tokens bound to a key
    "auth/wif",  # an extension: workload identity
)
SKILLS = tuple(
    f"sep-2640-client-{name}" for name in ("no-prefetch", "verify-digest", "verify-size", "verify-frontmatter")
)
"""Of the extension that our client knows; the suite has no set of requirements for extensions."""
OUTCOME = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)


def environ() -> dict[str, str]:
    program = node()
    place = "" if program is None else f"{program.parent}{os.pathsep}"
    return {**os.environ, "PATH": f"{place}{os.environ.get('PATH', '')}"}


def run(*argv: str, seconds: float = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, timeout=seconds, check=False, env=environ(), cwd=ROOT)


@contextmanager
def our_server() -> Generator[str]:
    argv = [sys.executable, str(ROOT / "tests" / "conformance" / "server.py")]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def judged(what: str, output: str, alone: Callable[[str], bool]) -> bool:
    """Print each scenario's outcome; true when all that we claim passed, and something ran at all.

    The suite starts all clients at once, which a small machine does not always stand: what fails is tried alone.
    """
    found = [(name, int(passed), int(failed)) for name, passed, failed in OUTCOME.findall(output)]
    claimed = [row for row in found if not row[0].startswith(NOT_CLAIMED)]
    again = [row for row in claimed if row[2]]
    failures = [row for row in again if not alone(row[0])]
    print(f"{what}: {len(claimed)} scenarios, {sum(row[1] for row in claimed)} checks passed, {len(failures)} failed")
    if again:
        print(f"  tried again alone: {', '.join(row[0] for row in again)}")
    for name, _, failed in failures:
        print(f"  FAILED {name}: {failed} checks")
    if skipped := sorted({name for name, _, _ in found if name.startswith(NOT_CLAIMED)}):
        print(f"  not claimed: {', '.join(skipped)}")
    if not found:
        print(output[-2000:])
    return bool(found) and not failures


def suite(*words: str) -> subprocess.CompletedProcess[str]:
    return run(str(BIN / "conformance"), *words, "--timeout", "180000", seconds=900)


def passes(role: tuple[str, ...], revision: str, place: str, scenario: str) -> bool:
    """One scenario, alone."""
    again = suite(*role, "--scenario", scenario, "--spec-version", revision, "--force", "-o", place)
    return again.returncode == 0


def server_legs() -> bool:
    fine = True
    with our_server() as url, tempfile.TemporaryDirectory() as place:
        for revision in REVISIONS:
            role = ("server", "--url", url)
            done = suite(*role, "--requirements", revision, "-o", place)
            fine = judged(f"server, {revision}", done.stdout, partial(passes, role, revision, place)) and fine
    return fine


def client_legs() -> bool:
    fine = True
    command = f"{sys.executable} {ROOT / 'tests' / 'conformance' / 'client.py'}"
    with tempfile.TemporaryDirectory() as place:
        for revision in REVISIONS:
            role = ("client", "--command", command)
            done = suite(*role, "--requirements", revision, "-o", place)
            fine = judged(f"client, {revision}", done.stdout, partial(passes, role, revision, place)) and fine
        failed = [one for one in SKILLS if not passes(("client", "--command", command), REVISIONS[-1], place, one)]
    words = f"FAILED: {', '.join(failed)}" if failed else "passed"
    print(f"client, {len(SKILLS)} scenarios with skills of servers: {words}")
    return fine and not failed


def others() -> bool:
    """The Inspector as a client of ours, and two more servers that people use."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        (place / "a.txt").write_text("one\n")
        return all([_inspector(place), _filesystem(place), _memory(place)])


def _said(what: str, done: subprocess.CompletedProcess[str], wanted: str) -> bool:
    is_fine = done.returncode == 0 and wanted in done.stdout
    print(f"{what}: {'passed' if is_fine else 'FAILED'}")
    if not is_fine:
        print(done.stdout[-1000:], done.stderr[-1000:])
    return is_fine


def _inspector(place: Path) -> bool:
    inspect = [str(BIN / "mcp-inspector"), "--cli", sys.executable, "-m", "holdfast", "mcp", "serve"]
    inspect += ["--cwd", str(place), "--tools", "Read,Grep"]
    listed = run(*inspect, "--method", "tools/list", "--strict")
    path = f"file_path={place / 'a.txt'}"
    called = run(*inspect, "--method", "tools/call", "--tool-name", "Read", "--tool-arg", path)
    return _said("Inspector lists our tools", listed, '"Read"') and _said("Inspector calls our Read", called, "one")


def _holdfast(
    place: Path, config: dict[str, object], tool: str, arguments: dict[str, object]
) -> "subprocess.CompletedProcess[str]":
    given = json.dumps({"mcpServers": {"other": config}})
    rest = ("--mcp-config", given, "--strict-mcp-config", "--cwd", str(place))
    return run(sys.executable, "-m", "holdfast", "mcp", "call", "other", tool, json.dumps(arguments), *rest)


def _filesystem(place: Path) -> bool:
    config: dict[str, object] = {"command": str(BIN / "mcp-server-filesystem"), "args": [str(place)]}
    config["env"] = {"PATH": environ()["PATH"]}
    inside = _holdfast(place, config, "read_text_file", {"path": str(place / "a.txt")})
    outside = _holdfast(place, config, "read_text_file", {"path": "/etc/hostname"})
    is_kept = outside.returncode == 1
    print(f"server-filesystem keeps to its directory: {'passed' if is_kept else 'FAILED'}")
    return _said("server-filesystem reads a file", inside, "one") and is_kept


def _memory(place: Path) -> bool:
    config: dict[str, object] = {"command": str(BIN / "mcp-server-memory")}
    config["env"] = {"PATH": environ()["PATH"], "MEMORY_FILE_PATH": str(place / "memory.json")}
    entity = {"name": "Ada", "entityType": "person", "observations": ["likes engines"]}
    made = _holdfast(place, config, "create_entities", {"entities": [entity]})
    found = _holdfast(place, config, "search_nodes", {"query": "engines"})
    return _said("server-memory remembers", made, "Ada") and _said("server-memory finds", found, "Ada")


def main() -> int:
    if sys.argv[1:] == ["hosts"]:
        return hosts([])
    problem = install((*FOR_TESTS, *FOR_CONFORMANCE))
    if problem:
        print(f"The conformance suite is not installed: {problem}")
        return 1
    legs = {"server": server_legs, "client": client_legs, "others": others, "hosts": lambda: hosts([]) == 0}
    wanted = sys.argv[1:] or list(legs)
    outcomes = {name: legs[name]() for name in wanted}
    print("conformance: " + ", ".join(f"{name} {'passed' if fine else 'FAILED'}" for name, fine in outcomes.items()))
    return 0 if all(outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
