"""The type of an agent's answer: what validates it, and the schema that the model is given."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, cast

from holdfast.contract import UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["output_adapter", "output_schema"]


def output_adapter(output_type: Any) -> "TypeAdapter[Any] | None":
    """What validates answers of this type; None for plain text and for a JSON Schema.

    Raises:
        UsageError: Pydantic cannot validate or describe the type.
    """
    if output_type is None or isinstance(output_type, Mapping):
        return None
    from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - few agents want data

    wanted: Any = output_type
    if isinstance(output_type, list | tuple) and output_type:
        wanted = Union[tuple(cast("Sequence[Any]", output_type))]  # noqa: UP007 - made while the program runs
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(wanted)
        adapter.json_schema()
    except PydanticUserError as error:
        raise UsageError(
            "output_type must be a type that pydantic can validate and describe, or a JSON Schema, not "
            f"{output_type!r}: {str(error.message).partition('. ')[0]}"
        ) from error
    return adapter


def output_schema(output_type: Any, adapter: "TypeAdapter[Any] | None") -> Mapping[str, Any] | None:
    """The JSON Schema of the answer; None for plain text."""
    return output_type if adapter is None else adapter.json_schema()
