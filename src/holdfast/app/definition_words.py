"""What an agent that somebody defined is told: its own text, the skills it begins with, and what it remembers."""

import logging
import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.contract import SessionFacts, ToolFailed
from holdfast.definitions.places import is_below
from holdfast.lib.guarded_read import read_guarded
from holdfast.lib.visible import visible

if TYPE_CHECKING:
    from holdfast.definitions.agents import AgentDefinition
    from holdfast.definitions.places import Where
    from holdfast.definitions.skills import Skill
    from holdfast.tools.skills.shelf import Shelf

__all__ = ["Memory", "memory_of", "skills_of", "words_of"]

_log = logging.getLogger(__name__)
_INDEX: Final = "MEMORY.md"
_INDEX_BYTES: Final = 25_000
_INDEX_LINES: Final = 200
_SAFE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MEMORY: Final = """\
# Your memory

The directory {directory} is yours, and what is in it outlasts this conversation. Before you begin, use what you know
from there. When you learn something that will help next time, write it down there: short notes in files of their own,
and one line for each in {index}. Keep it true, and take out what no longer holds."""


class Memory(NamedTuple):
    """Where an agent keeps what it learns."""

    directory: str
    told: str
    """The beginning of its index; empty where there is none."""


def words_of(
    definition: "AgentDefinition", shelf: "Shelf | None", session: SessionFacts, memory: "Memory | None"
) -> str:
    """Everything that the definition tells its agent.

    Raises:
        ToolFailed: Its file is gone, or cannot be read any more.
    """
    try:
        own = definition.words()
    except OSError as error:
        raise ToolFailed(f"the agent's file {definition.path!r} cannot be read: {error.strerror or error}") from error
    parts = [own]
    if shelf is not None:
        parts += [shelf.quiet_text(shelf.use(skill, "", session)) for skill in skills_of(definition, shelf)]
    if memory is not None:
        parts.append(_told(memory))
    return "\n\n".join(parts)


def skills_of(definition: "AgentDefinition", shelf: "Shelf | None") -> "list[Skill]":
    """The skills that it begins with; one that only the user calls is none of them."""
    found: list[Skill] = []
    for name in definition.skills:
        skill = None if shelf is None or shelf.library is None else shelf.library.find(name)
        if skill is not None and skill.for_model:
            found.append(skill)
        else:
            _log.warning("the agent %s wants the skill %r, which it cannot have", definition.name, name)
    return found


def memory_of(definition: "AgentDefinition", where: "Where") -> Memory | None:
    """Where it remembers; what a folder remembers counts once the folder is trusted."""
    scope = definition.memory
    if scope is None or not _SAFE_NAME.fullmatch(definition.name) or (scope != "user" and not where.trusted):
        return None
    folder = "agent-memory-local" if scope == "local" else "agent-memory"
    if scope == "user":
        places = [where.roots.user_native, where.roots.user_existing]
    else:
        places = [os.path.join(where.root, name) for name in (".holdfast", ".claude")]
    candidates = [os.path.join(place, folder, definition.name) for place in places]
    directory = next((path for path in candidates if os.path.isdir(path)), candidates[0])
    if scope != "user" and not is_below(os.path.realpath(directory), os.path.realpath(where.root)):
        _log.warning("the agent %s has no memory: %s leads out of the folder", definition.name, directory)
        return None
    return Memory(directory, _index(directory))


def _index(directory: str) -> str:
    try:
        data = read_guarded(os.path.join(directory, _INDEX), limit_bytes=1 << 20, follow=False)
    except OSError:
        return ""
    text = (data or b"")[:_INDEX_BYTES].decode("utf-8", "replace")
    return "\n".join(text.splitlines()[:_INDEX_LINES]).strip()


def _told(memory: Memory) -> str:
    said = _MEMORY.format(directory=visible(memory.directory), index=_INDEX)
    return f"{said}\n\n{_INDEX} says:\n\n{memory.told}" if memory.told else f"{said} There is nothing in it yet."
