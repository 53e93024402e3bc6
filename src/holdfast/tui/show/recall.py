"""A conversation that goes on: its last part, shown again as it was."""

from typing import Any, cast

from holdfast.tui.face import Face
from holdfast.tui.show.calls import Naming
from holdfast.tui.show.markdown import Piece
from holdfast.tui.show.view import prompt_lines
from holdfast.tui.show.words import Line, cut

__all__ = ["recall"]

_MESSAGES = 12
_TEXT_CHARS = 8_000


def recall(face: Face, naming: Naming, history: list[dict[str, Any]]) -> None:
    """Show the last messages; what was said before them is only counted."""
    from holdfast.agent.notes import OWN_WORDS  # noqa: PLC0415 - loaded with the agent

    left_out = max(0, len(history) - _MESSAGES)
    if left_out:
        face.commit([[], [("dim", f"✻ {left_out} earlier messages are not shown")]])
    for message in history[left_out:]:
        content = message.get("content")
        blocks = (
            cast("list[dict[str, Any]]", content) if isinstance(content, list) else [{"type": "text", "text": content}]
        )
        for block in blocks:
            if not str(block.get("text") or "").startswith(OWN_WORDS):
                _show(face, naming, str(message.get("role")), block)
    face.commit([[]])


def _show(face: Face, naming: Naming, role: str, block: dict[str, Any]) -> None:
    text = str(block.get("text") or "")
    if block.get("type") == "text" and text.strip():
        text = text[:_TEXT_CHARS]
        if role == "user":
            face.commit([[], *prompt_lines(text, face.columns - 1), []])
        else:
            face.commit([[]])
            face.commit_piece(Piece(text))
    elif block.get("type") == "tool_use":
        use = naming.use(str(block.get("name")), block.get("input"))
        line: Line = [("dim", "● "), ("dim", cut(use, face.columns - 3))]
        face.commit([line])
