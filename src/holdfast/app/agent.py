"""The public agent: a model, tools and a session that goes on from run to run."""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, Unpack, cast, overload

from holdfast.app.agent_core import AgentCore
from holdfast.app.askers import Approver, FormFiller, asker_of
from holdfast.app.begin import SessionChoice
from holdfast.app.check_arguments import check_deps, check_prompt, check_values
from holdfast.app.given_servers import read_given_servers
from holdfast.app.names import check_names, given_agents, split_names
from holdfast.app.options import AgentOptions, Options
from holdfast.app.output import output_adapter, output_schema
from holdfast.app.overrides import RunChoices, check_choices, chosen_for_run
from holdfast.app.results import Out, Run, RunResult, told_refusals
from holdfast.app.start_agent import RunningAgent, start_agent
from holdfast.contract import Asker, Tool, UsageError, tool
from holdfast.contract.context import Deps
from holdfast.events import ContextCompacted, Event, RunEnded
from holdfast.lib.closing import ClosedAtExit
from holdfast.session.names import check_session_id, new_session_id

if TYPE_CHECKING:
    import os
    from types import UnionType

    from holdfast.app.agent_choices import AgentChanges, AgentChoices
    from holdfast.hooks import Hook
    from holdfast.models import Effort, Model

__all__ = ["Agent", "Approver"]


