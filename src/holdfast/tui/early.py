"""The first prompt: drawn and echoed by hand, while everything that a session needs is still loading.

Loading takes several times as long as a person waits without a thought. So a few lines are written first, as the
screen will draw them, and a thread shows what is typed. It reads nothing into it: every byte is kept, and the screen
takes them as if they came now. An end before there is a screen takes the lines away.

This file is loaded before anything else, so it imports nothing but what every program has.
"""

import _thread
import os
import signal
import sys

TYPE_CHECKING = False  # `typing` would be a third of what this costs
if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from typing import Any

__all__ = ["MARK", "READERS", "STARTING", "WAITING", "EarlyPrompt", "begin", "current", "put_away", "wants_screen"]

MARK = "❯ "  # noqa: RUF001 - the mark people know
STARTING = "✻ starting"
WAITING = "starting; what you type is kept"
READERS = ("HOLDFAST_SCREEN_READER", "CLAUDE_AX_SCREEN_READER")
"""Variables of those who want lines instead of a screen."""

ALONE = frozenset({
    "--continue", "-c", "--fork-session", "--no-session-persistence", "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions", "--verbose", "--init", "--maintenance",
})  # fmt: skip
WITH_A_WORD = frozenset({
    "--model", "--fallback-model", "--resume", "-r", "--session-id", "--permission-mode", "--effort", "--agent",
    "--add-dir", "--settings", "--mcp-config", "--allowed-tools", "--allowedTools", "--disallowed-tools",
    "--disallowedTools", "--append-system-prompt", "--system-prompt", "--max-turns", "--max-budget-usd", "--plugin-dir",
})  # fmt: skip
"""What a session at a screen may be started with. With any other word the usual way shows what it means."""

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_REST_S = 0.02
"""The rest of a key that a terminal sends as several bytes comes within this time."""
_LETTER_S = 1.0
"""The rest of a letter certainly comes, also over a slow line."""
_AGAIN_S = 1.0
"""An interrupt that has ended nothing for so long is lost."""
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_GIVE_WAY_S = 0.0005


def wants_screen(words: "Sequence[str]", environ: "Mapping[str, str]" = os.environ) -> bool:
    """Whether these words, in this terminal, certainly begin a session at a screen."""
    if environ.get("TERM", "dumb") in ("dumb", "", "unknown"):
        return False
    if any(environ.get(name) not in (None, "", "0", "false") for name in READERS):
        return False
    place, prompts = 0, 0
    while place < len(words):
        word = words[place]
        if word in WITH_A_WORD:
            place += 1
            if place == len(words) or words[place].startswith("-"):
                return False
        elif word not in ALONE:
            prompts += 1
            if prompts > 1 or word.startswith("-") or word.isidentifier():
                return False
        place += 1
    return True


