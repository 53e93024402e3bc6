"""What a shell text is made of: every simple command in every nesting, with its redirects."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from holdfast.permissions.shell.words.quoting import known_literal, utf8
from holdfast.permissions.shell.words.word import Word

Cwds = tuple[str, ...] | None
"""The directories a command may run in, relative to the start unless absolute; None = not known."""

SHELL_CWD: Final = ""
"""The directory the whole text starts in."""


class Redirect(NamedTuple):
    """One redirect: `kind` is read, write, dup, heredoc, herestring or commands (`< <(…)`), else unknown."""

    operator: str
    target: Word | None
    kind: str
    text: str
    cwds: Cwds = (SHELL_CWD,)

    @property
    def harmless_write(self) -> bool:
        """Whether it only throws output away."""
        return self.target is not None and self.target.static and self.target.text == "/dev/null"

    @property
    def refusal(self) -> str:
        """Why a command with this redirect, which writes, is not read-only."""
        return f"it writes to {utf8(self.text)}"


class Part(NamedTuple):
    """One simple command as it would run.

    Attributes:
        words: the words (see `argv`), or None when each is exactly what `texts` says.
        name: the command's name without its directory, "" when it is not known from the text.
        texts: the words with quotes removed, as rules see them; expansions stand as written.
        source: the text as written.
        redirects: redirects written on this command.
        assigns: names of the variables set in front of it.
        cwds: the directories it may run in.
        depth: how many substitutions, subshells and wrappers it stands in.
        parent: index of the part that starts this one, or -1 when the shell itself does.
        cover: how a rule may see through this part to what it runs: "", "strip", "exact" or "opaque".
        refusal: why it is not read-only, or None.
        reads: files it reads; `writes`: files it creates, changes or removes.
        network: it talks to another machine.
        kind: "search", "read", "list" or another word for display, or None.
        reads_unknown: it also reads files whose names the text does not tell.
        more: further arguments arrive at run time (`xargs`).
        piped: its input comes from another command or a file.
    """

    words: tuple[Word, ...] | None
    name: str
    texts: "Sequence[str]"
    source: str
    redirects: tuple[Redirect, ...]
    assigns: tuple[str, ...]
    cwds: Cwds
    depth: int
    parent: int
    cover: str
    refusal: str | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    network: bool
    kind: str | None
    reads_unknown: bool
    more: bool
    piped: bool

    @property
    def argv(self) -> tuple[Word, ...]:
        """The words; none for a bare redirect."""
        # Most commands are judged without them, so they are made only for those who ask.
        return tuple(map(known_literal, self.texts)) if self.words is None else self.words

    @property
    def text(self) -> str:
        """The words joined by one space."""
        return " ".join(self.texts)

    @property
    def exact(self) -> str:
        """The words joined by a character no word holds, so that only equal words are equal."""
        return "\x1f".join(self.texts)

    @property
    def read_only(self) -> bool:
        """Whether this command is proven to change nothing."""
        return self.refusal is None

    @property
    def only_redirected(self) -> bool:
        """Whether it reads and no more, and only its redirect writes: that place is a question of its own."""
        return self.refusal is not None and any(self.refusal == redirect.refusal for redirect in self.redirects)

    @property
    def reads_file(self) -> bool:
        """Whether a redirect gives it another input than the command in front of it."""
        return any("<" in redirect.operator for redirect in self.redirects)

    @property
    def dynamic_name(self) -> bool:
        """Whether the text does not tell which program runs."""
        return bool(self.words) and not self.words[0].static

    @property
    def static_text(self) -> str:
        """The part of `text` that is certain: up to the first word the shell still expands."""
        if self.words is None:
            return self.text
        kept: list[str] = []
        for word in self.words:
            kept.append(word.text)
            if not word.static:
                return " ".join(kept)
        return " ".join(kept) + (" " if self.more else "")

    @property
    def certain_text(self) -> bool:
        """Whether every argument is known from the text."""
        return self.words is None or (not self.more and all(word.static for word in self.words))
