"""What happens before the first prompt: the folder's trust, a model, and the agent itself."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from holdfast.app.begin import SessionChoice
from holdfast.app.choose_model import NoModelError
from holdfast.events import Event
from holdfast.tui.ask.asker import TerminalAsker
from holdfast.tui.ask.first_run import with_model
from holdfast.tui.face import Face
from holdfast.tui.launch import Launch

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["begin_agent"]


async def begin_agent(
    face: Face,
    launch: Launch,
    choice: SessionChoice,
    asker: TerminalAsker,
    on_event: Callable[[Event], None],
    until_the_end: ExitStack | None,
) -> "tuple[Launch, RunningAgent]":
    """Ask about trust, and for a model where none is set up; the launch as the person then wanted it, and its agent.

    Args:
        face: Who shows the questions.
        launch: What the command line asked for.
        choice: Which conversation.
        asker: Who is asked about calls.
        on_event: Told everything that happens.
        until_the_end: Keeps what the person's choice of a model needs; none: they are not asked for one.

    Raises:
        HoldfastError: The session cannot begin.
    """
    from holdfast.app.start_agent import start_agent  # noqa: PLC0415 - the prompt is on the screen by now
    from holdfast.tui.ask.trust import ask_trust  # noqa: PLC0415 - the same

    while True:
        try:
            await ask_trust(face, launch.options)
            agent = await start_agent(
                launch.options, launch.agent, choice=choice, asker=asker, on_event=on_event, waits=False
            )
        except NoModelError:
            wanted = None if until_the_end is None else await with_model(face, launch, until_the_end)
            if wanted is None:
                raise
            launch, choice = wanted, wanted.choice
        else:
            return launch, agent
