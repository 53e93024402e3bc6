"""The grammar of permission rules: `Tool`, `Tool(specifier)`, `Tool(parameter:value)`, `mcp__server__*`, `*`.

A rule that cannot be understood disables only itself; `parse_rules` returns it as a problem with its reason and place.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import msgspec

from holdfast.contract import UsageError
from holdfast.contract.names import RETIRED
from holdfast.lib.spelling import did_you_mean
from holdfast.permissions.rules.globs import DomainRule, StarGlob, compile_domain
from holdfast.permissions.rules.path_patterns import PathRule, compile_path_rule

Behavior = Literal["allow", "ask", "deny"]
_BEHAVIORS = frozenset({"allow", "ask", "deny"})
ProblemKind = Literal["malformed", "ignored", "unknown tool"]

COMMAND_TOOLS: Final = frozenset({"Bash", "PowerShell"})
PATH_TOOLS: Final = frozenset({"Read", "Edit"})
_SHARE_PATH_RULES: Final = {
    **dict.fromkeys(("Write", "NotebookEdit"), "Edit"),
    **dict.fromkeys(("Glob", "Grep", "LSP"), "Read"),
}
"""Tools whose own path rules are not consulted, and the name whose rules are."""
_PRIMARY: Final = frozenset({"command", "file_path", "path", "notebook_path", "url"})
_COMMAND_PARAMETERS: Final = frozenset(
    {"command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"}
)
_ALSO_PROGRAMS: Final = frozenset({"timeout"})
"""Parameters that `name:*` does not mean: it has long meant the commands that start with the program of that name."""
_AGENT_PARAMETERS: Final = frozenset(
    {"description", "prompt", "subagent_type", "model", "run_in_background", "name", "isolation", "mode", "cwd"}
)
_NAME = re.compile(r"[A-Za-z_*][A-Za-z0-9_.:*-]*")
_PARAMETER = re.compile(r"(-?[A-Za-z_][A-Za-z0-9_-]*):(.*)", re.DOTALL)
_MAX_CHARS: Final = 10_000
_MCP: Final = "mcp__"
_NOTEBOOKS: Final = "//**/*.ipynb"


class RuleSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a rule was written."""

    kind: str = "session"
    """policy, session, cli, flag, local, project, user, …"""
    path: str | None = None
    line: int | None = None
    root: str | None = None
    """The directory that anchors `/x` patterns of this source; the project root when it is none."""
    kept_in: str | None = None
    """For a rule that an answer added: the destination it is kept in besides this session."""

    @property
    def place(self) -> str:
        """File and line, or the kind of the source."""
        if self.path is None:
            return self.kind
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule: a whole tool, or with `content` some of its calls."""

    behavior: Behavior
    tool: str
    """The tool's canonical name, or a pattern of names."""
    content: str | None = None
    source: RuleSource = RuleSource()
    written: str = ""
    """The rule as the user wrote it, where that differs from its canonical form."""

    @classmethod
    def parse(
        cls,
        behavior: Behavior,
        text: str,
        source: RuleSource | None = None,
        *,
        aliases: Mapping[str, str] = MappingProxyType({}),
    ) -> "Rule":
        """The rule in `Tool` or `Tool(content)`.

        Raises:
            UsageError: It is no rule, or one that would not be in force.
        """
        if behavior not in _BEHAVIORS:
            raise UsageError(f"there is no behavior {behavior!r} of a rule; use allow, ask or deny")
        found = parse_rule(text, behavior, source or RuleSource(), aliases=aliases)
        if isinstance(found, RuleProblem):
            raise UsageError(f"{text!r} is not a rule in force: {found.reason}")
        return found

    @property
    def text(self) -> str:
        """The rule as it is written."""
        if self.written:
            return self.written
        return self.tool if self.content is None else f"{self.tool}({self.content})"


class RuleProblem(NamedTuple):
    """A rule that is not in force as written, and why."""

    text: str
    reason: str
    behavior: Behavior
    source: RuleSource
    kind: ProblemKind = "malformed"
    """Malformed and ignored rules are not in force; a rule for an unknown tool is."""


# What a rule is compiled to. One rule may have two forms: `Agent(model:x)` names an agent or a parameter.


class WholeTool(NamedTuple):
    """Every call of the tool."""


class ToolGlob(NamedTuple):
    """Every call of each tool whose name fits."""

    glob: StarGlob


class Server(NamedTuple):
    """Every tool of one MCP server."""

    name: str


class Parameter(NamedTuple):
    """Calls in which a top-level scalar argument has a value."""

    name: str
    glob: StarGlob
    value: str


class Command(NamedTuple):
    """Shell commands; the shell analysis compiles the text."""

    content: str


class Named(NamedTuple):
    """An agent or a skill by name."""

    glob: StarGlob
    any_arguments: bool


