"""One session for people: when, where, with which model and at what cost, what was said, how each call ended.

A journal may be larger than memory. It is read once, from its beginning to its end; what is to be shown is laid aside
as the text that it will be, on the disk when there is much of it.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

import click
import msgspec

from holdfast.app.plain_errors import for_people
from holdfast.cli.counted import counted
from holdfast.cli.tables import echo_all, relative_time, table
from holdfast.events import CallFinished, CallQueued, Event, TurnEnded, encode_json
from holdfast.lib.visible import visible
from holdfast.models.catalog import as_of, price_of
from holdfast.models.interface import Usage
from holdfast.models.prices import usage_cost_usd
from holdfast.session import CallRecord, Transcript
from holdfast.session.held import HeldTranscript
from holdfast.session.records import COMPACTION, MessageRecorded, NoteRecorded, SessionResumed

__all__ = ["SessionView", "Spending", "SpendingTranscript"]

_TEXT_CHARS = 2_000
_REASON_CHARS = 300
_LONGEST_REASON_CHARS = 10_000
_INPUT_CHARS = 60
_IN_MEMORY_BYTES = 4 << 20
_CALLS_AT_ONCE = 2_000
_CHUNK_CHARS = 1 << 16
_BETWEEN = "\x1f"
"""Between the cells of a row that is laid aside: no cell holds it, as what cannot be seen is spelled out."""


class Spending:
    """Which models answered, what they used, and what that costs by the list."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.models: Counter[str] = Counter()
        """How many answers each gave."""
        self.cost_usd = 0.0
        self.unpriced: set[str] = set()
        """Models whose price is not known."""

    def add(self, meta: dict[str, Any] | None) -> None:
        """Count one recorded message; only answers say which model and how much."""
        given = meta or {}
        model: Any = given.get("asked") or given.get("model")
        if not isinstance(model, str) or not model:
            return
        used: Any = given.get("usage")
        counts = cast("dict[str, Any]", used) if isinstance(used, dict) else {}
        known = {name: counts[name] for name in Usage.__struct_fields__ if type(counts.get(name)) is int}
        usage = Usage(**known)
        self.models[model] += 1
        self.usage += usage
        cost_usd = usage_cost_usd(price_of(model), usage)  # for each request: long ones may cost more
        if cost_usd is None:
            self.unpriced.add(model)
        else:
            self.cost_usd += cost_usd

    def to_wire(self) -> dict[str, Any]:
        """For programs."""
        is_known = bool(self.models) and not self.unpriced
        return {
            "models": dict(self.models),
            "usage": {name: getattr(self.usage, name) for name in Usage.__struct_fields__},
            "cost_usd": self.cost_usd if is_known else None,
        }

    def rows(self, summaries: int) -> list[tuple[str, str]]:
        """For people; nothing where no model answered."""
        if not self.models:
            return []
        named = (f"{visible(name, limit_chars=60)} ({counted(n, 'answer')})" for name, n in self.models.items())
        used = self.usage
        cached = used.cache_read_tokens + used.cache_write_tokens
        tokens = f"{used.input_tokens + cached:,} in, {used.output_tokens:,} out"
        if cached:
            tokens += f" ({used.cache_read_tokens:,} read from the cache, {used.cache_write_tokens:,} written to it)"
        if len(self.unpriced) == len(self.models):
            cost = "not known: no list price for this model"
        else:
            cost = f"${self.cost_usd:.4f} by the list prices of {as_of()}"
            left_out = [visible(name, limit_chars=60) for name in sorted(self.unpriced)]
            cost += f", without {', '.join(left_out)}" if left_out else ""
        if summaries:
            cost += f"; {counted(summaries, 'request')} for a summary not counted"
        return [("model", ", ".join(named)), ("tokens", tokens), ("cost", cost)]


