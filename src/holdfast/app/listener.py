"""Who hears everything that happens in an agent, and hands it on."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.events import AssistantReplied, ContextCompacted, Event, ResultsSent, RunEnded, TaskChanged

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.app.place import Place
    from holdfast.app.server_news import ServerNews
    from holdfast.app.telemetry import Telemetry
    from holdfast.registry import Pool
    from holdfast.session.mirror import Mirror

__all__ = ["Listener"]


class Listener:
    """Hears everything: tells the caller and telemetry, and the loop what happens beside it."""

    def __init__(self, on_event: Callable[[Event], None] | None) -> None:
        self.loop: Loop | None = None
        self.place: Place | None = None
        self.pool: Pool | None = None
        self.news: ServerNews | None = None
        self.server_notices: list[str] = []
        self.on_server_notice: Callable[[str], None] = lambda _: None
        self.on_run_end: Callable[[], None] = lambda: None
        self.mirror: Mirror | None = None
        self._telemetry = _telemetry()
        self._tell = [told for told in (on_event, self._telemetry) if told is not None]

    def server_notice(self, text: str) -> None:
        """Take what a person should know about the servers."""
        self.server_notices.append(text)
        self.on_server_notice(text)

    def of_session(self, event: Event) -> None:
        """Take an event of the executor or of a background task; the loop hears the executor's by itself."""
        if self.loop is not None and isinstance(event, TaskChanged):
            self.loop.hear(event)
        for told in self._tell:
            told(event)

    def of_child(self, event: Event) -> None:
        """Take an event of an agent that the loop has started."""
        if self.loop is not None:
            self.loop.hear(event)
        for told in self._tell:
            told(event)

    def of_loop(self, event: Event) -> None:
        """Take an event of the loop."""
        if self.place is not None and isinstance(event, ContextCompacted):
            # The words that were told are gone from the conversation.
            self.place.instructions.tell_again()
            self.place.today.tell_again()
            if self.news is not None:
                self.news.tell_again()
            if self.pool is not None:
                self.pool.forget_gone()
        if isinstance(event, RunEnded):
            self.on_run_end()
        if self.mirror is not None and isinstance(event, AssistantReplied | ResultsSent | RunEnded):
            self.mirror.refresh()
        for told in self._tell:
            told(event)

    def close(self) -> None:
        """Nothing follows."""
        if self.mirror is not None:
            self.mirror.refresh()
        if self._telemetry is not None:
            self._telemetry.close()


def _telemetry() -> "Telemetry | None":
    """A listener for OpenTelemetry, loaded only where the program or its environment uses it."""
    if "opentelemetry.trace" not in sys.modules and not any(name.startswith("OTEL_") for name in os.environ):
        return None
    from holdfast.app.telemetry import open_telemetry  # noqa: PLC0415 - see above

    return open_telemetry()
