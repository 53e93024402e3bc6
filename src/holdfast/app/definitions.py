"""The agents, skills and commands of a session, and how its first request tells of them."""

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from holdfast.app.rights import Rights
from holdfast.definitions.places import Kind, Where, places
from holdfast.settings import SettingsRoots

if TYPE_CHECKING:
    from holdfast.definitions.agents import AgentDefinition
    from holdfast.definitions.library import Library
    from holdfast.definitions.skills import Skill

__all__ = ["Definitions", "load_definitions", "where_of"]

_SKILLS: Final = """\
# Skills

Instructions for particular kinds of work, written by the user or for this project. When one of them fits what is asked,
call Skill with its name before you begin, and follow what it says. Do not guess what a skill says from its name, and
use only names that stand here or that the user gives.

"""
_AGENTS: Final = """\
# More types of agents

The user or the project has defined these. Give the name as `subagent_type` of Agent; each has its own instructions,
and some have their own tools and model.

"""


class Definitions:
    """What people wrote for agents in files of their own, as it was at the start."""

    def __init__(
        self,
        agents: "dict[str, AgentDefinition]",
        where: Where,
        may_read: "Callable[[str], bool] | None" = None,
        *,
        has_skills: bool = False,
    ) -> None:
        self.agents = agents
        """By name."""
        self.where = where
        self._may_read = may_read
        self.has_skills = has_skills
        """A place for them exists; elsewhere they can only come up with files that are read."""
        self.only: frozenset[str] | None = None
        """The skills that a model is told of, where somebody has chosen; by their names, or the last part of these."""

    @cached_property
    def library(self) -> "Library | None":
        """The skills and commands; None where there are none and none can come up with files that are read."""
        if not self.has_skills and not self.where.trusted:
            return None
        from holdfast.definitions.library import open_library  # noqa: PLC0415 - a first request needs it seldom

        return open_library(self.where, self._may_read)

    def _is_chosen(self, skill: "Skill") -> bool:
        return self.only is None or skill.name in self.only or skill.name.rpartition(":")[2] in self.only

    def skill_names(self) -> list[str]:
        """The skills by name."""
        return (
            []
            if self.library is None
            else [skill.name for skill in self.library if not skill.is_command and self._is_chosen(skill)]
        )

    @property
    def edition(self) -> tuple[int, ...]:
        """Another one where other skills are told of."""
        library = self.library if self.has_skills else None
        return () if library is None else (id(library), *library.edition)

    def look_again(self) -> str:
        """Look for skills again; what a model is told of those that are new, empty where there are none."""
        before = self.library
        if before is None:
            self.has_skills = True
            del self.library  # it is opened again
        after = self.library
        assert after is not None
        found = after.listed() if before is None else after.load_again()
        return self._news("There are more skills now. When one fits, call Skill with its name:\n", found)

    def news_for(self, path: str) -> str:
        """What a model is told of the skills that come up with a file it has read; empty where there are none."""
        found = [] if self.library is None else self.library.for_file(path)
        lead = (
            "More skills are there for the files that you have read. When one fits, call Skill with its name before "
            "you go on:\n"
        )
        return self._news(lead, found)

    def _news(self, lead: str, found: "list[Skill]") -> str:
        found = list(filter(self._is_chosen, found))
        if not found:
            return ""
        from holdfast.agent.prompt.fences import defused  # noqa: PLC0415 - loaded with the prompt
        from holdfast.definitions.listing import listing_of  # noqa: PLC0415 - only where there are any

        return defused(lead + listing_of([(skill.name, skill) for skill in found]))

    def section(self, tools: frozenset[str]) -> str:
        """What a model with these tools is told of them; empty where there is nothing."""
        library = self.library if self.has_skills else None
        if not self.agents and not library:
            return ""
        from holdfast.agent.prompt.fences import defused  # noqa: PLC0415 - loaded with the prompt
        from holdfast.definitions.listing import LISTING_CHARS, listing_of  # noqa: PLC0415 - only where there are any

        parts: list[str] = []
        if self.agents and "Agent" in tools:
            parts.append(_AGENTS + listing_of([(agent.name, agent) for agent in self.agents.values()]))
        if library is not None and "Skill" in tools:
            chosen = [(skill.name, skill) for skill in library.listed() if self._is_chosen(skill)]
            if chosen:
                parts.append(_SKILLS + listing_of(chosen, LISTING_CHARS))
        return defused("\n\n".join(parts))


def load_definitions(rights: Rights, given: "Iterable[AgentDefinition]" = ()) -> Definitions:
    """Read what counts here; where there is none of it, next to nothing is loaded."""
    where = where_of(rights)
    agents: dict[str, AgentDefinition] = {}
    may_read = None
    given = tuple(given)
    if rights.permissions.hides_files:
        from holdfast.app.place import may_read_of  # noqa: PLC0415 - only where a rule hides files

        may_read = may_read_of(rights)
    if given or _any_place("agents", where):
        from holdfast.definitions.agents import find_agents  # noqa: PLC0415 - only where there are any

        agents = find_agents(where, given, may_read=may_read).found
    found = Definitions(
        agents, where, may_read, has_skills=_any_place("skills", where) or _any_place("commands", where)
    )
    if found.has_skills:
        _ = found.library  # as they are now
    return found


def where_of(rights: Rights) -> Where:
    """What decides where agents, skills and commands are looked for."""
    settings = rights.settings
    roots, sources = SettingsRoots.from_environment(), frozenset(rights.sources)
    return Where(settings.cwd, settings.root, roots, settings.trusted, sources, rights.plugins)


def _any_place(kind: Kind, where: Where) -> bool:
    return any(os.path.isdir(place.directory) for place in places(kind, where))
