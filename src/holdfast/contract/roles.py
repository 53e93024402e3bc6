"""The few real inversions: what the engine needs from the rooms above it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from holdfast.contract.permission import PermissionUpdate, RuleUpdate

if TYPE_CHECKING:
    from holdfast.contract.context import ToolContext
    from holdfast.contract.forms import Form
    from holdfast.contract.modifiers import WorktreeChanged
    from holdfast.contract.result import CallReply

__all__ = [
    "AgentReport",
    "AgentTask",
    "Answer",
    "Asker",
    "CallMaker",
    "CallRights",
    "EventHooks",
    "HookWord",
    "OpenBuffers",
    "PlanRights",
    "Question",
    "QuestionBrief",
    "QuestionPart",
    "QuestionStanding",
    "Resource",
    "Spawner",
]


class QuestionPart(NamedTuple):
    """One simple command of a shell call, and what is thought of it."""

    text: str
    behavior: Literal["reads", "allow", "ask", "deny"]
    """`reads`: it changes nothing. Otherwise what the rights say to it alone."""
    reason: str = ""
    rule: str = ""
    """The rule that speaks of it, as written."""


class QuestionBrief(NamedTuple):
    """What a person should know before answering."""

    parts: tuple[QuestionPart, ...] = ()
    """Of a shell call: its simple commands."""
    is_risky: bool = False
    risk: str = ""
    """The danger that is seen, or that none is, in words."""
    is_confined: bool = False
    """What it starts runs in the sandbox."""
    passes_in: str = ""
    """The permission mode in which such changes of files need no yes; empty: none that could be offered."""


class QuestionStanding(NamedTuple):
    """How an open question would be decided now."""

    behavior: Literal["allow", "ask", "deny"]
    """Anything but ask: nobody needs to answer it any more."""
    reason: str
    suggestions: tuple[str, ...] = ()
    """Rules that "always allow" would save now."""


class Question(NamedTuple):
    """One permission question to a person."""

    id: str
    """What an answer is sent to."""
    tool_use_id: str
    """The call that waits."""
    tool: str
    """The name of the tool."""
    input: Mapping[str, Any]
    """The arguments of the call."""
    reason: str
    """Why it is asked about."""
    suggestions: tuple[str, ...] = ()
    """Rules that "always allow" would save, shown before they are saved."""
    trace: tuple[Any, ...] = ()
    """What each layer of the decision said."""
    preview: str = ""
    """What the call would change, as a diff, where the tool can tell."""
    form: "Form | None" = None
    """What the person should fill in, for an interface that knows no forms (see `FormAsker`)."""
    cwd: str = ""
    """Where the call would act."""
    agent: str = ""
    """The subagent that wants it; empty: the main one."""
    agent_id: str = ""
    """Its id."""
    brief: "Callable[[], QuestionBrief] | None" = None
    """Works out more for an interface that shows it: the parts of a command, its risk."""
    standing: "Callable[[], QuestionStanding] | None" = None
    """Judges the call anew while the question is open: other answers, or somebody else, may have changed the rights."""


class Answer(NamedTuple):
    """What the person said. The default is no."""

    behavior: Literal["allow", "deny"] = "deny"
    """Whether the call may run."""
    updated_input: Mapping[str, Any] | None = None
    """Other arguments to run it with; they are judged again."""
    message: str = ""
    """Feedback to the model; a refusal without it ends the turn."""
    rules: tuple[str, ...] = ()
    """Rules to add for "always", of the answer's own behavior."""
    destination: str = "session"
    """Where those rules are kept."""
    updates: tuple[PermissionUpdate, ...] = ()
    """More rules, each with its own behavior and place, and other changes of the rights."""
    by_nobody: bool = False
    """Nobody was there to be asked, and the message says what would help; or nobody had to be, as `Question.standing`
    says: a yes of that kind counts only if the rights alone say it, too."""

    @property
    def refusal(self) -> str:
        """A no, in words for the model."""
        if self.by_nobody:
            return self.message
        return f"the user refused and said: {self.message}" if self.message else "the user refused"

    @property
    def added(self) -> tuple[PermissionUpdate, ...]:
        """All that counts: a no allows nothing, now or later, and no answer takes a deny or a question away."""
        own = (RuleUpdate(self.behavior, self.rules, self.destination),) if self.rules else ()
        is_yes = self.behavior == "allow"
        counted: list[PermissionUpdate] = []
        for update in (*own, *self.updates):
            if not isinstance(update, RuleUpdate) or update.behavior == "allow":
                counted += (update,) if is_yes else ()
            elif not update.removes:
                counted.append(update._replace(replaces=False))
        return tuple(counted)


class Asker(Protocol):
    """An interface that can put a question to a person. One that can put forms, too, is a `FormAsker`."""

    async def ask(self, question: Question) -> Answer:
        """Show the question and wait for the answer."""
        ...


class PlanRights(NamedTuple):
    """What the rights say about plan mode."""

    is_on: bool
    file: str
    """Where the plan is written; empty: nowhere."""
    mode_before: str
    """The permission mode that comes back when a plan was approved."""


