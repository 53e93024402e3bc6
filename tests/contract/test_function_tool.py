import threading
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from pydantic import Field

from holdfast import ToolContext, ToolResult, tool
from holdfast.contract import Alias, SessionFacts, UsageError
from holdfast.testing import run_tool


@tool
async def weather(city: str, days: int = 1, ctx: ToolContext | None = None) -> str:
    """Tell the weather.

    It rains more often
    than not.

    Args:
        city: The name of the town,
            in English.
        days (int): How many days.

    Returns:
        The weather.
    """
    assert ctx is not None
    return f"{city} {days} {ctx.cwd}"


def test_name_text_and_schema_come_from_the_function():
    assert weather.name == "weather"
    assert weather.description() == "Tell the weather."
    assert weather.prompt() == "Tell the weather.\n\nIt rains more often\nthan not."
    assert weather.arguments.schema() == {
        "type": "object",
        "properties": {
            "city": {"description": "The name of the town, in English.", "type": "string"},
            "days": {"default": 1, "description": "How many days.", "type": "integer"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_the_context_is_given_by_its_type_and_not_offered():
    assert run_tool(weather, {"city": "Bern", "days": "2"}, cwd="/x").data == "Bern 2 /x"

    @tool
    async def plain(where: ToolContext) -> str:
        """Tell the call."""
        return where.tool_use_id

    assert run_tool(plain).data == "call-1"
    assert plain.arguments.schema()["properties"] == {}
    assert run_tool(plain, {"where": {}}).outcome == "invalid"


def test_a_described_hint_wins_over_the_docstring():
    @tool
    async def described(
        a: Annotated[int, Field(description="from the hint", ge=0)], b: Annotated[int, "note"] = 0
    ) -> int:
        """Describe.

        Args:
            a: from the docstring
            b: a number
        """
        return a + b

    schema = described.arguments.schema()["properties"]
    assert schema["a"] == {"description": "from the hint", "minimum": 0, "type": "integer"}
    assert schema["b"]["description"] == "a number"
    assert run_tool(described, {"a": -1}).outcome == "invalid"


def test_without_further_word_a_tool_is_exclusive_changes_things_and_is_asked_about():
    @tool
    async def plain() -> None:
        """Do something."""

    assert (plain.is_read_only(None), plain.is_concurrency_safe(None), plain.is_destructive(None)) == (False,) * 3
    assert plain.on_user_message(None) == "block"
    assert plain.max_result_chars == 100_000
    assert run_tool(plain, permission_mode="default").outcome == "denied"


def test_everything_can_be_declared():
    @tool(
        name="Renamed",
        description="Said here.\n\nMore.",
        aliases=("old",),
        search_hint="find me by other words",
        read_only=True,
        destructive=True,
        concurrency_safe=True,
        interrupt_behavior="cancel",
        max_result_chars=None,
        timeout_s=5,
        should_defer=True,
        always_load=True,
        strict=True,
        input_examples=({"n": 1},),
        to_blocks=lambda data: f"= {data}",
    )
    async def original(n: int) -> int:
        return n

    assert (original.name, original.names) == ("Renamed", ("Renamed", "old"))
    assert original.description() == "Said here."
    assert (original.max_result_chars, original.timeout_s, original.strict) == (None, 5, True)
    assert (original.is_destructive(None), original.on_user_message(None)) == (True, "cancel")
    assert (original.should_defer, original.always_load) == (True, True)
    assert original.search_hint == "find me by other words"
    assert run_tool(original, {"n": 2}).text == "= 2"


def test_calling_the_tool_calls_the_function():
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert add(1, b=2) == 3


def test_a_plain_function_runs_in_a_thread():
    @tool
    def where() -> bool:
        """Tell the thread."""
        return threading.current_thread() is threading.main_thread()

    assert run_tool(where).data is False


@pytest.mark.parametrize("error", [StopIteration(), StopAsyncIteration(), SystemExit(), RuntimeError()])
def test_whatever_a_plain_function_raises_in_its_thread_the_call_ends(error: BaseException):
    @tool
    def fails() -> None:
        """Fail."""
        raise error

    assert run_tool(fails, timeout_s=20).outcome == "crashed"


def test_a_function_may_return_a_whole_result():
    @tool
    async def whole() -> ToolResult[int]:
        """Return everything."""
        return ToolResult(1, text="one", is_error=True)

    run = run_tool(whole)
    assert (run.data, run.text, run.is_error) == (1, "one", True)


def test_the_callers_default_list_is_not_shared_between_calls():
    @tool
    async def collect(items: list[int] = []) -> list[int]:  # noqa: B006 - the mistake that must not hurt
        """Collect."""
        items.append(1)
        return items

    assert [run_tool(collect).data for _ in range(2)] == [[1], [1]]


@pytest.mark.parametrize("name", ["json", "schema", "copy", "model_name", "validate", "dict"])
def test_parameters_may_have_names_that_pydantic_uses_itself(name: str):
    scope: dict[str, Any] = {}
    exec(f"async def f({name}: str) -> str:\n    'Echo.'\n    return {name}", scope)
    echo = tool(scope["f"])
    assert run_tool(echo, {name: "x"}).data == "x"
    assert list(echo.arguments.schema()["properties"]) == [name]


def test_a_parameter_without_a_hint_takes_anything():
    scope: dict[str, Any] = {}
    exec("async def f(anything):\n    'Take anything.'\n    return anything", scope)
    loose = tool(scope["f"])
    assert run_tool(loose, {"anything": [1]}).data == [1]


def undocumented() -> None: ...


async def starred(*args: int) -> None:
    """Take many."""


async def positional(a: int, /) -> None:
    """Take one."""


async def keywords(**kwargs: int) -> None:
    """Take names."""


async def unresolvable(a: "Nowhere") -> None:  # noqa: F821 # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]
    """Take what cannot be found."""


def test_mistakes_are_told_to_the_developer():
    with pytest.raises(UsageError, match="docstring"):
        tool(undocumented)
    with pytest.raises(UsageError, match="not a tool name"):
        tool(name="two words")(starred)
    with pytest.raises(UsageError, match="Nowhere"):
        tool(unresolvable)  # pyright: ignore[reportUnknownArgumentType]
    unknown: Any = tool
    with pytest.raises(UsageError, match="colour"):
        unknown(colour="red")
    for function in (starred, positional, keywords):
        with pytest.raises(UsageError, match="plain named"):
            tool(function).arguments  # noqa: B018 - the access itself is the test


def test_an_alias_with_defaults_can_be_declared():
    make: Any = tool
    renamed = make(aliases=(Alias("quick", MappingProxyType({"n": 9})),))(_echo)
    assert renamed.names == ("_echo", "quick")


async def _echo(n: int = 0) -> int:
    """Echo."""
    return n


def test_a_function_tool_is_enabled_everywhere():
    assert weather.is_enabled(SessionFacts())
