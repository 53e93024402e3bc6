"""One JSON form for every event: journal lines, stream-json, replay and SDK all use it."""

from typing import Any, cast

import msgspec

from holdfast.events import records
from holdfast.events.records import Event

__all__ = ["decode_event", "encode_event", "encode_json", "to_builtins"]


def _as_json(value: Any) -> Any:
    """Objects that are not JSON by themselves: those that know their wire form, pydantic models, else their text."""
    if not isinstance(value, type):
        for form in ("to_wire", "model_dump"):
            convert = getattr(value, form, None)
            if callable(convert):
                return convert()
    return str(value)


_encoder = msgspec.json.Encoder(enc_hook=_as_json)
_decoder: msgspec.json.Decoder[Any] | None = None


def encode_json(value: Any) -> bytes:
    """Any value as one line of JSON; what has no JSON form becomes its text.

    Lone surrogates, which file names may carry, are written as backslash escapes.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_without_surrogates(to_builtins(value)))
    except RecursionError:  # it contains itself
        return encode_json(_without_loops(value))


def encode_event(event: Event) -> bytes:
    """One event as one line of JSON, without the newline."""
    return encode_json(event)


def to_builtins(value: Any) -> Any:
    """The value as plain dicts, lists and scalars."""
    return msgspec.to_builtins(value, enc_hook=_as_json, str_keys=True)


def decode_event(line: bytes | str) -> Event:
    """The event in one line of JSON; raises `msgspec.DecodeError` or `msgspec.ValidationError`."""
    global _decoder  # noqa: PLW0603 - the union decoder is built once, on first use
    if _decoder is None:
        from holdfast.events import loop  # noqa: PLC0415 - needed with the first line that is read

        named = {**vars(records), **vars(loop)}.values()
        kinds = [kind for kind in named if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event]
        union: Any = kinds[0]
        for kind in kinds[1:]:
            union = union | kind
        _decoder = msgspec.json.Decoder(union)
    return cast("Event", _decoder.decode(line))


def _without_loops(value: Any) -> Any:
    """The same with a tool's own data as text, which Python can write whatever it contains."""
    if isinstance(value, Event):
        own = {name: repr(getattr(value, name)) for name in ("data", "value", "input") if hasattr(value, name)}
        return msgspec.structs.replace(value, **own)
    return repr(value)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        return {_without_surrogates(key): _without_surrogates(item) for key, item in known.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in cast("list[Any]", value)]
    return value
