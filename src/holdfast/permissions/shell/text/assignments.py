"""Assignments: what they expand, and what they and the words of a loop put into variables."""

import re
from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.programs.wrappers import known_zone
from holdfast.permissions.shell.text import syntax as g
from holdfast.permissions.shell.text.redirects import RedirectReader
from holdfast.permissions.shell.text.word_reader import UNSURE, Variable, gives_hashes
from holdfast.permissions.shell.words.devices import special_read_refusal
from holdfast.permissions.shell.words.quoting import utf8
from holdfast.permissions.shell.words.values import PERHAPS_EMPTY
from holdfast.permissions.shell.words.word import Word, is_secret, names
from holdfast.settings.steering import is_steering_variable

if TYPE_CHECKING:
    from tree_sitter import Node


_SEQ: Final = re.compile(
    r"\$\(seq(?: -?[0-9]+){1,3}\)|`seq(?: -?[0-9]+){1,3}`|\{-?[0-9]+\.\.-?[0-9]+(?:\.\.-?[0-9]+)?\}"
)
_SPLITTING: Final = re.compile(r"[\s*?\[\\]")
_SAFE_NAMES: Final = names(
    "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z FILE FILES DIR DIRS LINE NAME ITEM HASH COMMIT BRANCH"
    " BASE BASE_SHA HEAD HEAD_SHA MERGE_BASE ROOT REPO_ROOT REPO OWNER SRC DEST TARGET OUT OUTPUT INPUT RESULT RESULTS"
    " COUNT TOTAL NUM START END BEFORE AFTER FINAL SHA REV TAG PR PR_NUMBER BODY TITLE URL RESP RESPONSE TIMESTAMP NOW"
    " TODAY PKG MODULE PATTERN QUERY CONTENT LOGS LIST SP SCRATCH DB CFG SESSION_ID"
)
"""Names that no program is known to obey, should the environment hold them as well."""


def safe_variable(name: str) -> bool:
    """Whether setting this variable cannot change what later commands do."""
    return name in _SAFE_NAMES or (name.isascii() and not name.isupper() and name.strip("_0123456789") != "")


class LoopValues:
    """What the words behind `in` say about the loop variable."""

    __slots__ = ("flag", "numeric", "ordinary", "plain", "some")

    def __init__(self) -> None:
        self.some = False
        self.flag = False
        self.numeric = self.plain = self.ordinary = True

    def add(self, word: Word, source: str) -> None:
        """Take one word into account."""
        self.some = True
        if _SEQ.fullmatch(source):
            self.flag = self.flag or "-" in source
            return
        if gives_hashes(source, source, len(source)):
            self.numeric = self.ordinary = False
            return
        self.flag = self.flag or word.may_be_flag or (word.static and not word.text)
        self.numeric = self.numeric and word.static and word.text.isdecimal()
        self.plain = self.plain and word.static and bool(word.text) and not _SPLITTING.search(word.text)
        self.ordinary = self.ordinary and _ordinary(word, source)

    def known(self) -> Variable:
        """Finish."""
        if not self.some:
            return UNSURE
        return Variable(self.flag, self.plain, self.numeric, self.ordinary)


def _ordinary(word: Word, source: str) -> bool:
    if not word.static and (not word.glob or "$" in source or "`" in source):
        return False
    text = word.text
    return not text.startswith("/") or not ("/dev".startswith(text[:4]) or text.startswith("//"))


_NO_BLANK: Final = ""
_GOES_ON: Final = re.compile(r"[ \t]*(?:&(?!&)|\|(?!\|))")
"""Behind an assignment: it happens in a shell of its own."""
_CERTAIN_DEPTH: Final = 2  # a statement of the text itself, in no branch or loop; only the first of a list