Form = WholeTool | ToolGlob | Server | Parameter | Command | Named | PathRule | DomainRule
_WHOLE: Final = (WholeTool(),)


class _RuleError(ValueError):
    """Why a rule is not in force."""

    def __init__(self, reason: str, kind: ProblemKind = "malformed") -> None:
        super().__init__(reason)
        self.kind: ProblemKind = kind


def parse_rule(
    text: object, behavior: Behavior, source: RuleSource, *, aliases: Mapping[str, str]
) -> Rule | RuleProblem:
    """Read one rule; the answer is the rule, or why it is not in force."""
    if not isinstance(text, str):
        return RuleProblem(repr(text), "a rule is a string such as 'Bash(git *)'", behavior, source)
    written = text.strip()
    try:
        tool, content = _split(written)
        if tool in RETIRED:
            tool, content = _todays(behavior, tool, content)
        rule = Rule(behavior, aliases.get(tool, tool), content, source)
        _compile(behavior, rule.tool, rule.content)
    except _RuleError as error:
        return RuleProblem(text, str(error), behavior, source, error.kind)
    return rule if written == rule.text else msgspec.structs.replace(rule, written=written)


def parse_rules(
    texts: Iterable[object],
    behavior: Behavior,
    source: RuleSource,
    *,
    aliases: Mapping[str, str],
    known_tools: Collection[str] | None = None,
) -> tuple[list[Rule], list[RuleProblem]]:
    """Read the rules of one list. With `known_tools`, names that no tool has are reported too (and stay in force)."""
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    for text in texts:
        rule = parse_rule(text, behavior, source, aliases=aliases)
        if isinstance(rule, RuleProblem):
            name = rule.text.partition("(")[0]
            meant = did_you_mean(name, sorted(known_tools)) if known_tools and name not in known_tools else ""
            problems.append(rule._replace(reason=f"{rule.reason}.{meant}") if meant else rule)
            continue
        rules.append(rule)
        if known_tools is not None and not known_name(rule.tool, known_tools):
            meant = did_you_mean(rule.tool, sorted(known_tools))
            reason = f"no tool is named {rule.tool!r}; check the spelling, names are case-sensitive.{meant}"
            problems.append(RuleProblem(rule.text, reason, behavior, source, "unknown tool"))
    return rules, problems


def _todays(behavior: Behavior, tool: str, content: str | None) -> tuple[str, str | None]:
    """What a rule for a tool that is gone means today; an allow rule would grant what nobody agreed to."""
    name, inner = ("Edit" if tool == "MultiEdit" else "Read", content)
    if content is None or content == "*":
        name, inner = RETIRED[tool], (_NOTEBOOKS if tool == "NotebookRead" else None)
    if behavior == "allow":
        written = name if inner is None else f"{name}({inner})"
        raise _RuleError(f"the tool {tool} was retired and allow rules for it are ignored; write {written}", "ignored")
    return name, inner


def known_name(tool: str, known_tools: Collection[str]) -> bool:
    """Whether a rule's tool name is plausible; names with `_` or `*` may belong to tools that come later."""
    return tool in known_tools or "_" in tool or "*" in tool


def compile_rule(rule: Rule) -> tuple[Form, ...]:
    """The compiled forms of a rule; none when it is not in force."""
    try:
        return _compile(rule.behavior, rule.tool, rule.content)
    except _RuleError:
        return ()


def _split(text: str) -> tuple[str, str | None]:
    if not text:
        raise _RuleError("the rule is empty; write a tool name, for example 'Read'")
    if len(text) > _MAX_CHARS:
        raise _RuleError(f"the rule has {len(text)} characters; at most {_MAX_CHARS} are read")
    name, bracket, rest = text.partition("(")
    if _NAME.fullmatch(name) is None:
        raise _RuleError(f"{name!r} is not a tool name; write Tool or Tool(specifier)")
    if not bracket:
        return name, None
    if not rest.endswith(")"):
        raise _RuleError("the closing ')' is missing at the end; write Tool(specifier)")
    content = rest[:-1]
    if not content.strip():
        raise _RuleError(f"the brackets are empty; write {name} for every call")
    return name, content


@lru_cache(maxsize=65_536)
def _compile(behavior: Behavior, tool: str, content: str | None) -> tuple[Form, ...]:
    if "*" in tool:
        return (_tool_glob(behavior, tool, content),)
    if content is None or (content == "*" and not (behavior == "allow" and tool in PATH_TOOLS)):
        return (*_WHOLE, Server(tool)) if tool.startswith(_MCP) else _WHOLE
    if tool in COMMAND_TOOLS:
        return _command_forms(behavior, tool, content)
    if tool in PATH_TOOLS:
        return _path_forms(behavior, tool, content)
    if tool == "WebFetch":
        return _web_forms(behavior, content)
    if tool in ("Agent", "Skill", "Cd"):
        return _named_forms(behavior, tool, content)
    return _other_forms(behavior, tool, content)


