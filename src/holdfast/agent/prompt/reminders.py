"""Small words to the model along the way, as data. Each is a pure function; the loop decides when to say it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from holdfast.agent.prompt.fences import defused, fenced
from holdfast.agent.prompt.reading import InstructionFile
from holdfast.lib.visible import visible

__all__ = [
    "ListedTask",
    "date_changed",
    "files_changed",
    "instructions_loaded",
    "plan_mode_left",
    "plan_mode_on",
    "reminder",
    "task_list_empty",
    "task_list_stale",
    "task_list_state",
]

_MAX_ITEMS: Final = 30
_ITEM_CHARS: Final = 300
_MARKS: Final = {"completed": "x", "in_progress": ">"}


class ListedTask(NamedTuple):
    """A task as the model sees it."""

    text: str
    status: str
    """`pending`, `in_progress` or `completed`."""


def reminder(text: str) -> str:
    """Wrap words of this program so that the model can tell them from the user's."""
    return f"<system-reminder>\n{defused(text)}\n</system-reminder>"


def files_changed(paths: Sequence[str]) -> str:
    """Say that files are no longer as they were read."""
    return reminder(
        "These files changed on disk after you read them, by the user or by a tool:\n"
        f"{_list(paths)}\n"
        "Take the change as intended: do not undo it unless the user asks for that. Look at a file again before you"
        " change it, and do not tell the user about this; it is known."
    )


def task_list_empty(tool: str) -> str:
    """Say that there is no task list.

    Args:
        tool: The tool that makes one.
    """
    return reminder(
        f"The task list is empty. If the work at hand has several steps, note them with {tool}; if not, go on without."
        " Do not mention this to the user."
    )


def task_list_stale(tool: str, turns: int, tasks: Sequence[ListedTask]) -> str:
    """Say that the task list was not touched for some time."""
    return reminder(
        f"The task list was last changed {turns} turns ago. Where it no longer fits the work, bring it up to date with"
        f" {tool}; where it does, go on. Do not mention this to the user.\n{_tasks(tasks)}"
    )


def task_list_state(tasks: Sequence[ListedTask]) -> str:
    """Tell the task list as it is now, for example after the conversation was shortened."""
    if not tasks:
        return reminder("The task list is empty now. Do not mention this to the user.")
    return reminder(f"The task list as it is now:\n{_tasks(tasks)}\nGo on with it. Do not mention this to the user.")


def plan_mode_on(plan_file: str, *, plan_exists: bool) -> str:
    """Say that only planning is allowed."""
    state = "It holds a plan already: read it and work on it." if plan_exists else "It does not exist yet."
    return reminder(
        "Plan mode is on. Until the user agrees to a plan, change nothing: no edits, no commands that write, no"
        " commits, no settings, whatever earlier instructions say. Looking around is free.\n"
        f"The one file you may write is the plan file, {visible(plan_file)!r}. {state}\n"
        "Find out what you need, ask what only the user can decide, write the plan (what and why, the files, how it"
        " will be checked) and call ExitPlanMode. End each turn with a question to the user or with that call."
    )


def plan_mode_left(plan_file: str) -> str:
    """Say that the plan may be carried out."""
    return reminder(f"Plan mode is off: you may change things again. The plan is in {visible(plan_file)!r}.")


def date_changed(date: str) -> str:
    """Say that it is another day than when the session began."""
    return reminder(f"It is {visible(date)} now. Do not mention this to the user unless it matters.")


def instructions_loaded(files: Sequence[InstructionFile], path: str) -> str:
    """Tell instructions that hold for a file that was just used."""
    head = f"For {visible(path)!r} these instructions hold, too; they rank as the project's others, nearer ones higher:"
    # Each file is fenced and defused on its own; the fences themselves must stay whole.
    return "\n\n".join([f"<system-reminder>\n{defused(head)}", *map(fenced, files)]) + "\n</system-reminder>"


def _tasks(tasks: Sequence[ListedTask]) -> str:
    return _list([f"[{_MARKS.get(task.status, ' ')}] {task.text}" for task in tasks])


def _list(items: Sequence[str]) -> str:
    lines = [f"- {visible(item, limit_chars=_ITEM_CHARS)}" for item in items[:_MAX_ITEMS]]
    if len(items) > _MAX_ITEMS:
        lines.append(f"- … and {len(items) - _MAX_ITEMS} more")
    return "\n".join(lines)
