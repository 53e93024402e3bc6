import json
from typing import Any

from inline_snapshot import snapshot
from pydantic import Field

from holdfast import Tool
from holdfast.contract import Args, PromptFacts, conditional
from holdfast.registry import Pool, project, project_bytes, tool_list_bytes


class SearchArgs(Args):
    pattern: str = Field(description="What to look for.")
    background: bool = conditional(default=False, when="background")


class AllRequired(Args):
    pattern: str


class Search(Tool[SearchArgs]):
    name = "Search"
    args_type: Any = SearchArgs
    max_result_chars = 100
    strict = True
    input_examples = ({"pattern": "x"},)

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Search.\n\nIn the sandbox." if facts and facts.sandbox else "Search."


def test_anthropic_reads_a_tool_like_this():
    assert project(Search()) == snapshot(
        {
            "name": "Search",
            "description": "Search.",
            "input_schema": {
                "type": "object",
                "properties": {
                    "pattern": {"description": "What to look for.", "type": "string"},
                    "background": {"description": "", "type": "boolean"},
                },
                "required": ["pattern"],
                "additionalProperties": False,
            },
            "strict": True,
            "input_examples": [{"pattern": "x"}],
        }
    )


def test_openai_reads_a_tool_like_this_and_strict_only_when_everything_is_required():
    assert project(Search(), "openai") == snapshot(
        {
            "type": "function",
            "function": {
                "name": "Search",
                "description": "Search.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "pattern": {"description": "What to look for.", "type": "string"},
                        "background": {"description": "", "type": "boolean"},
                    },
                    "required": ["pattern"],
                    "additionalProperties": False,
                },
            },
        }
    )

    class Strict(Search):
        args_type = AllRequired

    assert project(Strict(), "openai")["function"]["strict"] is True


def test_strict_and_examples_are_left_out_when_not_declared():
    class Plain(Search):
        strict = None
        input_examples = ()

    assert set(project(Plain())) == {"name", "description", "input_schema"}


def test_strict_is_left_out_where_the_schema_says_more_than_strict_mode_takes():
    class Limited(Args):
        pattern: str = Field(min_length=1)

    class Numbered(Args):
        offset: int | None = Field(default=None, ge=1)

    for kind in (Limited, Numbered):

        class Bounded(Search):
            args_type = kind

        assert "strict" not in project(Bounded())
    assert project(Search())["strict"] is True


def test_facts_change_text_and_schema_and_are_remembered_apart():
    search = Search()
    sandboxed = PromptFacts(sandbox=True, background=False)
    entry = json.loads(project_bytes(search, "anthropic", sandboxed))
    assert entry["description"] == "Search.\n\nIn the sandbox."
    assert list(entry["input_schema"]["properties"]) == ["pattern"]
    assert json.loads(project_bytes(search)) == project(search)
    assert project_bytes(search) is project_bytes(search)
    assert project_bytes(search, "openai") != project_bytes(search)


def test_the_whole_list_is_valid_json():
    assert json.loads(Pool([]).to_bytes()) == []
    assert [entry["name"] for entry in json.loads(Pool([Search()]).to_bytes())] == ["Search"]


def test_the_same_tools_give_the_same_bytes_and_other_tools_or_facts_give_their_own():
    first, second = Search(), Search()
    second.name = "Second"
    both = tool_list_bytes([first, second])
    assert tool_list_bytes((first, second)) is both
    assert [entry["name"] for entry in json.loads(tool_list_bytes([second, first]))] == ["Second", "Search"]
    assert json.loads(tool_list_bytes([first])) == json.loads(both)[:1]
    assert tool_list_bytes([first, second], "anthropic", PromptFacts(sandbox=True)) != both
    assert tool_list_bytes([first, second], "openai") != both
    for number in range(20):  # more lists than are remembered
        other = Search()
        other.name = f"Other{number}"
        assert json.loads(tool_list_bytes([other]))[0]["name"] == other.name
    assert tool_list_bytes([first, second]) == both