class EarlyPrompt:
    """Has the terminal from `begin` until `take` or `put_away`."""

    def __init__(self, looks: tuple[str, str] | None = None) -> None:
        you, dim = looks or ("", "")
        self._you, self._dim, self._off = (f"\x1b[{you}m", f"\x1b[{dim}m", "\x1b[0m") if looks else ("", "", "")
        self._typed = bytearray()
        self._shown: list[str] = []
        self._echoes = True
        self._is_drawn = False
        self._is_interrupted = False
        self._is_held = False
        """The terminal shows nothing until the screen stands."""
        self._before: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        """Who heard of signals that end us before."""
        self._wake: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._interval_s = sys.getswitchinterval()

    def begin(self) -> bool:
        """Draw it and show what is typed; false where the terminal is not ours to change."""
        import termios  # noqa: PLC0415 - not everywhere
        import threading  # noqa: PLC0415 - only with a first prompt

        try:
            if os.tcgetpgrp(0) != os.getpgrp():  # in the background
                return False
            self._before = termios.tcgetattr(0)
            raw = termios.tcgetattr(0)
            raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
            raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            raw[6][termios.VMIN] = 1
            termios.tcsetattr(0, termios.TCSANOW, raw)
            earlier = self._typed_earlier()
        except (OSError, termios.error):
            self._before = None
            return False
        dim, off = self._dim, self._off
        self._write(
            f"\x1b[?2004h\r{dim}{STARTING}{off}\r\n{self._you}{MARK}{off}\r\n{dim}{WAITING}{off}"
            f"\x1b[1A\r\x1b[{len(MARK)}C"
        )
        self._is_drawn = True
        for number in _ENDING:
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):
                self._handlers[number] = handler
                signal.signal(number, self._told_to_end)
        self._keep(earlier)
        self._wake = os.pipe()
        self._interval_s = sys.getswitchinterval()
        sys.setswitchinterval(_GIVE_WAY_S)
        self._thread = threading.Thread(target=self._listen, name="holdfast-early", daemon=True)
        self._thread.start()
        return True

    def take(self) -> str:
        """Give the terminal to the screen, which draws at once and calls `drawn` then; what was typed until now.

        The terminal stays as the screen needs it; `put_away` makes it what it was.
        """
        import select  # noqa: PLC0415 - loaded by now

        self._stop()
        while (wait_s := self._rest_s()) and select.select([0], [], [], wait_s)[0]:
            if not self._read():
                break
        if self._is_drawn:
            self._is_drawn, self._is_held = False, True
            self._write(f"{_BEGIN}{self._erasing()}")
        return self._typed.decode("utf-8", "replace")

    def drawn(self) -> None:
        """The screen stands."""
        if self._is_held:
            self._is_held = False
            self._write(_END)

    def put_away(self) -> None:
        """Leave the terminal as it was found; may be called again."""
        self._stop()
        self._erase()
        self.drawn()
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._told_to_end:
                signal.signal(number, handler)
        if self._before is not None:
            import termios  # noqa: PLC0415 - loaded by now

            before, self._before = self._before, None
            try:
                termios.tcsetattr(0, termios.TCSANOW, before)
            except (OSError, termios.error):  # it is gone
                return

    def _erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            self._write(f"{self._erasing()}\x1b[?2004l")

    def _told_to_end(self, number: int, _frame: object) -> None:
        self.put_away()
        os.kill(os.getpid(), number)

    # The thread.

    def _listen(self) -> None:
        import select  # noqa: PLC0415 - only with a first prompt

        assert self._wake is not None
        while True:
            try:
                ready = select.select([0, self._wake[0]], [], [], _AGAIN_S if self._is_interrupted else None)[0]
                if not ready:  # where it came at a bad moment, such as the end of an object, Python drops it
                    _thread.interrupt_main()
                elif self._wake[0] in ready or not self._read():
                    return
            except (OSError, ValueError):  # the terminal is gone
                return

    def _read(self) -> bool:
        try:
            data = os.read(0, 4_096)
        except OSError:
            return False
        self._keep(data)
        return bool(data)

    def _keep(self, data: bytes) -> None:
        self._typed += data
        if self._typed.endswith(b"\x03\x03"):
            self._echoes, self._is_interrupted = False, True
            self._erase()  # whoever is interrupted may write at once
            _thread.interrupt_main()
        elif self._echoes:
            self._echo(data)

    @staticmethod
    def _typed_earlier() -> bytes:
        """What was typed while the shell still had the terminal, where Enter ends a line and is no key."""
        import fcntl  # noqa: PLC0415 - not everywhere
        import termios  # noqa: PLC0415 - loaded by now

        waiting = int.from_bytes(fcntl.ioctl(0, termios.FIONREAD, bytes(4)), sys.byteorder)
        return os.read(0, waiting).replace(b"\n", b"\r") if waiting else b""

    def _echo(self, data: bytes) -> None:
        """Show what is certainly shown later, too. From the first key on that does more, the screen decides."""
        try:
            text = data.decode()
        except UnicodeDecodeError:  # a letter came in pieces
            self._echoes = False
            return
        written = ""
        for char in text:
            if char == "\x7f" and self._shown:
                written += "\b \b" * _width(self._shown.pop())
            elif _width(char) and sum(map(_width, self._shown)) < self._columns() - len(MARK) - 3:
                self._shown.append(char)
                written += char
            else:
                self._echoes = False
                break
        self._write(written)

    def _stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None or self._wake is None:
            return
        os.write(self._wake[1], b"x")
        thread.join(5)
        for end in self._wake:
            os.close(end)
        self._wake = None
        sys.setswitchinterval(self._interval_s)

    def _rest_s(self) -> float:
        """How long to wait for the rest of what was typed last; 0: there is none."""
        if 0x1B in self._typed[-8:]:
            return _REST_S
        try:
            self._typed.decode()
        except UnicodeDecodeError as error:
            return _LETTER_S if error.end == len(self._typed) and error.reason == "unexpected end of data" else 0.0
        return 0.0

    def _erasing(self) -> str:
        """To the beginning of the first line, also where the window has become so narrow that ours was broken."""
        at = len(MARK) + sum(map(_width, self._shown))
        return f"\r\x1b[{1 + at // self._columns()}A\x1b[J"

    @staticmethod
    def _columns() -> int:
        try:
            return max(1, os.get_terminal_size(1).columns)
        except OSError:
            return 80

    @staticmethod
    def _write(text: str) -> None:
        data = text.encode()
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:  # nobody looks
            return


