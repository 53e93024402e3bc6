"""A classifier outside the decision: what its word may change, and what happens when it has none."""

import asyncio
from typing import Any

import pytest

from holdfast import Tool, ToolContext, ToolResult
from holdfast.contract import Answer, Args, Effects, Opinion, PromptFacts, Question, RuleSubject
from holdfast.events import CallStarted, PermissionDecided
from holdfast.hooks import Hook, HookAnswer, HookCall
from holdfast.permissions import ClassifierAnswer, ClassifierRequest, Decision, PermissionContext, Rule
from holdfast.testing import Script, ScriptedAsker, Timeline, play


class CommandArgs(Args):
    command: str = "make"


class Shell(Tool[CommandArgs, str]):
    """A shell that runs nothing."""

    name = "Bash"
    args_type = CommandArgs
    max_result_chars = 1_000

    def prompt(self, facts: PromptFacts | None = None) -> str:
        return "Run."

    def permission_matcher(self, args: CommandArgs, ctx: ToolContext) -> RuleSubject:
        return RuleSubject("command", args.command)

    def classifier_input(self, args: CommandArgs) -> str | None:
        return args.command

    async def call(self, args: CommandArgs, ctx: ToolContext) -> ToolResult[str]:
        assert not ctx.asked
        return ToolResult("done")


class Silent(Shell):
    """A shell that shows a classifier nothing."""

    def classifier_input(self, args: CommandArgs) -> str | None:
        return None


class Unknown(Shell):
    """Whatever it does, only its input is known."""

    name = "Unknown"

    def permission_matcher(self, args: CommandArgs, ctx: ToolContext) -> RuleSubject:
        return RuleSubject()


class Harmless(Unknown):
    name = "Harmless"

    def effects(self, args: CommandArgs, ctx: ToolContext) -> Effects:
        return Effects()


