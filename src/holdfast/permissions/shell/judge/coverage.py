"""Which Bash rules speak to a command: deny and ask to any part of it, allow to all of it."""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.permissions.rules.command_index import GAP, BashRule, RuleIndex, wild_match
from holdfast.permissions.shell.judge.rule_words import named_with_variables, names_settings, names_whole
from holdfast.permissions.shell.programs.options import FRONTS, after_global_options, subcommand_places
from holdfast.permissions.shell.programs.program import having
from holdfast.permissions.shell.programs.wrappers import safe_environment
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.text.emit import TRUSTED_DIRECTORIES
from holdfast.permissions.shell.words.parts import SHELL_CWD, Part, Redirect
from holdfast.permissions.shell.words.quoting import known_literal
from holdfast.permissions.shell.words.word import names

_ALLOW_ENVIRONMENT: Final = names(
    "CI FORCE_COLOR CLICOLOR CLICOLOR_FORCE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE NODE_ENV"
)
_NAMED_ENVIRONMENT: Final = names(
    "JDK JDK_VERSION JAVA_VERSION GOOS GOARCH CGO_ENABLED PORT LOG_LEVEL RUST_LOG VERBOSE ARCH TARGETARCH"
)
"""Choose nothing that runs; a rule covers them where it spells their values."""
_CONTAINERS: Final = having("in-container")
_MAX_LEADING_WORDS: Final = 8
_AT_START: Final = (SHELL_CWD,)
_COVERED: Final = frozenset({"opaque", "exact", "same"})
"""Of wrappers whose rule covers what they start."""
_LOOKED_THROUGH: Final = frozenset({"exact", "strip"})
_CONNECTS: Final = ("/dev/tcp/", "/dev/udp/")
"""Names that bash itself connects by, when they stand in a redirect."""
_MORE_WORDS: Final = f"{GAP}\x1e"
"""Stands for arguments that arrive at run time: a rule for the exact words does not cover them."""


class Hit(NamedTuple):
    """A rule and the text it matched."""

    rule: BashRule
    text: str


def deny_matches(index: RuleIndex, analysis: "Analysis") -> Hit | None:
    """Find a deny rule for any part in any nesting, with prefixes, wrappers, paths and quotes removed."""
    if not index.rules:
        return None
    if index.everything is not None:
        return Hit(index.everything, analysis.command)
    skips = index.skips
    for part in analysis.parts:
        if not part.texts:
            continue
        name = part.name
        if skips(name) and part.texts[0] == name and not part.assigns and " " not in name:
            continue
        hit = _part_hit(index, part)
        if hit is not None:
            return hit
    for piece in analysis.pieces:
        hit = _piece_hit(index, piece)
        if hit is not None:
            return hit
    return _whole_hit(index, analysis.command)


ask_matches = deny_matches
"""Ask rules are found the same way."""


def _part_hit(index: RuleIndex, part: "Part") -> Hit | None:
    text = " ".join(part.texts)
    rule = index.find(text)
    first = part.words[0] if part.words else None
    if rule is None and first is not None and first.static and first.text != part.name:
        text = part.name + text[len(part.texts[0]) :]
        rule = index.find(text)
    if rule is None and part.assigns:
        text = " ".join(part.source.split())
        rule = index.find(text)
    if rule is None and part.name in FRONTS and len(part.texts) > 2 and part.texts[1][:1] == "-":
        text = _without_global_options(part)
        rule = index.find(text)
    return None if rule is None else Hit(rule, text)


def _without_global_options(part: "Part") -> str:
    """`git -C dir push` as `git push`, so that a rule about the subcommand is not passed by."""
    return " ".join([part.name, *part.texts[after_global_options(part.name, part.texts) :]])


def _piece_hit(index: RuleIndex, piece: str) -> Hit | None:
    for _ in range(_MAX_LEADING_WORDS):
        first, _, rest = piece.partition(" ")
        for text in (piece, f"{first.rpartition('/')[2]} {rest}".rstrip() if "/" in first else piece):
            rule = index.find(text)
            if rule is not None:
                return Hit(rule, text)
        if not rest:
            break
        piece = rest
    return None


def _whole_hit(index: RuleIndex, command: str) -> Hit | None:
    first = command.split(None, 1)
    if not first or index.skips(first[0]):
        return None
    text = " ".join(command.split())
    rule = index.find_exact(text)
    if rule is not None:
        return Hit(rule, text)
    for rule in index.compound:
        pieces = (rule.loose[0] + " ", "") if rule.kind == "prefix" else rule.loose
        # The blank in front of a last star also stands for the end of the text.
        if wild_match(pieces, text if pieces[-1] else text + " "):
            return Hit(rule, text)
    return None


