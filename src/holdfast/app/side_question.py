"""One question to a model beside the conversation: a classifier's, a summary of a page, a search by the provider."""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.settings import Settings

if TYPE_CHECKING:
    from holdfast.models import Model, ModelRequest, Usage

__all__ = ["Account", "answer_of", "asked_once", "side_answer"]

_MAX_PAUSES = 5
"""How often the provider may stop in the midst of its own tools' work."""


class Account:
    """Who pays for such questions: the session's conversation, as soon as there is one."""

    def __init__(self) -> None:
        self.pay: Callable[[Model, Usage], object] | None = None
        """Told what each answer used."""
        self.lend: Callable[[], Model | None] | None = None
        """The conversation's own model; None once its budget is spent."""


def asked_once(
    name: str, settings: Settings, *, max_output_tokens: int, account: Account | None = None
) -> Callable[[str], Awaitable[str]]:
    """A function that asks the named model and gives its words."""

    async def complete(prompt: str) -> str:
        blocks = await side_answer(name, settings, prompt, max_output_tokens=max_output_tokens, account=account)
        return "".join(block["text"] for block in blocks if block["type"] == "text")

    return complete


async def side_answer(
    name: str,
    settings: Settings,
    prompt: str,
    *,
    max_output_tokens: int,
    tools: bytes = b"[]",
    account: Account | None = None,
) -> list[dict[str, Any]]:
    """The blocks of one answer. Such questions are rare and a model belongs to one event loop, so each has a client."""
    from holdfast.app.choose_model import model_settings  # noqa: PLC0415 - loaded with the first question
    from holdfast.models import ModelRequest  # noqa: PLC0415 - the same
    from holdfast.models.open import open_model  # noqa: PLC0415 - see above

    model = open_model(name, environ=os.environ, settings=model_settings(settings))
    request = ModelRequest(
        messages=[{"role": "user", "content": prompt}],
        max_output_tokens=max_output_tokens,
        tools=tools,
        is_streaming=False,
    )
    blocks: list[dict[str, Any]] = []
    try:
        for _ in range(_MAX_PAUSES):
            more, stop_reason = await answer_of(model, request, account)
            blocks += more
            if stop_reason != "pause_turn":
                break
            # What the provider's own tools found goes back to the letter: parts of it only the provider can read.
            request = msgspec.structs.replace(
                request, messages=[*request.messages[:1], {"role": "assistant", "content": blocks}]
            )
        return blocks
    finally:
        await model.close()


async def answer_of(
    model: "Model", request: "ModelRequest", account: Account | None
) -> tuple[list[dict[str, Any]], str]:
    """The blocks of an answer and why it ended; what it used is paid for, also when it breaks off."""
    from holdfast.models import BlockEnded, StreamEnded, StreamStarted, Usage  # noqa: PLC0415 - see above

    blocks: list[dict[str, Any]] = []
    usage, stop_reason = Usage(), ""
    try:
        async for event in model.stream(request):
            if isinstance(event, BlockEnded):
                blocks.append(event.block)
            elif isinstance(event, StreamStarted | StreamEnded) and event.usage != Usage():
                usage = event.usage
            if isinstance(event, StreamEnded):
                stop_reason = event.stop_reason
    finally:
        if account is not None and account.pay is not None and usage != Usage():
            account.pay(model, usage)
    return blocks, stop_reason
