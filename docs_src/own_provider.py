import asyncio
from collections.abc import AsyncIterator

from holdfast.models import (
    BlockEnded,
    Model,
    ModelRequest,
    StreamEnded,
    StreamEvent,
    StreamStarted,
    TextDelta,
    Usage,
    Wire,
)


class Parrot:
    """Says again what the user said last. Everything a model has to have is here."""

    name = "parrot:grey"
    wire: Wire = "anthropic"
    context_window = 100_000

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        text = str(request.messages[-1]["content"])
        yield StreamStarted("msg_1", self.name)
        yield TextDelta(0, text)
        yield BlockEnded(0, {"type": "text", "text": text})
        yield StreamEnded("end_turn", Usage(input_tokens=len(text) // 4, output_tokens=len(text) // 4))

    async def count_tokens(self, request: ModelRequest) -> int:
        return sum(len(str(message["content"])) // 4 for message in request.messages)

    def cost_usd(self, usage: Usage) -> float | None:
        return 0.0

    async def close(self) -> None:
        pass


async def main() -> None:
    model: Model = Parrot()
    async for event in model.stream(ModelRequest(messages=[{"role": "user", "content": "hello"}])):
        print(event)


asyncio.run(main())
