import re
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Tool
from holdfast.contract import Alias, Args, ArgumentsInvalid, McpInfo, PromptFacts, UsageError
from holdfast.registry import Pool, apply_call_name, assemble


class Named(Tool):
    args_type = Args
    max_result_chars = 100

    def __init__(self, name: str, *aliases: str | Alias, remote: bool = False) -> None:
        self.name = name
        self.aliases = aliases
        self.mcp_info = McpInfo("server", name) if remote else None

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return f"The tool {self.name}."


def names(pool: Pool) -> list[str]:
    return [tool.name for tool in pool]


def test_built_ins_come_first_sorted_then_remote_tools_sorted():
    pool = assemble([Named("Write"), Named("Bash")], [Named("mcp__b__x"), Named("mcp__a__x"), Named("aaa")])
    assert names(pool) == ["Bash", "Write", "aaa", "mcp__a__x", "mcp__b__x"]
    assert len(pool) == 5


def test_a_remote_tool_never_takes_a_built_ins_name_not_even_of_one_that_is_absent(caplog: pytest.LogCaptureFixture):
    ours = Named("Mine", "Older")
    impostors = [Named(name, remote=True) for name in ("Mine", "Older", "Bash", "Task", "KillShell")]
    pool = assemble([ours], impostors)
    assert list(pool) == [ours]
    assert len(caplog.records) == 5
    pool.append(impostors)
    assert list(pool) == [ours]


def test_of_two_remote_tools_with_one_name_the_first_stays():
    first, second = Named("mcp__a__x"), Named("mcp__a__x")
    found = assemble([], [first, second]).find("mcp__a__x")
    assert found is not None
    assert found.tool is first


def test_a_users_tool_replaces_a_built_in_with_a_warning(caplog: pytest.LogCaptureFixture):
    mine = Named("Bash")
    pool = assemble([Named("Bash"), Named("Read")], own_tools=[mine, Named("extra")])
    found = pool.find("Bash")
    assert found is not None
    assert found.tool is mine
    assert names(pool) == ["Bash", "Read", "extra"]
    assert "replaces" in caplog.text


def test_tools_that_arrive_later_are_appended_and_take_no_name():
    pool = assemble([Named("B", "OldB")], [Named("mcp__z")])
    pool.append([Named("mcp__b"), Named("mcp__a"), Named("B"), Named("OldB"), Named("mcp__z")])
    assert names(pool) == ["B", "mcp__z", "mcp__a", "mcp__b"]


def test_of_tools_that_arrive_together_the_first_with_a_name_or_older_name_keeps_it():
    pool = Pool([])
    first, double, shadowed = Named("a", "b"), Named("a"), Named("b")
    pool.append([first, double, shadowed])
    assert list(pool) == [first]


def test_an_incomplete_tool_that_arrives_later_leaves_the_pool_as_it_was():
    pool = Pool([Named("a")])
    with pytest.raises(UsageError):
        pool.append([Named("")])
    assert names(pool) == ["a"]


def test_a_tool_is_found_by_any_name_and_a_real_name_beats_an_alias():
    agent = Named("Agent", "Task", Alias("Helper", MappingProxyType({"quiet": True})))
    task = Named("Task")
    pool = Pool([agent, task])
    found = {name: pool.find(name) for name in ("Agent", "Task", "Helper", "task", "")}
    assert found["Agent"] is not None
    assert found["Agent"].tool is agent
    assert found["Task"] is not None
    assert found["Task"].tool is task
    assert found["Helper"] is not None
    assert dict(found["Helper"].defaults or {}) == {"quiet": True}
    assert found["task"] is found[""] is None
    reverse = Pool([task, agent]).find("Task")
    assert reverse is not None
    assert reverse.tool is task


def test_an_incomplete_tool_is_refused():
    class Unbounded(Tool):
        name = "Unbounded"

    with pytest.raises(UsageError, match="no name"):
        Pool([Named("")])
    with pytest.raises(UsageError, match="max_result_chars"):
        Pool([Unbounded()])


def test_a_missing_name_is_explained_without_flooding_the_model():
    pool = Pool([Named(f"tool{number}") for number in range(100)])
    assert "and 60 more" in pool.missing("nope")
    assert "'nope'" in pool.missing("nope")
    assert "not available in this session" in pool.missing("KillShell")


