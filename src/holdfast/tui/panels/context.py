"""What fills the model's window: an entry for each tool, server and kind of message."""

from typing import TYPE_CHECKING

from holdfast.app.ledger import Entry, Ledger, ledger_of
from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.panels.pages import Page, TextPage
from holdfast.tui.show.outcomes import counted
from holdfast.tui.show.words import Line

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["context_page"]

_BAR = 30
_SHOWN = 12


def context_page(agent: "RunningAgent") -> Page:
    """The ledger as it is now."""
    lines = _lines(ledger_of(agent))
    return TextPage("What fills the model's window", lambda: lines)


def _lines(ledger: Ledger) -> list[Line]:
    window = ledger.window or 1
    filled = min(_BAR, _BAR * ledger.used // window)
    share = 100 * ledger.used // window
    bar: Line = [("accent" if share < 80 else "warn", "█" * filled), ("dim", "░" * (_BAR - filled))]
    return [
        [*bar, ("", f"  {ledger.used:,} of {ledger.window:,} tokens ({share} %)")],
        [("dim", "the entries are estimates; the sum above is the provider's count where there is one")],
        [],
        *_part("system prompt", ledger.system, ledger.instructions),
        *_part("tools", sum(entry.tokens for entry in ledger.tools), ledger.tools)[:-1],
        *([[("dim", f"{'':>13}{counted(ledger.deferred, 'more tool')} only named")]] if ledger.deferred else []),
        [],
        *_part("servers", sum(entry.tokens for entry in ledger.servers), ledger.servers, "tools"),
        *_part("calls and results", sum(entry.tokens for entry in ledger.results), ledger.results, "blocks"),
        *_part("prompts and answers", ledger.said, ()),
    ]


def _part(name: str, tokens: int, entries: tuple[Entry, ...], of_what: str = "") -> list[Line]:
    lines: list[Line] = [[("bold", f"{tokens:>9,}  {name}")]]
    for entry in entries[:_SHOWN]:
        more = f"  {entry.number} {of_what}" if of_what else ""
        lines.append([("", f"{entry.tokens:>9,}    {visible(home_relative(entry.name))}"), ("dim", more)])
    if len(entries) > _SHOWN:
        rest = entries[_SHOWN:]
        lines.append([("dim", f"{sum(entry.tokens for entry in rest):>9,}    {len(rest)} more")])
    return [*lines, []]
