"""`holdfast` without a prompt to answer and end: the session at the terminal."""

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from holdfast.settings.directories import private_directory, user_directories
from holdfast.tui import early
from holdfast.tui.bugs import telling_of_bugs
from holdfast.tui.conversation import Conversation
from holdfast.tui.launch import Launch
from holdfast.tui.preferences import early_preferences
from holdfast.tui.status import mode_words

if TYPE_CHECKING:
    from holdfast.tui.screen import Screen

__all__ = ["is_terminal", "run_session"]

_ENDING = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
_HISTORY_CHARS = 20_000


def run_session(launch: Launch) -> int:
    """Run a session: on the screen, or line by line where there is none."""
    reason = _why_plain(launch)
    if not reason:
        return asyncio.run(_on_screen(launch))
    early.put_away()  # something else than what it looks at wants lines
    from holdfast.tui.plain import run_plain  # noqa: PLC0415 - one of the two

    return asyncio.run(run_plain(launch, announcement=reason))


def _why_plain(launch: Launch) -> str:
    """Why lines are read and written instead of a screen; empty: there is one."""
    if launch.plain:
        return "flag"
    for name in early.READERS:
        if os.environ.get(name) not in (None, "", "0", "false"):
            return f"variable {name}"
    if not is_terminal():
        return "no screen"
    if early_preferences().screen_reader:
        return "setting axScreenReader"
    return ""


def is_terminal() -> bool:
    """A person sits at a terminal that can move its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "", "unknown")


async def _on_screen(launch: Launch) -> int:
    from prompt_toolkit.patch_stdout import patch_stdout  # noqa: PLC0415 - only on a screen

    screen, talk = _connected(launch)
    work: asyncio.Task[None] | None = None

    def begin() -> None:
        nonlocal work
        if (first := early.current()) is not None:
            _take_over(screen, first)
        screen.ask_background()
        work = asyncio.ensure_future(talk.run())
        work.add_done_callback(lambda _task: screen.leave())

    ended_by: list[int] = []
    try:
        with patch_stdout(raw=True), _leaving(screen, ended_by), telling_of_bugs(talk, screen.leave) as bugs:
            await screen.app.run_async(pre_run=begin, set_exception_handler=False)
        problem = bugs.farewell
    finally:
        screen.ended()
        early.put_away()
        if work is not None:
            work.cancel()
            await asyncio.wait({work})
        await talk.close()
    for words in (problem, talk.farewell):
        if words:
            print(words)  # noqa: T201 - the screen has ended
    if work is not None and not work.cancelled() and (error := work.exception()):
        raise error
    return 128 + ended_by[0] if ended_by else int(bool(problem))


def _take_over(screen: "Screen", first: early.EarlyPrompt) -> None:
    """Stand in the place of the prompt that was drawn by hand, and take what was typed there."""
    from prompt_toolkit.input.typeahead import store_typeahead  # noqa: PLC0415 - only on a screen
    from prompt_toolkit.input.vt100 import Vt100Input  # noqa: PLC0415 - the same, and not everywhere

    def is_drawn(_app: object) -> None:
        screen.app.after_render -= is_drawn
        first.drawn()

    given, typed = screen.app.input, first.take()
    if isinstance(given, Vt100Input) and typed:
        given.vt100_parser.feed(typed)
        store_typeahead(given, given.flush_keys())
    screen.app.after_render += is_drawn


def _connected(launch: Launch) -> "tuple[Screen, Conversation]":
    """A screen, and the conversation that its keys speak to."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory  # noqa: PLC0415 - only on a screen

    from holdfast.tui.input.completing import InputCompleter  # noqa: PLC0415 - the same
    from holdfast.tui.screen import Screen  # noqa: PLC0415 - the same

    path = _history_file()
    screen = Screen(history=InMemoryHistory() if path is None else FileHistory(path))
    talk = Conversation(screen, launch)

    screen.complete_with(InputCompleter(talk.offers()))
    actions = screen.actions
    actions.submit, actions.interrupt, actions.next_mode = talk.submit, talk.interrupt, talk.next_mode
    actions.background, actions.open_result, actions.rewind = talk.background, talk.open_result, talk.rewind
    actions.open_tasks, actions.edit = partial(talk.submit, "/tasks"), screen.edit_input
    actions.paste, actions.paste_picture = talk.prompts.attachments.paste, talk.paste_picture
    actions.history_line = lambda line: talk.prompts.attachments.expand(line).text[:_HISTORY_CHARS]
    actions.live, actions.status, actions.own_status = talk.live, talk.status, talk.own_status
    actions.mode = lambda: mode_words(talk.agent)
    return screen, talk


@contextmanager
def _leaving(screen: "Screen", ended_by: list[int]) -> Generator[None]:
    """A signal to end leaves the terminal as it was found."""
    loop = asyncio.get_running_loop()

    def leave(number: int) -> None:
        ended_by.append(number)
        screen.leave()

    caught: list[int] = []
    for number in _ENDING:
        with suppress(NotImplementedError, RuntimeError):  # no such thing here
            loop.add_signal_handler(number, leave, number)
            caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


def _history_file() -> str | None:
    """Where typed lines are kept across sessions, readable by the user alone."""
    with suppress(OSError):
        directory = str(user_directories().state)
        private_directory(directory)
        path = os.path.join(directory, "typed-lines")
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        return path
    return None