def test_old_argument_names_and_alias_defaults_are_filled_in():
    tool = Named("New", Alias("Old", MappingProxyType({"block": False})))
    tool.renamed_arguments = MappingProxyType({"id": "task_id"})
    pool = Pool([tool])
    old, new = pool.find("Old"), pool.find("New")
    assert old is not None
    assert new is not None
    assert apply_call_name(old, {"id": "1"}) == {"task_id": "1", "block": False}
    assert apply_call_name(old, {"task_id": "1", "block": True}) == {"task_id": "1", "block": True}
    assert apply_call_name(new, {"id": "1"}) == {"task_id": "1"}
    with pytest.raises(ArgumentsInvalid):
        apply_call_name(new, {"id": "1", "task_id": "2"})
    raw = {"x": 1}
    plain = Pool([Named("Plain")]).find("Plain")
    assert plain is not None
    assert apply_call_name(plain, raw) is raw


BUILT_IN = st.sets(st.sampled_from(["Bash", "Read", "Edit", "Glob", "Grep", "WebFetch", "Agent"]), min_size=1)
REMOTE = st.lists(
    st.from_regex(re.compile(r"mcp__[a-z]{1,3}__[a-z]{1,3}|[A-Z][a-z]{1,4}"), fullmatch=True), max_size=12
)


@given(built_in=BUILT_IN, at_start=REMOTE, later=REMOTE)
def test_remote_tools_never_change_the_bytes_of_the_built_ins(
    built_in: set[str], at_start: list[str], later: list[str]
):
    tools = [Named(name) for name in sorted(built_in)]
    alone = assemble(tools).to_bytes()
    pool = assemble(reversed(tools), [Named(name, remote=True) for name in at_start])
    before = pool.to_bytes()
    assert before.startswith(alone[:-1])
    pool.append([Named(name, remote=True) for name in later])
    assert pool.to_bytes().startswith(before[:-1])
    assert len({tool.name for tool in pool}) == len(pool)


def test_a_thousand_tools_are_rendered_once():
    rendered: list[str] = []

    class Counted(Named):
        def prompt(self, facts: PromptFacts | None = None) -> str:
            rendered.append(self.name)
            return super().prompt(facts)

    tools = [Counted(f"tool{number:04}") for number in range(1_000)]
    first = assemble(tools).to_bytes()
    second = assemble(tools, [Named("mcp__late")]).to_bytes()
    assert second.startswith(first[:-1])
    assert len(rendered) == 1_000
    found = assemble(tools).find("tool0999")
    assert found is not None
    assert found.tool is tools[-1]


class Said(Named):
    def __init__(self, name: str, text: str = "") -> None:
        super().__init__(name, remote=True)
        self.text = text

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return self.text or f"The tool {self.name}."


def test_the_same_tools_of_a_server_again_change_no_byte() -> None:
    pool = assemble([Named("Bash")], [Said("mcp__s__a"), Said("mcp__s__b")])
    before = pool.to_bytes()
    pool.replace("server", [Said("mcp__s__a"), Said("mcp__s__b")])
    assert pool.to_bytes() == before


def test_changed_and_new_tools_come_behind_all_others_and_are_what_is_called() -> None:
    pool = assemble([Named("Bash")], [Said("mcp__s__a"), Said("mcp__s__b")])
    changed = Said("mcp__s__a", "Other words.")
    pool.replace("server", [changed, Said("mcp__s__b"), Said("mcp__s__c")])
    assert names(pool) == ["Bash", "mcp__s__b", "mcp__s__a", "mcp__s__c"]
    found = pool.find("mcp__s__a")
    assert found is not None
    assert found.tool is changed


def test_a_tool_that_is_gone_stays_listed_until_forgotten_but_cannot_be_called() -> None:
    pool = assemble([Named("Bash")], [Said("mcp__s__a"), Said("mcp__s__b")])
    before = pool.to_bytes()
    pool.replace("server", [Said("mcp__s__b")])
    assert pool.to_bytes() == before
    assert pool.find("mcp__s__a") is None
    assert "cannot be called now" in pool.missing("mcp__s__a")
    pool.replace("server", [Said("mcp__s__a"), Said("mcp__s__b")])
    assert pool.find("mcp__s__a") is not None
    pool.replace("server", [])
    pool.forget_gone()
    assert names(pool) == ["Bash"]
