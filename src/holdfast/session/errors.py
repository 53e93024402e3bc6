"""What goes wrong around a session, named by what the reader should do next."""

from holdfast.contract import HoldfastError
from holdfast.lib.visible import visible

__all__ = ["SessionBusy", "SessionError", "SessionNotFound", "SessionTooNew", "SessionUnsafe"]


class SessionError(HoldfastError):
    """A session cannot be used; the message names the path and says what to do."""

    def __init__(self, reason: str, *, path: str = "", advice: str = "") -> None:
        self.reason = reason
        self.path = path
        self.advice = advice
        place = f"{visible(path)}: " if path else ""
        super().__init__(f"{place}{reason}{'. ' if advice else ''}{advice}")


class SessionNotFound(SessionError):
    """No session, or more than one, fits the name."""


class SessionBusy(SessionError):
    """Another process writes to this session."""


class SessionUnsafe(SessionError):
    """A file or directory may have been planted: wrong owner, wrong rights, or a link."""


class SessionTooNew(SessionError):
    """A newer Holdfast wrote this session."""
