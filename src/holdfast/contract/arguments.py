"""The only schema of a tool: a pydantic model, or a JSON Schema for remote tools. Both parse and describe alike."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol, cast

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, SchemaValidator

from holdfast.contract.errors import ArgumentsInvalid, UsageError
from holdfast.contract.facts import NO_FACTS, PromptFacts

__all__ = [
    "CONDITIONAL_MARK",
    "INTERNAL_MARK",
    "Arguments",
    "ModelArguments",
    "SchemaArguments",
    "arguments_of",
]

INTERNAL_MARK = "x-holdfast-internal"
CONDITIONAL_MARK = "x-holdfast-when"
_MAX_PROBLEMS = 8
_MAX_VALUE_CHARS = 80
_PLAIN = {type(None), bool, int, str}


class _SchemaGenerator(GenerateJsonSchema):
    """Writes a plain default as it is; pydantic would build a serializer for each, a third of the time of a schema."""

    def encode_default(self, dft: Any) -> Any:
        return dft if type(dft) in _PLAIN else super().encode_default(dft)


class Arguments(Protocol):
    """How raw input becomes arguments, and what schema is offered for it."""

    def parse(self, raw: Mapping[str, Any], facts: PromptFacts = NO_FACTS) -> Any:
        """The typed arguments, or `ArgumentsInvalid` with every problem in words."""
        ...

    def schema(self, facts: PromptFacts = NO_FACTS) -> dict[str, Any]:
        """The JSON Schema offered to models, without internal fields."""
        ...

    def with_internal(self, args: Any, values: Mapping[str, Any]) -> Any:
        """A copy with internal fields set; only the approval layer calls this."""
        ...


class ModelArguments:
    """Arguments declared as a pydantic model."""

    __slots__ = ("_guarded", "_model", "_validate", "conditional_names", "internal_names")

    def __init__(self, model: type[BaseModel]) -> None:
        validator = cast("SchemaValidator", model.__pydantic_validator__)
        self._model = model
        self._validate = validator.validate_python
        names = {name: _extra(field.json_schema_extra) for name, field in model.model_fields.items()}
        self.internal_names = frozenset(
            key for name, extra in names.items() if INTERNAL_MARK in extra for key in _spellings(model, name)
        )
        self.conditional_names = {
            key: str(extra[CONDITIONAL_MARK])
            for name, extra in names.items()
            if CONDITIONAL_MARK in extra
            for key in _spellings(model, name)
        }
        self._guarded = bool(self.internal_names or self.conditional_names)

    def parse(self, raw: Mapping[str, Any], facts: PromptFacts = NO_FACTS) -> Any:
        """The typed arguments, or `ArgumentsInvalid` with every problem in words."""
        if self._guarded:
            hidden = [name for name in raw if self._is_hidden(name, facts)]
            if hidden:
                raise _invalid([self._unknown(name, facts) for name in hidden])
        try:
            return self._validate(raw)
        except ValidationError as error:
            problems = [self._describe(detail, facts) for detail in error.errors(include_url=False)]
            raise _invalid(problems) from error

    def schema(self, facts: PromptFacts = NO_FACTS) -> dict[str, Any]:
        """The JSON Schema offered to models, without internal fields and those that are off."""
        whole = self._model.model_json_schema(schema_generator=_SchemaGenerator)
        properties: dict[str, Any] = {}
        for name, described in whole.get("properties", {}).items():
            if not self._is_hidden(name, facts):
                properties[name] = {key: value for key, value in described.items() if key not in _MARKS}
        offered: dict[str, Any] = {"type": "object", "properties": properties}
        required = [name for name in whole.get("required", ()) if name in properties]
        if required:
            offered["required"] = required
        shared = _mentioned(properties, whole.get("$defs", {}))
        if shared:
            offered["$defs"] = shared
        offered["additionalProperties"] = False
        return _inlined(cast("dict[str, Any]", _without_titles(offered)))

    def with_internal(self, args: Any, values: Mapping[str, Any]) -> Any:
        """A copy with internal fields set; only the approval layer calls this."""
        unknown = [name for name in values if name not in self.internal_names]
        if unknown:
            raise UsageError(f"{self._model.__name__} has no internal field {unknown[0]!r}")
        return cast("BaseModel", args).model_copy(update=dict(values))

    def _is_hidden(self, name: str, facts: PromptFacts) -> bool:
        if name in self.internal_names:
            return True
        fact = self.conditional_names.get(name)
        return fact is not None and not getattr(facts, fact)

    def _unknown(self, name: str, facts: PromptFacts) -> str:
        known = [
            key
            for key in (_wire_name(self._model, field) for field in self._model.model_fields)
            if not self._is_hidden(key, facts)
        ]
        offer = f"known: {', '.join(known)}" if known else "this tool takes none"
        return f"unknown argument {name!r} ({offer})"

    def _describe(self, detail: ErrorDetails, facts: PromptFacts) -> str:
        place = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            if len(detail["loc"]) > 1:
                return f"unknown argument {place!r}"
            return self._unknown(place, facts)
        if detail["type"] == "missing":
            return f"missing argument {place!r}"
        return f"{place!r}: {detail['msg']}, got {_shown(detail['input'])}"


class SchemaArguments:
    """Arguments declared as a JSON Schema, checked by a validator that is compiled once, on first use."""

    __slots__ = ("_check", "_schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        self._check: Any = None

    def parse(self, raw: Mapping[str, Any], facts: PromptFacts = NO_FACTS) -> Any:
        """The arguments as they came; strings stand for numbers and booleans where the schema wants those."""
        del facts
        check = self._check or self._compile()
        if check.is_valid(raw):
            return dict(raw)
        meant = _take_as_meant(raw, self._schema)
        if check.is_valid(meant):
            return meant
        errors = list(check.iter_errors(meant))
        raise _invalid([_schema_problem(error) for error in errors])

    def schema(self, facts: PromptFacts = NO_FACTS) -> dict[str, Any]:
        """The schema as it was declared."""
        del facts
        return {"type": "object", "properties": {}, **self._schema}

    def with_internal(self, args: Any, values: Mapping[str, Any]) -> Any:
        """Remote tools have no internal fields."""
        if values:
            raise UsageError(f"a JSON-Schema tool has no internal field {next(iter(values))!r}")
        return args

    def _compile(self) -> Any:
        import jsonschema_rs  # noqa: PLC0415 - costs 20 ms, only remote tools need it

        try:
            self._check = jsonschema_rs.validator_for(self._schema, retriever=_refuse_to_fetch)
        except ValueError as error:
            raise UsageError(f"this JSON Schema does not compile: {str(error).splitlines()[0]}") from error
        return self._check


def _refuse_to_fetch(uri: str) -> Any:
    """A remote tool's schema must not make us fetch URLs or read files."""
    raise ValueError(f"it refers to {uri!r}, and references outside the schema are not followed")


