"""What a host wishes about files: back to what they were before a prompt, and what counts as read."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.app.live_files import seed_read
from holdfast.app.rewind import rewind_to_prompt
from holdfast.contract import UsageError
from holdfast.lib.undoing import UndoRefusedError

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent

__all__ = ["rewind_files", "seed_read_state"]

Line = dict[str, Any]


async def rewind_files(agent: "RunningAgent", fields: Line) -> Line:
    """Take back what the file tools changed since a prompt, or tell what that would change."""
    only_look = fields.get("dry_run") is True
    uuid = str(fields.get("user_message_id"))
    try:
        found = await asyncio.to_thread(partial(rewind_to_prompt, agent, uuid, only_look=only_look))
    except (UsageError, UndoRefusedError) as error:
        if not only_look:  # not every host looks into the answer
            raise UsageError(f"the files cannot be rewound: {error}") from error
        return {"canRewind": False, "error": str(error)}
    return {
        "canRewind": True,
        "filesChanged": list(found.files),
        "insertions": found.insertions,
        "deletions": found.deletions,
    }


async def seed_read_state(agent: "RunningAgent", fields: Line) -> Line:
    """The host has shown a file to the model by other means."""
    path, mtime = fields.get("path"), fields.get("mtime")
    if not isinstance(path, str) or not path:
        raise UsageError(f"path must be a path, got {path!r}")
    if isinstance(mtime, bool) or not isinstance(mtime, int | float):
        raise UsageError(f"mtime must be a time in milliseconds, got {mtime!r}")
    return {"seeded": await asyncio.to_thread(seed_read, agent, path, int(mtime))}
