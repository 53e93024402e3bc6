"""Requests of MCP servers to the user's model: off unless the user's own settings say otherwise, and each one asked."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from holdfast.app.build import OpenSession
from holdfast.app.side_question import answer_of
from holdfast.contract import Form
from holdfast.engine.forms import FormDesk
from holdfast.mcp.sampling import REFUSED, SampleRequest, answer_to, form_of, sample_of
from holdfast.mcp.wire import METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from holdfast.models import Model

__all__ = ["Sampler"]

_MOST_REQUESTS: Final = 20
"""Of one server in a session."""
_MOST_REFUSALS: Final = 3
"""After so many in a row a server asks no more: nobody should say yes because he is tired of saying no."""
_ANSWER_S: Final = 300.0


class _Asked:
    """What one server has asked for so far."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.requests = 0
        self.refusals = 0


class Sampler:
    """Lets servers use the model of one session, each time with a person's yes."""

    def __init__(self, opened: OpenSession, wanted: object) -> None:
        """Take the session and what the setting `mcp.sampling` says: true, or names of servers."""
        self._opened = opened
        self._desk = FormDesk(opened.asker, opened.executor.call_hooks.emit, opened.executor.call_hooks.notify)
        self._every = wanted is True
        listed = cast("tuple[Any, ...]", wanted) if isinstance(wanted, list | tuple) else ()
        self._names = frozenset(name for name in listed if isinstance(name, str))
        self._asked: dict[str, _Asked] = {}

    def is_for(self, server: str) -> bool:
        """This server may ask, as there is somebody who can say yes."""
        return self._desk.has_person and (self._every or server in self._names)

    async def sample(self, server: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What becomes of one request.

        Raises:
            RpcError: It is refused; the server is told why.
        """
        if not self.is_for(server):
            raise RpcError(METHOD_NOT_FOUND, "sampling is not supported by this client")
        wanted = sample_of(params)
        asked = self._asked.setdefault(server, _Asked())
        async with asked.turn:  # one question at a time
            asked.requests += 1
            if asked.requests > _MOST_REQUESTS:
                raise RpcError(REFUSED, f"a server may ask the model {_MOST_REQUESTS} times in a session")
            if asked.refusals >= _MOST_REFUSALS:
                raise RpcError(REFUSED, f"the user has refused {_MOST_REFUSALS} times, and is not asked again")
            model = self._model()
            if not await self._is_agreed(form_of(server, model.name, wanted)):
                asked.refusals += 1
                raise RpcError(REFUSED, "the user refused")
            asked.refusals = 0
            return await self._answer(wanted, model.name)

    def _model(self) -> "Model":
        lend = self._opened.account.lend
        model = None if lend is None else lend()
        if model is None:
            raise RpcError(REFUSED, "this session has no model to ask now, or its budget is spent")
        return model

    async def _is_agreed(self, form: Form) -> bool:
        if self._opened.executor.state.permissions.mode == "dontAsk":
            return False
        return (await self._desk.put(form)).action == "accept"

    async def _answer(self, wanted: SampleRequest, agreed: str) -> dict[str, Any]:
        from holdfast.models import ModelRequest, SystemBlock  # noqa: PLC0415 - loaded by now
        from holdfast.models.errors import ModelError  # noqa: PLC0415 - the same

        model = self._model()  # the answer may have taken long
        if model.name != agreed:
            raise RpcError(REFUSED, "the user's model has changed since the user said yes; ask again")
        request = ModelRequest(
            messages=[{"role": role, "content": [{"type": "text", "text": text}]} for role, text in wanted.messages],
            system=(SystemBlock(wanted.system),) if wanted.system else (),
            max_output_tokens=wanted.max_tokens,
            stop_sequences=wanted.stops,
            is_streaming=False,
        )
        try:
            async with asyncio.timeout(_ANSWER_S):
                blocks, stop_reason = await answer_of(model, request, self._opened.account)
        except (ModelError, TimeoutError) as error:
            # A provider's own words may hold addresses and ids that are none of the server's business.
            raise RpcError(REFUSED, "the model could not answer") from error
        text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
        return answer_to(text, stop_reason, model.name)