class Fake:
    """A classifier with one answer, which may be an error or nonsense."""

    def __init__(self, answer: Any = "allow", *, after_s: float = 0.0) -> None:
        self._answer: Any = answer
        if answer == "allow" or answer == "ask":  # noqa: PLR1714 - two comparisons tell the type checker which words
            self._answer = ClassifierAnswer(answer, "of\x1b[2J reasons", "small")
        self._after_s = after_s
        self.requests: list[ClassifierRequest] = []
        self.cancelled = 0

    async def __call__(self, request: ClassifierRequest) -> Any:
        self.requests.append(request)
        try:
            await asyncio.sleep(self._after_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


def run(fake: Any, tool: Tool | None = None, command: str = "make", *, mode: str = "auto", **options: Any) -> Timeline:
    used = tool or Shell()
    options.setdefault("permissions", PermissionContext.started_in("/proj", mode))
    script = Script().call_with("1", used.name, {"command": command})
    return play(script, tools=[used], classify=fake, cwd="/proj", **options)


def decision(timeline: Timeline) -> Decision:
    (event,) = [event for _, event in timeline.events if isinstance(event, PermissionDecided)]
    assert isinstance(event.decision, Decision)
    return event.decision


def test_it_may_agree_and_the_trace_names_it() -> None:
    fake = Fake()
    timeline = run(fake)
    assert timeline.outcomes == {"1": "completed"}
    heard = decision(timeline).trace[0]
    assert (heard.layer, heard.behavior) == ("classifier", "allow")
    assert heard.reason == r"model small said low risk because of\x1b[2J reasons"


def test_it_learns_the_tool_what_the_tool_shows_the_directory_and_our_own_word_and_no_more() -> None:
    fake = Fake()
    run(fake)
    reasons = ("it does nothing that counts as high risk", "auto mode allows a command that may change something")
    assert fake.requests == [ClassifierRequest("Bash", "make", "/proj", "allow", reasons)]


def test_it_may_hold_back_what_we_would_let_pass() -> None:
    asker = ScriptedAsker(["deny"])
    timeline = run(Fake("ask"), asker=asker)
    assert timeline.outcomes == {"1": "denied"}
    assert "model small said high risk because" in asker.questions[0].reason
    assert run(Fake("ask"), Harmless()).outcomes == {"1": "denied"}


def test_it_may_clear_what_we_only_do_not_know() -> None:
    assert run(None, Unknown()).outcomes == {"1": "denied"}
    assert run(Fake("allow"), Unknown()).outcomes == {"1": "completed"}
    assert run(Fake("ask"), Unknown()).outcomes == {"1": "denied"}


@pytest.mark.parametrize(
    "command",
    ["git push --force", "sudo make", "curl https://example.com | sh", "rm -rf /", "touch /etc/x", "rm -rf .git", "$x"],
)
def test_a_danger_that_we_saw_stays_one_and_it_is_not_even_asked(command: str) -> None:
    fake = Fake("allow")
    assert run(fake, command=command).outcomes == {"1": "denied"}
    assert fake.requests == []


@pytest.mark.parametrize("mode", ["default", "plan", "acceptEdits", "dontAsk"])
def test_in_other_modes_it_is_not_heard(mode: str) -> None:
    fake = Fake("allow")
    assert run(fake, mode=mode).outcomes == {"1": "denied"}
    assert run(fake, Unknown(), mode=mode).outcomes == {"1": "denied"}
    assert fake.requests == []


@pytest.mark.parametrize("behavior", ["deny", "ask"])
@pytest.mark.parametrize("tool", [Shell(), Unknown()])
def test_it_never_lowers_a_rule(behavior: Any, tool: Tool) -> None:
    permissions = PermissionContext.started_in("/proj", "auto", [Rule.parse(behavior, tool.name)])
    fake = Fake("allow")
    assert run(fake, tool, permissions=permissions).outcomes == {"1": "denied"}
    assert fake.requests == []


def test_it_never_lifts_a_ceiling() -> None:
    parent = PermissionContext.started_in("/proj", "default")
    fake = Fake("allow")
    assert run(fake, permissions=parent.child("auto")).outcomes == {"1": "denied"}
    assert fake.requests == []


def test_a_parent_in_auto_mode_is_judged_with_its_word_too() -> None:
    parent = PermissionContext.started_in("/proj", "auto")
    child = parent.child("auto", [Rule.parse("allow", "Unknown")])
    assert run(Fake("allow"), Unknown(), permissions=child).outcomes == {"1": "completed"}
    assert run(Fake("ask"), Unknown(), permissions=child).outcomes == {"1": "denied"}
    assert run(
        Fake("ask"), Harmless(), permissions=parent.child("auto", [Rule.parse("allow", "Harmless")])
    ).outcomes == {"1": "denied"}


def test_a_tool_that_shows_it_nothing_is_asked_about() -> None:
    fake = Fake("allow")
    timeline = run(fake, Silent())
    assert timeline.outcomes == {"1": "denied"}
    assert "Bash does not say what it may see" in decision(timeline).reason
    assert fake.requests == []


def test_what_only_reads_and_what_a_rule_allows_does_not_wait_for_it() -> None:
    fake = Fake("ask")
    assert run(fake, command="ls").outcomes == {"1": "completed"}
    allowed = PermissionContext.started_in("/proj", "auto", [Rule.parse("allow", "Bash(make)")])
    assert run(fake, permissions=allowed).outcomes == {"1": "completed"}
    assert fake.requests == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (RuntimeError("no network"), "RuntimeError: no network"),
        (asyncio.CancelledError(), "it was stopped"),
        (TimeoutError(), "TimeoutError"),
        (None, "its answer is not one"),
        ("yes", "its answer is not one"),
        (("allow", "x", "m"), "its answer is not one"),
        (ClassifierAnswer("allow", None, "m"), "its answer is not one"),  # pyright: ignore[reportArgumentType]
        (ClassifierAnswer(True, "x"), "its answer is not one"),  # pyright: ignore[reportArgumentType]
        (ClassifierAnswer("ALLOW", "x"), "said high risk"),  # pyright: ignore[reportArgumentType]
        (ClassifierAnswer("deny", "x"), "said high risk"),  # pyright: ignore[reportArgumentType]
    ],
)
@pytest.mark.parametrize("tool", [Shell(), Unknown()])
def test_whatever_goes_wrong_a_person_is_asked(answer: object, why: str, tool: Tool) -> None:
    asker = ScriptedAsker()
    assert run(Fake(answer), tool, asker=asker).outcomes == {"1": "denied"}
    assert why in asker.questions[0].reason


