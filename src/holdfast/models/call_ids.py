"""Ids of calls that every provider takes back: valid, and used once in a conversation."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["CallIds"]

_VALID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class CallIds:
    """Gives each call of an answer its id: the server's own where it can be used, else a new one."""

    def __init__(self, messages: Sequence[Mapping[str, Any]] = ()) -> None:
        """Remember the conversation; it is looked through when the first call comes."""
        self._messages = messages
        self._taken: set[str] | None = None

    def take(self, given: object) -> str:
        """The id for a call that the server named so, or did not name."""
        if self._taken is None:
            self._taken = {
                block.get("id", "")
                for message in self._messages
                if message.get("role") == "assistant" and not isinstance(message.get("content"), str)
                for block in message.get("content") or ()
                if block.get("type") == "tool_use"
            }
        id_ = given if isinstance(given, str) and _VALID.match(given) else ""
        while not id_ or id_ in self._taken:
            id_ = f"call_{os.urandom(12).hex()}"
        self._taken.add(id_)
        return id_
