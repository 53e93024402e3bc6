"""What a tool is: one class, fail-closed defaults. A tool that says nothing is slow, exclusive and asked about."""

import sys
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, cast

from pydantic import BaseModel
from pydantic_core import to_json
from typing_extensions import TypeVar

from holdfast.contract.arguments import Arguments, SchemaArguments, arguments_of
from holdfast.contract.blocks import Content, Document, Image, Text, ToolReference
from holdfast.contract.context import ToolContext
from holdfast.contract.effects import UNKNOWN_EFFECTS, Effects
from holdfast.contract.errors import UsageError
from holdfast.contract.facts import NO_FACTS, PromptFacts, SessionFacts
from holdfast.contract.forms import Form, FormAnswer
from holdfast.contract.permission import NO_OBJECTION, Opinion, Preview, RuleSubject
from holdfast.contract.render import Rendering
from holdfast.contract.result import ToolResult
from holdfast.contract.roles import Resource

__all__ = ["Alias", "McpInfo", "OverflowStrategy", "Tool"]

ArgsT = TypeVar("ArgsT", default=Any)
OutT = TypeVar("OutT", default=Any)
InterruptBehavior = Literal["cancel", "block"]
OverflowStrategy = Literal["keep-start", "keep-end", "keep-both"]
_NAME_ONLY = RuleSubject()
_BLOCKS = (Text, Image, Document, ToolReference)


class Alias(NamedTuple):
    """An older name of a tool and what calling by it implies."""

    name: str
    defaults: Mapping[str, Any] = MappingProxyType({})


class McpInfo(NamedTuple):
    """Where a remote tool lives."""

    server: str
    """The server's name as rules spell it: what stands behind `mcp__` in the tool's name."""
    tool: str


