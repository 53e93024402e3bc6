"""Bash rules: compiled once, matched on parts in linear time, thousands of rules at the cost of a few look-ups."""

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.emit import safe_environment
from holdfast.permissions.shell.parts import SHELL_CWD
from holdfast.permissions.shell.words import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from holdfast.permissions.shell.analysis import Analysis
    from holdfast.permissions.shell.parts import Part, Redirect

_STAR: Final = "\x00"
_GAP: Final = "\x1f"
_OPERATORS: Final = frozenset(";&|\n<>")
_TRUSTED: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/")
_ALLOW_ENVIRONMENT: Final = names(
    "CI FORCE_COLOR CLICOLOR CLICOLOR_FORCE PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE NODE_ENV"
)
_MAX_LEADING_WORDS: Final = 8
_MAX_SKIPPED: Final = 1024
_AT_START: Final = (SHELL_CWD,)


class BashRule(NamedTuple):
    """One compiled rule.

    Attributes:
        content: what stands between the parentheses.
        kind: "all", "exact", "prefix" (x alone or x plus words) or "wild".
        words: literal pieces between the stars, words separated by a character no word holds.
        loose: the same with words separated by spaces, for deny and ask.
        compound: the content itself holds an operator of the shell.
        origin: whatever the caller wants to find the rule again.
    """

    content: str
    kind: str
    words: tuple[str, ...]
    loose: tuple[str, ...]
    compound: bool
    origin: object = None


def compile_bash_rule(content: str, *, origin: object = None) -> BashRule:
    """Compile the text between the parentheses of a Bash rule.

    Raises:
        ValueError: the text can never match, with the reason.
    """
    text = content.strip()
    if text == "*":
        return BashRule(content, "all", (), (), compound=False, origin=origin)
    if not text:
        raise ValueError("Bash() names no command; write Bash or Bash(*) for every command")
    if text == ":*":
        raise ValueError("Bash(:*) has nothing in front of ':*'; write Bash(*) for every command, or Bash(name:*)")
    if _STAR in text or _GAP in text:
        raise ValueError(f"Bash({text!r}) holds a control character and can never match")
    if text.endswith(":*"):
        text = text[:-2].rstrip() + " *"
    pattern, compound = _pattern(text)
    if pattern.endswith(_GAP + _STAR) and _STAR not in pattern[:-2]:
        head = pattern[:-2]
        return BashRule(content, "prefix", (head,), (head.replace(_GAP, " "),), compound, origin)
    pieces = tuple(pattern.split(_STAR))
    kind = "exact" if len(pieces) == 1 else "wild"
    return BashRule(content, kind, pieces, tuple(piece.replace(_GAP, " ") for piece in pieces), compound, origin)


def _pattern(text: str) -> tuple[str, bool]:
    """Normalise white space and quotes; stars become a mark. An unpaired quote stands for itself."""
    out: list[str] = []
    compound, position, quote = False, 0, ""
    while position < len(text):
        char = text[position]
        position += 1
        if quote:
            if char == quote:
                quote = ""
            else:
                out.append(_STAR if char == "*" else char)
        elif char in "'\"" and text.find(char, position) >= 0:
            quote = char
        elif char == "\\" and position < len(text):
            out.append(text[position])
            position += 1
        elif char.isspace():
            compound = compound or char == "\n"
            if out and out[-1] != _GAP:
                out.append(_GAP)
        else:
            compound = compound or char in _OPERATORS
            out.append(_STAR if char == "*" else char)
    return "".join(out).rstrip(_GAP), compound


