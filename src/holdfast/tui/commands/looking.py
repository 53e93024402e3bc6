"""Commands that only look: help, status, what fills the window, what it costs, rules, hooks, the machine."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.commands.command import SlashCommand
from holdfast.tui.show.words import Line, wrapped

if TYPE_CHECKING:
    from holdfast.tui.conversation import Conversation

__all__ = ["COMMANDS", "KEYS"]

KEYS = (
    ("Enter", "sends; \\Enter, Alt-Enter or Ctrl-J: a new line"),
    ("Esc, Ctrl-C", "interrupts; Ctrl-C twice or Ctrl-D leaves"),
    ("Esc Esc", "clears the line; where it is empty, goes back to before a prompt"),
    ("Shift-Tab", "the next permission mode"),
    ("Ctrl-O", "whole outputs; in a question, all that it is about"),
    ("Ctrl-T", "tasks; Ctrl-B lets the running command go on in the background"),
    ("Ctrl-R", "earlier lines; Ctrl-G your editor; Ctrl-V a picture"),
    ("@file", "goes with the prompt; !command runs through the same rules; #note is remembered"),
)
_LIMIT_S = 60.0


async def _help(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.tui.commands.run import offered_commands  # noqa: PLC0415 - it knows this module

    offered = offered_commands(talk.agent)
    width = max(12, *(len(name) + 3 for name, _ in offered))
    rows: list[Line] = [
        [("accent", f"{'/' + name:<{width}}"), ("", visible(about, limit_chars=100))] for name, about in offered
    ]
    rows += [[], *([("accent", f"{key:<{width}}"), ("", does)] for key, does in KEYS)]
    columns = talk.face.columns - 1
    talk.face.commit([part for row in rows for part in wrapped(row, columns, inset=width)])


async def _status(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.tui.panels.standing import standing_page  # noqa: PLC0415 - only here

    if talk.agent is not None:
        await talk.face.open(standing_page(talk.agent))


async def _context(talk: "Conversation", rest: str) -> None:
    del rest
    from holdfast.tui.panels.context import context_page  # noqa: PLC0415 - only here

    if talk.agent is not None:
        await talk.face.open(context_page(talk.agent))


async def _cost(talk: "Conversation", rest: str) -> None:
    del rest
    agent = talk.agent
    if agent is None:
        return
    usage = agent.usage
    cost = "no price is known for this model" if agent.cost_usd is None else f"${agent.cost_usd:.4f} so far"
    talk.say("", f"{cost}; {usage.input_tokens:,} tokens read, {usage.output_tokens:,} written")
    cached = usage.cache_read_tokens
    if cached:
        talk.say("dim", f"{cached:,} of the tokens that were read came from the provider's cache")


async def _permissions(talk: "Conversation", rest: str) -> None:
    del rest
    if talk.agent is None:
        return
    lines = [f"mode {talk.agent.mode}"]
    for rule in talk.agent.permissions.rules:
        source = rule.source
        place = f"{source.path}:{source.line}" if source.path and source.line else source.path or source.kind
        content = "" if rule.content is None else f"({rule.content})"
        lines.append(f"{rule.behavior:<6} {visible(rule.tool + content)}  {visible(home_relative(place))}")
    if len(lines) == 1:
        lines.append("no rules; the mode alone decides")
    talk.say("", "\n".join(lines))


async def _output(talk: "Conversation", rest: str) -> None:
    from holdfast.tui.panels.outputs import output_page  # noqa: PLC0415 - only here

    kept = talk.view.kept.all()
    place = len(kept) - int(rest) if rest.isascii() and rest.isdigit() and 0 < int(rest) <= len(kept) else None
    if kept:
        await talk.face.open(output_page(kept, place))
    else:
        talk.say("dim", "no call has ended yet")


async def _hooks(talk: "Conversation", rest: str) -> None:
    del rest
    await talk.beside.run(_own_command(talk, "hooks", "list"))


async def _doctor(talk: "Conversation", rest: str) -> None:
    del rest
    await talk.beside.run(_own_command(talk, "doctor"))


async def _own_command(talk: "Conversation", *words: str) -> None:
    """What `holdfast WORDS` writes, run beside us: it looks at the machine as any new session would."""
    cwd = os.getcwd() if talk.agent is None else talk.agent.cwd
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "holdfast",
        *words,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        async with asyncio.timeout(_LIMIT_S):
            out, _ = await process.communicate()
    except TimeoutError:
        talk.say("warn", f"`holdfast {' '.join(words)}` took longer than {_LIMIT_S:.0f} s and was ended")
        return
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    talk.say("", out.decode("utf-8", "replace").rstrip("\n"))


COMMANDS = (
    SlashCommand("help", "these commands, and the keys", _help, beside=True),
    SlashCommand("status", "session, model, settings, sandbox and trust", _status, beside=True, is_panel=True),
    SlashCommand(
        "context", "what fills the model's window, for each tool and server", _context, beside=True, is_panel=True
    ),
    SlashCommand("cost", "what this session has cost", _cost, beside=True),
    SlashCommand("permissions", "the mode and the rules, each with its place", _permissions, beside=True),
    SlashCommand(
        "output",
        "the whole output of the last call; `/output 3` of the third last",
        _output,
        beside=True,
        is_panel=True,
    ),
    SlashCommand("hooks", "your hooks, and whether they are active here", _hooks, beside=True),
    SlashCommand("doctor", "what this machine can promise", _doctor, beside=True),
)
