"""Drive our agent with the programs that people drive agents with, unchanged, and write the table of docs/hosts.md.

    python scripts/host_clients.py [python|npm|old|adapter|acpx ...] [--only WORD]

Their packages are installed into .cache/hosts; the model is one that does what a prompt says. Ends with 1 if anything
fails. With all clients, and none left out, the table is written anew.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from mcp_packages import node, npm

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "hosts"
PROBES = ROOT / "scripts" / "conformance" / "probes"
PYTHON_PACKAGES = {"python": ("claude-agent-sdk==0.2.184",), "old": ("claude-code-sdk==0.0.25", "mcp<2")}
"""Each in an environment of its own: the old SDK needs an old library."""
NPM_PACKAGES = (
    "@anthropic-ai/claude-agent-sdk@0.3.327",
    "@zed-industries/claude-agent-acp@0.23.1",
    "acpx@0.19.1",
    "zod@4",
)
PAGE = ROOT / "docs" / "hosts.md"
BEGIN, END = "<!-- clients: make conformance -->", "<!-- end of clients -->"
LIMIT_S = 900


class Case(NamedTuple):
    """One thing that a client does."""

    name: str
    is_fine: bool
    detail: str = ""


class Client(NamedTuple):
    """A program of others, and how its cases are run."""

    title: str
    run: Callable[[dict[str, str], str], list[Case]]


def _python(name: str) -> str:
    return str(PLACE / name / "bin" / "python")


def install() -> str:
    """Install what is missing; why that is not possible, empty when all is there."""
    PLACE.mkdir(parents=True, exist_ok=True)
    told = PLACE / "installed"
    wanted = "\n".join((*(one for several in PYTHON_PACKAGES.values() for one in several), *NPM_PACKAGES))
    if told.exists() and told.read_text() == wanted:
        return ""
    command, program = npm(), node()
    if command is None or program is None:
        return "neither npm nor the node of the development set is there"
    environ = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    steps: list[list[str]] = []
    for name, packages in PYTHON_PACKAGES.items():
        steps.append([sys.executable, "-m", "venv", str(PLACE / name)])
        steps.append([_python(name), "-m", "pip", "install", "--quiet", *packages])
    steps.append([*command, "install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix", str(PLACE)])
    steps[-1] += NPM_PACKAGES
    for argv in steps:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False, env=environ)
        if done.returncode:
            return f"{' '.join(argv[:4])} failed: {(done.stderr or done.stdout).strip()[-300:]}"
    told.write_text(wanted)
    return ""


@contextmanager
def surroundings() -> Generator[dict[str, str]]:
    """A home of its own, the model, and our program under the name that the clients look for."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        home = Path(os.path.realpath(place))
        agent = Path(sys.executable).with_name("holdfast")
        (home / "bin").mkdir()
        (home / "bin" / "claude").symlink_to(agent)
        program = node()
        assert program is not None
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CLAUDE", "ANTHROPIC"))
        }
        kept |= {"HOME": str(home), "AGENT": str(agent), "ANTHROPIC_API_KEY": "none"}
        kept |= {"ANTHROPIC_MODEL": "claude-sonnet-4-5"}
        kept["PATH"] = os.pathsep.join((str(home / "bin"), str(program.parent), kept.get("PATH", "")))
        argv = [sys.executable, str(ROOT / "scripts" / "conformance" / "obliging_model.py")]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as model:
            assert model.stdout is not None
            kept["ANTHROPIC_BASE_URL"] = model.stdout.readline().strip()
            try:
                yield kept
            finally:
                model.terminate()


def _cases(argv: list[str], environ: dict[str, str]) -> list[Case]:
    """What the probes say, a line each."""
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=environ,
        cwd=PLACE,
        stdin=subprocess.DEVNULL,
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    cases = [Case(one["case"].replace("_", " "), one["ok"], one.get("detail", "")) for one in found]
    return cases or [Case("the probes start", is_fine=False, detail=(done.stderr or done.stdout)[-600:])]