def wild_match(pieces: tuple[str, ...], text: str) -> bool:
    """Match literal pieces in order with anything between them, without backtracking."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return text == first
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    position, end = len(first), len(text) - len(last)
    for piece in pieces[1:-1]:
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True


class RuleIndex:
    """Many rules, found by the first words of a command."""

    __slots__ = (
        "_exact", "_gap", "_heads", "_lengths", "_longest", "_prefix", "_skipped", "_verbatim", "_wild", "_wild_first",
        "_words", "compound", "everything", "rules",
    )  # fmt: skip

    def __init__(self, rules: "Iterable[BashRule]", *, exact_words: bool) -> None:
        """Index the rules; `exact_words` keeps words apart (allow), else quotes do not matter (deny and ask)."""
        self.rules = tuple(rules)
        self._gap = _GAP if exact_words else " "
        self._exact: dict[str, BashRule] = {}
        self._prefix: dict[str, BashRule] = {}
        self._heads: dict[str, BashRule] = {}
        self._wild_first: dict[str, list[tuple[tuple[str, ...], BashRule]]] = {}
        self._wild: list[tuple[tuple[str, ...], BashRule]] = []
        self._skipped: dict[str, bool] = {}
        self._verbatim: dict[str, BashRule] = {}
        self.everything: BashRule | None = None
        self.compound = tuple(rule for rule in self.rules if rule.compound)
        for rule in self.rules:
            self._add(rule, rule.words if exact_words else rule.loose)
        self._words = {key.partition(self._gap)[0] for key in (*self._exact, *self._prefix, *self._wild_first)}
        self._longest = max(map(len, self._prefix), default=0)
        self._lengths = sorted({len(head) for head in self._heads})

    def _add(self, rule: BashRule, pieces: tuple[str, ...]) -> None:
        if rule.kind == "all":
            self.everything = self.everything or rule
        elif rule.kind == "exact":
            self._exact.setdefault(pieces[0], rule)
        elif rule.kind == "prefix":
            self._prefix.setdefault(pieces[0], rule)
        elif len(pieces) == 2 and pieces[0] and not pieces[1] and self._gap not in pieces[0]:
            self._heads.setdefault(pieces[0], rule)
        else:
            self._verbatim.setdefault("*".join(pieces), rule)
            self._add_wild(rule, pieces)
            if pieces[-1] == "" and pieces[-2].endswith(self._gap):
                self._add_wild(rule, (*pieces[:-2], pieces[-2][:-1]))

    def _add_wild(self, rule: BashRule, pieces: tuple[str, ...]) -> None:
        first, gap, _ = pieces[0].partition(self._gap)
        if gap:
            self._wild_first.setdefault(first, []).append((pieces, rule))
        else:
            self._wild.append((pieces, rule))

    def find(self, text: str) -> BashRule | None:
        """Find a rule for the text of one simple command."""
        if self.everything is not None:
            return self.everything
        if text.partition(self._gap)[0] in self._words:
            rule = self._exact.get(text) or self._find_prefix(text) or self._find_wild(text)
            if rule is not None:
                return rule
        for length in self._lengths:
            if length > len(text):
                break
            rule = self._heads.get(text[:length])
            if rule is not None:
                return rule
        for pieces, rule in self._wild:
            if wild_match(pieces, text):
                return rule
        return None

    def skips(self, first: str) -> bool:
        """Whether no rule can match a command with this first word."""
        known = self._skipped.get(first)
        if known is None:
            known = self.everything is None and not self._wild and first not in self._words
            known = known and not any(first[:length] in self._heads for length in self._lengths)
            if len(self._skipped) < _MAX_SKIPPED:
                self._skipped[first] = known
        return known

    def find_exact(self, text: str) -> BashRule | None:
        """Find a rule that names exactly this text, or every command."""
        return self.everything or self._exact.get(text)

    def find_verbatim(self, text: str) -> BashRule | None:
        """Find a rule that spells exactly this text, its stars standing for themselves."""
        return self._verbatim.get(text)

    def _find_prefix(self, text: str) -> BashRule | None:
        if self._prefix:
            gap, longest = self._gap, self._longest
            position = text.find(gap)
            while 0 <= position <= longest:
                rule = self._prefix.get(text[:position])
                if rule is not None:
                    return rule
                position = text.find(gap, position + 1)
            if position < 0 and len(text) <= longest:
                return self._prefix.get(text)
        return None

    def _find_wild(self, text: str) -> BashRule | None:
        for pieces, rule in self._wild_first.get(text.partition(self._gap)[0], ()):
            if wild_match(pieces, text):
                return rule
        return None


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
        texts, name = part.texts, part.name
        if not texts or (texts[0] == name and not part.assigns and " " not in name and skips(name)):
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
    text = part.text
    rule = index.find(text)
    if rule is None and part.argv[0].static and part.argv[0].text != part.name:
        text = part.name + text[len(part.argv[0].text) :]
        rule = index.find(text)
    if rule is None and part.assigns:
        text = " ".join(part.source.split())
        rule = index.find(text)
    return None if rule is None else Hit(rule, text)


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
    words = command.split()
    if not index.compound and (not words or index.skips(words[0])):
        return None
    text = " ".join(words)
    rule = index.find_exact(text)
    if rule is not None:
        return Hit(rule, text)
    for rule in index.compound:
        if wild_match(rule.loose, text) or (rule.kind == "prefix" and (text + " ").startswith(rule.loose[0] + " ")):
            return Hit(rule, text)
    return None


def possible_match(index: RuleIndex, analysis: "Analysis") -> Hit | None:
    """Find a deny or ask rule that an expansion could still turn a part into; such a part is never allowed unasked."""
    for part in analysis.parts:
        if not part.argv or part.certain_text:
            continue
        known = part.static_text
        if part.argv[0].static:
            known = part.name + known[len(part.argv[0].text) :]
        for rule in index.rules:
            head = rule.loose[0] if rule.loose else ""
            if head and (head.startswith(known) or (known.startswith(head) and rule.kind == "wild")):
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
    if analysis.doubt:
        if index.everything is not None and not guarded:
            return Coverage(allowed=True, rules=(index.everything,), open=())
        return Coverage(allowed=False, rules=(), open=(analysis.doubt,))
    if analysis.read_only and not analysis.cd_targets:
        return Coverage(allowed=True, rules=(), open=())
    writes = analysis.redirect_writes if analysis.redirects else ()
    whole = index.find_exact(analysis.command.strip().replace(" ", _GAP)) if not writes else None
    if whole is not None and whole.kind == "exact" and whole.content.strip() == analysis.command.strip():
        return Coverage(allowed=True, rules=(whole,), open=())
    used: dict[int, BashRule] = {}
    missing: list[str] = []
    for number, part in enumerate(analysis.parts):
        reason = _open_reason(index, analysis, number, used)
        if reason is not None:
            missing.append(reason)
        if part.assigns or part.cwds != _AT_START:
            missing.extend(_surroundings(part, inside or _relative_inside))
    missing.extend(f"it sets the variable {name}" for name in analysis.assigned if not _allow_environment(name))
    for redirect in writes:
        plain = redirect.target is not None and redirect.target.static and "~" not in redirect.text
        if not plain or edit_allowed is None or not edit_allowed(redirect):
            missing.append(f"it writes to {redirect.text}")
    rules = tuple(dict.fromkeys(used.values()))
    return Coverage(allowed=not missing, rules=rules, open=tuple(dict.fromkeys(missing)))


def _allow_environment(name: str) -> bool:
    return safe_environment(name) or name in _ALLOW_ENVIRONMENT


def _open_reason(index: RuleIndex, analysis: "Analysis", number: int, used: dict[int, BashRule]) -> str | None:
    part = analysis.parts[number]
    if not part.argv or part.hull == "strip" or (part.refusal is None and part.hull != "exact"):
        return None
    parent = part.parent
    if parent in used and analysis.parts[parent].hull in ("opaque", "exact"):
        used[number] = used[parent]
        return None
    if part.texts[0] == part.name and index.skips(part.name):
        return f"no rule allows {part.text}"
    for text in _allow_forms(part):
        rule = index.find_exact(text) if part.hull == "exact" else index.find(text)
        if rule is None and part.hull == "exact" and part.certain_text:
            rule = index.find_verbatim(text)
        if rule is not None:
            used[number] = rule
            return None
    return f"no rule allows {part.text}"


def _allow_forms(part: "Part") -> tuple[str, ...]:
    word = part.argv[0].text
    if word != part.name and word.startswith(_TRUSTED) and posixpath.basename(word) == part.name:
        return part.exact, part.name + part.exact[len(word) :]
    return (part.exact,)


def _surroundings(part: "Part", inside: "Callable[[str], bool]") -> "list[str]":
    found = [
        f"it sets {name} for {part.name}"
        for name in part.assigns
        if not (_allow_environment(name) or (name == "IFS" and part.name == "read"))
    ]
    if part.cwds is None:
        found.append("it runs in a directory that is not known")
    elif part.cwds != (SHELL_CWD,) and not all(cwd == SHELL_CWD or inside(cwd) for cwd in part.cwds):
        found.append(f"it moves to {', '.join(cwd or '.' for cwd in part.cwds)}")
    return found


def _relative_inside(directory: str) -> bool:
    return not directory.startswith(("/", "..", "~"))
