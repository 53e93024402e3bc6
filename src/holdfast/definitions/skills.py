"""Skills (`SKILL.md`) and commands (`commands/*.md`): what one is, from the beginning of its file; the body on use."""

import hashlib
import os
import re
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from holdfast.definitions.fields import EFFORTS, Fields, ToolList, first_line, model_word, tool_list
from holdfast.definitions.files import Head, decode_head, read_whole
from holdfast.definitions.places import Place, Source
from holdfast.lib.front_matter import FrontMatter, read_front_matter
from holdfast.lib.injections import Injection, find_injections
from holdfast.lib.visible import visible

if TYPE_CHECKING:
    from holdfast.settings.model import HookEntry

__all__ = ["MAX_LISTED_CHARS", "Loaded", "Skill", "read_skill"]

MAX_LISTED_CHARS: Final = 1_536
Effort = Literal["low", "medium", "high", "xhigh", "max"]
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ODD_IN_NAMES: Final = re.compile(r"[\s/\\\x00-\x1f\x7f-\x9f]+")


class Loaded(NamedTuple):
    """A skill's text, read for use."""

    body: str
    hash: str
    """Of the whole file: another content is another thing to agree to."""
    injections: tuple[Injection, ...]


class Skill:
    """One skill or command. Fields are read when they are asked for: thousands are listed, few are used."""

    def __init__(self, name: str, head: Head, place: Place, matter: FrontMatter, *, is_command: bool) -> None:
        self.name = name
        """What it is called by; of a skill its directory's name."""
        self.is_command = is_command
        self.source: Source = place.source
        self.path = head.path
        self.plugin_root = os.path.dirname(place.directory) if place.plugin else ""
        """Where the plugin is that brings it."""
        self.folder = place.boundary
        """The project that brings it; None for the user's and the policy's own."""
        self.short_name = head.name
        self.problem = matter.problem
        self.has_front_matter = matter.found
        self.size = head.size
        self._values = matter.fields
        self.waits_for_files = bool(matter.fields.get("paths"))
        """It has globs, see `paths`."""
        self._first_line = "" if matter.fields.get("description") else first_line(matter.body)

    @property
    def directory(self) -> str:
        """Where its resources are."""
        return os.path.dirname(self.path)

    @cached_property
    def fields(self) -> Fields:
        """Its front matter, with what is odd about it."""
        return Fields(self._values)

    @property
    def description(self) -> str:
        """What it does; where nobody wrote that, the first line of its text."""
        return self.fields.text("description") or self._first_line

    @property
    def about(self) -> str:
        """What a model reads before it uses it, in one line."""
        more = self.fields.text("when_to_use", "when-to-use")
        said = " ".join(f"{self.description} {more}".split())
        return said if len(said) <= MAX_LISTED_CHARS else said[: MAX_LISTED_CHARS - 1] + "…"

    @property
    def for_model(self) -> bool:
        """The model may use it by itself."""
        hidden = self.fields.flag("disable-model-invocation") or self.fields.flag("hide-from-slash-command-tool")
        return not hidden

    @property
    def for_user(self) -> bool:
        """It can be called by `/name`."""
        return self.fields.flag("user-invocable", "user_invocable", default=True)

    @cached_property
    def allowed_tools(self) -> ToolList:
        """What it wants to use without a question."""
        value = self.fields.get("allowed-tools", "allowed_tools", "allowedTools")
        return ToolList(()) if value is None else tool_list(value)

    @cached_property
    def disallowed_tools(self) -> ToolList:
        """What is not used while it is followed."""
        value = self.fields.get("disallowed-tools", "disallowed_tools", "disallowedTools")
        return ToolList(()) if value is None else tool_list(value)

    @cached_property
    def model(self) -> str | None:
        """The model for the turn; None: the session's."""
        return model_word(self.fields)

    @cached_property
    def effort(self) -> "Effort | None":
        """How hard the model should try in that turn."""
        return cast("Effort | None", self.fields.choice(EFFORTS, "effort"))

    @property
    def forks(self) -> bool:
        """It is done by an agent of its own."""
        return self.fields.text("context") == "fork"

    @property
    def agent(self) -> str:
        """The type of that agent."""
        return self.fields.text("agent") or "general-purpose"

    @property
    def background(self) -> bool:
        """That agent works in the background."""
        return self.fields.flag("background")

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of its arguments, in order."""
        value = self.fields.get("arguments")
        words = value.replace(",", " ").split() if isinstance(value, str) else self.fields.items("arguments")
        return tuple(word.strip("$") for word in words)

    @property
    def argument_hint(self) -> str:
        """What people are shown behind `/name`."""
        return self.fields.text("argument-hint", "argument_hint")

    @property
    def paths(self) -> tuple[str, ...]:
        """It is offered once a file is used that one of these globs fits; none: from the start."""
        return self.fields.items("paths")

    @property
    def shell(self) -> str:
        """What runs its commands."""
        return self.fields.choice(("bash", "powershell"), "shell") or "bash"

    @property
    def hooks(self) -> Mapping[str, Any]:
        """Hooks that it brings."""
        return self.fields.mapping("hooks")

    def hook_entries(self) -> "tuple[HookEntry, ...]":
        """Those, as settings have them. They count after a yes to the whole file, so no other approval is asked for."""
        from holdfast.settings.front_matter_hooks import front_matter_hooks  # noqa: PLC0415 - few have any
        from holdfast.settings.sources import SourceKind  # noqa: PLC0415 - the same

        source = {"managed": SourceKind.POLICY, "project": SourceKind.PROJECT}.get(self.source, SourceKind.USER)
        return front_matter_hooks(self.hooks, source=source, path=self.path, folder=None, of_skill=True)

    def load(self) -> Loaded:
        """Read the whole file, as it is now.

        Raises:
            OSError: It is gone, too long, or no text.
        """
        text, data = read_whole(self.path, self.folder)
        body = read_front_matter(text).body.strip("\n")
        return Loaded(body, hashlib.sha256(data).hexdigest(), tuple(find_injections(body)))

    def warnings(self) -> list[str]:
        """What is odd about it, by the open specification and by what we can do."""
        found: list[str] = []
        if self.problem:
            found.append(f"its front matter is not valid YAML ({self.problem}), so it is read line by line")
        elif not self.has_front_matter and not self.is_command:
            found.append("it has no front matter, so its first line describes it")
        if not self.is_command:
            found += self._against_specification()
        read = (self.model, self.effort, self.shell, self.for_model, self.for_user, self.background, self.hooks)
        del read  # each says in the fields what it could not read
        for word in (*self.allowed_tools.unknown, *self.disallowed_tools.unknown):
            found.append(f"it names a tool {visible(word, limit_chars=60)!r}, and none has that name")
        return list(dict.fromkeys([*found, *self.fields.warnings]))

    def _against_specification(self) -> list[str]:
        found: list[str] = []
        said, fields = self.fields.text("name"), self.fields
        if said and said != self.short_name:
            found.append(f"its name {visible(said, limit_chars=80)!r} is not its directory's, which counts")
        if not _NAME.fullmatch(self.short_name) or len(self.short_name) > 64:
            found.append("its name is not 1 to 64 characters of a-z, 0-9 and single hyphens")
        if not fields.text("description"):
            found.append("it has no description, so a model cannot know when to use it")
        elif len(fields.text("description")) > 1_024:
            found.append(f"its description has {len(fields.text('description')):,} characters, more than 1,024")
        if len(fields.text("compatibility")) > 500:
            found.append("its compatibility has more than 500 characters")
        metadata = fields.mapping("metadata")
        if any(not isinstance(value, str) for value in metadata.values()):
            found.append("its metadata holds more than strings")
        return found


def read_skill(head: Head, place: Place, *, is_command: bool) -> Skill:
    """One skill or command from the beginning of its file."""
    data = head.data
    # Thousands are read at a start, and few without a description: the rest of the text is looked at only for those.
    end = data.find(b"\n---", 3) if data.startswith(b"---\n") else -1
    matter = read_front_matter(data[: end + 4].decode("utf-8", "replace") + "\n") if end > 0 else None
    if matter is None or not matter.fields.get("description"):
        matter = read_front_matter(decode_head(data))
    name = _ODD_IN_NAMES.sub("-", head.name)
    name = f"{head.group}:{name}" if head.group and is_command else name
    name = f"{place.plugin}:{name}" if place.plugin else name
    return Skill(name, head, place, matter, is_command=is_command)
