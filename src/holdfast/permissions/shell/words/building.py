"""One word while its pieces are read."""

from holdfast.permissions.shell.words.quoting import utf8
from holdfast.permissions.shell.words.word import Word


class Building:
    """One word while its pieces are read."""

    __slots__ = ("glob", "head", "prefix", "secret", "single", "split", "static")

    def __init__(self) -> None:
        self.prefix = ""
        self.static = True
        self.split = False
        self.glob = False
        self.secret = False
        self.single = False
        self.head = True

    def add(self, text: str) -> None:
        """Append text that is passed as it stands."""
        if self.static:
            self.prefix += text

    def dynamic(self, *, may_be_flag: bool = True) -> None:
        """Append a piece whose text is not known."""
        if self.static:
            self.static = False
            self.head = may_be_flag

    def word(self) -> Word:
        """Finish."""
        text = utf8(self.prefix)
        flag = self.split or (text.startswith("-") if text else self.head and not (self.static and not self.glob))
        static, whole = self.static and not self.glob, not (self.static or self.split or self.glob)
        return Word(text, static, flag, self.glob, self.secret, single=self.single, whole=whole)
