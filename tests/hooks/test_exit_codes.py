"""A gate and every way in which a process can end: all exit codes, all signals, and output that nobody wants."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast import Executor
from holdfast.events import CallFinished, Event, HookSpoke
from holdfast.hooks.command import CommandRunner, Surroundings
from holdfast.hooks.gate import OnFailure
from holdfast.hooks.schema import Handlers, hooks_of
from holdfast.host.processes import Processes

from .conftest import Play, echo, entry

# The call says how the gate shall end, so that one gate is enough for all of them.
TOLD = 'IFS= read -r line; line=${line#*\\"text\\":\\"}; how=${line%%\\"*}; '


def play_all(
    handler: Mapping[str, Any], texts: list[str], on_gate_failure: OnFailure | None = None
) -> dict[str, tuple[str, str]]:
    """Many calls behind one gate: for each text how its call ended, and what was said meanwhile."""

    async def run() -> dict[str, tuple[str, str]]:
        events: list[Event] = []
        found: dict[str, tuple[str, str]] = {}
        async with asyncio.timeout(120), Processes() as processes:
            runner = CommandRunner(lambda: processes, Surroundings(project_dir="/"))
            hooks = hooks_of((entry("PreToolUse", handler),), Handlers(runner, {}), on_gate_failure=on_gate_failure)
            executor = Executor([echo], hooks=hooks, permission_mode="bypassPermissions", on_event=events.append)
            for text in texts:
                events.clear()
                executor.add({"id": f"c{text}", "name": "Echo", "input": {"text": text}})
                replies = [event async for event in executor.results() if isinstance(event, CallFinished)]
                said = " ".join(event.text for event in events if isinstance(event, HookSpoke))
                found[text] = (replies[-1].outcome, said)
            await executor.close()
        return found

    return asyncio.run(run())


@pytest.mark.parametrize("policy", [None, "deny", "ignore"])
def test_every_exit_code_of_a_gate(policy: OnFailure | None):
    handler = {"type": "command", "command": TOLD + 'exit "$how"'}
    ended = play_all(handler, [str(code) for code in range(256)], policy)
    other = "denied" if policy == "deny" else "completed"
    assert {text: outcome for text, (outcome, _) in ended.items()} == {
        str(code): {0: "completed", 2: "denied"}.get(code, other) for code in range(256)
    }
    assert all(f"exit code {text}" in said for text, (_, said) in ended.items() if text not in ("0", "2"))


def test_every_exit_code_of_a_gate_that_is_configured_to_block():
    handler = {"type": "command", "command": TOLD + 'exit "$how"', "onFailure": "block"}
    ended = play_all(handler, [str(code) for code in range(256)], "ignore")
    assert [text for text, (outcome, _) in ended.items() if outcome != "denied"] == ["0"]


def test_every_signal_that_ends_a_gate():
    kept = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH, signal.SIGQUIT}  # bash goes on
    stops = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    numbers = [str(int(number)) for number in signal.valid_signals() if number not in stops]
    handler = {"type": "command", "command": TOLD + 'kill -"$how" $$; exit 0', "timeout": 20}
    ended = play_all(handler, numbers)
    for number, (outcome, said) in ended.items():
        if int(number) in kept:
            assert outcome == "completed", number
        else:
            assert outcome == "denied", f"signal {number}: {said}"
            assert "it was ended" in said or "signal" in said


def test_a_gate_that_stops_itself_is_ended_at_its_time_limit():
    handler = {"type": "command", "command": "kill -STOP $$; exit 0", "timeout": 0.3}
    assert play_all(handler, ["x"])["x"][0] == "denied"


PLAIN = ["printf x; head -c 10000000 /dev/zero | tr '\\0' x", "printf '[]'; exit 0", "printf '\\xff'"]
"""Whatever it is, it is text that does not begin like JSON."""
GARBAGE = [
    "printf x; head -c 10000000 /dev/urandom; exit 0",
    "printf '{'; head -c 10000000 /dev/zero; exit 0",
    'printf \'{"a":"\'; head -c 10000000 /dev/zero | tr "\\0" x; printf \'"}\'; exit 0',
    "head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 2",
    "printf '\\xff\\xfe{}\\x00'; exit 0",
    'printf \'{"decision":"\\xff"}\'',
    "printf '{}{}'; exit 0",
    "printf '{\"hookSpecificOutput\":[]}'",
    "yes '[' | head -c 400000 | tr -d '\\n' | sed 's/^/{\"a\":/'",
]


@pytest.mark.parametrize("command", [*PLAIN, *GARBAGE])
@pytest.mark.parametrize("policy", ["block", "ask"])
def test_garbage_of_a_gate_that_is_configured_to_block_waves_nothing_through_but_plain_text(
    play: Play, command: str, policy: str
):
    played = play(entry("PreToolUse", {"type": "command", "command": command, "onFailure": policy}))
    assert played.reply.outcome == ("completed" if command in PLAIN else "denied")
    assert len(str(played.reply.content)) < 20_000


def test_a_gate_with_closed_streams_answers_by_its_exit_code(play: Play):
    given = {"text": "x" * 2_000_000}
    assert play(entry("PreToolUse", "exec <&- >&- 2>&-; exit 2"), given=given).reply.outcome == "denied"
    assert play(entry("PreToolUse", "exec <&- >&- 2>&-; exit 0"), given=given).reply.outcome == "completed"


def test_a_child_in_the_background_that_holds_the_output_keeps_no_answer_back(play: Play, tmp_path: Path):
    command = f"(sleep 60 & echo $! > {tmp_path}/pid); echo no >&2; exit 2"
    played = play(entry("PreToolUse", {"type": "command", "command": command, "timeout": 30}))
    assert played.reply.outcome == "denied"
    assert "no" in str(played.reply.content)
    pid = int((tmp_path / "pid").read_text())
    assert not os.path.exists(f"/proc/{pid}") or "Z" in Path(f"/proc/{pid}/stat").read_text()


def test_a_slow_drip_after_an_answer_is_bounded(play: Play):
    drip = 'printf \'{"decision":"approve"}\'; while :; do printf " "; sleep 0.02; done'
    assert play(entry("PreToolUse", {"type": "command", "command": drip, "timeout": 0.4})).reply.outcome == "denied"
