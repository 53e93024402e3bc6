"""What it costs to start: `--version`, `import`, and the whole command line."""

import subprocess
import sys
from pathlib import Path

from measure import Row, interleaved, row

PYTHON = sys.executable
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def rows() -> list[Row]:
    """Whole processes, interleaved."""
    bare, version, libraries, ours = interleaved(
        lambda: _run(PYTHON, "-c", "pass"),
        lambda: _run(HOLDFAST, "--version"),
        lambda: _run(PYTHON, "-c", "import asyncio, pydantic; pydantic.BaseModel"),
        lambda: _run(PYTHON, "-c", "from holdfast import Executor, tool"),
        rounds=15,
    )
    return [
        row("holdfast --version", version * 1e3, bare * 1e3, unit="ms", limit=3.0, against="python -c pass"),
        row("import Executor, tool", ours * 1e3, libraries * 1e3, unit="ms", limit=1.5, against="asyncio, pydantic"),
    ]