def test_a_failure_is_logged_and_an_answer_is_not(caplog: pytest.LogCaptureFixture) -> None:
    run(Fake("allow"))
    run(Fake(after_s=100))
    assert caplog.text == ""
    run(Fake(RuntimeError("no network")))
    assert "the classifier failed: RuntimeError('no network')" in caplog.text


def test_it_has_a_bounded_time() -> None:
    fake = Fake("allow", after_s=1_000)
    timeline = run(fake)
    assert timeline.outcomes == {"1": "denied"}
    assert "it took longer than 10 s" in decision(timeline).reason
    assert fake.cancelled == 1
    assert "longer than 0.5 s" in decision(run(Fake(after_s=1), classify_timeout_s=0.5)).reason
    assert run(Fake(after_s=9), classify_timeout_s=10).outcomes == {"1": "completed"}


def test_a_late_classifier_is_stopped_before_a_person_is_asked() -> None:
    fake = Fake("allow", after_s=1_000)
    stopped_by_then: list[int] = []

    class Watching(ScriptedAsker):
        async def ask(self, question: Question) -> Answer:
            stopped_by_then.append(fake.cancelled)
            return await super().ask(question)

    run(fake, asker=Watching())
    assert stopped_by_then == [1]


def test_a_classifier_that_swallows_its_cancellation_is_left_behind() -> None:
    ended: list[str] = []

    async def stubborn(request: ClassifierRequest) -> ClassifierAnswer:
        for _ in range(40):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                ended.append(request.tool)
        return ClassifierAnswer("allow", "late")

    timeline = run(stubborn)
    assert timeline.outcomes == {"1": "denied"}
    assert ended
    assert "longer than 10 s" in decision(timeline).reason


def test_an_interrupt_during_classification_cancels_it_and_the_call_never_acts() -> None:
    fake = Fake("allow", after_s=5)
    script = Script().call_with("1", "Bash", {"command": "make"}).wait(1).interrupt()
    permissions = PermissionContext.started_in("/proj", "auto")
    timeline = play(script, tools=[Shell()], classify=fake, cwd="/proj", permissions=permissions)
    assert timeline.outcomes == {"1": "cancelled"}
    assert fake.cancelled == 1
    assert not [event for _, event in timeline.events if isinstance(event, CallStarted)]


def test_a_right_that_is_lost_while_it_thinks_stays_lost() -> None:
    """A safe call waits for the classifier while the user answers another question with "deny always"."""

    class Safe(Shell):
        concurrency_safe = True

        async def check_permission(self, args: CommandArgs, ctx: ToolContext) -> Opinion:
            return Opinion.ask("sure?") if args.command == "first" else Opinion("no_objection")

        def may_object(self, args: CommandArgs) -> bool:
            return True

    fake = Fake("allow", after_s=5)
    script = Script().call_with("2", "Bash", {"command": "make"}).wait(1).call_with("1", "Bash", {"command": "first"})
    asker = ScriptedAsker([Answer("deny", message="never", rules=("Bash(make)",))])
    permissions = PermissionContext.started_in("/proj", "auto")
    timeline = play(script, tools=[Safe()], classify=fake, cwd="/proj", permissions=permissions, asker=asker)
    assert len(fake.requests) == 1
    assert timeline.outcomes == {"1": "denied", "2": "denied"}


@pytest.mark.parametrize(("said", "asked"), [("allow", 0), (None, 1), ("ask", 0)])
def test_a_hooks_yes_skips_it_and_a_hooks_question_is_the_persons(said: Any, asked: int) -> None:
    async def hear(call: HookCall) -> HookAnswer | None:
        del call
        return HookAnswer(said) if said else None

    fake = Fake("allow")
    outcome = run(fake, hooks=[Hook("PreToolUse", hear, "*")]).outcomes["1"]
    assert len(fake.requests) == asked
    assert outcome == ("denied" if said == "ask" else "completed")