def possible_match(index: RuleIndex, analysis: "Analysis") -> Hit | None:
    """Find a deny or ask rule that an expansion could still turn a part into; such a part is never allowed unasked."""
    for number, part in enumerate(analysis.parts):
        hit = _meant(index, part)
        if hit is not None:
            return hit
        words = part.words
        if not words or part.certain_text or (not words[0].static and number in analysis.guessed):
            continue
        known = part.static_text
        if words[0].static:
            known = part.name + known[len(words[0].text) :]
        rule = index.could_match(known)
        if rule is None and part.name in FRONTS and known.startswith(f"{part.name} -"):
            at = after_global_options(part.name, [word.text for word in words])
            rule = index.could_match(part._replace(words=(known_literal(part.name), *words[at:])).static_text)
        if rule is not None:
            return Hit(rule, part.text)
    return None


def _meant(index: RuleIndex, part: "Part") -> Hit | None:
    """A rule about a subcommand that stands behind an option of which nobody knows whether it takes a value."""
    if len(part.texts) < 3 or part.texts[1][:1] != "-":
        return None
    for at in subcommand_places(part.name, part.texts):
        rule = index.find(" ".join([part.name, *part.texts[at:]]))
        if rule is not None:
            return Hit(rule, part.text)
    return None


class Coverage(NamedTuple):
    """Whether rules allow everything a command would do; if not, what they leave open."""

    allowed: bool
    rules: tuple[BashRule, ...]
    open: tuple[str, ...]


def allowed(
    index: RuleIndex,
    analysis: "Analysis",
    *,
    edit_allowed: "Callable[[Redirect], bool] | None" = None,
    inside: "Callable[[str], bool] | None" = None,
    guarded: bool = True,
) -> Coverage:
    """Decide whether every part is allowed by a rule or read-only.

    Args:
        index: the allow rules, indexed with `exact_words`.
        analysis: the command.
        edit_allowed: whether an Edit rule covers the target of a writing redirect; without it none does.
        inside: whether a directory the command moves to is a working directory; without it, relative paths that do not
            climb are.
        guarded: whether any deny or ask rule exists; then doubted text is never allowed.
    """
    writes = analysis.redirect_writes if analysis.redirects else ()
    if analysis.doubt:
        left = [] if guarded or index.everything is None else _open_writes(writes, edit_allowed)
        if index.everything is not None and not guarded and not left:
            return Coverage(allowed=True, rules=(index.everything,), open=())
        return Coverage(allowed=False, rules=(), open=(*left, analysis.doubt))
    if analysis.read_only and not analysis.cd_targets:
        return Coverage(allowed=True, rules=(), open=())
    command = analysis.command.strip()
    whole = index.find_exact(command.replace(" ", GAP)) if not writes else None
    if whole is not None and whole.kind == "exact" and whole.content.strip() == command:
        return Coverage(allowed=True, rules=(whole,), open=())
    whole = _whole_text(index, analysis)
    if whole is not None:
        left = _open_writes(writes, edit_allowed)
        return Coverage(allowed=not left, rules=(whole,), open=tuple(left))
    used: dict[int, BashRule] = {}
    missing = _open_parts(index, analysis, used, inside or _relative_inside)
    if analysis.assigned:
        missing.extend(f"it sets the variable {name}" for name in analysis.assigned if not allowed_environment(name))
    missing += _open_writes(writes, edit_allowed)
    for redirect in analysis.redirects if index.everything is None else ():
        if redirect.target is not None and redirect.target.text.startswith(_CONNECTS):
            missing.append(f"it talks to another machine by {redirect.text}")
    rules = tuple(dict.fromkeys(used.values()))
    return Coverage(allowed=not missing, rules=rules, open=tuple(dict.fromkeys(missing)))


def _whole_text(index: RuleIndex, analysis: "Analysis") -> BashRule | None:
    """The rule that is the very text, whatever it is made of; not for a program that only the run will name."""
    return None if analysis.doubt or analysis.dynamic else index.find_whole(analysis.command)


def _open_writes(writes: "Sequence[Redirect]", edit_allowed: "Callable[[Redirect], bool] | None") -> list[str]:
    """What redirects write that no Edit rule covers."""
    missing: list[str] = []
    for redirect in writes:
        plain = redirect.target is not None and redirect.target.static and "~" not in redirect.text
        if not plain or edit_allowed is None or not edit_allowed(redirect):
            missing.append(f"it writes to {redirect.text}")
    return missing


def _open_parts(
    index: RuleIndex, analysis: "Analysis", used: dict[int, BashRule], inside: "Callable[[str], bool]"
) -> list[str]:
    missing: list[str] = []
    for number, part in enumerate(analysis.parts):
        if number in analysis.guessed:
            continue  # an argument, which is covered with what it is an argument of
        if part.refusal is not None or part.cover in _LOOKED_THROUGH:
            reason = _open_reason(index, analysis, number, used)
            if reason is not None:
                missing.append(reason)
        if part.parent in used and analysis.parts[part.parent].cover == "same":
            continue  # where `git -C` goes is for the rule about git
        if part.cwds != _AT_START or part.assigns:
            rule = used.get(number) if part.assigns else None
            spelled = rule is not None and (names_whole(rule, part) or names_settings(rule, part, named_environment))
            seen = part._replace(cwds=_AT_START) if _in_container(analysis, part, used) else part
            missing.extend(_surroundings(seen, inside, moves=bool(analysis.cd_targets), spelled=spelled))
    return missing


