import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holdfast import Tool, ToolContext
from holdfast.contract import (
    NO_OBJECTION,
    UNKNOWN_EFFECTS,
    Alias,
    Args,
    Effects,
    PromptFacts,
    RuleSubject,
    SchemaArguments,
    SessionFacts,
    UsageError,
)
from holdfast.contract.tool import text_of_data
from holdfast.testing import run_virtual


class Bare(Tool[Any]):
    name = "Bare"
    aliases = ("Old", Alias("Older", {"x": 1}))
    max_result_chars = 10


def test_a_tool_that_says_nothing_has_the_careful_defaults():
    bare, ctx = Bare(), ToolContext("/x")
    assert bare.is_enabled(SessionFacts()) is True
    assert (bare.is_read_only(None), bare.is_destructive(None), bare.is_concurrency_safe(None)) == (False,) * 3
    assert bare.on_user_message(None) == "block"
    assert bare.effects(None, ctx) == UNKNOWN_EFFECTS
    assert bare.permission_matcher(None, ctx) == RuleSubject("name", "")
    assert bare.classifier_input(None) is None
    assert bare.search_or_read(None) is None
    assert (bare.should_defer, bare.always_load, bare.strict, bare.mcp_info) == (False, False, None, None)
    assert (bare.requires_user_interaction, bare.session_state, bare.failure_cancels_dependents) == (False,) * 3
    assert run_virtual(bare.validate(None, ctx)) is None
    assert run_virtual(bare.check_permission(None, ctx)) == NO_OBJECTION
    assert bare.user_facing_name() == "Bare"


def test_all_names_are_known_with_the_canonical_one_first():
    assert Bare().names == ("Bare", "Old", "Older")


def test_the_engine_knows_which_stages_a_tool_takes_part_in():
    class Speaks(Bare):
        async def validate(self, args: Any, ctx: ToolContext) -> None: ...
        async def check_permission(self, args: Any, ctx: ToolContext) -> Any: ...

    class Paths(Bare):
        def effects(self, args: Any, ctx: ToolContext) -> Effects:
            return Effects()

    assert (Bare.has_validate, Bare.has_opinion, Bare.judged_by_name) == (False, False, True)
    assert (Speaks.has_validate, Speaks.has_opinion, Speaks.judged_by_name) == (True, True, False)
    assert Paths.judged_by_name is False


def test_arguments_come_from_a_model_or_a_schema_and_one_of_them_must_be_there():
    class Modelled(Bare):
        args_type = Args

    remote = Bare()
    remote.json_schema = {"type": "object"}
    assert Modelled().arguments is Modelled().arguments
    assert isinstance(remote.arguments, SchemaArguments)
    with pytest.raises(UsageError, match="args_type nor json_schema"):
        Bare().arguments  # noqa: B018 - the access itself is the test


def test_the_text_stands_in_a_file_beside_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("beside_example")
    module.__file__ = str(tmp_path / "beside_example.py")
    monkeypatch.setitem(sys.modules, "beside_example", module)
    (tmp_path / "beside_example.md").write_text("First line\nof a paragraph.\n\nThe rest.\n")
    kind = type("Beside", (Bare,), {"__module__": "beside_example"})
    assert kind().prompt(PromptFacts()) == "First line\nof a paragraph.\n\nThe rest."
    assert kind().description() == "First line of a paragraph."


def test_a_missing_text_is_told_to_the_developer():
    with pytest.raises(UsageError, match=r"test_tool\.md"):
        Bare().prompt()
    lost = type("Lost", (Bare,), {"__module__": "no.such.module"})
    with pytest.raises(UsageError, match=r"no\.such\.module"):
        lost().prompt()


def test_a_tool_without_a_call_says_so():
    with pytest.raises(UsageError, match="no call"):
        run_virtual(Bare().call(None, ToolContext("/x")))


def test_data_becomes_text_whatever_it_is():
    assert text_of_data("as it is") == "as it is"
    assert text_of_data({"a": (1, None)}) == '{"a":[1,null]}'
    assert text_of_data(b"\xff") == "b'\\xff'"
    knot: list[Any] = []
    knot.append(knot)
    assert text_of_data(knot) == "[[...]]"
