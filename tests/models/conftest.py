"""Ask a real client of a fake provider, in one call."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from holdfast.models import ModelError, ModelOptions, ModelRequest, StreamEvent, open_model
from holdfast.testing import FakeProvider, FakeTurn, RecordedRequest

KEY = "sk-test-0123456789"


@dataclass
class Asked:
    """What came of it."""

    answers: list[list[StreamEvent]] = field(default_factory=list[list[StreamEvent]])
    errors: list[ModelError] = field(default_factory=list[ModelError])
    requests: list[RecordedRequest] = field(default_factory=list[RecordedRequest])

    @property
    def events(self) -> list[StreamEvent]:
        """Of the first request."""
        return self.answers[0]

    @property
    def error(self) -> ModelError:
        """The first one."""
        return self.errors[0]

    @property
    def body(self) -> Any:
        """Of the first request."""
        return self.requests[0].json


Ask = Callable[..., Asked]


@pytest.fixture
def ask() -> Ask:
    """Asks each turn of a script, one request after another."""

    def run(
        turns: Sequence[FakeTurn],
        request: ModelRequest | None = None,
        *,
        spec: str = "anthropic:claude-sonnet-5-5",
        options: ModelOptions | None = None,
        environ: Mapping[str, str] | None = None,
        times: int | None = None,
    ) -> Asked:
        asked = Asked()
        asking = request or ModelRequest(messages=[{"role": "user", "content": "hello"}])

        async def whole() -> None:
            async with FakeProvider(turns) as provider:
                base = {
                    "ANTHROPIC_BASE_URL": provider.url,
                    "ANTHROPIC_API_KEY": KEY,
                    "OPENAI_BASE_URL": provider.openai_url,
                    "OPENAI_API_KEY": KEY,
                    "OLLAMA_HOST": provider.url,
                }
                model = open_model(spec, environ={**base, **(environ or {})}, settings=options)
                for _ in range(len(turns) if times is None else times):
                    events: list[StreamEvent] = []
                    asked.answers.append(events)
                    try:
                        async for event in model.stream(asking):
                            events.append(event)  # noqa: PERF401 - what came before an error is kept
                    except ModelError as error:
                        asked.errors.append(error)
                asked.requests = provider.requests
                await model.close()

        asyncio.run(asyncio.wait_for(whole(), 30))
        return asked

    return run
