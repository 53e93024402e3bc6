"""Bash rules: compiled once, thousands of them found at the cost of a few look-ups."""

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.rules.globs import wild_match

if TYPE_CHECKING:
    from collections.abc import Iterable

_STAR: Final = "\x00"
GAP: Final = "\x1f"
"""Stands between the words of a rule or a command whose words must not run into each other."""
WHOLE_TEXT: Final = "= "
"""In front of a rule that is the whole text of a command, in which no character stands for another."""
_OPERATORS: Final = frozenset(";&|\n<>")
_MAX_SKIPPED: Final = 1024


class BashRule(NamedTuple):
    """One compiled rule.

    Attributes:
        content: what stands between the parentheses.
        kind: "all", "exact", "prefix" (x alone or x plus words), "wild" or "text" (`= x`: the whole text x, no other).
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
    if _STAR in text or GAP in text:
        raise ValueError(f"Bash({text!r}) holds a control character and can never match")
    if text.startswith(WHOLE_TEXT):
        whole = text.removeprefix(WHOLE_TEXT).strip()
        return BashRule(content, "text", (whole,), (" ".join(whole.split()),), compound=True, origin=origin)
    if text.endswith(":*"):
        text = text[:-2].rstrip() + " *"
    pattern, compound = _pattern(text)
    if pattern.endswith(GAP + _STAR) and _STAR not in pattern[:-2]:
        head = pattern[:-2]
        return BashRule(content, "prefix", (head,), (head.replace(GAP, " "),), compound, origin)
    pieces = tuple(pattern.split(_STAR))
    kind = "exact" if len(pieces) == 1 else "wild"
    return BashRule(content, kind, pieces, tuple(piece.replace(GAP, " ") for piece in pieces), compound, origin)


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
        elif char in "'\"" and text.find(char, position) != -1:
            quote = char
        elif char == "\\" and position < len(text):
            out.append(text[position])
            position += 1
        elif char.isspace():
            compound = compound or char == "\n"
            if out and out[-1] != GAP:
                out.append(GAP)
        else:
            compound = compound or char in _OPERATORS
            out.append(_STAR if char == "*" else char)
    return "".join(out).rstrip(GAP), compound


def find_wild(rules: "list[tuple[tuple[str, ...], BashRule]]", text: str) -> BashRule | None:
    """Find the first of these patterns that matches."""
    for pieces, rule in rules:
        # Most patterns fail at their end or their start, without the call.
        if text.endswith(pieces[-1]) and text.startswith(pieces[0]) and wild_match(pieces, text):
            return rule
    return None


class _Bucket:
    """The rules that name one first word whole."""

    __slots__ = ("longest", "prefix", "wild")

    def __init__(self) -> None:
        self.prefix: dict[str, BashRule] = {}
        self.longest = 0
        self.wild: list[tuple[tuple[str, ...], BashRule]] = []

    def add_prefix(self, text: str, rule: BashRule) -> None:
        self.prefix.setdefault(text, rule)
        self.longest = max(self.longest, len(text))

    def find_prefix(self, text: str, gap: str, *, at_least: int = 0) -> BashRule | None:
        prefix, longest = self.prefix, self.longest
        position = text.find(gap, at_least)
        while 0 <= position <= longest:
            rule = prefix.get(text[:position])
            if rule is not None:
                return rule
            position = text.find(gap, position + 1)
        return prefix.get(text) if len(text) <= longest else None


class _Beginnings:
    """How the texts begin that rules are about."""

    __slots__ = ("_lengths", "_rules", "_sorted", "_wild")

    def __init__(self, rules: "Iterable[BashRule]") -> None:
        self._rules: dict[str, BashRule] = {}
        self._wild: dict[str, BashRule] = {}
        for rule in rules:
            head = rule.loose[0] if rule.loose else ""
            self._rules.setdefault(head, rule)
            if rule.kind == "wild":
                self._wild.setdefault(head, rule)
        self._sorted = sorted(self._rules)
        self._lengths = sorted({len(head) for head in self._wild})

    def meets(self, known: str) -> BashRule | None:
        """Find a rule whose beginning goes on from this text, ends with it, or leaves the rest open within it."""
        at = bisect_left(self._sorted, known)
        if at < len(self._sorted) and self._sorted[at].startswith(known):
            return self._rules[self._sorted[at]]
        # What is left when the expansion gives no word at all.
        rule = self._rules.get(known.removesuffix(" "))
        if rule is not None:
            return rule
        for length in self._lengths:
            if length > len(known):
                break
            if known[:length] in self._wild:
                return self._wild[known[:length]]
        return None


class RuleIndex:
    """Many rules, found by the first words of a command."""

    __slots__ = (
        "_beginnings", "_buckets", "_exact", "_gap", "_heads", "_lengths", "_loose", "_skipped", "_verbatim", "_whole",
        "_wild", "compound", "everything", "rules",
    )  # fmt: skip

    def __init__(self, rules: "Iterable[BashRule]", *, exact_words: bool) -> None:
        """Index the rules; `exact_words` keeps words apart (allow), else quotes do not matter (deny and ask)."""
        self.rules = tuple(rules)
        self._gap = GAP if exact_words else " "
        self._exact: dict[str, BashRule] = {}
        self._buckets: dict[str, _Bucket] = {}
        self._heads: dict[str, BashRule] = {}
        self._wild: list[tuple[tuple[str, ...], BashRule]] = []
        self._skipped: dict[str, bool] = {}
        self._verbatim: dict[str, BashRule] = {}
        self._whole = {rule.words[0]: rule for rule in self.rules if exact_words and rule.kind == "text"}
        self.everything: BashRule | None = None
        self.compound = tuple(rule for rule in self.rules if rule.compound)
        for rule in self.rules:
            self._add(rule, rule.words if exact_words else rule.loose)
        self._lengths = sorted({len(head) for head in self._heads})
        self._loose = bool(self._heads or self._wild)
        self._beginnings: _Beginnings | None = None

    def _bucket(self, text: str) -> "_Bucket":
        return self._buckets.setdefault(text.partition(self._gap)[0], _Bucket())

    def _add(self, rule: BashRule, pieces: tuple[str, ...]) -> None:
        if rule.kind == "all":
            self.everything = self.everything or rule
        elif rule.kind == "exact" or (rule.kind == "text" and self._gap != GAP):
            self._exact.setdefault(pieces[0], rule)
            self._bucket(pieces[0])
        elif rule.kind == "text":
            return  # for the text as a whole, not for the commands in it
        elif rule.kind == "prefix":
            self._bucket(pieces[0]).add_prefix(pieces[0], rule)
        elif len(pieces) == 2 and not pieces[1] and self._gap not in pieces[0]:
            self._heads.setdefault(pieces[0], rule)
        else:
            self._verbatim.setdefault("*".join(pieces), rule)
            self._add_wild(rule, pieces)
            if pieces[-1] == "" and pieces[-2].endswith(self._gap):
                self._add_wild(rule, (*pieces[:-2], pieces[-2][:-1]))

    def _add_wild(self, rule: BashRule, pieces: tuple[str, ...]) -> None:
        if self._gap in pieces[0]:
            self._bucket(pieces[0]).wild.append((pieces, rule))
        else:
            self._wild.append((pieces, rule))

    def find(self, text: str) -> BashRule | None:
        """Find a rule for the text of one simple command."""
        if self.everything is not None:
            return self.everything
        gap = self._gap
        bucket = self._buckets.get(text.partition(gap)[0])
        if bucket is not None:
            rule = self._exact.get(text)
            if rule is None and bucket.prefix:
                rule = bucket.find_prefix(text, gap)
            if rule is None and bucket.wild:
                rule = find_wild(bucket.wild, text)
            if rule is not None:
                return rule
        return self._find_loose(text) if self._loose else None

    def find_behind(self, lead: str, text: str) -> BashRule | None:
        """Find a rule for this text that itself begins with these words and goes on behind them."""
        bucket = self._buckets.get(text.partition(self._gap)[0])
        if bucket is None:
            return None
        rule = self._exact.get(text)
        if rule is None and bucket.prefix:
            rule = bucket.find_prefix(text, self._gap, at_least=len(lead) + 1)
        if rule is None and bucket.wild:
            lead += self._gap
            rule = find_wild([(pieces, rule) for pieces, rule in bucket.wild if pieces[0].startswith(lead)], text)
        return rule

    def _find_loose(self, text: str) -> BashRule | None:
        """Find a rule that does not name a whole first word."""
        for length in self._lengths:
            if length > len(text):
                break
            rule = self._heads.get(text[:length])
            if rule is not None:
                return rule
        return find_wild(self._wild, text)

    def skips(self, first: str) -> bool:
        """Whether no rule can match a command with this first word."""
        known = self._skipped.get(first)
        if known is None:
            known = self.everything is None and not self._wild and first not in self._buckets
            known = known and not any(first[:length] in self._heads for length in self._lengths)
            if len(self._skipped) < _MAX_SKIPPED:
                self._skipped[first] = known
        return known

    def could_match(self, known: str) -> BashRule | None:
        """Find a rule for some text that begins like this; only deny and ask rules are asked so."""
        if self._beginnings is None:
            self._beginnings = _Beginnings(self.rules)
        return self._beginnings.meets(known)

    def find_exact(self, text: str) -> BashRule | None:
        """Find a rule that names exactly this text, or every command."""
        return self.everything or self._exact.get(text)

    def find_spelled(self, text: str) -> BashRule | None:
        """Find a rule that spells exactly this text and no other."""
        return self._exact.get(text)

    def find_verbatim(self, text: str) -> BashRule | None:
        """Find a rule that spells exactly this text, its stars standing for themselves."""
        return self._verbatim.get(text)

    def find_whole(self, command: str) -> BashRule | None:
        """Find the allow rule that is this whole text, character by character."""
        return self._whole.get(command.strip()) if self._whole else None