_MARKS = (INTERNAL_MARK, CONDITIONAL_MARK)


def _invalid(problems: list[str]) -> ArgumentsInvalid:
    shown = problems[:_MAX_PROBLEMS]
    if len(problems) > _MAX_PROBLEMS:
        shown.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return ArgumentsInvalid("; ".join(shown), problems=tuple(problems))


def _extra(extra: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", extra) if isinstance(extra, dict) else {}


def _wire_name(model: type[BaseModel], name: str) -> str:
    return model.model_fields[name].alias or name


def _spellings(model: type[BaseModel], name: str) -> set[str]:
    return {name, _wire_name(model, name)}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"


def _short(described: dict[str, Any]) -> dict[str, Any]:
    """An optional field without what being optional says already: `null`, and a default that is null or false.

    Leaving a field out means the same to the parser, which takes `null` as before; every request carries these words.
    """
    kept = {
        key: value for key, value in described.items() if key != "default" or (value is not None and value is not False)
    }
    choices = [one for one in described.get("anyOf", ()) if one != {"type": "null"}]
    if "default" in kept or len(choices) != 1 or len(choices) == len(described["anyOf"]):
        return kept
    return {**choices[0], **{key: value for key, value in kept.items() if key != "anyOf"}}


def _without_titles(schema: Any) -> Any:
    """Generated titles only repeat the names, and `_short` says the rest: tokens without information."""
    if isinstance(schema, dict):
        known = cast("dict[str, Any]", schema)
        return {
            key: (
                {name: _without_titles(_short(sub)) for name, sub in value.items()}
                if key in _NAMED
                else _without_titles(value)
            )
            for key, value in known.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in cast("list[Any]", schema)]
    return schema


def _mentioned(properties: Any, shared: Mapping[str, Any]) -> dict[str, Any]:
    """The shared types that these properties refer to, also through each other."""
    found: dict[str, Any] = {}
    waiting = [properties]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += cast("list[Any]", part)
        elif isinstance(part, dict):
            known = cast("dict[str, Any]", part)
            waiting += known.values()
            name = str(known.get("$ref", "")).removeprefix(_SHARED)
            if name in shared and name not in found:
                found[name] = shared[name]
                waiting.append(shared[name])
    return {name: shared[name] for name in shared if name in found}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Shared types that are used once stand where they are used: fewer words, and nothing to look up."""
    shared: dict[str, Any] = schema.get("$defs", {})
    uses = Counter(_references(schema))
    once = {name for name in shared if uses[name] == 1 and name not in _references(shared[name])}
    if not once:
        return schema

    def put(part: Any) -> Any:
        if isinstance(part, list):
            return [put(item) for item in cast("list[Any]", part)]
        if not isinstance(part, dict):
            return part
        known = cast("dict[str, Any]", part)
        name = str(known.get("$ref", "")).removeprefix(_SHARED)
        if name in once:
            return put({**shared[name], **{key: value for key, value in known.items() if key != "$ref"}})
        return {key: put(value) for key, value in known.items()}

    kept = {name: put(about) for name, about in shared.items() if name not in once}
    whole = put({key: value for key, value in schema.items() if key != "$defs"})
    closed = whole.pop("additionalProperties")
    return {**whole, **({"$defs": kept} if kept else {}), "additionalProperties": closed}


def _references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [name for item in cast("list[Any]", part) for name in _references(item)]
    if not isinstance(part, dict):
        return []
    known = cast("dict[str, Any]", part)
    own = [str(known["$ref"]).removeprefix(_SHARED)] if isinstance(known.get("$ref"), str) else []
    return own + [name for value in known.values() for name in _references(value)]


_SHARED = "#/$defs/"
_NAMED = ("properties", "$defs")
_WORDS = {"true": True, "false": False}


def _take_as_meant(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = cast("Mapping[str, Any]", schema.get("properties", {}))
    meant = dict(raw)
    for name, value in raw.items():
        wanted = properties.get(name)
        if isinstance(value, str) and isinstance(wanted, dict):
            meant[name] = _as_type(value, cast("dict[str, Any]", wanted).get("type"))
    return meant


def _as_type(value: str, wanted: Any) -> Any:
    kinds = cast("list[Any]", wanted) if isinstance(wanted, list) else [wanted]
    if "string" in kinds:
        return value
    if "boolean" in kinds and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if "integer" in kinds or "number" in kinds:
        return _as_number(value)
    return value


def _as_number(value: str) -> Any:
    for read in (int, float):
        try:
            number = read(value)
        except ValueError:
            continue
        return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 2**53 else number
    return value


def _schema_problem(error: Any) -> str:
    place = ".".join(str(part) for part in error.instance_path)
    return f"{place!r}: {error.message}" if place else str(error.message)


@lru_cache(maxsize=4096)
def arguments_of(model: type[BaseModel]) -> ModelArguments:
    """The shared parser of an argument type."""
    return ModelArguments(model)
