"""An editor that shows commands in terminals of its own, as the shell tools see it, and a command in one of them."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from holdfast.contract import ToolContext, ToolFailed
from holdfast.host.capture import Output
from holdfast.host.command import KEPT_BYTES, Command, Exit, Stopped
from holdfast.host.handed_over import HandedOver
from holdfast.host.process import uninterrupted
from holdfast.host.processes import Processes
from holdfast.tasks import Places

__all__ = ["CommandTerminal", "CommandTerminals", "Shown", "handed_over", "run_in_terminal"]

_PLAIN: Final = re.compile(r"[A-Za-z0-9/_.+-]+")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9]+")
_NAME_CHARS: Final = 40
_CODES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_=>]|\r+(?=\n)")
"""Colours, titles and such: a terminal takes them, a model has no use for them."""
_GONE: Final = "The editor is gone, and with it the terminal of the command; it was ended before it was done"


class CommandTerminal(Protocol):
    """One terminal with one command. Every method raises `ConnectionError` when the editor is gone or says no."""

    async def wait(self) -> tuple[int | None, str]:
        """Its end: the exit code, or the name of the signal that ended it."""
        ...

    async def output(self) -> tuple[str, bool]:
        """What it shows, and whether its beginning was cut off."""
        ...

    async def kill(self) -> None:
        """End the command; the terminal stays."""
        ...

    async def release(self) -> None:
        """It is not needed any more; what it shows may stay."""
        ...


class CommandTerminals(Protocol):
    """The editor."""

    @property
    def are_usable(self) -> bool:
        """Whether it can be asked for one."""
        ...

    async def open(self, tool_use_id: str, program: str, cwd: str) -> CommandTerminal:
        """Start a program in a terminal, shown with the call.

        Raises:
            ConnectionError: It cannot, or does not answer; whether it starts the program later is not known.
        """
        ...

    def give_up(self) -> None:
        """Its terminals do not reach our files: none is asked for any more."""
        ...


class Shown(NamedTuple):
    """A command that ended in a terminal."""

    ended: Exit
    output: Output
    is_cut: bool
    """The editor kept only the end of the output."""


@contextmanager
def handed_over(processes: Processes, places: Places, text: str) -> Generator[HandedOver | None]:
    """A place for a command that the editor starts, taken away at the end; None where there can be none."""
    if _PLAIN.fullmatch(places.root) is None:  # some editors hand the path to a shell
        yield None
        return
    name = _NOT_PLAIN.sub("-", text)[:_NAME_CHARS].strip("-") or "command"
    try:
        directory = os.path.join(places.make(places.root), f"terminal-{os.urandom(6).hex()}")
        handed = processes.hand_over(directory, name)
    except OSError:
        yield None
        return
    try:
        yield handed
    finally:
        handed.remove()


async def run_in_terminal(
    terminals: CommandTerminals, handed: HandedOver, command: Command, ctx: ToolContext, limit_s: float
) -> Shown | None:
    """Run a command in the editor; None where it did not begin there and never will.

    Raises:
        ToolFailed: The editor went away, or does not tell how the command ended.
    """
    began = time.monotonic()
    try:
        handed.write(command)
    except OSError:  # the disk is full: a process of ours needs no file
        return None
    try:
        terminal = await terminals.open(ctx.tool_use_id, handed.program, command.cwd or "/")
    except ConnectionError as error:
        return await _not_opened(handed, error)
    except BaseException:  # stopped meanwhile: the terminal may still come
        if not handed.prevent():
            await uninterrupted(asyncio.ensure_future(handed.end()))
        raise
    try:
        code, by, stopped = await _wait(terminal, handed, limit_s)
        if not handed.has_begun and handed.prevent():  # another machine, or a disk that starts no programs
            terminals.give_up()
            return None
        text, is_cut = await terminal.output()
    except ConnectionError as error:
        await handed.end()
        raise ToolFailed(f"{_GONE} ({error})") from error
    finally:
        await uninterrupted(asyncio.ensure_future(_release(terminal)))
    ended = Exit(code, None if code is not None else _number(by), stopped, time.monotonic() - began)
    return Shown(ended, _captured(text), is_cut)


async def _not_opened(handed: HandedOver, error: ConnectionError) -> None:
    if handed.prevent():
        return
    await handed.end()
    raise ToolFailed(
        f"the editor started the command in a terminal that it does not tell about ({error}); the command was ended, "
        "and how far it came is not known"
    ) from error


async def _wait(terminal: CommandTerminal, handed: HandedOver, limit_s: float) -> tuple[int | None, str, Stopped]:
    waiting = asyncio.ensure_future(terminal.wait())
    try:
        await asyncio.wait([waiting], timeout=limit_s)
        if waiting.done():
            return (*waiting.result(), Stopped.NOBODY)
        await _stop(terminal, handed)
    except asyncio.CancelledError:
        await uninterrupted(asyncio.ensure_future(_stop(terminal, handed)))
        raise
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    return None, "SIGKILL", Stopped.TIMEOUT


async def _stop(terminal: CommandTerminal, handed: HandedOver) -> None:
    """By the editor, and by ourselves: its terminal may leave processes behind."""
    if not handed.prevent():
        await handed.end()
    try:
        await terminal.kill()
    except ConnectionError:
        return


async def _release(terminal: CommandTerminal) -> None:
    try:
        await terminal.release()
    except ConnectionError:
        return


def _number(name: str) -> int:
    """The number of a signal; one that nobody knows counts as a kill."""
    wanted = name.upper() if name.upper().startswith("SIG") else f"SIG{name.upper()}"
    return int(getattr(signal, wanted, signal.SIGKILL))


def _captured(text: str) -> Output:
    """The terminal's text as output like any other."""
    output = Output(kept_bytes=KEPT_BYTES, spill=None, is_merged=True)
    data = _CODES.sub("", text).encode("utf-8", "replace")
    output.stdout.kept_bytes = max(KEPT_BYTES, len(data))
    output.add(output.stdout, data)
    return output
