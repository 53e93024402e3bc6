"""The log file: private, bounded, safe to look at and without secrets. `--debug` shows the same lines on stderr."""

import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from holdfast.lib.visible import visible
from holdfast.session.errors import SessionError
from holdfast.session.private import open_private_directory, open_private_file
from holdfast.session.redact import Redactor, secrets_in_environment

__all__ = ["LOG_NAME", "LogSetup", "PrivateLogHandler", "SafeFormatter", "configure_logging"]

LOG_NAME = "holdfast.log"
_MAX_BYTES = 5_000_000
_KEEP_FILES = 3
_MAX_RECORD_CHARS = 32_000
_MAX_LINE_CHARS = 1_000


class SafeFormatter(logging.Formatter):
    """One record, one time stamp: whatever is in it cannot look like another record or move a terminal's cursor."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__("%(levelname)s %(process)d %(name)s: %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; further lines of it, such as a traceback, are set in with a bar."""
        text = self._redact(super().format(record))
        if len(text) > _MAX_RECORD_CHARS:
            left_out = len(text) - _MAX_RECORD_CHARS
            half = _MAX_RECORD_CHARS // 2
            text = f"{text[:half]}\n… {left_out:,} characters left out …\n{text[-half:]}"
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(record.created))
        first, *rest = text.split("\n")
        lines = [f"{moment}.{int(record.msecs):03d} {visible(first)}", *(f"    | {visible(line)}" for line in rest)]
        return "\n".join(lines)


class PlainFormatter(logging.Formatter):
    """One record as a person is told it: our name, the words, and of an exception only what it says."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            text = f"{text}: {error or type(error).__name__} (--debug shows where)"
        return f"holdfast: {visible(self._redact(' '.join(text.split())), limit_chars=_MAX_LINE_CHARS)}"


class PrivateLogHandler(logging.Handler):
    """Appends to a file of mode 0600 and turns it over before it grows past its size. Never raises into its caller."""

    def __init__(self, directory: str, *, max_bytes: int = _MAX_BYTES, keep_files: int = _KEEP_FILES) -> None:
        self.path = os.path.join(directory, LOG_NAME)
        self._max_bytes = max_bytes
        self._keep_files = keep_files
        self._directory = open_private_directory(directory, create=True)
        try:
            self._handle = self._open()
        except BaseException:
            os.close(self._directory)
            raise
        super().__init__()  # last: it makes the handler known, and one that could not be opened cannot be closed

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record with one system call."""
        try:
            data = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            if os.fstat(self._handle).st_size + len(data) > self._max_bytes:
                self._turn_over()
            os.write(self._handle, data)
        except (OSError, ValueError, TypeError, SessionError):
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the standard library's name
        """A log that cannot be written must not stop the work, nor print a traceback over the user's screen."""

    def close(self) -> None:
        """Give the file back."""
        self.acquire()
        try:
            if self._handle >= 0:
                os.close(self._handle)
                os.close(self._directory)
                self._handle = -1
        finally:
            self.release()
        super().close()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return open_private_file(self._directory, LOG_NAME, flags, path=self.path)

    def _turn_over(self) -> None:
        """Another process may have done it already: then its new file is simply opened."""
        if self._is_current():
            for number in range(self._keep_files - 1, 0, -1):
                old = LOG_NAME if number == 1 else f"{LOG_NAME}.{number - 1}"
                with suppress(FileNotFoundError):
                    os.rename(old, f"{LOG_NAME}.{number}", src_dir_fd=self._directory, dst_dir_fd=self._directory)
            if self._keep_files == 1:
                os.unlink(LOG_NAME, dir_fd=self._directory)
        fresh = self._open()
        os.close(self._handle)
        self._handle = fresh

    def _is_current(self) -> bool:
        try:
            named = os.stat(LOG_NAME, dir_fd=self._directory, follow_symlinks=False)
        except FileNotFoundError:
            return False
        held = os.fstat(self._handle)
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)


class LogSetup:
    """What `configure_logging` installed; `undo` takes it away again."""

    def __init__(self, handlers: list[logging.Handler], path: str | None) -> None:
        self.path = path
        """The log file, if one could be opened."""
        self._handlers = handlers
        self._levels = {logger: logger.level for logger in (logging.getLogger(), logging.getLogger("holdfast"))}

    def undo(self) -> None:
        """Remove and close the handlers."""
        root = logging.getLogger()
        for handler in self._handlers:
            root.removeHandler(handler)
            handler.close()
        for logger, level in self._levels.items():
            logger.setLevel(level)


def configure_logging(
    *,
    debug: bool,
    directory: str,
    stderr: TextIO | None = None,
    redact: Callable[[str], str] | None = None,
    max_bytes: int = _MAX_BYTES,
) -> LogSetup:
    """Send the log to `holdfast.log` in a private directory, and with `debug` everything to stderr as well.

    Without a log file errors are told on stderr, in plain words.

    Our own loggers speak from INFO on (DEBUG with `debug`); others only of warnings, since they may print requests.
    """
    redact = redact or Redactor(secrets_in_environment())
    handlers: list[logging.Handler] = []
    path: str | None = None
    refusal: OSError | SessionError | None = None
    try:
        file = PrivateLogHandler(directory, max_bytes=max_bytes)
    except (OSError, SessionError) as error:
        refusal = error
    else:
        path = file.path
        file.setFormatter(SafeFormatter(redact))
        handlers.append(file)
    if debug or refusal is not None:
        screen = logging.StreamHandler(stderr or sys.stderr)
        screen.setLevel(logging.DEBUG if debug else logging.ERROR)
        screen.setFormatter(SafeFormatter(redact) if debug else PlainFormatter(redact))
        handlers.append(screen)
    setup = LogSetup(handlers, path)
    root = logging.getLogger()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    own = logging.getLogger("holdfast")
    own.setLevel(logging.DEBUG if debug else logging.INFO)
    if refusal is not None:
        advice = "check its rights, or let XDG_STATE_HOME name another place"
        own.error("no log is kept, as %r cannot be used: %s; %s", directory, _words(refusal), advice)
    return setup


def _words(refusal: OSError | SessionError) -> str:
    return (refusal.strerror if isinstance(refusal, OSError) else None) or str(refusal)
