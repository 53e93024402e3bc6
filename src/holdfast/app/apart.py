"""Where an agent works apart: a worktree of its own, made before it begins and settled after its end."""

from typing import TYPE_CHECKING

from holdfast.contract import ToolFailed, WorktreeChanged
from holdfast.contract.roles import AgentTask
from holdfast.engine.state import AgentState
from holdfast.session.agent_files import AgentAbout
from holdfast.tools.worktrees.checkout import GitFailed, is_still_there
from holdfast.tools.worktrees.making import Maker, Settled

if TYPE_CHECKING:
    from holdfast.app.agent_parts import AgentParts

__all__ = ["Apart"]


class Apart:
    """Makes the worktree of one agent, and looks at its end what is in it."""

    def __init__(self, parts: "AgentParts", state: AgentState, task: AgentTask) -> None:
        self._board = parts.board
        self._root = parts.opened.executor.state
        self._state = state
        self._maker = Maker(lambda: parts.board.processes, task.hooks, is_asked=task.asked)

    async def enter(self, about: AgentAbout) -> WorktreeChanged:
        """The worktree that it goes on in, or a new one; whoever may not read a file may not read its copy there.

        Raises:
            ToolFailed: There is none and none can be made.
        """
        known = about.worktree
        if known is None or not is_still_there(known):
            try:
                known = await self._maker.make(f"agent-{about.id}", about.cwd, self._state.session.project_root)
            except GitFailed as error:
                raise ToolFailed(f"the agent has no worktree to work in: {error}; leave isolation out") from error
        for state in (self._root, self._state):
            if not state.has_worktrees(known.root):
                await self._maker.settle(known)
                raise ToolFailed(
                    f"this session has worktrees of another checkout than {known.root!r}, so none is made of that one; "
                    "leave isolation out"
                )
        return known

    async def leave(self, made: WorktreeChanged, agent_id: str) -> Settled:
        """It has ended: the worktree goes where nothing would be lost, and nothing that it started runs there."""
        for record in self._board.at_work_in(made.path):
            if record.id != agent_id:
                return Settled(stays=True, note=f"The task {record.id} still works in the worktree {made.path}.")
        return await self._maker.settle(made)
