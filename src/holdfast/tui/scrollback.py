"""Writing above the live region: every line once, into the terminal's own scrollback."""

from typing import Any

from prompt_toolkit.application import Application

__all__ = ["Scrollback"]

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Between these the terminal shows nothing half done."""
_PAUSE_S = 0.05


class Scrollback:
    """Takes lines that are ready for the terminal; those of a moment go out together."""

    def __init__(self, app: "Application[Any]") -> None:
        self._app = app
        self._pending: list[str] = []
        self._is_flushing = False
        self._is_blank = True
        """The last line that was written is empty."""
        self.is_covered = False
        """Something else has the screen: lines wait."""

    def write(self, lines: list[str], *, keeps_blank: bool = False) -> None:
        """Write these soon; of several empty lines in a row one stays, unless they are all wanted."""
        for line in lines:
            if line or keeps_blank or not self._is_blank:
                self._pending.append(line)
            self._is_blank = not line
        loop = self._app.loop
        if loop is None or not self._app.is_running:
            self.flush()
        elif not self._is_flushing:
            self._is_flushing = True
            loop.call_later(_PAUSE_S, self.flush)

    def flush(self, *, draws: bool = True) -> None:
        """Write what waits now; without `draws` the live region is gone behind it."""
        self._is_flushing = False
        if not self._pending or self.is_covered:
            return
        raw = "".join(f"{line}\r\n" for line in self._pending)
        self._pending = []
        app, output = self._app, self._app.output
        if not app.is_running or app.is_done:
            output.write_raw(raw)
            output.flush()
            return
        output.write_raw(_BEGIN)
        app.renderer.erase(leave_alternate_screen=False)
        output.write_raw(raw)
        try:
            if draws:
                app._redraw()  # noqa: SLF001 - as the application itself does after a resize; tests hold it
        finally:
            output.write_raw(_END)
            output.flush()
