"""What a prompt tells about the place: the repository, and what the user and the project want."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import msgspec

from holdfast.agent.environment import Environment, GitState, Today, describe_environment
from holdfast.agent.instructions import InstructionOptions, Instructions, load_instructions
from holdfast.app.rights import Rights
from holdfast.settings import SettingsRoots

__all__ = ["Place", "look_around", "may_read_of"]


class Place(msgspec.Struct, frozen=True):
    """What the prompt tells about the place."""

    surroundings: Environment
    instructions: Instructions
    today: Today

    @property
    def environment(self) -> str:
        """What the session is told."""
        return self.surroundings.text

    def at(self, cwd: str, root: str) -> str:
        """What an agent is told that works elsewhere: the repository's snapshot is not about its directory."""
        here = self.surroundings
        if cwd == here.cwd:
            return here.text
        git = here.git
        if git is not None and root != here.root:
            git = GitState("", unknown="it is not the session's own checkout")
        return msgspec.structs.replace(here, cwd=cwd, root=root, git=git).text


async def look_around(rights: Rights, model: str) -> Place:
    """Look at the place; git runs in a trusted folder only."""
    settings = rights.settings
    now = _now()
    processes = None
    if settings.trusted:
        from holdfast.host.processes import Processes  # noqa: PLC0415 - only where git may run

        processes = Processes()
    try:
        looking = asyncio.create_task(
            describe_environment(
                settings.cwd,
                now=now,
                model=model,
                trusted=settings.trusted,
                processes=processes,
                additional_directories=[entry.directory for entry in settings.directories],
            )
        )
        await asyncio.sleep(0)
        instructions = load_instructions(
            settings.cwd,
            root=settings.root,
            roots=SettingsRoots.from_environment(),
            trusted=settings.trusted,
            options=InstructionOptions.from_settings(settings, sources=rights.sources, may_read=may_read_of(rights)),
        )
        return Place(await looking, instructions, Today(now, _now))
    finally:
        if processes is not None:
            await processes.close()


def _now() -> datetime:
    return datetime.now().astimezone()


def may_read_of(rights: Rights) -> Callable[[str], bool]:
    """What a deny rule for Read names is not told as an instruction either."""
    from holdfast.permissions.matching import denies_read  # noqa: PLC0415 - with the first file that is there

    return lambda path: denies_read(path, rights.permissions, cwd=rights.settings.cwd) is None