def _with_python(script: str, name: str = "python") -> Callable[[dict[str, str], str], list[Case]]:
    def run(environ: dict[str, str], word: str) -> list[Case]:
        return _cases([_python(name), str(PROBES / script), *([word] if word else [])], environ)

    return run


def _npm(environ: dict[str, str], word: str) -> list[Case]:
    return _cases(["node", str(PROBES / "npm_probes.mjs"), *([word] if word else [])], environ)


def _adapter(environ: dict[str, str], word: str) -> list[Case]:
    program = PLACE / "node_modules" / "@zed-industries" / "claude-agent-acp" / "dist" / "index.js"
    return _with_python("editor_probes.py")({**environ, "ADAPTER": f"node {program}"}, word)


def _acpx(environ: dict[str, str], word: str) -> list[Case]:
    """A headless editor writes a file, and does not when nobody allows it."""
    del word
    found: list[Case] = []
    for flag, is_there in (("--approve-all", True), ("--deny-all", False)):
        with tempfile.TemporaryDirectory() as folder:
            made = Path(os.path.realpath(folder)) / "made.txt"
            call = json.dumps({"file_path": str(made), "content": "words"})
            argv = ["node", str(PLACE / "node_modules" / "acpx" / "dist" / "cli.js"), "--agent"]
            argv += [f"{environ['AGENT']} acp", flag, "--format", "json", "--cwd", str(made.parent), "exec"]
            said = f"CALL Write {call}\nSAY done"
            done = subprocess.run(
                [*argv, said],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                env=environ,
                stdin=subprocess.DEVNULL,
            )
            is_fine = made.exists() is is_there and '"stopReason":"end_turn"' in done.stdout
            detail = "" if is_fine else (done.stdout + done.stderr)[-600:]
            found.append(Case(f"exec {flag}", is_fine, detail))
    return found


CLIENTS = {
    "python": Client("PyPI `claude-agent-sdk`", _with_python("python_probes.py")),
    "npm": Client("npm `@anthropic-ai/claude-agent-sdk`", _npm),
    "old": Client("PyPI `claude-code-sdk`", _with_python("old_probes.py", "old")),
    "adapter": Client("npm `@zed-industries/claude-agent-acp` (editors)", _adapter),
    "acpx": Client("npm `acpx` (editors without a screen)", _acpx),
}
VERSIONS = dict(zip(CLIENTS, ("0.2.184", "0.3.327", "0.0.25", "0.23.1", "0.19.1"), strict=True))


def table(found: dict[str, list[Case]]) -> str:
    """The table as Markdown, with what does not hold below it."""
    rows = ["| client | version | cases | hold |", "|---|---|---|---|"]
    rows += [
        f"| {CLIENTS[name].title} | {VERSIONS[name]} | {len(cases)} | {sum(case.is_fine for case in cases)} |"
        for name, cases in found.items()
    ]
    failed = [
        f"- {CLIENTS[name].title}: {case.name}" for name, cases in found.items() for case in cases if not case.is_fine
    ]
    return "\n".join((*rows, *(("", "What does not hold:", "", *failed) if failed else ())))


def write_table(text: str) -> None:
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


def main(words: list[str]) -> int:
    only = words[words.index("--only") + 1] if "--only" in words else ""
    wanted = [word for word in words if word in CLIENTS] or list(CLIENTS)
    problem = install()
    if problem:
        print(f"The clients are not installed: {problem}")
        return 1
    found: dict[str, list[Case]] = {}
    with surroundings() as environ:
        for name in wanted:
            cases = found[name] = CLIENTS[name].run(environ, only)
            print(f"{CLIENTS[name].title}: {sum(case.is_fine for case in cases)} of {len(cases)}", flush=True)
            for case in cases:
                if not case.is_fine:
                    print(f"  FAILED {case.name}\n    {case.detail[:1500]}", flush=True)
    if len(found) == len(CLIENTS) and not only:
        write_table(table(found))
    return 0 if all(case.is_fine for cases in found.values() for case in cases) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