class CallMaker(Protocol):
    """Makes calls of other tools for a tool, each judged like a call of the model."""

    async def make(self, ctx: "ToolContext[Any]", name: str, arguments: Mapping[str, Any]) -> "CallReply":
        """One call."""
        ...

    def make_from_thread(self, ctx: "ToolContext[Any]", name: str, arguments: Mapping[str, Any]) -> "CallReply":
        """The same for a plain function in its thread."""
        ...


class CallRights(Protocol):
    """The rights of whoever makes a call, as they are now. A tool that agents share asks these and no others."""

    @property
    def hides_files(self) -> bool:
        """Some file may be hidden."""
        ...

    def hides(self, path: str) -> bool:
        """A rule keeps this file from being read, so nobody tells of it."""
        ...

    def is_inside(self, path: str) -> bool:
        """This resolved path is one of the directories to work in, or below one."""
        ...

    def guarded_roots(self) -> tuple[str, ...]:
        """The directories whose programs run only for somebody who wants them."""
        ...

    @property
    def plan(self) -> PlanRights:
        """Whether plan mode is on, and what belongs to it."""
        ...

    @property
    def deps(self) -> Any:
        """What the program handed to the run for its own tools."""
        ...

    @property
    def calls(self) -> "CallMaker | None":
        """Makes calls for tools."""
        ...

    @property
    def worktree(self) -> "WorktreeChanged | None":
        """The worktree that the session has gone to, if it is in one."""
        ...


class OpenBuffers(Protocol):
    """An editor in which the person may have changed files without saving them."""

    async def unsaved(self, path: str) -> str | None:
        """The text that the editor holds of a file, where it differs from the one on the disk.

        Raises `TimeoutError` when the editor does not say.
        """
        ...


class HookWord(NamedTuple):
    """What the user's hooks say to an event."""

    is_blocked: bool = False
    reason: str = ""
    more: Mapping[str, Any] = MappingProxyType({})
    """What only this event knows."""


class EventHooks(Protocol):
    """The user's hooks, for a tool whose work is an event of its own, such as a new worktree."""

    def hears_of(self, event: str) -> bool:
        """Some hook is about this event."""
        ...

    async def tell(self, event: str, /, **fields: Any) -> HookWord:
        """Tell the event and wait for what the hooks say."""
        ...


class AgentTask(NamedTuple):
    """What another agent should do, and how."""

    prompt: str
    description: str
    type: str
    tool_use_id: str
    """The call that starts it."""
    model: str | None = None
    max_turns: int | None = None
    mode: str | None = None
    """A permission mode, within the rights of whoever starts it."""
    allowed_tools: tuple[str, ...] | None = None
    cwd: str | None = None
    background: bool = False
    """Nobody waits for it."""
    name: str | None = None
    """What it can be called besides its id."""
    team: str | None = None
    isolation: str | None = None
    """Where it works apart: `worktree` or `remote`."""
    resume: str | None = None
    """Go on with this agent, by its id or name."""
    asked: bool = False
    """A person has agreed to this very call."""
    by_skill: bool = False
    """A skill is done by it: the call that a person or a rule let pass was not one of Agent."""
    hooks: "EventHooks | None" = None
    """The user's hooks, which may make a place to work apart."""
    is_ours: bool = False
    """The type that we bring, also where a file has taken its name."""
    denied: tuple[str, ...] = ()
    """Rules that deny it more than its starter is denied."""
    effort: str | None = None


class AgentReport(NamedTuple):
    """What came of it."""

    agent_id: str
    text: str
    """Its last message."""
    error: str
    """Why it did not finish; empty when it did."""
    tool_uses: int
    usage: Mapping[str, int]
    goes_on: bool = False
    """It works in the background now, and this is not its end."""
    notes: tuple[str, ...] = ()
    """What whoever started it should know besides, such as where its changes are."""
    output_file: str = ""
    """Where it tells what it does, in the background."""
    worktree: tuple[str, str] | None = None
    """Where its changes are, where it worked apart and left some: the directory and the branch."""
    conversation: Any = None
    """All that it knows, for whoever goes on with it; none where that is on disk."""


class Spawner(Protocol):
    """Starts other agents."""

    def types(self) -> Mapping[str, str]:
        """What can be started, and what each is for."""
        ...

    def type_of(self, given: str, resume: str | None) -> str:
        """The type that a task is for: that of the agent that goes on, whatever else is given."""
        ...

    def isolation(self, type_: str, given: str | None, resume: str | None = None) -> str | None:
        """Where an agent of this type, or the one that goes on, would work apart; none where it works with us."""
        ...

    def problem(self, task: AgentTask) -> str | None:
        """Why this cannot be started; none when it can."""
        ...

    async def run(self, task: AgentTask, progress: Callable[[Any], None]) -> AgentReport:
        """Let one work, to its end or until it goes on in the background; cancelling this stops it.

        Raises `ToolFailed` when it cannot be started.
        """
        ...

    def background(self, tool_use_id: str) -> bool:
        """Let the agent of this call go on in the background; false if it cannot, or there is none."""
        ...


class Resource(Protocol):
    """Something a tool holds as long as its executor lives, such as background processes."""

    async def leave_loop(self) -> None:
        """End what belongs to the running event loop; another loop may use the resource again."""
        ...

    async def close(self) -> None:
        """End everything for good."""
        ...
