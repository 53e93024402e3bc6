"""Words about text that may not be what it looks like, for whoever has to say yes or no to it."""

import re
from urllib.parse import urlsplit

from holdfast.permissions.shell.words.lookalikes import deception, show

__all__ = ["notes_on", "size_words"]

_LONG_CHARS = 300
_PUNYCODE = re.compile(r"(?:^|\.)xn--", re.IGNORECASE)


def notes_on(text: str) -> list[str]:
    """Why this should be read twice; empty for ordinary text."""
    notes: list[str] = []
    reason = deception(text)
    if reason is not None:
        hidden = show(text).escaped
        more = f"; spelled out above: {hidden}" if hidden else ""
        notes.append(f"careful: {reason}{more}")
    return notes + [note for word in text.split() if "://" in word and (note := _host_note(word))]


def size_words(text: str, commands: int = 0) -> str:
    """How much there is, where it is more than a glance takes in."""
    lines = text.count("\n") + 1
    if lines == 1 and len(text) <= _LONG_CHARS:
        return ""
    parts = [f"{lines:,} lines" if lines > 1 else "", f"{len(text):,} characters"]
    parts.append(f"{commands} commands" if commands > 1 else "")
    return ", ".join(filter(None, parts))


def _host_note(url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
        if _PUNYCODE.search(host):
            return f"careful: the host {host} stands for {host.encode('ascii').decode('idna')!r}"
        if not host.isascii():
            return f"careful: the host {host!r} is {host.encode('idna').decode('ascii')} in plain letters"
    except (ValueError, UnicodeError):
        return "careful: this address has a host that cannot be read"
    return ""
