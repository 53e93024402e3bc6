"""All rules of a context, compiled and indexed once by behaviour and tool."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.contract import SubjectKind
from holdfast.permissions.rules.globs import DomainRule
from holdfast.permissions.rules.grammar import (
    Behavior,
    Command,
    Form,
    Named,
    Parameter,
    Rule,
    Server,
    ToolGlob,
    WholeTool,
    compile_rule,
)
from holdfast.permissions.rules.path_index import Filed, PathIndex
from holdfast.permissions.rules.path_patterns import PathRule, climb, sample_names

if TYPE_CHECKING:
    from holdfast.permissions.rules.command_index import RuleIndex

_Key = tuple[Behavior, str]
_MCP: Final = "mcp__"
_TRUE: Final = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE: Final = frozenset({"false", "f", "no", "n", "off", "0"})
_MAX_REMEMBERED: Final = 4_096


class Wholes(NamedTuple):
    """The rules for every call of one tool, whatever its input."""

    deny: Rule | None
    ask: Rule | None
    allow: Rule | None


class RuleBook:
    """Finds the rule that matches a call, for each behaviour apart. Order and source of rules never matter.

    Args:
        rules: Every active rule.
        home: Anchor of `~/` patterns.
        project_root: Anchor of `/` patterns whose source has no root of its own.
        forms: Gives a directory as written and as the disk resolves it.
    """

    __slots__ = (
        "_by_tool", "_commands", "_domains", "_globs", "_hosts", "_named", "_parameters", "_servers", "_shell",
        "_whole", "_wholes", "edit_names", "grants_reads", "grants_writes", "holds_back", "holds_edits", "holds_reads",
        "paths", "read_names",
    )  # fmt: skip

    def __init__(
        self, rules: Iterable[Rule], *, home: str, project_root: str, forms: Callable[[str], tuple[str, ...]]
    ) -> None:
        self._by_tool: dict[str, list[Rule]] = {}
        self._whole: dict[Behavior, dict[str, Rule]] = {}
        self._servers: dict[_Key, Rule] = {}
        self._globs: dict[Behavior, list[tuple[ToolGlob, Rule]]] = {}
        self._parameters: dict[_Key, list[tuple[Parameter, Rule]]] = {}
        self._commands: dict[_Key, list[Rule]] = {}
        self._hosts: dict[_Key, Rule] = {}
        self._domains: dict[Behavior, list[tuple[DomainRule, Rule]]] = {}
        self._named: dict[_Key, list[tuple[Named, Rule]]] = {}
        self._shell: dict[tuple[Behavior, str, bool], RuleIndex] = {}
        self._wholes: dict[tuple[object, ...], Wholes] = {}
        self.holds_back = False
        """Whether any deny or ask rule exists."""
        anchored: list[tuple[PathRule, Rule]] = []
        for rule in rules:
            self._by_tool.setdefault(rule.tool, []).append(rule)
            self.holds_back = self.holds_back or rule.behavior != "allow"
            for form in compile_rule(rule):
                if isinstance(form, PathRule):
                    anchored.append((form, rule))
                else:
                    self._add(form, rule)
        anchors = {"root": ("/",), "home": forms(home), "source": forms(project_root) if project_root else ()}
        self.paths: PathIndex[Rule] = PathIndex(_filed(anchored, anchors, forms))
        """The path rules of Read and Edit, of every behaviour."""
        self.grants_reads = self.whole("allow", ("Read", "Edit"))
        """The rule that allows every read; whoever may edit a file may read it."""
        self.grants_writes = self.whole("allow", ("Edit",))
        held = [form.pattern for form, rule in anchored if rule.behavior != "allow" and rule.tool == "Read"]
        self.read_names = frozenset(name for pattern in held for name in sample_names(pattern))
        """Names that the deny and ask rules for reads are about."""
        kept = [form.pattern for form, rule in anchored if rule.behavior != "allow" and rule.tool == "Edit"]
        self.edit_names = frozenset(name for pattern in kept for name in sample_names(pattern))
        """Names that the deny and ask rules for edits are about."""
        self.holds_reads, self.holds_edits = bool(held), bool(kept)
        """Whether deny or ask rules are about reads of some files, and about edits."""

    def _add(self, form: Form, rule: Rule) -> None:
        behavior: Behavior = rule.behavior
        key: _Key = (behavior, rule.tool)
        match form:
            case WholeTool():
                self._whole.setdefault(behavior, {}).setdefault(rule.tool, rule)
            case Server(name):
                self._servers.setdefault((behavior, name), rule)
            case ToolGlob():
                self._globs.setdefault(behavior, []).append((form, rule))
            case Parameter():
                self._parameters.setdefault(key, []).append((form, rule))
            case Command():
                self._commands.setdefault(key, []).append(rule)
            case DomainRule(host, "exact"):
                self._hosts.setdefault((behavior, host), rule)
            case DomainRule():
                self._domains.setdefault(behavior, []).append((form, rule))
            case Named():
                self._named.setdefault(key, []).append((form, rule))
            case PathRule():
                raise AssertionError

    def rules_for(self, tool: str) -> tuple[Rule, ...]:
        """The rules that name this tool."""
        return tuple(self._by_tool.get(tool, ()))

    def denies_some_whole(self) -> bool:
        """Whether there is a rule at all that denies a whole tool; most have none, and ask for many tools."""
        return bool(self._whole.get("deny") or self._servers or self._globs.get("deny"))

    def whole(self, behavior: Behavior, names: tuple[str, ...], *, server: str | None = None) -> Rule | None:
        """A rule for every call of a tool, by any of its names."""
        whole = self._whole.get(behavior)
        if whole is not None:
            for name in names:
                if name in whole:
                    return whole[name]
        if self._servers and names[0].startswith(_MCP):
            found = self._server_rule(behavior, names[0], server)
            if found is not None:
                return found
        for form, rule in self._globs.get(behavior, ()):
            for name in names:
                if form.glob.matches(name) and (behavior != "allow" or _server_is_clear(rule.tool, name, server)):
                    return rule
        return None

    def wholes(self, tool: str, names: tuple[str, ...], kind: SubjectKind, server: str | None) -> Wholes:
        """The rules of each behaviour for every call of a tool; worked out once, because it depends on no input."""
        key = (tool, names, kind, server)
        found = self._wholes.get(key)
        if found is None:
            if len(self._wholes) >= _MAX_REMEMBERED:
                self._wholes.clear()
            others = _governing(tool, names, kind)
            # A deny on reading a file also keeps it from being edited.
            denying = (*others, "Read") if kind == "edit_path" else others
            found = self._wholes[key] = Wholes(
                self.whole("deny", denying, server=server),
                self.whole("ask", others, server=server),
                self.whole("allow", others, server=server),
            )
        return found

    def _server_rule(self, behavior: Behavior, name: str, server: str | None) -> Rule | None:
        """`mcp__server` for a tool of that server; a name that splits in two ways needs more for an allow."""
        end = name.find("__", len(_MCP))
        while end > 0:
            prefix = name[:end]
            found = self._servers.get((behavior, prefix))
            if found is not None and (behavior != "allow" or _is_server(prefix, name, server)):
                return found
            end = name.find("__", end + 1)
        return None

    def parameter(self, behavior: Behavior, names: tuple[str, ...], arguments: Mapping[str, Any]) -> Rule | None:
        """A rule for a call with this value of a top-level argument."""
        if not self._parameters:
            return None
        for name in names:
            for form, rule in self._parameters.get((behavior, name), ()):
                if form.name in arguments and _value_fits(form, arguments[form.name]):
                    return rule
        return None

    def commands(self, behavior: Behavior, tool: str) -> tuple[Rule, ...]:
        """The command rules of a shell tool."""
        return tuple(self._commands.get((behavior, tool), ()))

    def shell_index(self, behavior: Behavior, tool: str, too_wide: Callable[[str], bool] | None = None) -> "RuleIndex":
        """The command rules of a shell tool, compiled; those that are `too_wide` are left out."""
        key = (behavior, tool, too_wide is not None)
        found = self._shell.get(key)
        if found is None:
            found = self._shell[key] = self._compiled_commands(behavior, tool, too_wide)
        return found

    def _compiled_commands(self, behavior: Behavior, tool: str, too_wide: Callable[[str], bool] | None) -> "RuleIndex":
        from holdfast.permissions.rules.command_index import RuleIndex, compile_bash_rule  # noqa: PLC0415 - when needed

        rules = self.commands(behavior, tool)
        if too_wide is not None:
            rules = tuple(rule for rule in rules if not too_wide(rule.content or "*"))
        compiled = [compile_bash_rule(rule.content or "*", origin=rule) for rule in rules]
        whole = self.whole(behavior, (tool,))
        if whole is not None and too_wide is None:
            compiled.append(compile_bash_rule("*", origin=whole))
        return RuleIndex(compiled, exact_words=behavior == "allow")

    def domain(self, behavior: Behavior, host: str) -> Rule | None:
        """A rule for this canonical host."""
        found = self._hosts.get((behavior, host))
        if found is None:
            found = next((rule for form, rule in self._domains.get(behavior, ()) if form.matches(host)), None)
        return found

    def named(self, behavior: Behavior, tool: str, name: str, *, with_arguments: bool) -> Rule | None:
        """A rule for an agent or a skill of this name."""
        for form, rule in self._named.get((behavior, tool), ()):
            if (form.any_arguments or not with_arguments) and form.glob.matches(name):
                return rule
        return None

    def judges_commands(self) -> bool:
        """Some rule may speak of a shell command: any deny or ask, and whatever allows commands."""
        return self.holds_back or bool(self._commands or self._globs) or self.whole("allow", ("Bash",)) is not None

    def judges_input(self, names: Iterable[str]) -> bool:
        """Some rule for these names looks at the call's input, not only at its name."""
        return any(rule.content not in (None, "*") for name in names for rule in self._by_tool.get(name, ()))


