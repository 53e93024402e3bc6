"""Build the site of docs/ into site/: every page in the navigation, every link checked. `make docs` runs it."""

import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TOP = {"index.md": "Overview", "start.md": "Start"}
SECTIONS = {
    "Guides": [
        "guides/first-agent.md",
        "guides/team-permissions.md",
        "guides/ci.md",
        "guides/testing-an-agent.md",
        "guides",
    ],
    "How it works": ["concepts/permissions.md", "concepts"],
    "Extend": ["extend/tool.md", "extend"],
    "Interfaces": ["terminal.md", "hosts.md", "editors.md"],
    "Reference": ["reference/settings.md", "reference/command-line.md", "reference/python.md", "reference"],
    "Tools": ["tools/README.md", "tools"],
}
"""Pages of the navigation; a folder stands for those of its pages that are not named."""


def navigation() -> list[Any]:
    """Every page once; what no section names comes last."""
    left = {str(path.relative_to(DOCS)): None for path in sorted(DOCS.rglob("*.md"))}
    found: list[Any] = []
    for page, title in TOP.items():
        left.pop(page)
        found.append({title: page})
    for title, places in SECTIONS.items():
        pages: list[str] = []
        for place in places:
            wanted = [place] if place in left else [page for page in left if page.startswith(f"{place}/")]
            pages += wanted
            for page in wanted:
                left.pop(page)
        found.append({title: pages})
    return [*found, {"Measurements": list(left)}]


def main(place: str = "site") -> int:
    """Build; 1 if a link leads nowhere."""
    try:
        build: Any = import_module("mkdocs.commands.build").build
        load_config: Any = import_module("mkdocs.config").load_config
        abort: Any = import_module("mkdocs.exceptions").Abort
    except ImportError:
        print("The site is not built: mkdocs is missing here; run `make setup`.")
        return 1
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    config: Any = load_config(str(ROOT / "mkdocs.yml"), nav=navigation(), strict=True, site_dir=str(ROOT / place))
    try:
        build(config)
    except abort as error:
        print(f"The site has problems: {error}")
        return 1
    print(f"{place}/index.html: {len(list((ROOT / place).rglob('*.html')))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
