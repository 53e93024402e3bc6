"""Ask a model as a hook: it reads the event and says whether to go on."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec

from holdfast.events import encode_json
from holdfast.hooks.answers import HookAnswer, HookFailed
from holdfast.hooks.inputs import HookInput

__all__ = ["AskModel", "PromptRunner"]

AskModel = Callable[[str, str | None], Awaitable[str]]
"""Puts a text to a model, by its name or the session's own, and returns what it says."""
_RULES = (
    "You decide for a hook. Answer with one JSON object and nothing else: "
    '{"ok": true} to go on, or {"ok": false, "reason": "why not, in a sentence"}.'
)
_MAX_EVENT_CHARS = 100_000


class PromptRunner:
    """Runs the prompt hooks of a session."""

    def __init__(self, ask: AskModel) -> None:
        self._ask = ask

    async def run(self, handler: Mapping[str, Any], event: HookInput, timeout_s: float | None) -> HookAnswer:
        """Ask, and read the answer.

        Raises:
            HookFailed: The model could not be asked, or did not answer as told.
        """
        told = encode_json(event).decode()
        if len(told) > _MAX_EVENT_CHARS:  # what is cut off would pass unseen
            raise HookFailed(
                f"the event has {len(told):,} characters, and a model is told at most {_MAX_EVENT_CHARS:,}"
            )
        wish = str(handler["prompt"])
        text = wish.replace("$ARGUMENTS", told) if "$ARGUMENTS" in wish else f"{wish}\n\n{told}"
        model = handler.get("model")
        try:
            async with asyncio.timeout(timeout_s):
                said = await self._ask(f"{text}\n\n{_RULES}", model if isinstance(model, str) else None)
        except TimeoutError:
            raise HookFailed(f"the model gave no answer within {timeout_s:g} s") from None
        return _read(said)


def _read(said: str) -> HookAnswer:
    begin, end = said.find("{"), said.rfind("}")
    try:
        found: Any = msgspec.json.decode(said[begin : end + 1])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise HookFailed(f"the model did not answer as told: {said[:200]!r}") from error
    known = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if not isinstance(known.get("ok"), bool):
        raise HookFailed(f"the model did not answer as told: {said[:200]!r}")
    if known["ok"]:
        return HookAnswer()
    return HookAnswer("deny", str(known.get("reason") or "the model said no"))
