"""What a loop may set, and what its words say about its variable."""

import re
from typing import Final

from holdfast.permissions.shell.text.commit_hashes import gives_hashes
from holdfast.permissions.shell.text.word_reader import UNSURE, Variable
from holdfast.permissions.shell.words.word import Word, names

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