class SpendingTranscript(HeldTranscript):
    """Counts what was spent on the way."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.spending = Spending()

    def take(self, record: Event) -> None:
        """Add the next record."""
        if isinstance(record, MessageRecorded):
            self.spending.add(record.meta)
        super().take(record)


class SessionView(Transcript):
    """Takes the records of a journal one by one, and keeps in memory what later ones speak of."""

    def __init__(self) -> None:
        super().__init__()
        self.spending = Spending()
        self._summaries = 0
        self._said = _aside()
        self._rows = _aside()
        self._widths = [0] * 5
        self._has_calls = False

    def take(self, record: Event) -> None:
        """Add the next record, and let go of what it was the last to need."""
        if isinstance(record, MessageRecorded):
            self.spending.add(record.meta)
            text = _spoken(record.content)
            if text:
                self._said.write(f"\n{record.role}:\n{_indented(text)}\n")
            return
        super().take(_without_text(record) if isinstance(record, CallFinished) else record)
        if isinstance(record, CallQueued):
            self.calls[-1].input = _shown_input(record.input)
        elif isinstance(record, NoteRecorded):
            self._summaries += record.kind == COMPACTION
        elif isinstance(record, TurnEnded | SessionResumed):
            self._lay_aside()
        if len(self.calls) > _CALLS_AT_ONCE:
            self._lay_aside(at_least=_CALLS_AT_ONCE // 2)
        self.entries.clear()
        self.notes.clear()
        self.queued.clear()
        self.file_reads.clear()
        self.restart = None

    def show(self, path: str) -> None:
        """Print it all."""
        self._lay_aside(at_least=len(self.calls))
        table(self._head(path))
        self._said.seek(0)
        while chunk := self._said.read(_CHUNK_CHARS):
            click.echo(chunk, nl=False)
        if self._has_calls:
            click.echo("\ncalls:")
            self._rows.seek(0)
            echo_all(self._call_lines())

    def close(self) -> None:
        """Let go of what was laid aside."""
        self._said.close()
        self._rows.close()

    def _lay_aside(self, *, at_least: int = 0) -> None:
        """Turn calls that nothing more can be said about into rows, in their order."""
        count = 0
        for call in self.calls:
            if count >= at_least and call.reply is None and not call.discarded:
                break
            count += 1
        for call in self.calls[:count]:
            cells = _cells(call)
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, cells, strict=False)]
            self._rows.write(_BETWEEN.join((*cells, _reason(call))) + "\n")
            self._has_calls = True
            self._forget(call)
        del self.calls[:count]

    def _forget(self, call: CallRecord) -> None:
        """No later record is told to this call."""
        self._recent.pop(call.id, None)
        waiting = self._open.get(call.id)
        if waiting and waiting[0] is call:
            waiting.popleft()

    def _call_lines(self) -> Iterator[str]:
        for line in self._rows:
            *cells, shown, reason = line.rstrip("\n").split(_BETWEEN)
            filled = [cell.ljust(width) for cell, width in zip(cells, self._widths, strict=True)]
            yield f"  {'  '.join([*filled, shown])}".rstrip()
            if reason:
                yield f"  {' ' * self._widths[0]}  {reason}"

    def _head(self, path: str) -> list[tuple[str, str]]:
        header = self.header
        began = "?"
        if header is not None:
            local = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(header.created_at))
            began = f"{local} ({relative_time(header.created_at, time.time())})"
        rows = [
            ("session", os.path.basename(path)),
            ("begun", began),
            ("project", visible(header.cwd) if header else "?"),
            ("files", visible(path)),
            ("turns", str(self.turns)),
            *self.spending.rows(self._summaries),
        ]
        if header is not None and header.parent:
            rows.append(("forked from", visible(header.parent)))
        damage = self._damage()
        return [*rows, ("damage", damage)] if damage else rows

    def _damage(self) -> str:
        counts = (
            (self.damaged_lines, "damaged lines"),
            (self.lost_lines, "lost lines"),
            (self.unknown_lines, "lines of a newer format"),
            (int(self.torn_tail), "torn last line"),
        )
        return ", ".join(f"{count} {what}" for count, what in counts if count)


def _aside() -> "SpooledTemporaryFile[str]":
    return SpooledTemporaryFile(
        max_size=_IN_MEMORY_BYTES, mode="w+", encoding="utf-8", errors="backslashreplace", newline="\n"
    )


def _without_text(reply: CallFinished) -> CallFinished:
    """A reply as far as it is shown: why it failed, not what it brought."""
    content = (reply.content if isinstance(reply.content, str) else _spoken(reply.content)) if reply.is_error else ""
    plain = for_people(content) if len(content) <= _LONGEST_REASON_CHARS else content[:_LONGEST_REASON_CHARS]
    return msgspec.structs.replace(reply, content=plain, data=None, new_messages=())


def _cells(call: CallRecord) -> tuple[str, ...]:
    reply = call.reply
    how = call.state if reply is None else f"{reply.outcome}{' (error)' if reply.is_error else ''}"
    took = f"{reply.duration_ms / 1000:.2f} s" if reply is not None else ""
    moment = time.strftime("%H:%M:%S", time.localtime(call.at)) if call.at else ""
    decided = visible(call.decision.behavior, limit_chars=20) if call.decision else ""
    shown = call.input if isinstance(call.input, str) else _shown_input(call.input)
    return (moment, visible(call.name, limit_chars=40), how, decided, took, shown)


def _shown_input(given: Any) -> str:
    return visible(encode_json(given).decode("utf-8", "replace"), limit_chars=_INPUT_CHARS)


def _reason(call: CallRecord) -> str:
    """Why a call failed, in one line; empty when it did not."""
    reply = call.reply
    if reply is None or not reply.is_error:
        return ""
    words = " ".join(str(reply.content)[: 4 * _REASON_CHARS].split())
    shown = words if len(words) <= _REASON_CHARS else f"{words[: _REASON_CHARS - 1]}…"
    return visible(shown) or "no reason was recorded"


def _spoken(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def _indented(text: str) -> str:
    shown = text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}\n… {len(text) - _TEXT_CHARS:,} characters more"
    return "\n".join(f"  {visible(line.expandtabs(4))}" for line in shown.split("\n"))