def _in_container(analysis: "Analysis", part: "Part", used: dict[int, BashRule]) -> bool:
    """Whether an allowed program runs a part in a container, whose directories are not those of this machine."""
    while part.parent >= 0:
        number = part.parent
        part = analysis.parts[number]
        if part.name in _CONTAINERS and number in used:
            return True
    return False


def allowed_environment(name: str) -> bool:
    """Whether a rule for a command also covers it with this variable set."""
    return safe_environment(name) or name in _ALLOW_ENVIRONMENT


def named_environment(name: str) -> bool:
    """Whether a rule for a family of commands covers it with this variable, if the rule spells its value."""
    return allowed_environment(name) or name in _NAMED_ENVIRONMENT


def _open_reason(index: RuleIndex, analysis: "Analysis", number: int, used: dict[int, BashRule]) -> str | None:
    part = analysis.parts[number]
    cover = part.cover
    if cover == "strip" and (spelled := _spelled(index, part)) is not None:
        used[number] = spelled  # rules look through it, but one that spells the whole call covers what it starts
        return None
    if not part.texts or (cover == "strip" and _of_the_system(part)) or part.only_redirected:
        return None
    parent = part.parent
    if parent in used and _covers(analysis.parts[parent], used[parent]):
        used[number] = used[parent]
        return None
    rule = _allowing(index, part)
    if rule is None:
        return f"no rule allows {part.text}"
    used[number] = rule
    return None


def _spelled(index: RuleIndex, part: "Part") -> BashRule | None:
    """Find the rule that spells all of a part, with the variables in front of it or without."""
    rule = named_with_variables(index, part, allowed_environment) if part.assigns else None
    if rule is not None and names_whole(rule, part):
        return rule
    return index.find_spelled(part.exact) if part.certain_text else None


def _allowing(index: RuleIndex, part: "Part") -> BashRule | None:
    """Find the rule that allows a part by its own words."""
    named = named_with_variables(index, part, allowed_environment) if part.assigns and not part.more else None
    if named is not None and (part.cover != "exact" or named.kind == "exact"):
        return named
    if part.texts[0] == part.name and index.skips(part.name):
        return None
    for text in _allow_forms(part):
        rule = index.find_exact(text) if part.cover == "exact" else index.find(text)
        if rule is None and part.cover == "exact" and part.certain_text:
            rule = index.find_verbatim(text)
        if rule is not None:
            return rule
    return None


def unnamed_readers(index: RuleIndex, analysis: "Analysis") -> "Iterator[Part]":
    """Commands that only read, wherever their output goes, and that no allow rule is about."""
    if index.rules and _whole_text(index, analysis) is not None:
        return
    for part in analysis.parts:
        reads = part.refusal is None or part.only_redirected
        if not reads or not part.texts or not (part.reads or part.reads_unknown):
            continue
        if not index.rules or not _is_named(index, analysis, part):
            yield part


def _is_named(index: RuleIndex, analysis: "Analysis", part: "Part") -> bool:
    """Whether an allow rule names a part, or the program that starts it and whose rule covers what it starts."""
    if index.find(part.exact) is not None or (part.assigns and _allowing(index, part) is not None):
        return True
    while part.parent >= 0:
        part = analysis.parts[part.parent]
        if part.cover not in _COVERED:
            return part.cover == "strip" and _spelled(index, part) is not None
        if _allowing(index, part) is not None:
            return True
    return False


def _covers(wrapper: "Part", rule: BashRule) -> bool:
    """Whether the rule for a wrapper is also for what that starts."""
    return wrapper.cover in _COVERED or (wrapper.cover == "strip" and rule.kind == "exact")


def _allow_forms(part: "Part") -> tuple[str, ...]:
    exact = f"{part.exact}{_MORE_WORDS}" if part.more else part.exact
    word = part.texts[0]
    if word != part.name and _of_the_system(part):
        return exact, part.name + exact[len(word) :]
    return (exact,)


def _of_the_system(part: "Part") -> bool:
    """Whether the command word means the program of its name, and not one that lies elsewhere under the same name."""
    word = part.texts[0]
    return word == part.name or posixpath.dirname(word) in TRUSTED_DIRECTORIES


def _surroundings(part: "Part", inside: "Callable[[str], bool]", *, moves: bool, spelled: bool) -> "list[str]":
    found = [
        f"it sets {name} for {part.name}"
        for name in (() if spelled else part.assigns)
        if not (allowed_environment(name) or (name == "IFS" and part.name == "read"))
    ]
    if part.cwds is None:
        # The body of a function runs wherever it is called: where the text started, when nothing in it moves.
        found.extend(["it runs in a directory that is not known"] if moves else ())
    elif not all(cwd == SHELL_CWD or inside(cwd) for cwd in part.cwds):
        found.append(f"it moves to {', '.join(cwd or '.' for cwd in part.cwds)}")
    return found


def _relative_inside(directory: str) -> bool:
    return not directory.startswith(("/", "..", "~"))
