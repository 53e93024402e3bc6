"""One session of an editor: its agent, its prompts, what it may choose."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.acp.buffers import EditorBuffers
from holdfast.acp.consent import Consent
from holdfast.acp.content import prompt_of
from holdfast.acp.history import told_again
from holdfast.acp.questions import EditorAsker
from holdfast.acp.terminals import EditorTerminals
from holdfast.acp.updates import Updates
from holdfast.acp.wire import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Peer, RpcError, as_list, as_object
from holdfast.app.begin import NEW_SESSION, SessionChoice
from holdfast.app.commands import offered_commands
from holdfast.app.options import AgentOptions, Options
from holdfast.app.start_agent import start_agent
from holdfast.contract.names import MODE_WORDS
from holdfast.events import RunEnded, encode_json

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["EditorSession", "Wanted"]

Fields = dict[str, Any]
_STOPPED = {
    "error_max_turns": "max_turn_requests",
    "error_max_budget_usd": "max_turn_requests",
    "error_max_total_tokens": "max_turn_requests",
    "interrupted": "cancelled",
}
_BY_MODEL = {"max_tokens": "max_tokens", "refusal": "refusal"}


class Wanted:
    """What the editor and the command line want of a session."""

    def __init__(self, options: Options, agent: AgentOptions, servers: Mapping[str, Fields]) -> None:
        self.options = options
        self.agent = agent
        self.servers = servers

    def with_servers(self, servers: Mapping[str, Fields]) -> Options:
        """The options, with those servers of the editor that may start."""
        if not servers:
            return self.options
        config = encode_json({"mcpServers": dict(servers)}).decode()
        return self.options._replace(mcp_config=(*self.options.mcp_config, config))


class EditorSession:
    """Made by `begin`; ended by `close`."""

    def __init__(self, peer: Peer, wanted: Wanted, capabilities: Mapping[str, Any]) -> None:
        self._peer = peer
        self._wanted = wanted
        self._shows = as_object(capabilities.get("session"))
        self._asker = EditorAsker(peer, capabilities)
        has_buffers = as_object(capabilities.get("fs")).get("readTextFile") is True
        self._buffers = EditorBuffers(peer) if has_buffers else None
        self._terminals = EditorTerminals(peer) if capabilities.get("terminal") is True else None
        self._consent: Consent | None = None
        self._is_busy = False
        self._is_cancelled = False
        self._commands: list[Fields] = []
        self.id = ""
        self.agent: RunningAgent
        self._updates: Updates

    async def begin(self, choice: SessionChoice = NEW_SESSION) -> None:
        """Start the agent; what the folder and the editor bring waits for a yes at the first prompt."""
        servers = {} if self._consent is None else self._consent.allowed
        if self._consent is None and self._wanted.servers:
            self._consent = Consent(self._peer, "", self._wanted.servers)
            servers = self._consent.allowed
        options = self._wanted.with_servers(servers)._replace(buffers=self._buffers, terminals=self._terminals)
        self.agent = await start_agent(options, self._wanted.agent, choice=choice, asker=self._asker)
        self.id = self._asker.session_id = self.agent.session_id
        if self._buffers is not None:
            self._buffers.session_id = self.id
        self._updates = Updates(
            self.agent,
            notices=self._shows.get("notices") is not None,
            compactions=self._shows.get("compaction") is not None,
        )
        self._asker.calls = self._updates.calls
        if self._terminals is not None:
            self._terminals.session_id, self._terminals.calls = self.id, self._updates.calls
        self._consent = self._consent or Consent(self._peer, self.id, {})
        self._consent.session_id = self.id

    async def close(self) -> None:
        """End everything that belongs to it."""
        await self.agent.close()

    # What the editor shows.

    def state(self) -> Fields:
        """Modes and options, for whoever opens the session."""
        return {"modes": self.modes(), "configOptions": self.config_options()}

    def modes(self) -> Fields:
        """The permission modes."""
        return {
            "currentModeId": self.agent.mode,
            "availableModes": [
                {"id": mode, "name": MODE_WORDS[mode][0], "description": MODE_WORDS[mode][1]}
                for mode in self.agent.modes
            ],
        }

    def config_options(self) -> list[Fields]:
        """What can be chosen: the mode and the model."""
        from holdfast.models.open import ALIASES  # noqa: PLC0415 - loaded with the model

        now, first = self.agent.model.name, self.agent.first_model
        provider = first.partition(":")[0]
        names = [f"{provider}:{name}" for name in ALIASES.values()] if provider == "anthropic" else []
        models = list(dict.fromkeys((now, first, *names)))
        modes = [{"value": mode["id"], "name": mode["name"]} for mode in self.modes()["availableModes"]]
        return [
            _select("mode", "Mode", "mode", self.agent.mode, modes),
            _select("model", "Model", "model", now, [{"value": name, "name": name} for name in models]),
        ]

    def show(self) -> None:
        """Tell what is known once the editor knows the session: its commands, and what does not count."""
        self._show_commands()
        for notice in self.agent.notices():
            for update in self._updates.notice("warning", notice):
                self.tell(update)

    def _show_commands(self) -> None:
        """Tell what can be called, where it is something else than before: prompts of servers may come later."""
        commands: list[Fields] = [
            {
                "name": one.name,
                "description": one.about or one.name,
                **({"input": {"hint": one.hint}} if one.hint else {}),
            }
            for one in offered_commands(self.agent)
        ]
        commands.append(
            {"name": "compact", "description": "Shorten the conversation now", "input": {"hint": "what to keep"}}
        )
        if commands != self._commands:
            self._commands = commands
            self.tell({"sessionUpdate": "available_commands_update", "availableCommands": commands})

    def show_history(self) -> None:
        """Tell the whole conversation again."""
        for update in told_again(self.agent.history, self._updates.calls):
            self.tell(update)

    def tell(self, update: Fields) -> None:
        """Tell the editor one update."""
        self._peer.tell("session/update", {"sessionId": self.id, "update": update})

    # What the editor wants.

    async def prompt(self, blocks: Any) -> Fields:
        """Answer a prompt; how it ended."""
        if self._is_busy:
            raise RpcError(INVALID_REQUEST, "a prompt is under way in this session; cancel it first")
        said = prompt_of(as_list(blocks))
        self._is_busy, self._is_cancelled = True, False
        try:
            await self._settle()
            self._show_commands()
            return {"stopReason": "cancelled" if self._is_cancelled else await self._answer(said)}
        finally:
            self._is_busy = False

    async def cancel(self) -> None:
        """Stop the prompt that is under way; its own answer says so."""
        self._is_cancelled = self._is_busy
        if self.agent.is_running:
            await self.agent.interrupt()

    async def _settle(self) -> None:
        """Before the first prompt: ask what has to be asked, and begin again if more counts than before."""
        assert self._consent is not None
        if await self._consent.ask(self._wanted.options, self.agent.rights):
            await self.agent.close()
            await self.begin(SessionChoice(resume=self.id))
            self.show()

    async def _answer(self, said: str | list[Fields]) -> str:
        if isinstance(said, str) and said.split(maxsplit=1)[:1] == ["/compact"]:
            done = await self.agent.compact(said.strip().removeprefix("/compact").strip())
            for update in () if done is None else self._updates.of(done):
                self.tell(update)
            return "end_turn"
        reason = "end_turn"
        async for event in self.agent.run(said):
            for update in self._updates.of(event):
                self.tell(update)
            if isinstance(event, RunEnded):
                reason = self._ended(event)
        return reason

    def _ended(self, ended: RunEnded) -> str:
        if ended.outcome in _STOPPED:
            return _STOPPED[ended.outcome]
        if ended.outcome.startswith("error_"):
            raise RpcError(INTERNAL_ERROR, ended.error or ended.outcome)
        return _BY_MODEL.get(ended.stop_reason, "end_turn")

    def set_mode(self, mode: str) -> None:
        """Go on in another mode."""
        self._updates.mode = self.agent.change_mode(mode)

    def set_option(self, name: str, value: Any) -> list[Fields]:
        """Choose a mode or a model; all options as they are then."""
        if not isinstance(value, str):
            raise RpcError(INVALID_PARAMS, f"the value of {name!r} must be a string, got {value!r}")
        if name == "mode":
            self.set_mode(value)
            self.tell({"sessionUpdate": "current_mode_update", "currentModeId": self.agent.mode})
        elif name == "model":
            self.agent.change_model(value)
        else:
            raise RpcError(INVALID_PARAMS, f"there is no option {name!r}; mode and model can be chosen")
        return self.config_options()


def _select(id_: str, name: str, category: str, value: str, options: list[Fields]) -> Fields:
    about = {"id": id_, "name": name, "category": category, "type": "select"}
    return {**about, "currentValue": value, "options": options}
