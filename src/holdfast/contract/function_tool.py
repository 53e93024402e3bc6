"""`@tool`: a typed function becomes a tool. Name from the function, schema from the hints, text from the docstring."""

import asyncio
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from types import FunctionType
from typing import Annotated, Any, TypeGuard, get_args, get_origin, get_type_hints, overload

from holdfast.contract.arguments import Arguments, ModelArguments
from holdfast.contract.blocks import Content
from holdfast.contract.context import ToolContext
from holdfast.contract.effects import Effects
from holdfast.contract.errors import UsageError
from holdfast.contract.facts import NO_FACTS, PromptFacts
from holdfast.contract.result import ToolResult
from holdfast.contract.tool import InterruptBehavior, Tool
from holdfast.lib.spelling import did_you_mean

__all__ = ["FunctionTool", "tool"]

_DEFAULT_RESULT_CHARS = 100_000
_PARAMETER_LINE = re.compile(r"^\s{2,}(\w+)(?:\s*\([^)]*\))?:\s+(.*)$")
_KEYWORDS = (
    "name",
    "description",
    "aliases",
    "search_hint",
    "read_only",
    "destructive",
    "concurrency_safe",
    "interrupt_behavior",
    "max_result_chars",
    "timeout_s",
    "should_defer",
    "always_load",
    "strict",
    "input_examples",
    "to_blocks",
    "effects",
)
DeclaredEffects = Callable[[Any, ToolContext], Effects]
"""Says what a call would read and write, from its arguments and context."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class FunctionTool(Tool[Any, Any]):
    """A tool made from a function. Made by `@tool`; calling it calls the function as it was written."""

    def __init__(self, function: Callable[..., Any], **declared: Any) -> None:
        self.function = function
        self._declared = declared
        self._renamed: dict[str, str] = {}
        """Fields that could not have their parameter's name."""
        name = declared.pop("name", None) or function.__name__
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is not a tool name; use letters, digits, '_' and '-', at most 128")
        self._text = declared.pop("description", None) or function.__doc__ or ""
        if not self._text.strip():
            raise UsageError(f"{name} has no docstring: write one, the model reads it to know when to use the tool")
        self._hints = _resolved_hints(function, name)
        _refuse_unnamed(function, name)
        self._context_parameter = _context_parameter(self._hints)
        declared.setdefault("max_result_chars", _DEFAULT_RESULT_CHARS)
        declared["name"] = name
        for attribute, value in declared.items():
            setattr(self, attribute, value)
        self._is_async = inspect.iscoroutinefunction(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself."""
        return self.function(*args, **kwargs)

    @cached_property
    def arguments(self) -> Arguments:
        """The schema, made from the hints when it is first needed."""
        from pydantic import create_model  # noqa: PLC0415 - a program that only declares tools does not pay for it

        from holdfast.contract.args import Args  # noqa: PLC0415 - see above

        described = _described_parameters(inspect.cleandoc(self._text))
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(self.function).parameters.items():
            if name == self._context_parameter:
                continue
            taken = hasattr(Args, name) or name.startswith("_")  # pydantic uses this name itself
            key = f"argument_{name}" if taken else name
            alias = name if taken else None
            fields[key] = _field(self._hints.get(name, Any), parameter.default, described.get(name), alias)
            if taken:
                self._renamed[key] = name
        model = create_model(f"{self.name}_args", __base__=Args, **fields)
        return ModelArguments(model)

    def prompt(self, facts: PromptFacts = NO_FACTS) -> str:
        """The docstring without its section on parameters, which the schema carries."""
        del facts
        text = inspect.cleandoc(self._text)
        return re.split(r"\n\s*(?:Args|Arguments|Parameters|Returns|Raises):\s*\n", text, maxsplit=1)[0].strip()

    async def call(self, args: Any, ctx: ToolContext) -> ToolResult[Any]:
        """Run the function; a plain one runs in a thread, so that it cannot hold up others."""
        values: dict[str, Any] = args.__dict__
        if self._renamed:
            values = {self._renamed.get(key, key): value for key, value in values.items()}
        if self._context_parameter is not None:
            values = {**values, self._context_parameter: ctx}
        data: Any
        if self._is_async:
            data = await self.function(**values)
        else:
            data = await asyncio.to_thread(self._run_in_thread, values)
        return data if isinstance(data, ToolResult) else ToolResult(data)  # pyright: ignore[reportUnknownVariableType]

    def _run_in_thread(self, values: dict[str, Any]) -> Any:
        try:
            return self.function(**values)
        except StopIteration as error:  # a future cannot carry it: whoever waits would wait forever
            raise RuntimeError(f"{self.name} raised StopIteration") from error


class _WithEffects(FunctionTool):
    """Apart from the others: a tool that says nothing of its arguments is judged by its name alone, and once."""

    def __init__(self, function: Callable[..., Any], *, effects: DeclaredEffects, **declared: Any) -> None:
        super().__init__(function, **declared)
        self._effects = effects

    def effects(self, args: Any, ctx: ToolContext) -> Effects:
        """What the declaration says of these arguments."""
        return self._effects(args, ctx)


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    aliases: tuple[str, ...] = (),
    search_hint: str = "",
    read_only: bool = False,
    destructive: bool = False,
    concurrency_safe: bool = False,
    interrupt_behavior: InterruptBehavior = "block",
    max_result_chars: int | None = _DEFAULT_RESULT_CHARS,
    timeout_s: float | None = None,
    should_defer: bool = False,
    always_load: bool = False,
    strict: bool | None = None,
    input_examples: tuple[Mapping[str, Any], ...] = (),
    to_blocks: Callable[[Any], Content] | None = None,
    effects: DeclaredEffects | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, /, **declared: Any) -> Any:
    """Make a tool from a typed function. Without further word it is exclusive, not read-only, and asked about.

    A parameter annotated `ToolContext` receives the context. `effects=lambda args, ctx: Effects(reads=[…])` says what a
    call would touch, so that rules about files and hosts are asked. The schema comes from the hints, descriptions from
    `Annotated[..., Field(description=...)]` or the docstring's `Args:` section.
    """
    if function is not None and not callable(function):
        raise UsageError(
            f"@tool makes a tool from a function, not from {function!r}; options go by name, such as name="
        )
    declared = {key: value for key, value in declared.items() if value is not None or key == "max_result_chars"}
    unknown = next((key for key in declared if key not in _KEYWORDS), None)
    if unknown is not None:
        meant = did_you_mean(unknown, _KEYWORDS)
        raise UsageError(f"@tool does not know {unknown!r}.{meant} Known are {', '.join(_KEYWORDS)}")
    kind = _WithEffects if "effects" in declared else FunctionTool
    if function is not None:
        return kind(function, **declared)

    def make(wrapped: Callable[..., Any]) -> FunctionTool:
        return kind(wrapped, **declared)

    return make


def _refuse_unnamed(function: Callable[..., Any], name: str) -> None:
    """Say at once that a model can fill in only parameters that have a name."""
    if _is_plain(function):
        code = function.__code__
        if not (code.co_posonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)):
            return
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UsageError(
                f"{name}: parameter {str(parameter).partition(':')[0]!r} must be a plain named one; models send "
                "arguments by name"
            )


def _is_plain(function: Callable[..., Any]) -> TypeGuard[FunctionType]:
    """Whether its own code tells its parameters: it stands for no other function, and nobody gave it a signature."""
    return type(function) is FunctionType and not function.__dict__


def _resolved_hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    if _is_plain(function) and all(hint.__class__ is type for hint in function.__annotations__.values()):
        return dict(function.__annotations__)  # classes: there is nothing to resolve
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{name}: a type hint cannot be resolved ({error}); import the type at module level"
        ) from error


def _context_parameter(hints: Mapping[str, Any]) -> str | None:
    for name, hint in hints.items():
        if hint.__class__ is type and hint is not ToolContext:  # nothing can be inside it
            continue
        kinds = (hint, get_origin(hint), *get_args(hint), *map(get_origin, get_args(hint)))
        if ToolContext in kinds and name != "return":
            return name
    return None


def _field(hint: Any, default: Any, described: str | None, alias: str | None) -> tuple[Any, Any]:
    from pydantic.fields import Field, FieldInfo  # noqa: PLC0415 - see FunctionTool.arguments

    has_description = get_origin(hint) is Annotated and any(
        isinstance(extra, FieldInfo) and extra.description for extra in get_args(hint)[1:]
    )
    value = ... if default is inspect.Parameter.empty else default
    if has_description or not described:
        return (hint, value if alias is None else Field(default=value, alias=alias))
    return (hint, Field(default=value, description=described, alias=alias))


def _described_parameters(docstring: str) -> dict[str, str]:
    """The `Args:` section of a google-style docstring, by parameter."""
    match = re.search(r"^(?:Args|Arguments|Parameters):\s*$\n((?:[ \t]+.*\n?|\s*\n)*)", docstring, re.MULTILINE)
    if match is None:
        return {}
    described: dict[str, str] = {}
    current = ""
    for line in match[1].splitlines():
        found = _PARAMETER_LINE.match(line)
        if found:
            current = found[1]
            described[current] = found[2].strip()
        elif current and line.strip():
            described[current] += f" {line.strip()}"
    return described
