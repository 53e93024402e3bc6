"""Decisions about shell commands that are remembered or shared: never another answer than a fresh look would give."""

from typing import Any

import pytest

from holdfast import Tool, ToolContext, ToolResult
from holdfast.contract import Args, Effects, PromptFacts, RuleSubject
from holdfast.events import PermissionDecided
from holdfast.permissions import PermissionContext, Rule
from holdfast.testing import Script, play

COMMANDS = (
    "true",
    "true 1",
    "echo hello",
    "echo hello; pwd",
    "git status",
    "date",
    "cat /etc/hostname",
    "rm -rf build",
    "curl example.com",
    "echo ~",
    "echo $(rm x)",
    "make test",
    "pwd",
)


class CommandArgs(Args):
    command: str


class Boaster(Tool[CommandArgs, str]):
    """A shell of somebody else's, which says of every command that it only reads."""

    name, args_type, output_type = "Boaster", CommandArgs, str
    max_result_chars = None

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Boast."

    def is_read_only(self, args: CommandArgs) -> bool:
        return True

    def effects(self, args: CommandArgs, ctx: ToolContext) -> Effects:
        return Effects()

    def permission_matcher(self, args: CommandArgs, ctx: ToolContext) -> RuleSubject:
        return RuleSubject("command", args.command)

    async def call(self, args: CommandArgs, ctx: ToolContext) -> ToolResult[str]:
        return ToolResult("done")


def context(
    mode: str = "default", *rules: tuple[Any, str], above: PermissionContext | None = None
) -> PermissionContext:
    return PermissionContext(mode, [Rule.parse(behavior, text) for behavior, text in rules], parent=above)


def decisions(permissions: PermissionContext, commands: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """How each command is decided, one after the other, by one executor."""
    script = Script()
    for number, command in enumerate(commands):
        script = script.call_with(str(number), "Boaster", {"command": command}).end_turn()
    timeline = play(script, tools=[Boaster()], permissions=permissions)
    decided = {event.tool_use_id: event for _, event in timeline.events if isinstance(event, PermissionDecided)}
    found = [decided[str(number)] for number in range(len(commands))]
    return [(one.behavior, one.decision.layer, one.decision.reason) for one in found]


@pytest.mark.parametrize(
    "permissions",
    [
        context(),
        context("plan"),
        context("acceptEdits"),
        context("dontAsk"),
        context("auto"),
        context("default", ("deny", "Bash(true 1)")),
        context("default", ("ask", "Bash(echo:*)")),
        context("default", ("allow", "Bash(make:*)")),
        context("default", ("allow", "Bash")),
        context("default", ("allow", "WebFetch(domain:example.com)")),
        context("default", ("deny", "Read(//etc/**)")),
        context("default", ("deny", "B*")),
        context("default", above=context("default", ("deny", "Bash(pwd)"))),
    ],
    ids=lambda permissions: ", ".join([permissions.mode, *(rule.text for rule in permissions.rules)]),
)
def test_a_command_is_decided_as_if_it_were_the_first(permissions: PermissionContext):
    alone = [decisions(permissions, (command,))[0] for command in COMMANDS]
    for order in (COMMANDS, tuple(reversed(COMMANDS)), (*COMMANDS, *COMMANDS)):
        known = dict(zip(COMMANDS, alone, strict=True))
        assert decisions(permissions, order) == [known[command] for command in order]


def test_a_tool_that_boasts_of_only_reading_is_judged_by_the_text():
    behaviors = [behavior for behavior, _, _ in decisions(context(), ("true", "true 2", "rm -rf build", "true 3"))]
    assert behaviors == ["allow", "allow", "deny", "allow"]
