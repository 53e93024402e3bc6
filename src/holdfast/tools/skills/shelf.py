"""What a session's skills stand on, and one use of one of them: its text, what it wants, and who agreed to that."""

import hashlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.contract import Granted, SessionFacts, Tool, ToolFailed
from holdfast.definitions.expand import Part, expand
from holdfast.definitions.places import is_below
from holdfast.lib.visible import visible
from holdfast.tools.skills._commands import run_commands
from holdfast.tools.skills.server_prompts import ServerPrompts

if TYPE_CHECKING:
    from holdfast.contract.roles import Spawner
    from holdfast.definitions.library import Library
    from holdfast.definitions.skills import Skill as Definition
    from holdfast.engine.state import AgentState
    from holdfast.hooks import Hooks
    from holdfast.models import Effort
    from holdfast.settings.model import HookEntry

__all__ = ["NOT_GRANTED", "NOT_HEARD", "Shelf", "Use", "own_directory", "split_call"]

NOT_HEARD: Final = "[Its hooks are not heard: nobody agreed to them, or an agent uses it.]"
NOT_GRANTED: Final = "[Nobody agreed to its allowed-tools, so calls are asked about as always.]"

_NOT_AGREED: Final = "nobody has agreed to the commands of this file"
_NO_SHELL: Final = "there is no shell for it in this session"
_NEVER_GRANTED: Final = frozenset({"Skill", "Agent", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "Config"})
"""Whose own questions a file never answers."""


class Use(NamedTuple):
    """One skill, about to be used."""

    skill: "Definition"
    parts: tuple[Part, ...]
    grants: tuple[str, ...]
    """Rules that it wants to hold for the turn."""
    key: str
    """Of the file's content and the commands that it would run: another one is another thing to agree to."""
    has_arguments: bool = False
    hooks: "tuple[HookEntry, ...]" = ()
    """Hooks that it wants to be heard until the turn ends."""
    runs_arguments: bool = False
    """What it is called with stands in its commands: it runs what nobody has written into the file."""

    @property
    def commands(self) -> tuple[str, ...]:
        """What it runs to make its text."""
        return tuple(part.text for part in self.parts if part.is_command)

    @property
    def wants_consent(self) -> bool:
        """It wants more than to be read."""
        return bool(self.grants or self.commands or self.hooks)

    def wishes(self) -> list[str]:
        """What somebody agrees to, in lines."""
        whose = "of this project" if self.skill.folder is not None else f"of the {self.skill.source}"
        lines = [f"{visible(self.skill.name, limit_chars=80)} {whose}: {visible(self.skill.path)}"]
        lines += [f"runs: {visible(command, limit_chars=2_000)}" for command in self.commands]
        if self.grants:
            wanted = ", ".join(visible(rule, limit_chars=200) for rule in self.grants)
            lines.append(f"uses without a question until this turn ends: {wanted}")
        return lines + [f"hooks until this turn ends: {visible(what, limit_chars=500)}" for what in self.hooked]

    @property
    def hooked(self) -> list[str]:
        """Its hooks in words."""
        if not self.hooks:
            return []
        from holdfast.settings.front_matter_hooks import what_it_runs  # noqa: PLC0415 - few have any

        return [what_it_runs(entry) for entry in self.hooks]