class Agent(ClosedAtExit, Generic[Deps, Out]):
    """One agent is one session: several runs continue the conversation, and files seen and directory stay.

    For runs side by side make copies (`copy`): each is a session of its own. Use it as a context manager (`async with`,
    or `with` and `run_sync`), or call `close`.
    """

    if (
        TYPE_CHECKING
    ):  # a union or a JSON Schema is no `type`, so only the declared type of the agent can name its output

        @overload
        def __init__(
            self,
            model: "str | Model | None" = None,
            tools: Iterable[Tool | Callable[..., Any]] = (),
            *,
            output_type: type[Out] | Sequence[type[Out]] | None = None,
            deps_type: type[Deps] | None = None,
            **choices: Unpack[AgentChoices],
        ) -> None: ...
        @overload
        def __init__(
            self: "Agent[Any, Any]",
            model: "str | Model | None" = None,
            tools: Iterable[Tool | Callable[..., Any]] = (),
            *,
            output_type: UnionType | Mapping[str, Any],
            deps_type: type[Any] | None = None,
            **choices: Unpack[AgentChoices],
        ) -> None: ...

    def __init__(  # noqa: PLR0913 - every argument is a choice of the caller, all but two by name
        self,
        model: "str | Model | None" = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        builtin_tools: bool | str | Sequence[str] = True,
        cwd: "str | os.PathLike[str] | None" = None,
        permission_mode: str | None = None,
        allowed_tools: str | Sequence[str] = (),
        disallowed_tools: str | Sequence[str] = (),
        add_dirs: str | Sequence[str] = (),
        settings: str | Sequence[str] = (),
        setting_sources: str | None = None,
        mcp_config: str | Sequence[str] = (),
        strict_mcp_config: bool = False,
        mcp_servers: Mapping[str, Any] | None = None,
        approver: Approver | Asker | None = None,
        on_form: FormFiller | None = None,
        system_prompt: str | None = None,
        append_system_prompt: str | None = None,
        max_turns: int | None = None,
        max_budget_usd: float | None = None,
        max_output_tokens: int | None = None,
        thinking: bool = False,
        effort: "Effort | None" = None,
        fallback_model: "str | Model | None" = None,
        max_total_tokens: int | None = None,
        output_type: "type[Out] | Sequence[type[Out]] | UnionType | Mapping[str, Any] | None" = None,
        deps_type: type[Deps] | None = None,
        history: Iterable[Mapping[str, Any]] = (),
        resume: str | None = None,
        fork: bool = False,
        session_id: str | None = None,
        persist: bool = True,
        hooks: "Iterable[Hook]" = (),
        on_event: Callable[[Event], None] | None = None,
        trust: bool | None = None,
        agents: str | Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Describe the agent; nothing is read, opened or asked before the first run.

        Args:
            model: `provider:name`, `scripted:FILE`, `replay:FILE`, or a model of your own. None: `HOLDFAST_MODEL`, the
                settings, or the provider whose key is set.
            tools: Your own tools: `Tool` objects, or functions, which are made into tools.
            builtin_tools: False for none of the built-in tools, or the names of those that are offered; `minimal` is
                Bash, Read and Edit.
            cwd: Where the agent works.
            permission_mode: What happens to calls that no rule speaks of; None: what the settings say.
            allowed_tools: Rules that allow, such as `Bash(git *)`.
            disallowed_tools: Rules that deny.
            add_dirs: Further directories the agent may work in.
            settings: Settings on top of the files: a file's path, or JSON text.
            setting_sources: Which settings files are read, of `user,project,local`; `""` for none of them.
            mcp_config: MCP servers besides those configured: files, or JSON text.
            strict_mcp_config: Only the servers of `mcp_config` and `mcp_servers`.
            mcp_servers: MCP servers given in Python, by name: a configuration as in `.mcp.json`, or a server that
                lives in your program (`MCPServer` or `Server` of the package `mcp`).
            approver: Asked about calls that need a person: a function that returns (or resolves to) an `Answer`, True
                or False. Without one nobody can be asked, and such calls are refused.
            on_form: Asked for what a person should fill in, open or edit, such as the model's questions, a plan, or
                what a server wants to know: a function that returns (or resolves to) a `FormAnswer`, the values by
                the fields' names, or None for no.
            system_prompt: Replaces the built-in system prompt.
            append_system_prompt: Added after the system prompt.
            max_turns: How many answers of one run may ask for tools.
            max_budget_usd: No request goes out once this is spent.
            max_output_tokens: How long one answer may be.
            thinking: Let the model think before it answers, where it can.
            effort: How hard the model should try, where it can be told.
            fallback_model: Asked when the first is overloaded again and again.
            max_total_tokens: No request of a run goes out once it has used this many tokens, in and out.
            output_type: The answer is wanted as data: any type that pydantic can validate (a model, a dataclass,
                `list[str]`, …), a list of types of which the model picks one, or a JSON Schema. Without one
                `RunResult.output` is the answer's text.
            deps_type: What `run(…, deps=…)` hands to the tools as `ToolContext.deps`; for type checkers.
            history: What was said before, as `RunResult.messages` has it; a resumed session has its own.
            resume: Go on with an earlier session: its id, the beginning of it, or `latest`.
            fork: Leave that session as it is, and go on in a new one.
            session_id: The id of a new session.
            persist: False: nothing is written to disk.
            hooks: Functions of your own that hear events, such as `Hook("PreToolUse", check, "Bash")`, beside the
                hooks of the settings.
            on_event: Told about everything that happens in the session, also between runs.
            trust: True: what the folder brings (instructions, allow rules, directories) applies to this agent; hooks
                and variables still need the user's approval. False: only its deny and ask rules apply. None: as the
                user said with `holdfast trust`. `RunResult.warnings` names what was left out.
            agents: More types of agents, as `--agents` has them: name to `description`, `prompt`, `tools`, `model`, …
        """
        tools, hooks, history = tuple(tools), tuple(hooks), tuple(history)
        self._given = {name: value for name, value in locals().items() if name != "self"}
        check_values(self._given)
        given_servers = read_given_servers(mcp_servers)
        self._options = Options(
            cwd=None if cwd is None else str(cwd),
            permission_mode=permission_mode,
            allowed_tools=_listed(allowed_tools),
            disallowed_tools=_listed(disallowed_tools),
            tools=None if builtin_tools is True else split_names(_listed(builtin_tools or ())),
            add_dirs=_listed(add_dirs),
            settings=_listed(settings),
            setting_sources=setting_sources,
            mcp_config=(*_listed(mcp_config), *given_servers.config),
            own_servers=given_servers.objects,
            strict_mcp_config=strict_mcp_config,
            own_tools=tuple(map(_as_tool, tools)),
            hooks=hooks,
            trust=trust,
        )
        check_names(self._options)
        self._output = output_adapter(output_type)
        self._agent = AgentOptions(
            model=model,
            fallback_model=fallback_model,
            system_prompt=system_prompt,
            append_system_prompt=append_system_prompt,
            max_turns=max_turns,
            max_budget_usd=max_budget_usd,
            max_output_tokens=max_output_tokens,
            thinking=thinking,
            effort=effort,
            output_schema=output_schema(output_type, self._output),
            accept_output=None if self._output is None else self._output.validate_python,
            max_total_tokens=max_total_tokens,
            history=history,
            agents=() if not agents else tuple(given_agents(agents)),
        )
        self._choice = _choice(resume, session_id, fork=fork, persist=persist)
        self._asker, self._on_event, self._core = asker_of(approver, on_form), on_event, AgentCore()

    # Running.

    def copy(self, **changes: "Unpack[AgentChanges]") -> "Agent[Deps, Out]":
        """The same agent with a session of its own, and with other choices where you name them.

        Several copies may run side by side: `await asyncio.gather(*(agent.copy().run(p) for p in prompts))`.
        """
        given: dict[str, Any] = {**self._given, "resume": None, "fork": False, "session_id": None, **changes}
        return cast("Agent[Deps, Out]", Agent(**given))

    def run(
        self, prompt: str | list[dict[str, Any]], *, deps: Deps | None = None, **choices: Unpack[RunChoices]
    ) -> Run[Out]:
        """Answer a prompt: await the `Run` for its result, or iterate over its events.

        A run that was left unfinished is ended first.

        Args:
            prompt: What is asked.
            deps: What your tools find as `ToolContext.deps` in this run.
            **choices: For this run only: `model`, `permission_mode`, `allowed_tools`, `disallowed_tools`, `max_turns`,
                `max_budget_usd`, `max_output_tokens`, `max_total_tokens`, `thinking`, `effort`.
        """
        self._check(prompt, deps, choices)
        return Run(self._events(prompt, deps, choices), self._to_result)

    def stream(
        self, prompt: str | list[dict[str, Any]], *, deps: Deps | None = None, **choices: Unpack[RunChoices]
    ) -> AsyncGenerator[Event]:
        """The events of a run, as they happen; the last one is `RunEnded`. The arguments are those of `run`."""
        self._check(prompt, deps, choices)
        return self._events(prompt, deps, choices)

    def run_sync(
        self, prompt: str | list[dict[str, Any]], *, deps: Deps | None = None, **choices: Unpack[RunChoices]
    ) -> RunResult[Out]:
        """Answer a prompt, without asyncio. Background tasks rest between two such runs. Else as `run`."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise UsageError("Agent.run_sync is for code without asyncio; in a coroutine use `await agent.run(prompt)`")
        if self._core.runner is None:
            self._core.runner = asyncio.Runner()
            # Whoever forgets to close the agent still leaves nothing behind.
            weakref.finalize(self, AgentCore.close_forgotten, self._core)
        return self._core.runner.run(self._await(self.run(prompt, deps=deps, **choices)))

    def submit(self, prompt: str | list[dict[str, Any]]) -> None:
        """Tell the model something while a run is under way; it reads it between two turns."""
        self._running("submit").submit(prompt)

    async def interrupt(self) -> None:
        """Stop the run that is under way: every call is cancelled and answered, and the run ends."""
        if self._core.running is not None:
            await self._core.running.interrupt()

    async def compact(self, instructions: str = "") -> ContextCompacted | None:
        """Shorten the conversation to a summary now; None when there is nothing to shorten."""
        return await (await self._start()).compact(instructions)

    # Looking.

    @property
    def session_id(self) -> str | None:
        """The session's id; None before the first run of an agent that resumes another session."""
        running = self._core.running
        return running.session_id if running is not None else self._choice.session_id

    @property
    def history(self) -> list[dict[str, Any]]:
        """The conversation so far, as the model sees it."""
        running = self._core.running
        return [] if running is None else list(running.history)

    @property
    def cost_usd(self) -> float | None:
        """What all runs have cost so far; None where no price is known."""
        running = self._core.running
        return None if running is None else running.cost_usd

    # Ending.

    async def close(self) -> None:
        """End everything the agent started."""
        if self._core.runner is not None:
            raise UsageError("this agent was used with run_sync; close it with `close_sync` or a plain `with`")
        await self._core.close()

    def close_sync(self) -> None:
        """The same for code without asyncio."""
        self._core.close_sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_sync()

    # Inside.

    def _check(self, prompt: object, deps: object, choices: RunChoices) -> None:
        check_choices(choices)
        check_values(choices)
        check_prompt(prompt)
        check_deps(deps, self._given["deps_type"])

    async def _start(self, stand_in: "str | Model | None" = None) -> RunningAgent:
        core = self._core
        if core.is_closed:
            raise UsageError("this agent is closed; make a new one, with resume= to go on with its session")
        if core.running is None:
            with core.starting():
                options = self._agent._replace(stand_in=stand_in)
                core.running = await start_agent(
                    self._options, options, choice=self._choice, asker=self._asker, on_event=self._on_event
                )
        return core.running

    async def _events(
        self, prompt: str | list[dict[str, Any]], deps: Any, choices: RunChoices
    ) -> AsyncGenerator[Event]:
        running = await self._start(choices.get("model"))
        await self._core.begin_run()
        with chosen_for_run(running, deps, choices):
            events = running.run(prompt)
            self._core.events = events
            try:
                async for event in events:
                    yield event
            finally:
                with suppress(RuntimeError):  # the next run is closing it already
                    await events.aclose()

    def _to_result(self, ended: RunEnded) -> RunResult[Out]:
        output = ended.structured_output
        if self._agent.output_schema is None:
            output = ended.text if ended.outcome == "success" else None
        elif output is not None and self._output is not None:
            output = self._output.validate_python(output)
        notices = () if self._core.running is None else self._core.running.notices()
        refused = () if self._asker is not None else told_refusals(ended.denials)
        return RunResult[Any](
            text=ended.text,
            outcome=ended.outcome,
            session_id=self.session_id or "",
            turns=ended.turns,
            duration_ms=ended.duration_ms,
            usage=ended.usage,
            cost_usd=ended.cost_usd,
            output=output,
            error=ended.error,
            stop_reason=ended.stop_reason,
            denials=ended.denials,
            messages=tuple(self.history),
            warnings=(*notices, *refused),
        )

    def _running(self, deed: str) -> RunningAgent:
        if self._core.running is None:
            raise UsageError(f"there is no run to {deed} to; start one with `run`")
        return self._core.running

    @staticmethod
    async def _await(run: Run[Out]) -> RunResult[Out]:
        return await run


def _choice(resume: str | None, session_id: str | None, *, fork: bool, persist: bool) -> SessionChoice:
    if session_id is not None:
        check_session_id(session_id)
    if resume is None:
        session_id = session_id or new_session_id()
    return SessionChoice(resume, fork, session_id, persist)


def _listed(given: str | Sequence[str]) -> tuple[str, ...]:
    """One text is one entry and not its letters: a rule that denies must never be lost that way."""
    return (given,) if isinstance(given, str) else tuple(given)


def _as_tool(given: Tool | Callable[..., Any]) -> Tool:
    return cast("Tool", given) if isinstance(given, Tool) else tool(given)
