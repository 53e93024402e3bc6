"""The commands in a skill's text: each is a call of Bash like any other, under the rights of whoever uses the skill."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.contract import Answer, Question, SessionFacts, Tool, ToolUse
from holdfast.events import CallFinished

if TYPE_CHECKING:
    from holdfast.engine.state import AgentState
    from holdfast.hooks import Hooks

__all__ = ["run_commands"]

_MAX_CHARS: Final = 30_000


class _AgreedOnce:
    """Answers for the one who has agreed to the file: what only the mode asks about is answered, nothing else."""

    def __init__(self, *, consented: bool) -> None:
        self._consented = consented

    async def ask(self, question: Question) -> Answer:
        """A rule, a gate, a guard or a ceiling wants a person, and the yes to the file was not about that."""
        layer = getattr(question.trace[-1], "layer", "") if question.trace else ""
        if self._consented and layer == "mode":
            return Answer("allow")
        return Answer(message="a yes to the whole file does not answer this question", by_nobody=True)


async def run_commands(
    commands: Sequence[str],
    shell: Tool,
    state: "AgentState",
    session: SessionFacts,
    *,
    hooks: "Hooks | None",
    results: str,
    consented: bool,
) -> list[str]:
    """Run them one after the other, and return what stands in the place of each. Nothing of them stays."""
    from holdfast.engine import Executor  # noqa: PLC0415 - loaded by whoever makes the call

    executor = Executor(
        [shell],
        permissions=state.permissions,
        cwd=state.cwd,
        session=session._replace(prompt=session.prompt._replace(background=False)),
        hooks=() if hooks is None else hooks,
        asker=_AgreedOnce(consented=consented),
        sibling_errors="independent",
        spill_directory=Path(results) if results else None,
        resources=(),  # they belong to the session
    )
    told: list[str] = []
    async with executor:
        for number, command in enumerate(commands):
            executor.add(ToolUse(f"skill-{number}", shell.name, {"command": command}))
            replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
            told += [_said(reply, command) for reply in replies]
            executor.end_turn()
    return told


def _said(reply: CallFinished, command: str) -> str:
    content = reply.content if isinstance(reply.content, str) else ""
    if len(content) > _MAX_CHARS:
        content = content[:_MAX_CHARS] + "\n[cut here]"
    if reply.outcome in ("denied", "invalid", "cancelled"):
        return f"[not run: {command}: {content}]"
    return f"[{command} failed: {content}]" if reply.is_error else content
