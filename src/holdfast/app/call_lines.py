"""Calls as people see them: what their tools draw, the same for every face. A tool that cannot is drawn plainly."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from holdfast.app.plain_errors import for_people
from holdfast.contract.render import Line, Rendering, ShownResult, lines_of, text_of
from holdfast.events import CallFinished

__all__ = ["CallLines"]

_log = logging.getLogger(__name__)
_Drawn = TypeVar("_Drawn")


class CallLines:
    """Draws calls. What comes out may hold anything that a model or a command wrote: a face makes it safe."""

    def __init__(self, find: Callable[[str], Rendering | None]) -> None:
        """Take how a tool is found by its name."""
        self._find = find

    def use(self, name: str, raw: Mapping[str, Any]) -> str:
        """The call in one line; its name alone where nothing of its input is known."""
        if not raw:
            return name
        return " ".join(self._draw(name, lambda tool: text_of(tool.render_use(raw))).split("\n"))

    def progress(self, name: str, data: Any) -> str:
        """How it goes on, in one line; empty where there is nothing to say."""
        lines = self._draw(name, lambda tool: text_of(tool.render_progress(data))).rstrip().splitlines()
        return lines[-1] if lines else ""

    def result(self, event: CallFinished, *, condensed: bool = True) -> list[Line]:
        """What came of it: its result, or why it failed or was refused."""
        text = text_of_content(event.content)
        if event.is_error:
            return lines_of(for_people(text))
        told = ShownResult(event.data, text, event.display)
        return self._draw(event.name, lambda tool: lines_of(tool.render_result(told, condensed=condensed)))

    def own_result(self, event: CallFinished) -> list[Line] | None:
        """What its tool draws of a result by itself; none where it leaves that to the face, or where it failed."""
        tool = self._find(event.name)
        is_own = tool is not None and type(tool).render_result is not Rendering.render_result
        return self.result(event) if is_own and not event.is_error else None

    def _draw(self, name: str, deed: Callable[[Rendering], _Drawn]) -> _Drawn:
        tool = self._find(name)
        if tool is not None:
            try:
                return deed(tool)
            except Exception:  # noqa: BLE001 - a tool of the user draws, and no drawing stops the work
                _log.exception("%s cannot be drawn by itself", name)
        return deed(_Plain(name))


class _Plain(Rendering):
    """A tool that nobody knows here, or that cannot draw itself."""

    def __init__(self, name: str) -> None:
        self.name = name


def text_of_content(content: str | list[dict[str, Any]]) -> str:
    """What the model reads, as text."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", f"[{block.get('type')}]")) for block in content)
