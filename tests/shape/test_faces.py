"""Faces see an agent by its face alone: what stands behind it may change without them."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "holdfast"
FACES = ("cli", "tui", "web", "acp")
BEHIND = frozenset({"loop", "opened"})


def reaches_behind(text: str) -> list[str]:
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in BEHIND and ast.unparse(node.value).endswith("agent")
    ]


def test_no_face_reaches_behind_the_running_agent() -> None:
    found = {
        str(path.relative_to(SOURCE)): places
        for room in FACES
        for path in sorted((SOURCE / room).rglob("*.py"))
        if (places := reaches_behind(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("text", ["self._agent.opened.executor.state.cwd", "agent.loop.model"])
def test_the_search_sees_it(text: str) -> None:
    assert len(reaches_behind(text)) == 1