def _width(char: str) -> int:
    """How many columns a letter takes; none where only the screen can tell."""
    if char.isascii():
        return 1 if char.isprintable() else 0
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - only for such letters

    if not char.isprintable() or combining(char) or ord(char) > 0x1_0000:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


_current: EarlyPrompt | None = None


def begin(words: "Sequence[str]") -> None:
    """Draw the first prompt now, if these words begin a session at this terminal, which is one."""
    global _current  # noqa: PLW0603 - there is one terminal
    if not wants_screen(words) or _may_want_lines():
        return
    early = EarlyPrompt(None if os.environ.get("NO_COLOR") else looks(os.environ))
    if early.begin():
        _current = early


def current() -> EarlyPrompt | None:
    """The one that stands there, or has stood there."""
    return _current


def put_away() -> None:
    """Leave the terminal as it was found, if a first prompt was drawn."""
    if _current is not None:
        _current.put_away()


def looks(environ: "Mapping[str, str]") -> tuple[str, str]:
    """How the mark and dim words are drawn in the theme that the screen begins with."""
    if "256color" not in environ.get("TERM", "") and environ.get("COLORTERM", "") not in ("truecolor", "24bit"):
        return "1;36", "90"
    is_light = environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    return ("1;38;5;25", "38;5;241") if is_light else ("1;38;5;80", "38;5;246")


def user_files(environ: "Mapping[str, str]") -> tuple[str, ...]:
    """The user's own settings, where `settings` looks for them; that room takes as long to load as all of this."""
    home = environ.get("HOME", "")
    home = os.path.normpath(home) if os.path.isabs(home) else os.path.expanduser("~")
    config, own = environ.get("CLAUDE_CONFIG_DIR", ""), environ.get("XDG_CONFIG_HOME", "")
    usual = ("Library", "Application Support") if sys.platform == "darwin" else (".config",)
    folders = (
        config if os.path.isabs(config) else os.path.join(home, ".claude"),
        os.path.join(own if os.path.isabs(own) else os.path.join(home, *usual), "holdfast"),
    )
    return tuple(os.path.join(folder, "settings.json") for folder in folders)


def _may_want_lines() -> bool:
    """A file of the user's own settings speaks of screen readers: what it says is read the usual way."""
    for path in user_files(os.environ):
        try:
            with open(path, "rb") as file:
                if b"axScreenReader" in file.read(1 << 20):
                    return True
        except OSError:
            continue
    return False
