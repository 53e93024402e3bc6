"""The request that is sent ahead is the one that the full way makes, always, or it is not sent at all."""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import all_tools
from holdfast.app.ahead import AskedAhead, ask_ahead
from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.build import open_session
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.app.warm import Warming
from holdfast.contract import tool
from holdfast.models import ModelError, ModelRequest, open_model
from holdfast.registry import Pool
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.testing import FakeProvider, FakeTurn, RecordedRequest
from holdfast.testing.fake_provider import error_turn
from holdfast.tools.shell.bash import Bash

SETS = {True: 50, False: 150}
"""So many option sets in a trusted folder, where git is asked each time, and in one that is not."""
OTHER_PROVIDERS = ("openai-responses:gpt-6-sol", "gemini:gemini-3-pro", "bedrock:us.anthropic.claude-sonnet-4-5")
"""Asked by the full way alone."""
NO_TRACE = SessionChoice(is_kept=False)
WORD = FakeTurn(blocks=[{"type": "text", "text": "ok"}])
Draw = tuple[Options, AgentOptions, dict[str, str]]


@tool
async def own(a: int) -> int:
    """Add nothing."""
    return a


@tool(name="Grep")
async def other_grep(pattern: str) -> str:
    """Look for it elsewhere."""
    return pattern


def draw(rng: random.Random) -> Draw:
    """Options as people combine them; most choices are left out most of the time."""

    def maybe(value: Any, *, share: float = 0.2, otherwise: Any = None) -> Any:
        return value if rng.random() < share else otherwise

    denied = rng.sample(
        [
            "Bash",
            "ToolSearch",
            "KillShell",
            "Task",
            "Read(./.env)",
            "Edit(/x/**)",
            "mcp__a",
            "WebFetch",
            "Grep(*)",
            "Bash(*)",
        ],
        2,
    )
    layer: dict[str, Any] = {"permissions": {"deny": rng.sample(denied, rng.randint(0, 1))}}
    layer |= maybe({"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "true"}]}]}}, otherwise={})
    layer |= maybe({"web": {"search": "anthropic"}}, share=0.1, otherwise={})
    names = rng.sample(
        ["Read", "Bash", "BashOutput", "Grep", "Write", "Sleep", "Nothing", "TaskStop", "ToolSearch", "minimal"],
        rng.randint(1, 4),
    )
    options = Options(
        permission_mode=rng.choice([None, None, "plan", "acceptEdits", "bypassPermissions", "dontAsk"]),
        allowed_tools=maybe(("Bash(git *)", "Edit"), otherwise=()),
        disallowed_tools=maybe(tuple(denied), share=0.3, otherwise=()),
        tools=maybe(tuple(names), share=0.3),
        settings=maybe((json.dumps(layer),), share=0.4, otherwise=()),
        setting_sources=maybe("user"),
        own_tools=maybe((own,), share=0.05, otherwise=()) or maybe((other_grep,), share=0.05, otherwise=()),
    )
    usual = ["anthropic:claude-sonnet-5", "openai:gpt-6-sol", "ollama:qwen3:4b", "sonnet"]
    provider = rng.choice([*usual, *usual, *OTHER_PROVIDERS])
    agent = AgentOptions(
        model=provider,
        system_prompt=maybe("Answer in one word."),
        append_system_prompt=maybe("Be kind.\n"),
        max_output_tokens=maybe(1234),
        thinking=rng.random() < 0.3,
        effort=maybe("low"),
        max_turns=maybe(3),
        max_budget_usd=maybe(5.0, share=0.1),
        output_schema=maybe({"type": "object", "properties": {}}, share=0.05),
    )
    environ = {
        "HOLDFAST_SIMPLE": maybe("1", share=0.1, otherwise=""),
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": maybe("1", otherwise=""),
        "ENABLE_TOOL_SEARCH": rng.choice(["", "", "", "", "true", "true", "false", "false", "auto:1"]),
        "BRAVE_API_KEY": maybe("k", share=0.05, otherwise=""),
        "BASH_MAX_TIMEOUT_MS": maybe("700000", share=0.05, otherwise=""),
    }
    return options, agent, environ


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, work = tmp_path / "home", tmp_path / "work"
    (home / ".claude").mkdir(parents=True)
    (work / ".claude").mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").write_text("Speak plainly.")
    (work / "CLAUDE.md").write_text("# Here\n\nRun the tests.")
    (work / ".claude" / "settings.json").write_text(
        '{"permissions": {"deny": ["NotebookEdit"], "allow": ["Bash(ls)"]}}'
    )
    for base in (home, work):
        (base / ".claude" / "agents").mkdir()
        (base / ".claude" / "agents" / "a.md").write_text(
            f"---\nname: {base.name}\ndescription: Of {base.name}.\n---\nx"
        )
        (base / ".claude" / "skills" / base.name).mkdir(parents=True)
        (base / ".claude" / "skills" / base.name / "SKILL.md").write_text("---\ndescription: Skilled.\n---\nx")
    subprocess.run(["git", "init", "-q"], cwd=work, check=True, timeout=20)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "HOLDFAST_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    return work


def point_at(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"ANTHROPIC_BASE_URL": provider.url, "OPENAI_BASE_URL": provider.openai_url, "OLLAMA_HOST": provider.url}
    environ |= {"GEMINI_BASE_URL": f"{provider.url}/v1beta", "ANTHROPIC_BEDROCK_BASE_URL": provider.url}
    environ |= {"AWS_REGION": "eu-central-1", "AWS_BEARER_TOKEN_BEDROCK": "k", "GEMINI_API_KEY": "k"}
    for name, value in {**environ, "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}.items():
        monkeypatch.setenv(name, value)


async def run_once(provider: FakeProvider, options: Options, agent: AgentOptions, *, goes_ahead: bool) -> list[bytes]:
    """The bodies that one run sends, and first whether one went ahead."""
    before = len(provider.requests)
    ahead = await ask_ahead(options, agent, NO_TRACE, "What is here?") if goes_ahead else None
    async with await start_agent(options, agent, choice=NO_TRACE, ahead=ahead) as running:
        async for _ in running.loop.run("What is here?"):
            pass
    # The plan file of a session without a trace has a name that nobody can guess.
    bodies = [re.sub(rb"holdfast-[0-9a-f]{24}", b"(here)", request.body) for request in provider.requests[before:]]
    return [b"ahead" if ahead is not None else b"", *bodies]


@pytest.mark.parametrize("trusted", [True, False])
def test_what_is_sent_ahead_is_what_the_full_way_sends_over_many_options(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, trusted: bool
) -> None:
    rng = random.Random(15 + trusted)

    async def whole() -> int:
        if trusted:
            roots = SettingsRoots.from_environment()
            TrustStore(roots.state, home=roots.home).trust(str(place))
        went_ahead = 0
        async with FakeProvider(then=lambda _: WORD) as provider:
            point_at(provider, monkeypatch)
            for number in range(SETS[trusted]):
                options, agent, environ = draw(rng)
                for name, value in environ.items():
                    monkeypatch.setenv(name, value)
                light = await run_once(provider, options, agent, goes_ahead=True)
                full = await run_once(provider, options, agent, goes_ahead=False)
                assert light[1:] == full[1:], f"set {number}: {options} {agent} {environ}"
                went_ahead += light[0] == b"ahead"
        return went_ahead

    assert asyncio.run(asyncio.wait_for(whole(), 100)) > SETS[trusted] * 0.25
    assert "sent again" not in caplog.text


@pytest.mark.parametrize(
    ("options", "agent", "choice"),
    [
        (Options(permission_mode="plan"), AgentOptions(), NEW_SESSION),
        (Options(own_tools=(own,)), AgentOptions(), NEW_SESSION),
        (Options(), AgentOptions(output_schema={"type": "object"}), NEW_SESSION),
        (Options(), AgentOptions(max_budget_usd=1.0), NEW_SESSION),
        (Options(), AgentOptions(), SessionChoice(resume="latest")),
        (
            Options(settings=('{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}',)),
            None,
            None,
        ),
    ],
)
def test_nothing_goes_ahead_where_somebody_else_has_a_word_in_it(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: Options,
    agent: AgentOptions | None,
    choice: SessionChoice | None,
) -> None:
    async def whole() -> int:
        async with FakeProvider(then=lambda _: WORD) as provider:
            point_at(provider, monkeypatch)
            given = (agent or AgentOptions())._replace(model="anthropic:claude-x")
            assert await ask_ahead(options, given, choice or NEW_SESSION, "hi") is None
            return provider.connections

    assert asyncio.run(asyncio.wait_for(whole(), 20)) == 0


def ask(text: str) -> ModelRequest:
    return ModelRequest(messages=[{"role": "user", "content": text}])


def test_another_request_than_the_one_sent_ahead_is_sent_itself(caplog: pytest.LogCaptureFixture) -> None:
    def answer(request: RecordedRequest) -> FakeTurn:
        return FakeTurn(blocks=[{"type": "text", "text": str(request.json["messages"][0]["content"])}])

    async def whole() -> str:
        async with FakeProvider(then=answer) as provider:
            model = AskedAhead(open_model("openai:x", environ={"OPENAI_BASE_URL": provider.openai_url}), ask("one"))
            async with aclosing(model.stream(ask("two"))) as events:
                said = str([event async for event in events])
            await model.close()
            return said

    said = asyncio.run(asyncio.wait_for(whole(), 20))
    assert "two" in said
    assert "one" not in said
    assert "sent again" in caplog.text


def test_what_goes_wrong_ahead_is_told_to_the_one_who_asks_and_a_second_question_is_asked_as_ever() -> None:
    async def whole() -> tuple[str, int]:
        async with FakeProvider([error_turn(529, "overloaded_error", "busy"), WORD]) as provider:
            model = AskedAhead(open_model("openai:x", environ={"OPENAI_BASE_URL": provider.openai_url}), ask("one"))
            with pytest.raises(ModelError) as caught:
                _ = [event async for event in model.stream(ask("one"))]
            _ = [event async for event in model.stream(ask("one"))]
            await model.close()
            return caught.value.kind, len(provider.requests)

    assert asyncio.run(asyncio.wait_for(whole(), 20)) == ("overloaded", 2)


def test_closing_ends_an_answer_that_nobody_reads() -> None:
    async def whole() -> None:
        arrived = asyncio.Event()

        def answer(_: RecordedRequest) -> FakeTurn:
            arrived.set()
            return FakeTurn(raw=[b": wait\n\n"], keeps_open=True)

        async with FakeProvider(then=answer) as provider:
            model = AskedAhead(open_model("openai:x", environ={"OPENAI_BASE_URL": provider.openai_url}), ask("one"))
            await asyncio.wait_for(arrived.wait(), 30)
            await model.close()
            await asyncio.wait_for(provider.disconnected(), 30)

    asyncio.run(asyncio.wait_for(whole(), 20))


def test_after_warming_a_first_command_loads_nothing_of_ours(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from holdfast.app import Options, build_executor\n"
        "from holdfast.app.warm import Warming\n"
        "executor = build_executor(Options(permission_mode='bypassPermissions'))\n"
        "warming = Warming(executor.pool)\n"
        "warming._thread.join(30)\n"
        "before = set(sys.modules)\n"
        "reply = executor.call('Bash', {'command': 'true'})\n"
        "print(reply.is_error, sorted(name for name in set(sys.modules) - before if name.startswith('holdfast')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout == "False []\n", done.stderr


def test_the_login_shell_is_asked_while_the_model_thinks_and_only_in_a_trusted_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=work, check=True, timeout=20)
    (home / ".bash_profile").write_text(f"echo asked >> {home}/asked\n")
    for name, value in {"HOME": str(home), "SHELL": "/bin/bash", "XDG_STATE_HOME": str(tmp_path / "state")}.items():
        monkeypatch.setenv(name, value)

    async def whole(*, trust: bool | None) -> bool:
        async with open_session(Options(cwd=str(work), trust=trust), choice=NO_TRACE) as session:
            warming = Warming(session.executor.pool, session.executor.state.permissions)
            assert warming._asking is not None
            await asyncio.wait_for(warming._asking, 30)
            warming.close()
        return (home / "asked").exists()

    assert not asyncio.run(whole(trust=False))
    assert asyncio.run(whole(trust=True))


def test_an_end_does_not_wait_for_a_login_shell_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "asked")
    (tmp_path / ".bash_profile").write_text(f"echo asked > {tmp_path}/asked; sleep 600\n")
    for name, value in {"HOME": str(tmp_path), "SHELL": "/bin/bash"}.items():
        monkeypatch.setenv(name, value)

    async def whole() -> None:
        async with open_session(Options(), choice=NO_TRACE) as session:
            bash = next(tool for tool in session.executor.pool if isinstance(tool, Bash))
            bash.environment._is_trusted = lambda: True
            warming = Warming(session.executor.pool, session.executor.state.permissions)
            assert await asyncio.to_thread((tmp_path / "asked").read_text) == "asked\n"
            warming.close()
        assert not bash.board.processes.running

    asyncio.run(asyncio.wait_for(whole(), 30))


def test_warming_ends_with_the_step_that_is_under_way() -> None:
    interval_s = sys.getswitchinterval()
    warming = Warming(Pool(all_tools()))
    warming.close()
    warming.close()
    assert sys.getswitchinterval() == interval_s
