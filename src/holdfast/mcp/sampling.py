"""What a server asks of the user's model (sampling): read with limits, shown as it is, answered as servers expect."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from holdfast.contract import Form
from holdfast.lib.visible import visible
from holdfast.mcp.wire import INVALID_PARAMS, RpcError

__all__ = ["CAPABILITY", "REFUSED", "SampleRequest", "answer_to", "form_of", "sample_of"]

CAPABILITY: Mapping[str, Any] = {}
"""Neither tools nor context of the session: a server that wants those is refused."""
REFUSED = -1
"""The protocol's code for: the user said no."""
_MAX_MESSAGES = 40
_MAX_CHARS = 20_000
"""In all: more than that nobody reads before saying yes."""
_MAX_TOKENS = 4_096
_MAX_STOPS = 4
_MAX_STOP_CHARS = 100
_STOP_REASONS = {"end_turn": "endTurn", "max_tokens": "maxTokens", "stop_sequence": "stopSequence"}


class SampleRequest(NamedTuple):
    """One request, as it would go to the model."""

    messages: tuple[tuple[str, str], ...]
    """Role and text."""
    system: str
    max_tokens: int
    stops: tuple[str, ...] = ()


def sample_of(params: Mapping[str, Any]) -> SampleRequest:
    """Read a request. What it wants of the session's own conversation it does not get.

    Raises:
        RpcError: It is not one, or more than a person could look at.
    """
    if params.get("tools") or params.get("toolChoice"):
        raise _bad("this client gives no tools to a model that a server asks")
    given, system = params.get("messages"), params.get("systemPrompt")
    listed = cast("list[Any]", given) if isinstance(given, list) else []
    if not 0 < len(listed) <= _MAX_MESSAGES:
        raise _bad(f"messages must be a list of 1 to {_MAX_MESSAGES}")
    if system is not None and not isinstance(system, str):
        raise _bad("systemPrompt must be a string")
    messages = tuple(_message(one) for one in listed)
    stops = _stops(params.get("stopSequences"))
    if sum(len(text) for _, text in messages) + len(system or "") > _MAX_CHARS:
        raise _bad(f"the messages and the system prompt have more than {_MAX_CHARS:,} characters together")
    return SampleRequest(messages, system or "", _tokens(params.get("maxTokens")), stops)


def form_of(server: str, model: str, wanted: SampleRequest) -> Form:
    """The question to the person: whose text goes to which model, word for word. It has nothing to fill in."""
    head = (
        f"It wants your model ({model}) to answer what follows, at your cost and with at most {wanted.max_tokens:,} "
        "tokens. The answer goes to the server; nothing of this conversation does."
    )
    parts = [("system prompt", wanted.system)] if wanted.system else []
    parts += [*wanted.messages, *(("stops at", stop) for stop in wanted.stops)]
    shown = [f"{name}:\n{_marked(text)}" for name, text in parts]
    details = {
        "model": model,
        "system": wanted.system,
        "messages": [{"role": role, "text": text} for role, text in wanted.messages],
        "max_tokens": wanted.max_tokens,
    }
    return Form("sampling", "\n\n".join([head, *shown]), server, details=details)


def answer_to(text: str, stop_reason: str, model: str) -> dict[str, Any]:
    """What the server gets."""
    return {
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": model,
        "stopReason": _STOP_REASONS.get(stop_reason, stop_reason or "endTurn"),
    }


def _marked(text: str) -> str:
    """A server's text with a mark before each line, so that nothing in it looks like a word of ours."""
    return "\n".join(f"| {visible(line)}" for line in text.splitlines() or [""])


def _message(given: object) -> tuple[str, str]:
    message = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        raise _bad("the role of a message must be user or assistant")
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    return role, "\n".join(_text(block) for block in blocks)


def _text(given: object) -> str:
    block = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    text = block.get("text")
    if block.get("type") != "text" or not isinstance(text, str):
        raise _bad("only text can be sent: the user must be able to read what goes to the model")
    return text


def _tokens(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 1:
        raise _bad("maxTokens must be a number of at least 1")
    return int(min(given, _MAX_TOKENS))


def _stops(given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    listed = cast("list[Any]", given) if isinstance(given, list) else [None]
    if len(listed) > _MAX_STOPS or not all(isinstance(one, str) and 0 < len(one) <= _MAX_STOP_CHARS for one in listed):
        raise _bad(f"stopSequences must be at most {_MAX_STOPS} texts of at most {_MAX_STOP_CHARS} characters")
    return tuple(cast("list[str]", listed))


def _bad(reason: str) -> RpcError:
    return RpcError(INVALID_PARAMS, reason)
