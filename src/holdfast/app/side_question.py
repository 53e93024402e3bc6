"""One question to a model beside the conversation: a classifier's, a summary of a page, a search by the provider."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast.app.choose_model import model_settings
from holdfast.settings import Settings

__all__ = ["asked_once", "side_answer"]


def asked_once(name: str, settings: Settings, *, max_output_tokens: int) -> Callable[[str], Awaitable[str]]:
    """A function that asks the named model and gives its words."""

    async def complete(prompt: str) -> str:
        blocks = await side_answer(name, settings, prompt, max_output_tokens=max_output_tokens)
        return "".join(block["text"] for block in blocks if block["type"] == "text")

    return complete


async def side_answer(
    name: str, settings: Settings, prompt: str, *, max_output_tokens: int, tools: bytes = b"[]"
) -> list[dict[str, Any]]:
    """The blocks of one answer. Such questions are rare and a model belongs to one event loop, so each has a client."""
    from holdfast.models import BlockEnded, ModelRequest  # noqa: PLC0415 - loaded with the first question
    from holdfast.models.open import open_model  # noqa: PLC0415 - see above

    model = open_model(name, environ=os.environ, settings=model_settings(settings))
    request = ModelRequest(
        messages=[{"role": "user", "content": prompt}],
        max_output_tokens=max_output_tokens,
        tools=tools,
        is_streaming=False,
    )
    try:
        return [event.block async for event in model.stream(request) if isinstance(event, BlockEnded)]
    finally:
        await model.close()
