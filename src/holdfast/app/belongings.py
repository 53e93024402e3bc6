"""What a person keeps with a running session: pictures, settings, a copy of the conversation, the list of work."""

import os
from typing import TYPE_CHECKING, Any

from holdfast.settings import SettingsRoots, SourceKind
from holdfast.settings.save import save_target, save_value

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["export_to", "keep_blob", "save_setting", "work_items"]


def keep_blob(agent: "RunningAgent", data: bytes, suffix: str) -> str:
    """Keep bytes that the person gave, such as a pasted picture, where the session's calls may read them.

    Raises:
        OSError: They cannot be written.
    """
    path = agent.opened.shell.places.result_file("pasted").removesuffix(".txt") + suffix
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return path


def save_setting(key: str, value: Any, cwd: str) -> str:
    """Write a setting of the person's own to their own file, and say which.

    Raises:
        SettingsError: The file cannot be read or written.
    """
    target = save_target(SourceKind.USER, cwd, SettingsRoots.from_environment())
    save_value(target.file, tuple(key.split(".")), value, within=target.within)
    return target.file


def export_to(agent: "RunningAgent", path: str) -> str:
    """Write the conversation to a new file, as JSON or as Markdown by its name; why not, if it could not be."""
    from holdfast.session.directory import JOURNAL_NAME  # noqa: PLC0415 - only here
    from holdfast.session.export import json_parts, markdown_parts  # noqa: PLC0415 - only here
    from holdfast.session.transcript import load_transcript  # noqa: PLC0415 - the same

    session = agent.opened.session
    if session is None:
        return "this session keeps nothing on disk, so there is nothing to write"
    session.journal.flush()
    try:
        transcript = load_transcript(os.path.join(session.path, JOURNAL_NAME))
        parts = (
            json_parts(transcript)
            if path.endswith(".json")
            else (part.encode("utf-8", "backslashreplace") for part in markdown_parts(transcript))
        )
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
    except FileExistsError:
        return f"{path!r} is there already; name another file"
    except OSError as error:
        return f"{path!r} cannot be written: {error.strerror or error}"
    return ""


def work_items(agent: "RunningAgent") -> list[tuple[str, str]]:
    """The list of work: for each item its state and what it is."""
    for name in ("TaskList", "TodoWrite"):
        found = agent.tools.find(name)
        work = None if found is None else getattr(found.tool, "work", None)
        if work is not None:
            state = work.look()
            items = [(item.status, item.subject) for item in state.items.values() if not item.is_internal]
            return items or [(todo.status, todo.content) for todos in state.todos.values() for todo in todos]
    return []