def _tool_glob(behavior: Behavior, tool: str, content: str | None) -> Form:
    if content not in (None, "*"):
        raise _RuleError("a pattern of tool names takes no specifier; name one tool, or drop the brackets")
    server = tool.removeprefix(_MCP).partition("__")[0]  # all of it when no tool follows, and then with the star
    literal_server = tool.startswith(_MCP) and server and "*" not in server
    if behavior == "allow" and not literal_server:
        raise _RuleError("an allow rule may use '*' in the tool name only behind a literal mcp__<server>__")
    return ToolGlob(StarGlob(tool))


def _command_forms(behavior: Behavior, tool: str, content: str) -> tuple[Form, ...]:
    if content.strip() in (":*", ":"):
        raise _RuleError(f"the prefix before ':*' is empty; write {tool} for every command")
    if "\0" in content or "\x1f" in content:
        raise _RuleError("the command contains a control character and can never match")
    found = _PARAMETER.fullmatch(content)
    if found is None or found[1] not in _COMMAND_PARAMETERS:
        return (Command(content),)
    name, value = found[1], found[2]
    if value != "*" or name == "command":
        return (_parameter(behavior, tool, name, value),)
    if behavior == "allow" or name in _ALSO_PROGRAMS:
        return (Command(content),)
    return (Command(content), _parameter(behavior, tool, name, value))


def _path_forms(behavior: Behavior, tool: str, content: str) -> tuple[Form, ...]:
    found = _PARAMETER.fullmatch(content)
    if found is not None and found[1] in _PRIMARY:
        raise _primary(tool, found[1])
    compiled = compile_path_rule(content, widened=behavior != "allow")
    if isinstance(compiled, str):
        raise _RuleError(compiled)
    if found is not None and behavior != "allow" and found[1] in ("offset", "limit", "pages", "replace_all"):
        return (compiled, _parameter(behavior, tool, found[1], found[2]))
    return (compiled,)


def _web_forms(behavior: Behavior, content: str) -> tuple[Form, ...]:
    if content.startswith("domain:"):
        compiled = compile_domain(content.removeprefix("domain:"))
        if isinstance(compiled, str):
            raise _RuleError(compiled)
        return (compiled,)
    found = _PARAMETER.fullmatch(content)
    if found is None or "/" in content:
        raise _RuleError("WebFetch rules name hosts; write WebFetch(domain:example.com)")
    return (_parameter(behavior, "WebFetch", found[1], found[2]),)


def _named_forms(behavior: Behavior, tool: str, content: str) -> tuple[Form, ...]:
    name, any_arguments = content.strip(), False
    for ending in (":*", " *"):
        if tool == "Skill" and name.endswith(ending):
            name, any_arguments = name.removesuffix(ending).rstrip(), True
    found = _PARAMETER.fullmatch(content)
    if found is not None and tool == "Agent" and found[1] in _AGENT_PARAMETERS and behavior == "allow":
        return (_parameter(behavior, tool, found[1], found[2]),)  # raises: allow rules cannot name parameters
    named = Named(StarGlob(name), any_arguments or behavior != "allow")
    if found is not None and behavior != "allow":
        return (named, _parameter(behavior, tool, found[1], found[2]))
    return (named,)


def _other_forms(behavior: Behavior, tool: str, content: str) -> tuple[Form, ...]:
    found = _PARAMETER.fullmatch(content)
    if found is not None:
        return (_parameter(behavior, tool, found[1], found[2]),)
    if tool in _SHARE_PATH_RULES:
        shared = _SHARE_PATH_RULES[tool]
        raise _RuleError(f"{tool} has no path rules of its own; write {shared}({content}), which covers it", "ignored")
    if tool == "Monitor":
        raise _RuleError(f"Monitor follows the Bash rules; write Bash({content})", "ignored")
    if tool == "WebSearch":
        raise _RuleError("WebSearch takes no specifier; write WebSearch alone")
    raise _RuleError(f"{tool} has no specifiers; write {tool}, or {tool}(parameter:value) in a deny or ask rule")


def _parameter(behavior: Behavior, tool: str, name: str, value: str) -> Parameter:
    if name in _PRIMARY:
        raise _primary(tool, name)
    if behavior == "allow":
        reason = f"an allow rule cannot match the parameter {name!r}; only deny and ask rules can"
        raise _RuleError(reason, "ignored")
    if not value:
        raise _RuleError(f"the value of {name!r} is missing; write {tool}({name}:value)")
    return Parameter(name, StarGlob(value), value)


def _primary(tool: str, name: str) -> _RuleError:
    return _RuleError(f"{name!r} is what {tool} rules match anyway; write {tool}(pattern) without it", "ignored")