class Tool(Rendering, Generic[ArgsT, OutT]):
    """One thing a model can do. Subclass it, name the arguments, write `call`.

    The text that the model reads stands in a `.md` file beside the module: its first paragraph is the
    description, the whole is the prompt.
    """

    name: str = ""
    """What a model calls it by."""
    aliases: tuple[str | Alias, ...] = ()
    """Older names; each always resolves to this tool."""
    renamed_arguments: Mapping[str, str] = MappingProxyType({})
    """Old argument name to current one."""
    search_hint: str = ""
    """Three to ten words that are not in the name, for tool search."""
    args_type: type[BaseModel] | None = None
    """The type of its arguments; their schema is made from it."""
    json_schema: Mapping[str, Any] | None = None
    """Instead of `args_type`, for remote tools; may also be set on the instance."""
    output_type: Any = None
    """The type of the result's data, for SDK users; optional."""

    read_only: bool = False
    """A promise: a call changes nothing."""
    destructive: bool = False
    """A call may destroy something that cannot be brought back."""
    concurrency_safe: bool = False
    """A promise: a call may run beside other safe ones."""
    interrupt_behavior: InterruptBehavior = "block"
    """`cancel`: stops when the user sends a message mid-run; `block`: finishes first."""
    folds_into: Literal["search", "read"] | None = None
    """Interfaces may show many such calls as one line, "searched" or "read"."""
    requires_user_interaction: bool = False
    """A person is asked about each call; where nobody can be asked it is refused."""
    session_state: bool = False
    """Touches nothing but the session's own records, such as a task list."""
    failure_cancels_dependents: bool = False
    """A failure stops the state-changing calls behind it in the turn: shell tools."""

    max_result_chars: int | None
    """Larger results go to disk; `None` only for a tool that bounds itself."""
    overflow: OverflowStrategy = "keep-start"
    """Which part of a result that is too long the model still sees."""
    preview_chars: int = 2_000
    """How much of it."""
    resources: tuple[Resource, ...] = ()
    """What the tool holds; its executor closes it at the end."""
    timeout_s: float | None = None
    """The call is cancelled after this time; time spent asking a person is not counted."""

    should_defer: bool = False
    """Told by name only, and loaded when the model searches for it."""
    always_load: bool = False
    """Never told by name only."""
    strict: bool | None = None
    """Whether the provider holds the model to the schema, where it can."""
    input_examples: tuple[Mapping[str, Any], ...] = ()
    """Arguments that show the model how it is called."""
    run_by_provider: Mapping[str, Any] | None = None
    """The entry of a tool that Anthropic runs on its own side; offered instead while rules let this one run unasked."""
    mcp_info: McpInfo | None = None
    """The server and name of a remote tool."""

    has_validate: ClassVar[bool] = False
    has_opinion: ClassVar[bool] = False
    has_preview: ClassVar[bool] = False
    has_form: ClassVar[bool] = False
    judged_by_name: ClassVar[bool] = True
    """Permission depends on name, flags and rules alone, so that one decision serves many calls."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.has_validate = cls.validate is not Tool.validate
        cls.has_opinion = cls.check_permission is not Tool.check_permission
        cls.has_preview = cls.preview is not Tool.preview
        cls.has_form = cls.form is not Tool.form
        cls.judged_by_name = (
            cls.effects is Tool.effects
            and cls.permission_matcher is Tool.permission_matcher
            and cls.classifier_input is Tool.classifier_input
            and not cls.has_opinion
        )

    @cached_property
    def arguments(self) -> Arguments:
        """The parser and schema of this tool's arguments."""
        if self.args_type is not None:
            return arguments_of(self.args_type)
        if self.json_schema is not None:
            return SchemaArguments(self.json_schema)
        raise UsageError(f"{type(self).__name__} declares neither args_type nor json_schema; set one of them")

    @cached_property
    def rendered(self) -> dict[object, bytes]:
        """The tool as each provider reads it, kept here by the registry so that later turns join bytes."""
        return {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The canonical name, then every alias."""
        return (self.name, *(alias if isinstance(alias, str) else alias.name for alias in self.aliases))

    @cached_property
    def offered_names(self) -> tuple[str, ...]:
        """The same names of a tool that is complete enough to be offered; looked at once, not each turn."""
        if not self.name:
            raise UsageError(f"{type(self).__name__} has no name; set `name`")
        if not hasattr(self, "max_result_chars"):
            raise UsageError(
                f"{self.name} does not say how long its result may be; set max_result_chars (None: it bounds itself)"
            )
        return self.names

    # Texts. They may depend only on the prompt facts, so that rendered bytes can be cached.

    def description(self, facts: PromptFacts = NO_FACTS) -> str:
        """One paragraph: what the tool is for."""
        return self.prompt(facts).strip().split("\n\n", 1)[0].replace("\n", " ")

    def prompt(self, facts: PromptFacts = NO_FACTS) -> str:
        """Everything the model is told about the tool."""
        del facts
        return _text_beside(tuple(kind.__module__ for kind in type(self).__mro__ if issubclass(kind, Tool)))

    # Declared behaviour. Each may look at the arguments; whatever it does not know, it denies.

    def is_enabled(self, session: SessionFacts) -> bool:
        """False: not offered and not callable."""
        del session
        return True

    def is_read_only(self, args: ArgsT) -> bool:
        """This call changes nothing."""
        del args
        return self.read_only

    def is_destructive(self, args: ArgsT) -> bool:
        """This call may destroy something that cannot be brought back."""
        del args
        return self.destructive

    def is_concurrency_safe(self, args: ArgsT) -> bool:
        """This call may run beside other safe ones."""
        del args
        return self.concurrency_safe

    def is_session_state(self, args: ArgsT) -> bool:
        """This call touches nothing but the session's own records."""
        del args
        return self.session_state

    def on_user_message(self, args: ArgsT) -> InterruptBehavior:
        """What happens to this call when the user sends a message mid-run."""
        del args
        return self.interrupt_behavior

    def background(self, tool_use_id: str) -> bool:
        """Let this running call go on in the background, as the user wishes; false if it cannot or does not run."""
        del tool_use_id
        return False

    def effects(self, args: ArgsT, ctx: ToolContext) -> Effects:
        """What this call would read and write."""
        del args, ctx
        return UNKNOWN_EFFECTS

    def is_confined(self, args: ArgsT, ctx: ToolContext) -> bool:
        """What this call starts runs in the sandbox."""
        del args, ctx
        return False

    def holds_files(self, args: ArgsT, ctx: ToolContext) -> bool:
        """The sandbox of this call keeps every rule about files by itself, whatever the call names."""
        del args, ctx
        return False

    def permission_matcher(self, args: ArgsT, ctx: ToolContext) -> RuleSubject:
        """What rule content is matched against; the name alone unless the tool says more."""
        del args, ctx
        return _NAME_ONLY

    def classifier_input(self, args: ArgsT) -> str | None:
        """What a classifier may see of this call; none means that `auto` asks."""
        del args
        return None

    def search_or_read(self, args: ArgsT) -> Literal["search", "read"] | None:
        """Whether interfaces may fold this call into "searched" or "read"."""
        del args
        return self.folds_into

    # The work.

    async def validate(self, args: ArgsT, ctx: ToolContext) -> None:
        """Cheap checks before anybody is asked; raise `ArgumentsInvalid` or `ToolFailed`."""

    async def check_permission(self, args: ArgsT, ctx: ToolContext) -> Opinion:
        """The tool's own opinion. It can hold back, never grant."""
        del args, ctx
        return NO_OBJECTION

    def may_object(self, args: ArgsT) -> bool:
        """False: `check_permission` has nothing to say about this call, so it need not be heard."""
        del args
        return True

    async def preview(self, args: ArgsT, ctx: ToolContext) -> Preview | None:
        """What this call would change, for the person who is asked about it; none when that cannot be told."""
        del args, ctx
        return None

    async def form(self, args: ArgsT, ctx: ToolContext) -> Form | None:
        """What a person should fill in instead of saying yes or no to this call."""
        del args, ctx
        return None

    def filled(self, args: ArgsT, answer: FormAnswer) -> Mapping[str, Any]:
        """The internal fields that hold what the person filled in, see `internal`."""
        del args, answer
        return {}

    async def call(self, args: ArgsT, ctx: ToolContext) -> ToolResult[OutT]:
        """Do the work."""
        del args, ctx
        raise UsageError(f"{type(self).__name__} has no call method")

    def to_blocks(self, out: OutT) -> Content:
        """What the model reads, from the result's data: pictures and other blocks as they are, else text."""
        if isinstance(out, _BLOCKS):
            return (out,)
        if isinstance(out, (list, tuple)) and out:
            parts = cast("list[Any]", out)
            if all(isinstance(part, _BLOCKS) for part in parts):
                return tuple(parts)
        return text_of_data(cast("object", out))


def text_of_data(data: object) -> str:
    """Data as text: strings as they are, everything else as JSON."""
    if isinstance(data, str):
        return data
    try:
        return to_json(data, fallback=str, inf_nan_mode="constants").decode()
    except ValueError:  # bytes or names that are no UTF-8, or data that contains itself
        return repr(data)


@lru_cache(maxsize=512)
def _text_beside(modules: tuple[str, ...]) -> str:
    """The text of the first of these modules that has one: a kind of a tool speaks as the tool it comes from."""
    wanted: list[str] = []
    for module in modules:
        file = cast("str | None", getattr(sys.modules.get(module), "__file__", None))
        text = Path(file).with_suffix(".md") if file else None
        if text is not None and text.is_file():
            return text.read_text(encoding="utf-8").strip()
        wanted.append(str(text or f"{module}.md"))
    raise UsageError(f"no model-facing text: write {wanted[0]} or override prompt()")