def _governing(tool: str, names: tuple[str, ...], kind: SubjectKind) -> tuple[str, ...]:
    """The names under which a rule for every call of a tool reaches one of its calls."""
    if kind == "read_path":
        return (*names, "Read")
    if kind == "edit_path":
        return (*names, "Edit")
    if kind == "command" and tool not in ("Bash", "PowerShell"):
        return (*names, "Bash")
    return names


def _filed(
    found: Iterable[tuple[PathRule, Rule]],
    anchors: Mapping[str, tuple[str, ...]],
    forms: Callable[[str], tuple[str, ...]],
) -> Iterator[Filed[Rule]]:
    roots: dict[str, tuple[str, ...]] = {}
    for form, rule in found:
        bases = anchors.get(form.anchor, ())
        root = rule.source.root
        if form.anchor == "source" and root:
            bases = roots.get(root) or roots.setdefault(root, forms(root))
        grants = rule.behavior == "allow"
        for base in bases:
            yield Filed(form.pattern, climb(base, form.up), rule, grants=grants)
        if not bases:
            yield Filed(form.pattern, None, rule, form.up, grants)


def _is_server(prefix: str, name: str, server: str | None) -> bool:
    """Whether the start of a tool name is its server for certain: `mcp__a__b` may also be the tool `b` of `a`."""
    return prefix == f"{_MCP}{server}" if server is not None else _server_is_clear(prefix, name, None)


def _server_is_clear(rule_tool: str, name: str, server: str | None) -> bool:
    """Whether the server of a tool name is certain enough for an allow rule."""
    wanted = rule_tool.removeprefix(_MCP).partition("__")[0]
    if server is not None:
        return rule_tool == f"{_MCP}{server}" or rule_tool.startswith(f"{_MCP}{server}__")
    return name.removeprefix(_MCP).count("__") == 1 and name.startswith(f"{_MCP}{wanted}__")


def _value_fits(form: Parameter, value: object) -> bool:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif value is None:
        text = "null"
    elif isinstance(value, str | int | float):
        text = str(value)
    else:
        return False
    if form.glob.matches(text):
        return True
    # Arguments are read leniently, so "yes" and 1 may mean true.
    lowered, wanted = text.lower(), form.value.lower()
    return any(lowered in words and wanted in words and wanted in ("true", "false") for words in (_TRUE, _FALSE))
