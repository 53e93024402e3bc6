"""The site of the docs: every page is in it, every link leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_site_has_every_page_and_no_dead_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    code = f"import sys; sys.path.insert(0, 'scripts'); import build_site; sys.exit(build_site.main({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(tmp_path).with_suffix("") for path in tmp_path.rglob("*.html")}
    assert {Path("tools/index") if page == Path("tools/README") else page for page in pages} <= built
    first = (tmp_path / "index.html").read_text("utf-8")
    for page in ("guides/first-agent.html", "reference/settings.html", "tools/index.html"):
        assert f'href="{page}"' in first
    # Pages that are opened from the disk can be searched: the index is a script, and so is what runs the search there.
    assert 'src="assets/iframe-worker.js"' in first
    assert (tmp_path / "search" / "search_index.js").read_text("utf-8").startswith("var __index = ")
    outside = re.findall(r'(?:src|href)="(https?://[^"]+)"', first)
    assert [address for address in outside if "squidfunk.github.io" not in address] == []
