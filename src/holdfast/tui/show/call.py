"""One call as the screen knows it, from the first letter of its name to its one reply."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from holdfast.contract.render import Line as ToolLine
from holdfast.events import CallFinished
from holdfast.lib.visible import visible
from holdfast.tui.show.outcomes import body_of, facts_of
from holdfast.tui.show.pictures import Picture, picture_in
from holdfast.tui.show.words import Line, cells, cut

__all__ = ["Call", "CallState"]

CallState = Literal["writing", "waiting", "asked", "running", "done"]
_PARTIAL_CHARS = 4_000
"""So much of an input that still arrives is looked at."""
_TAIL_LINES = 4
_HINT_AFTER_S = 2.0
_SHOWN_LINES, _OWN_LINES = 7, 200
_NARROW, _LEAST_USE = 60, 16


class Call:
    """What is known of one call."""

    def __init__(self, id_: str, name: str, *, use: str = "", fold: str | None = None) -> None:
        self.id = id_
        self.name = name
        self.use = use or visible(name)
        self.lead = ""
        """The style of its first word, where a person gave that one a colour."""
        self.state: CallState = "waiting"
        self.is_together = False
        """It ran beside others."""
        self.is_own = id_.startswith("user-") and name == "Bash"
        """The person ran it."""
        self.fold = None if self.is_own else fold
        """Many of its kind may be one line: `search` or `read`."""
        self.was_asked = False
        """A person had it before them, with what it changes."""
        self.was_filled = False
        """The person has seen its questions or its plan, and their own answers."""
        self.can_leave = False
        """It can go on in the background."""
        self.began_s = time.monotonic()
        self.tail: list[str] = []
        self.line_count = 0
        self.event: CallFinished | None = None
        self.drawn: Sequence[ToolLine] | None = None
        """What its tool draws of the result; none: what everybody would."""
        self._partial = ""
        self.arrived_chars = 0

    # While its input arrives.

    def grow(self, partial_json: str) -> bool:
        """More of the input; whether it can change what is shown of it."""
        self.state = "writing"
        self.arrived_chars += len(partial_json)
        room = _PARTIAL_CHARS - len(self._partial)
        self._partial += partial_json[:room]
        return room > 0

    def partial_input(self) -> Mapping[str, Any]:
        """What of the input is there."""
        from pydantic_core import from_json  # noqa: PLC0415 - loaded with the agent

        try:
            found: Any = from_json(self._partial, allow_partial="trailing-strings")
        except ValueError:
            return {}
        return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}

    # While it runs.

    def start(self) -> None:
        """It acts from now on."""
        self.state = "running"
        self.began_s = time.monotonic()

    def report(self, data: Any) -> None:
        """How its work goes on."""
        if isinstance(data, Mapping):
            told = cast("Mapping[str, Any]", data)
            count = told.get("totalLines")
            self.line_count = count if isinstance(count, int) else 0
            data = str(told.get("fullOutput") or told.get("message") or "")[-4_000:]
        lines = str(data).rstrip().expandtabs(4).split("\n")
        self.tail = [visible(line, limit_chars=400) for line in lines[-_TAIL_LINES:] if line.strip()]

    def live_lines(self, columns: int, *, most_tail: int, now: float, branch: str = "") -> list[Line]:
        """The call for now: its state, and the last of what it told."""
        style, mark, words = self._state(now, is_narrow=columns < _NARROW)
        room = max(10, columns - cells(branch) - 3 - len(words))
        head: Line = [("dim", branch), (style, f"{mark} "), *self._use(room), ("dim", f" {words}")]
        inset = " " * cells(branch)
        tail = self.tail[-most_tail:] if most_tail and self.state == "running" else []
        return [
            head,
            *([("dim", cut(f"{inset}  {'⎿' if not at else ' '} {line}", columns))] for at, line in enumerate(tail)),
        ]

    def _use(self, room: int) -> Line:
        shown = cut(self.use, room)
        word = shown.partition(":")[0] if self.lead else ""
        return [(self.lead, word), ("", shown[len(word) :])] if word else [("", shown)]

    def _state(self, now: float, *, is_narrow: bool) -> tuple[str, str, str]:
        if self.state == "writing":
            return "dim", "○", f"writing {_size(self.arrived_chars)}" if self.arrived_chars > 200 else "writing"
        if self.state == "waiting":
            return "dim", "○", "waiting"
        if self.state == "asked":
            return "warn", "?", "asks you"
        if self.state == "done":
            return ("bad", "●", "failed") if self.event is not None and self.event.is_error else ("ok", "●", "done")
        elapsed = now - self.began_s
        words = [f"{elapsed:.0f} s"]
        if self.line_count:
            words.append(f"{self.line_count:,} lines")
        if self.can_leave and elapsed >= _HINT_AFTER_S:
            words.append("Ctrl-B" if is_narrow else "Ctrl-B: background")
        return "accent", "●", " · ".join(words)

    # When it has ended.

    def head(self, columns: int, *, branch: str = "") -> Line:
        """Its own line for good."""
        event = self.event
        assert event is not None
        style, word = ("ok", "") if not event.is_error else ("bad", " failed")
        if event.outcome == "denied":
            word = " refused"
        elif event.outcome == "cancelled":
            style, word = "warn", " stopped"
        took = f" {event.duration_ms / 1000:.1f} s" if event.duration_ms >= 100 else ""
        facts = f" · {found}" if (found := facts_of(event)) else ""
        room = columns - cells(branch) - 2 - cells(word + took + facts)
        if room < _LEAST_USE:  # what it was counts for more than what came of it
            room, facts = room + cells(facts), ""
        return [
            ("dim", branch),
            (style, "● "),
            *self._use(max(10, room)),
            (style, word),
            ("dim", f"{facts}{took}"),
        ]

    def body(self) -> list[Line]:
        """What stands under it for good; what the person ran themselves is shown at length."""
        if self.event is None or (self.was_filled and not self.event.is_error):
            return []
        most = _OWN_LINES if self.is_own else _SHOWN_LINES
        return body_of(self.event, self.drawn, has_diff=not self.was_asked, most=most)

    @property
    def picture(self) -> Picture | None:
        """What it read, if that is a picture."""
        return None if self.event is None or self.event.is_error else picture_in(self.event.data)

    @property
    def may_fold(self) -> bool:
        """It read or searched, and all went well: nothing of it must be seen."""
        return self.fold is not None and self.event is not None and not self.event.is_error and self.picture is None


def _size(chars: int) -> str:
    return f"{chars} characters" if chars < 1_000 else f"{chars / 1000:.1f} KB"