class Shelf:
    """The skills of a session and what using one needs. All agents of the session share it."""

    def __init__(
        self,
        library: "Library | None",
        *,
        project_root: str = "",
        shell: Tool | None = None,
        hooks: "Callable[[], Hooks] | None" = None,
        results: str = "",
    ) -> None:
        self.library = library
        self.spawner: Spawner | None = None
        """Starts the agents of skills that are done by one; none where nobody can."""
        self.choose: Callable[[str | None, Effort | None], str] | None = None
        """Lets the rest of the turn have another model and effort; returns why not, empty when it does."""
        self.bring_hooks: Callable[[tuple[HookEntry, ...]], None] | None = None
        """Lets hooks be heard until the turn ends."""
        self.let_read: Callable[[tuple[str, ...]], None] | None = None
        """Lets everybody in the session read the files of a skill that is used."""
        self.prompts: ServerPrompts | None = None
        """Prompts of servers; none where there are no servers."""
        self.agreed: set[str] = set()
        """Keys that a person has said yes to in this session."""
        self.called: set[str] = set()
        """Skills that the user has called by name, which the model may therefore use, too."""
        self._project_root = project_root
        self._shell = shell
        self._hooks = hooks
        self._results = results

    def find(self, name: str) -> "Definition":
        """The skill of this name.

        Raises:
            ToolFailed: There is none; the text names the nearest.
        """
        if self.library is None or not len(self.library):
            raise ToolFailed("there are no skills in this session", error_code=2)
        found = self.library.find(name)
        if found is None:
            raise ToolFailed(
                f"there is no skill {visible(name, limit_chars=80)!r}.{self.library.nearest(name)} Use a name from the "
                "list of skills; a skill of a folder can be used once the folder is trusted",
                error_code=2,
            )
        return found

    def use(self, skill: "Definition", arguments: str, session: SessionFacts) -> Use:
        """Read the skill as it is now.

        Raises:
            ToolFailed: Its file is gone, or cannot be read any more.
        """
        try:
            loaded = skill.load()
        except OSError as error:
            reason = error.strerror or error
            raise ToolFailed(f"the skill's file {skill.path!r} cannot be read: {reason}", error_code=4) from error
        variables = {"SESSION_ID": session.session_id, "SKILL_DIR": skill.directory}
        if skill.plugin_root:
            variables["PLUGIN_ROOT"] = skill.plugin_root
        variables |= {"PROJECT_DIR": session.project_root or self._project_root, "EFFORT": skill.effort or ""}
        parts, plain = (
            expand(
                loaded.body,
                loaded.injections,
                arguments=given,
                names=skill.arguments,
                variables=variables,
                is_command=skill.is_command,
            )
            for given in (arguments, "")
        )
        commands = [part.text for part in parts if part.is_command]
        runs_arguments = commands != [part.text for part in plain if part.is_command]
        key = hashlib.sha256("\0".join((loaded.hash, *commands)).encode("utf-8", "surrogateescape")).hexdigest()
        hooks = skill.hook_entries() if skill.hooks else ()
        return Use(skill, tuple(parts), _grants(skill), key, bool(arguments), hooks, runs_arguments)

    def take_up(self, use: Use, *, consented: bool, in_agent: bool) -> str:
        """Let the use begin: its hooks are heard. Returns what does not count, in words."""
        missing = [] if consented or not use.grants else [NOT_GRANTED]
        if use.hooks and consented and not in_agent and self.bring_hooks is not None:
            self.bring_hooks(use.hooks)
        elif use.hooks:
            missing.append(NOT_HEARD)
        return "".join(f"\n\n{one}" for one in missing)

    async def text(self, use: Use, state: "AgentState", session: SessionFacts, *, consented: bool) -> str:
        """What a model reads of it, with the output of its commands; they run with the rights of whoever uses it."""
        answers: list[str] = []
        if self.let_read is not None:
            self.let_read(own_directory(use.skill))
        if use.commands:
            refusal = self._refusal(use, consented=consented)
            if refusal or self._shell is None:
                answers = [f"[not run: {refusal or _NO_SHELL}: {command}]" for command in use.commands]
            else:
                answers = await run_commands(
                    use.commands,
                    self._shell,
                    state,
                    session,
                    hooks=None if self._hooks is None else self._hooks(),
                    results=self._results,
                    consented=consented,
                )
        told = iter(answers)
        body = "".join(next(told) if part.is_command else part.text for part in use.parts)
        return f"{_about(use.skill)}\n\n{body.strip()}"

    def quiet_text(self, use: Use) -> str:
        """The same without running anything, for an agent that begins with it."""
        body = "".join(f"[not run: {part.text}]" if part.is_command else part.text for part in use.parts)
        return f"{_about(use.skill)}\n\n{body.strip()}"

    def grant(self, use: Use) -> Granted:
        """What it may for one turn, once somebody has agreed."""
        denied = use.skill.disallowed_tools.rules
        return Granted(use.grants, turns=1, denied=denied, readable=own_directory(use.skill))

    def limits(self, use: Use) -> Granted:
        """What holds for one turn although nobody has agreed to anything."""
        return self.grant(use)._replace(rules=())

    def _refusal(self, use: Use, *, consented: bool) -> str:
        if use.skill.shell != "bash":
            return f"its commands are for {use.skill.shell}, which is not here"
        return "" if consented or use.skill.folder is None else _NOT_AGREED


def split_call(text: str) -> tuple[str, str]:
    """Name and arguments of `/name arguments`, with or without the slash."""
    name, _, rest = text.strip().removeprefix("/").partition(" ")
    if "\n" in name:
        name, _, more = name.partition("\n")
        rest = f"{more} {rest}"
    return name, rest.strip()


def _grants(skill: "Definition") -> tuple[str, ...]:
    """The rules of `allowed-tools`; all tools at once are none, and so are those that ask for themselves."""
    return tuple(rule for rule in skill.allowed_tools.rules if rule.partition("(")[0] not in _NEVER_GRANTED)


def own_directory(skill: "Definition") -> tuple[str, ...]:
    """Where its resources are; a command is a file beside others, and has none. Nothing outside of its folder is."""
    leads_out = skill.folder is not None and not is_below(os.path.realpath(skill.directory), skill.folder)
    return () if skill.is_command or leads_out else (skill.directory,)


def _about(skill: "Definition") -> str:
    name = visible(skill.name, limit_chars=80)
    if skill.is_command:
        return f"The command /{name}. Do what it says."
    return (
        f"The skill {name}. Follow it for the task at hand. Paths in it start at {visible(skill.directory)}, and its "
        "files can be read there."
    )
