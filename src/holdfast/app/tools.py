"""Layer 1: every built-in tool, made with what it needs."""

import os
from collections.abc import Iterable

from holdfast.app.files import FileKit
from holdfast.app.shell import ShellKit
from holdfast.app.side_question import Account
from holdfast.app.web import web_tools
from holdfast.contract import SessionFacts, Tool
from holdfast.host.ripgrep import Ripgrep
from holdfast.permissions import PermissionContext
from holdfast.registry import Pool, ViewOptions, tools_for
from holdfast.registry import assemble as assemble_pool
from holdfast.settings import Settings
from holdfast.tasks.work_list import WorkList
from holdfast.tools.agents.agent import Agent
from holdfast.tools.lists.task_create import TaskCreate
from holdfast.tools.lists.task_get import TaskGet
from holdfast.tools.lists.task_list import TaskList
from holdfast.tools.lists.task_update import TaskUpdate
from holdfast.tools.people.ask_user_question import AskUserQuestion
from holdfast.tools.people.enter_plan_mode import EnterPlanMode
from holdfast.tools.people.exit_plan_mode import ExitPlanMode
from holdfast.tools.people.send_user_message import SendUserMessage
from holdfast.tools.settings.config import Config
from holdfast.tools.skills.skill import Skill
from holdfast.tools.worktrees.enter_worktree import EnterWorktree
from holdfast.tools.worktrees.exit_worktree import ExitWorktree

__all__ = ["all_tools", "assemble"]


def all_tools(
    shell: ShellKit | None = None,
    files: FileKit | None = None,
    settings: Settings | None = None,
    account: Account | None = None,
) -> list[Tool]:
    """A fresh set of every built-in tool."""
    files, shell = files or FileKit(), shell or ShellKit()
    ripgrep = Ripgrep(outside=files.roots)
    work = WorkList(None if shell.places.is_temporary else os.path.join(shell.places.root, "work"))
    made = [*files.tools(ripgrep, settings), *shell.tools(ripgrep), *web_tools(settings, account=account)]
    trees = [EnterWorktree(lambda: shell.board.processes), ExitWorktree(shell.board)]
    people = [AskUserQuestion(), Config(), EnterPlanMode(), ExitPlanMode(), SendUserMessage()]
    return [*made, *_list_tools(work, settings), Agent(), *people, *trees, Skill()]


def _list_tools(work: WorkList, settings: Settings | None) -> list[Tool]:
    """One family of lists: numbered tasks that many may share, or the plain list."""
    if settings is not None and settings.task_list == "todo":
        from holdfast.tools.lists.todo_write import TodoWrite  # noqa: PLC0415 - only where it is wanted

        return [TodoWrite(work)]
    return [TaskCreate(work), TaskGet(work), TaskList(work), TaskUpdate(work)]


def assemble(
    context: PermissionContext | None = None,
    mcp_tools: Iterable[Tool] = (),
    *,
    own_tools: Iterable[Tool] = (),
    options: ViewOptions | None = None,
    shell: ShellKit | None = None,
    files: FileKit | None = None,
    settings: Settings | None = None,
    account: Account | None = None,
) -> Pool:
    """The pool a model is offered: built-ins sorted by name, then remote tools sorted by name.

    Tools that the context denies as a whole are left out before anybody sees them.
    """
    context = context or PermissionContext()
    options = options or ViewOptions(session=SessionFacts())
    return assemble_pool(
        tools_for(all_tools(shell, files, settings, account), context, options),
        tools_for(mcp_tools, context, ViewOptions(session=options.session)),
        tools_for(own_tools, context, ViewOptions(session=options.session)),
    )
