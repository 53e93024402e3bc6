"""Whether a model answers at all: one small request, for whoever sets one up."""

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from holdfast.app.models import open_given
from holdfast.contract import HoldfastError

if TYPE_CHECKING:
    from holdfast.app.rights import Rights

__all__ = ["why_no_answer"]

_LIMIT_S = 30.0


async def why_no_answer(name: str, rights: "Rights") -> str:
    """Ask the model for a word; why it gave none, or nothing when it did. It costs a few tokens."""
    from holdfast.models import ModelRequest  # noqa: PLC0415 - loaded with the model
    from holdfast.models.errors import ModelError  # noqa: PLC0415 - the same

    try:
        model = open_given(name, rights)
    except (HoldfastError, ModelError) as error:
        return str(error)
    request = ModelRequest(messages=[{"role": "user", "content": "Say: ready."}], max_output_tokens=16)
    try:
        stream: Any = model.stream(request)
        async with asyncio.timeout(_LIMIT_S), aclosing(stream) as events:
            async for _event in events:
                return ""
    except TimeoutError:
        return f"{name} did not answer within {_LIMIT_S:.0f} s"
    except ModelError as error:
        return str(error)
    finally:
        await model.close()
    return f"{name} gave an empty answer"