class AssignmentReader(RedirectReader):
    """Reads `name=value`."""

    def assignment(self, node: "Node") -> tuple[str, Variable | None]:
        """Read `name=value` with what it expands; give the name, and what is known of a value that is a plain word."""
        name, before, given = "", [""], None
        for child, kind in self.children(node, _NO_BLANK):
            label = child.type
            if label == "variable_name":
                name = self.view[child.start_byte : child.end_byte]
            elif 0 < kind < g.LAST_WORD:
                word = self.word(child, kind)
                form = word.text if word.static else utf8(self.view[child.start_byte : child.end_byte])
                given = self.value_of(word, form) if before == [""] else None
                for value in before:
                    self.assigned_value(name, value + form)
                if name == "TZ":
                    self.time_zone(form)
            elif kind in (g.ARRAY, g.SUBSCRIPT):
                name = self.indexed(child, kind, name)
            elif label == "+=":
                before = list(self.values.get(name, before))
            elif label != "=":
                self.doubt("an assignment this analysis does not know")
                self._descend(child)
        return name, given

    def time_zone(self, form: str) -> None:
        """Refuse a time zone that is a path out of the list of zones: it is opened and read."""
        name = form.strip('"').lstrip("$").strip("{}")
        for zone in self.values.get(name, ()) if "$" in form else (form,):
            if not known_zone(zone):
                self.refuse(f"the time zone {zone!r} may be any file")

    def indexed(self, node: "Node", kind: int, name: str) -> str:
        """Read `(…)` behind an assignment, or `name[…]` in front of one."""
        text = utf8(self.view[node.start_byte : node.end_byte])
        if kind == g.ARRAY:
            self.refuse(f"it sets the array {name}")
            for form in text[1:-1].split():
                self.assigned_value(name, form)
        else:
            name = name or text.partition("[")[0]
            self.doubt("an array index that bash evaluates as code")
        self._descend(node)
        return name

    def assigned_value(self, name: str, form: str) -> None:
        """Note the value of an assignment; one that may not happen leaves the variable perhaps empty."""
        if self.depth > _CERTAIN_DEPTH or self.nested:
            self.note_value(name, PERHAPS_EMPTY)
        self.note_value(name, form)

    def is_certain(self, node: "Node") -> bool:
        """Whether this statement runs once, in this shell, whatever else happens."""
        depth, place = self.depth, node
        while (above := place.parent) is not None and above.type == "list" and above.start_byte == place.start_byte:
            depth, place = depth - 1, above
        apart = _GOES_ON.match(self.view, node.end_byte) or _GOES_ON.match(self.view, place.end_byte)
        return depth <= _CERTAIN_DEPTH and not self.nested and not apart

    def is_used(self, name: str, node: "Node") -> bool:
        """Whether the text behind an assignment expands its variable."""
        if len(self.view) > g.MAX_CHARS:  # asked about anyway
            return False
        return re.search(rf"\$\{{?#?{name}(?![A-Za-z0-9_])", self.view[node.end_byte :]) is not None

    def value_of(self, word: Word, form: str) -> Variable:
        """What is known about a value, as a loop that goes round once knows it of its word."""
        self.no_special_file(word)
        if word.static and ":~" not in form:
            known = LoopValues()
            known.add(word, form)
            return known.known()
        source = form.strip('"')
        hashes = gives_hashes(source, source, len(source))
        return Variable(may_be_flag=not hashes, plain=hashes)

    def no_special_file(self, word: Word) -> None:
        """Refuse a value that is a device or a process's environment: it would be read by another name."""
        reason = special_read_refusal(word) if word.text.startswith(("/", "~", "..")) else None
        if reason is not None:
            self.refuse(reason)

    def bare_assignment(self, node: "Node") -> None:
        """Read an assignment that stands alone: it changes the shell for what follows.

        One that certainly happens, to a variable that steers nothing, is like a loop that goes round once; where it
        may not happen, nothing is known of the value. What the text itself does not use is set for somebody else, and
        asked about.
        """
        name, given = self.assignment(node)
        known = given if self.is_certain(node) else UNSURE
        # Where it may not happen, what is shown may be what the environment holds.
        told = given is not None and not (known is UNSURE and is_secret(name))
        if told and safe_variable(name) and not is_steering_variable(name) and self.is_used(name, node):
            self.variables[name] = known or UNSURE
        else:
            self.variables[name] = UNSURE
            self.assigned.append(name)
            self.refuse(f"it sets the variable {name}")
        self.settle()
