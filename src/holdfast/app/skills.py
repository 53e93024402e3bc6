"""The skills of a running session: what the Skill tool stands on, and what `/name` in a prompt becomes."""

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from holdfast.app.from_servers import FromServers
from holdfast.app.models import open_named
from holdfast.contract import Answer, HoldfastError, Question, ToolFailed
from holdfast.events import PermissionAsked, PermissionDecided
from holdfast.lib.visible import visible
from holdfast.permissions.decision import Decision, Step, decide
from holdfast.permissions.tool_facts import facts_from_input
from holdfast.tools.skills.shelf import Shelf, Use, split_call
from holdfast.tools.skills.skill import Skill

if TYPE_CHECKING:
    from holdfast.agent import Loop
    from holdfast.agent.parts import Expanded
    from holdfast.app.build import OpenSession
    from holdfast.app.definitions import Definitions
    from holdfast.contract.roles import Spawner
    from holdfast.models import Effort

__all__ = ["Expander", "offer_skills"]

_BY_AGENT: Final = (
    "The user called /{name}{arguments}. It is done by an agent of its own: call Skill with skill {name!r}{with_args}, "
    "and tell the user what came of it."
)


def offer_skills(loop: "Loop", opened: "OpenSession", definitions: "Definitions", spawner: "Spawner | None") -> Shelf:
    """Give the Skill tool, where it is offered, what it needs."""
    executor = opened.executor
    bash = executor.pool.find("Bash")
    shelf = Shelf(
        definitions.library,
        project_root=opened.rights.settings.root,
        shell=None if bash is None else bash.tool,
        hooks=lambda: executor.hooks,
        results=opened.shell.places.results,
    )
    shelf.spawner = spawner
    shelf.prompts = FromServers(opened)
    shelf.choose = partial(_choose, loop, opened)
    shelf.let_read = executor.state.let_read
    shelf.bring_hooks = lambda entries: opened.hooks.add_for_turn(opened.hooks.brought(entries))
    found = executor.pool.find("Skill")
    if found is not None and isinstance(found.tool, Skill):
        found.tool.shelf = shelf
    return shelf


def _choose(loop: "Loop", opened: "OpenSession", model: str | None, effort: "Effort | None") -> str:
    try:
        chosen = None if model is None else open_named(model, opened.rights, loop.model)
    except HoldfastError as error:
        loop.choose_for_run(None, effort)
        return f"The skill's model {model!r} cannot be asked, so yours goes on: {error}"
    loop.choose_for_run(chosen, effort)
    return ""


class Expander:
    """Makes the text of a skill, or of a server's prompt, out of `/name arguments` that a person wrote."""

    def __init__(self, opened: "OpenSession") -> None:
        self._opened = opened
        self._servers = FromServers(opened)
        self._asked = 0

    def begin(self, loop: "Loop", shelf: Shelf) -> None:
        """The loop is there that asks."""
        self._loop = loop
        self._shelf = shelf

    def look_again(self, definitions: "Definitions") -> str:
        """Look for skills again; returns what to tell the model of those that are new."""
        told = definitions.look_again()
        self._shelf.library = definitions.library
        return told if self._opened.executor.pool.find("Skill") is not None else ""

    def knows(self, text: str) -> "Expanded | None":
        """What a prompt calls, if it begins with `/` and the name of a skill that the user may call."""
        from holdfast.agent.parts import Expanded  # noqa: PLC0415 - loaded with the loop

        if not text.startswith("/"):
            return None
        library = self._shelf.library
        name, arguments = split_call(text)
        if self._servers.knows(name):
            return self._servers.called(name, arguments)
        if library is None:
            return None
        skill = library.find(name)
        if skill is None or not skill.for_user:
            return None
        kind = "slash_command" if skill.is_command else "skill"
        return Expanded(kind, skill.name, arguments, skill.source)

    async def mentioned(self, text: str) -> list[dict[str, Any]]:
        """What goes with a prompt because it names it by `@`: resources of servers."""
        return await self._servers.mentioned(text)

    async def content(self, called: "Expanded") -> str | list[dict[str, Any]]:
        """What the model reads instead.

        Raises:
            ToolFailed: The file cannot be read any more, the server fails, or a rule denies the skill.
        """
        executor = self._opened.executor
        given = {"skill": called.name, "args": called.arguments}
        decision = decide(facts_from_input("Skill", given, executor.state.cwd), executor.state.permissions)
        if decision.behavior == "deny":
            raise ToolFailed(f"/{called.name} is denied: {decision.reason}")
        return await (self._servers.prompt(called) if called.kind == "mcp_prompt" else self._text(called))

    async def _text(self, called: "Expanded") -> str:
        executor, shelf = self._opened.executor, self._shelf
        state, session = executor.state, executor.state.session
        skill = shelf.find(called.name)
        shelf.called.add(skill.name)
        if skill.forks and shelf.spawner is not None and executor.pool.find("Skill") is not None:
            given = f" {called.arguments}" if called.arguments else ""
            with_args = f" and args {called.arguments!r}" if called.arguments else ""
            return _BY_AGENT.format(name=skill.name, arguments=given, with_args=with_args)
        use = shelf.use(skill, called.arguments, session)
        consented = await self._consent(use)
        text = await shelf.text(use, state, session, consented=consented)
        state.apply(shelf.grant(use) if consented else shelf.limits(use), "Skill")
        notes = shelf.take_up(use, consented=consented, in_agent=False)
        if (skill.model is not None or skill.effort is not None) and shelf.choose is not None:
            problem = shelf.choose(skill.model, skill.effort)
            notes += f"\n\n[{problem}]" if problem else ""
        return f"The user called /{visible(called.name, limit_chars=80)}. {text}{notes}"

    async def _consent(self, use: Use) -> bool:
        """The user's own file, called by the user, is agreed to; what a folder brings is asked about once."""
        if not use.wants_consent or use.skill.folder is None or use.key in self._shelf.agreed:
            return True
        executor, asker = self._opened.executor, self._opened.asker
        rights = executor.state.permissions
        if rights.effective_mode == "bypassPermissions":
            return True
        if asker is None or rights.effective_mode == "dontAsk":
            return False
        self._asked += 1
        id_ = f"skill-{self._asked}-{os.urandom(4).hex()}"
        reason = f"/{visible(use.skill.name, limit_chars=80)} comes with this folder and wants more than to be read"
        given = {"skill": use.skill.name}
        step = Step("tool", "ask", reason)
        self._loop.announce(PermissionAsked(id_, id_, "Skill", given, reason, ()))
        shown = "\n".join(use.wishes())
        answer: Answer = await asker.ask(Question(id_, id_, "Skill", given, reason, (), (step,), shown))
        is_yes = answer.behavior == "allow"
        said = "the user said yes" if is_yes else answer.refusal
        verdict = Decision("allow" if is_yes else "deny", "ask", said, None, (step, Step("ask", answer.behavior, said)))
        self._loop.announce(PermissionDecided(id_, "Skill", verdict.behavior, verdict))
        if is_yes:
            self._shelf.agreed.add(use.key)
        return is_yes
