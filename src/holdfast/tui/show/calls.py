"""All calls of a session: those that run as they are now, and those that ended as lines for good.

Calls that ran side by side are shown together, once all of them have ended. Calls that only read or searched become
one line, as long as nothing else comes between them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from holdfast.app.plain_errors import for_people
from holdfast.contract.render import Line as ToolLine
from holdfast.events import CallFinished
from holdfast.lib.visible import visible
from holdfast.tui.face import Face
from holdfast.tui.show.call import Call
from holdfast.tui.show.kept import Kept, KeptTexts
from holdfast.tui.show.outcomes import counted, text_of
from holdfast.tui.show.themes import agent_style
from holdfast.tui.show.words import HINT, Line, cut, wrapped

__all__ = ["CallBoard", "Naming"]

_USE_CHARS = 400
_STARTS_AGENTS = ("Agent", "Task")
_FOLDED = {"read": ("Read", "file"), "search": ("Searched", "time")}


class Naming:
    """How calls are named and grouped; the conversation knows its tools."""

    def __init__(self) -> None:
        self.use_of: Callable[[str, Mapping[str, Any]], str] = lambda name, _raw: name
        self.result_of: Callable[[CallFinished], Sequence[ToolLine] | None] = lambda _event: None
        self.fold_of: Callable[[str, Mapping[str, Any]], str | None] = lambda _name, _raw: None

        self.colour_of: Callable[[str], str] = lambda _type: ""

    def lead(self, name: str, raw: Any) -> str:
        """The style of the type of agent that a call begins with, where its definition wants a colour."""
        kind: Any = cast("Mapping[str, Any]", raw).get("subagent_type") if isinstance(raw, Mapping) else None
        colour = self.colour_of(kind) if name in _STARTS_AGENTS and isinstance(kind, str) else ""
        return agent_style(colour) if colour else ""

    def use(self, name: str, raw: Any) -> str:
        """A call in one safe line."""
        given = cast("Mapping[str, Any]", raw if isinstance(raw, Mapping) else {})
        return visible(self.use_of(name, given).replace("\n", "⏎"), limit_chars=_USE_CHARS)

    def fold(self, name: str, raw: Any) -> str | None:
        """Whether it reads or searches and does nothing else."""
        return self.fold_of(name, cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else None


class CallBoard:
    """Knows every call that has no line for good yet."""

    def __init__(self, face: Face, naming: Naming, kept: KeptTexts) -> None:
        self._face = face
        self._naming = naming
        self._kept = kept
        self._open: dict[str, Call] = {}
        self._ended: list[Call] = []
        """Ended, but others run beside them."""
        self._folded: list[Call] = []
        """Reads and searches that may become one line."""

    @property
    def running(self) -> list[str]:
        """The ids of the calls that run now, the oldest first."""
        return [id_ for id_, call in self._open.items() if call.state == "running"]

    @property
    def has_open(self) -> bool:
        """Some call is written, waits or runs."""
        return bool(self._open)

    @property
    def is_empty(self) -> bool:
        """Nothing to show for now."""
        return not (self._open or self._ended or self._folded)

    def find(self, id_: str) -> Call | None:
        """The call, unless it has ended."""
        return self._open.get(id_)

    # What happens to them.

    def grow(self, id_: str, name: str, partial_json: str) -> None:
        """A model writes a call."""
        call = self._open.get(id_)
        if call is None:
            call = self._open[id_] = Call(id_, name)
        if call.grow(partial_json):
            call.use = self._naming.use(name, call.partial_input())

    def queue(self, id_: str, name: str, raw: Any) -> None:
        """Its input is complete."""
        use = self._naming.use(name, raw)
        call = Call(id_, name, use=use, fold=self._naming.fold(name, raw))
        call.can_leave, call.lead = name in ("Bash", "Agent"), self._naming.lead(name, raw)
        self._open[id_] = call

    def ask(self, id_: str) -> None:
        """A person is asked about it; what was done before should be in sight."""
        self.unfold()
        if (call := self._open.get(id_)) is not None:
            call.state, call.was_asked = "asked", True

    def fill(self, id_: str) -> None:
        """A person is asked to fill in what it wants."""
        self.ask(id_)
        if (call := self._open.get(id_)) is not None:
            call.was_filled = True

    def start(self, id_: str) -> None:
        """It acts now."""
        call = self._open.get(id_)
        if call is None:
            return
        for other in self._open.values():
            if other.state == "running":
                other.is_together = call.is_together = True
        call.start()

    def drop(self, id_: str) -> None:
        """It leaves without a reply."""
        self._open.pop(id_, None)

    def drop_unfinished(self) -> None:
        """No more of what was only written will come."""
        self._open = {id_: call for id_, call in self._open.items() if call.state != "writing"}

    def finish(self, event: CallFinished, *, waits: bool = False) -> None:
        """Its one reply; shown for good with `settle` where it has to wait."""
        call = self._open.pop(event.tool_use_id, None) or Call(event.tool_use_id, event.name)
        call.event, call.state, call.drawn = event, "done", self._naming.result_of(event)
        path = event.spilled_to
        if path is None and isinstance(event.data, Mapping):
            path = cast("Mapping[str, Any]", event.data).get("persistedOutputPath")
        text = text_of(event.content)
        self._kept.add(Kept(call.use, for_people(text) if event.is_error else text, str(path) if path else None))
        self._ended.append(call)
        if not waits:
            self.settle()

    def settle(self) -> None:
        """Show what has ended, unless others still run beside it."""
        if self._ended and not any(other.is_together for other in self._open.values()):
            self._settle_ended()

    def clear(self) -> None:
        """Nothing of all this goes on."""
        self._settle_ended()
        self._open.clear()
        self.unfold()

    # For good.

    def unfold(self) -> None:
        """Something else follows: what was folded so far is one line."""
        calls, self._folded = self._folded, []
        if calls:
            self._face.commit([[], *self._folded_lines(calls, self._face.columns - 1), []])

    def _settle_ended(self) -> None:
        calls, self._ended = self._ended, []
        for _, found in groupby(calls, key=lambda call: call.is_together or call.id):
            group = list(found)
            if all(call.may_fold for call in group):
                self._folded += group
            else:
                self.unfold()
                self._face.commit([[], *self._group_lines(group, self._face.columns - 1), []])
                for picture in filter(None, (call.picture for call in group)):
                    self._face.commit_picture(picture)

    def _group_lines(self, calls: list[Call], columns: int) -> list[Line]:
        if len(calls) == 1:
            return [calls[0].head(columns), *self._fitted(calls[0], columns)]
        lines: list[Line] = [[("accent", "● "), ("bold", f"{len(calls)} calls side by side")]]
        for place, call in enumerate(calls):
            is_last = place == len(calls) - 1
            lines.append(call.head(columns, branch="  └ " if is_last else "  ├ "))
            lines += [[("dim", "    " if is_last else "  │ "), *line] for line in self._fitted(call, columns - 4)]
        return lines

    @staticmethod
    def _fitted(call: Call, columns: int) -> list[Line]:
        return [part for line in call.body() for part in wrapped(line, columns)]

    def _folded_lines(self, calls: list[Call], columns: int) -> list[Line]:
        if len(calls) == 1:
            return [calls[0].head(columns)]
        words = [
            f"{verb} {counted(number, noun)}"
            for kind, (verb, noun) in _FOLDED.items()
            if (number := sum(call.fold == kind for call in calls))
        ]
        said = ", ".join([words[0], *(word[0].lower() + word[1:] for word in words[1:])])
        names = ", ".join(call.use for call in calls)
        return [
            [("ok", "● "), ("", said), HINT],
            [("dim", cut(f"  ⎿ {names}", columns))],
        ]

    # For now.

    def live_lines(self, columns: int, rows: int) -> list[Line]:
        """Everything that has no line for good yet, in so many rows at most."""
        now = time.monotonic()
        lines: list[Line] = []
        if self._folded:
            lines += self._folded_lines(self._folded, columns)[: 1 if self._open or self._ended else 2]
        calls = [*self._ended, *self._open.values()]
        is_group = sum(call.is_together for call in calls) > 1
        if is_group:
            lines.append([("accent", "● "), ("bold", f"{len(calls)} calls side by side")])
        room = max(1, rows - len(lines))
        shown = calls if len(calls) <= room else calls[: room - 1]
        most_tail = min(4, (room - len(shown)) // max(1, len(shown)))
        for place, call in enumerate(shown):
            branch = ("  └ " if place == len(calls) - 1 else "  ├ ") if is_group else ""
            lines += call.live_lines(columns, most_tail=most_tail, now=now, branch=branch)
        if len(shown) < len(calls):
            lines.append([("dim", f"  … and {len(calls) - len(shown)} more calls")])
        return lines
