"""Take secrets out of text before it is kept: known values from the environment, and the usual shapes of keys."""

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache

__all__ = ["Redactor", "secrets_in_environment"]

_MARK = "[redacted]"
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|AUTH)", re.IGNORECASE)
_MIN_CHARS = 8
"""Shorter values are words, not secrets; taking them out would spoil the text."""
# Every alternative has one unbounded part of one character class, so matching takes linear time.
_SHAPES = (
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{20,})"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/-]{12,}=*"
)


@cache
def _shapes() -> re.Pattern[str]:
    """Made with the first text: a log that says nothing needs none."""
    return re.compile(_SHAPES)


class Redactor:
    """Replaces secrets by `[redacted]`. Called with text or with a line of JSON as bytes."""

    def __init__(self, secrets: Iterable[str] = (), *, shapes: bool = True) -> None:
        forms = {form for secret in secrets if len(secret) >= _MIN_CHARS for form in (secret, _as_json(secret))}
        # The longest first: a secret that contains another goes as a whole.
        ordered = sorted(forms, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self._has_shapes = shapes

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if self._values is not None:
            text = self._values.sub(_MARK, text)
        return _shapes().sub(_MARK, text) if self._has_shapes else text

    def line(self, line: bytes) -> bytes:
        """A line of JSON without secrets; it stays JSON."""
        return self(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def secrets_in_environment(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values of variables whose names speak of secrets."""
    found = os.environ if environ is None else environ
    return tuple(value for name, value in found.items() if len(value) >= _MIN_CHARS and _SECRET_NAME.search(name))


def _as_json(secret: str) -> str:
    """The secret as it stands inside a JSON string."""
    escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
    return escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
