"""Tools told by name only, found and loaded."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast import Agent
from holdfast.contract import ToolContext
from holdfast.mcp.remote_tool import Listed, RemoteTool
from holdfast.models.scripted import ScriptedModel
from holdfast.registry import Deferral, Pool, assemble
from holdfast.registry.deferral import search_mode
from holdfast.tools.search.tool_search import SearchArgs, ToolSearch


def remote(name: str, description: str = "", meta: dict[str, Any] | None = None) -> RemoteTool:
    listed = Listed(name.partition("__")[2], description=description, meta=meta)
    schema = {"type": "object", "properties": {"text": {"type": "string", "description": "x" * 200}}}
    return RemoteTool(f"mcp__{name}", listed, schema, server=name.partition("__")[0], caller=None, held=None)  # type: ignore[arg-type]


def searched(*tools: RemoteTool) -> tuple[Pool, ToolSearch]:
    search = ToolSearch()
    pool = assemble([search], tools)
    pool.deferral = Deferral(())
    search.bind(pool, list)
    return pool, search


def ask(search: ToolSearch, query: str, limit: int = 5) -> dict[str, Any]:
    return asyncio.run(search.call(SearchArgs(query=query, max_results=limit), ToolContext("/"))).data


def test_words_find_tools_by_name_first_and_by_description_then() -> None:
    _, search = searched(
        remote("git__create_issue", "Opens a ticket."),
        remote("git__list_issues", "Shows tickets."),
        remote("mail__send", "Sends a mail about an issue."),
    )
    found = ask(search, "issue")
    assert found["matches"] == ["mcp__git__create_issue", "mcp__git__list_issues", "mcp__mail__send"]
    assert found["total_deferred_tools"] == 3
    assert ask(search, "+send issue")["matches"] == ["mcp__mail__send"]
    assert ask(search, "zebra")["matches"] == []


def test_exact_names_are_loaded_whatever_their_case_and_unknown_ones_are_left_out() -> None:
    _, search = searched(remote("a__x"), remote("a__y"))
    assert ask(search, "select:mcp__a__y, MCP__A__X,Nope")["matches"] == ["mcp__a__y", "mcp__a__x"]


def test_what_is_told_first_never_changes_and_loaded_tools_come_behind() -> None:
    pool, search = searched(remote("a__x"), remote("b__y"), remote("c__z", meta={"anthropic/alwaysLoad": True}))
    before = pool.to_bytes()
    assert b"mcp__c__z" in before
    assert b"mcp__a__x" not in before
    ask(search, "select:mcp__b__y")
    after = pool.to_bytes()
    assert after.startswith(before[:-1])
    assert b"mcp__b__y" in after
    pool.append([remote("d__late")])
    assert pool.to_bytes() == after


def test_deferral_saves_most_of_the_schemas() -> None:
    pool, _ = searched(*(remote(f"s__tool_{number}") for number in range(500)))
    offered = len(pool.to_bytes())
    pool.deferral = None
    pool.append([remote("s__last")])
    assert offered < len(pool.to_bytes()) / 10


@pytest.mark.parametrize(
    ("value", "kind", "percent"),
    [
        ("", "on", 10),
        ("true", "on", 10),
        ("false", "off", 10),
        ("auto", "auto", 10),
        ("auto:5", "auto", 5),
        ("auto:²", "auto", 10),
    ],
)
def test_the_variable_decides(value: str, kind: str, percent: float) -> None:
    mode = search_mode({"ENABLE_TOOL_SEARCH": value})
    assert (mode.kind, mode.percent) == (kind, percent)


def test_a_tool_that_was_not_loaded_says_how_when_its_arguments_do_not_fit() -> None:
    pool, _ = searched(remote("a__x"))
    found = pool.find("mcp__a__x")
    assert found is not None
    assert "select:mcp__a__x" in pool.how_to_load(found.tool)
    pool.load(["mcp__a__x"])
    assert pool.how_to_load(found.tool) == ""


def offered_by_request(steps: list[Any], place: Path, **options: Any) -> list[list[str]]:
    """The names of the tools that each request of a run tells with their schemas."""
    model = ScriptedModel(steps)

    async def run() -> None:
        async with Agent(model, cwd=str(place), persist=False, **options) as agent:
            await asyncio.wait_for(agent.run("go"), 60)

    asyncio.run(run())
    return [[entry["name"] for entry in json.loads(request.tools)] for request in model.requests]


def call_of(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"t{name}", "name": name, "input": arguments}]


def test_a_session_without_servers_tells_rare_tools_by_name_and_loads_them_behind_the_others(tmp_path: Path) -> None:
    steps = [call_of("ToolSearch", {"query": "jupyter"}), "done"]
    first, second = offered_by_request(steps, tmp_path)
    assert "ToolSearch" in first
    assert not {"NotebookEdit", "WebFetch", "TaskStop", "TaskGet", "TaskList", "Config", "EnterWorktree"} & set(first)
    assert second == [*first, "NotebookEdit"]


@pytest.mark.parametrize("value", ["false", "auto"])
def test_all_schemas_are_told_where_the_variable_or_the_threshold_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ENABLE_TOOL_SEARCH", value)
    (names,) = offered_by_request(["done"], tmp_path)
    assert {"NotebookEdit", "WebFetch"} <= set(names)
    monkeypatch.setenv("ENABLE_TOOL_SEARCH", "auto:0.1")
    (names,) = offered_by_request(["done"], tmp_path)
    assert not {"NotebookEdit", "WebFetch"} & set(names)


def test_nothing_waits_where_toolsearch_is_not_offered(tmp_path: Path) -> None:
    (names,) = offered_by_request(["done"], tmp_path, disallowed_tools=["ToolSearch"])
    assert {"NotebookEdit", "WebFetch"} <= set(names)
    assert "ToolSearch" not in names


def test_a_tool_that_was_not_loaded_can_be_called_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    first, second = offered_by_request([call_of("TaskList", {}), "done"], tmp_path)
    assert first == second


def test_words_inside_of_words_and_over_parts_of_a_name_are_found() -> None:
    _, search = searched(remote("git__createIssue"), remote("git__pull_request"), remote("mail__send", "Reissues it."))
    assert ask(search, "issue")["matches"] == ["mcp__git__createIssue", "mcp__mail__send"]
    assert ask(search, "createissue")["matches"] == ["mcp__git__createIssue"]
    assert ask(search, "pull_req")["matches"] == ["mcp__git__pull_request"]
    assert ask(search, "+pull +send")["matches"] == []


def test_what_a_history_has_called_is_loaded_when_it_goes_on(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": call_of("TaskList", {})},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tTaskList", "content": "none"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ]
    (names,) = offered_by_request(["done"], tmp_path, history=history)
    assert names[-1] == "TaskList"
    assert "TaskGet" not in names
