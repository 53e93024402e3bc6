"""Judge each simple command as it is found, and what it starts in turn."""

import posixpath
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from holdfast.permissions.shell.programs.builtins import (
    BUILTINS,
    EVALUATING,
    SPLITTING,
    evaluates,
    plain_builtins,
    splitting,
)
from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.inspect import inspect_command, inspect_here
from holdfast.permissions.shell.programs.parsers.finders import LATE, may_start
from holdfast.permissions.shell.programs.plain import JUDGES
from holdfast.permissions.shell.programs.runners import GIT_MOVES, RUNNERS, STARTERS, WRAPPERS
from holdfast.permissions.shell.programs.wrappers import (
    MAX_WRAPPERS,
    MORE,
    RESERVED,
    XARGS_DEFAULT,
    Inner,
    is_assignment,
    safe_environment,
)
from holdfast.permissions.shell.text.handed_on import Begun, Guesses, start_each
from holdfast.permissions.shell.text.surroundings import CHANGING, SOMEWHERE, START, Surroundings
from holdfast.permissions.shell.text.word_reader import UNSURE
from holdfast.permissions.shell.words.devices import path_refusal
from holdfast.permissions.shell.words.parts import Part, Redirect
from holdfast.permissions.shell.words.quoting import known_literal, utf8
from holdfast.permissions.shell.words.word import Word

TRUSTED_DIRECTORIES: Final = frozenset({"/bin", "/usr/bin", "/usr/local/bin"})
"""Where a program named by its path is the one that its bare name means."""
_KERNEL: Final = ("/dev", "/proc")


_NO_FACTS: Final = CommandFacts(None)
"""What the tables say about a command they are not asked about."""
_new_part: "Callable[[type[Part], tuple[object, ...]], Part]" = cast("Any", tuple).__new__  # half a call's time
_SPECIAL: Final = (frozenset(WRAPPERS) - frozenset(STARTERS)) | RESERVED | {""}
PLAIN_JUDGES: "dict[str, Callable[[Sequence[str], bool], CommandFacts | None]]" = {
    **{name: judge for name, judge in JUDGES.items() if name not in _SPECIAL or RUNNERS.get(name)},
    **plain_builtins(_NO_FACTS),
}
"""Judges of commands whose every word is certain, by name; what they leave open goes the long road."""


class Emitter(Surroundings):
    """Holds what was found so far."""

    def __init__(self, view: str, start_cwd: str | None) -> None:
        super().__init__(view, start_cwd)
        self.redirections: list[Redirect] = []
        self.assigned: list[str] = []
        self.parsed = True
        self.begun: Begun | None = None
        self.nested = 0
        self.inside: int = 0
        self.inverted = False
        self.guesses: Guesses | None = None
        self.guessing = False

    def doubt(self, reason: str) -> None:
        """Note that hidden code may run; where words are only taken for a command, that says nothing."""
        (self.doubts if self.guesses is None or not self.guessing else self.guesses.doubts).append(reason)

    def give_up(self, reason: str) -> None:
        """Note that some of the text was not followed to its end: what it holds there nobody has seen."""
        self.doubt(reason)
        self.parsed = False

    def stop(self, reason: str) -> None:
        """Note that a limit ended the look at the text: a doubt wherever that was, also in words that are guesses."""
        self.doubts.append(reason)
        self.parsed = False

    def command_with(
        self, source: str, words: "list[Word]", texts: list[str], assigns: list[str], redirects: list[Redirect]
    ) -> None:
        """Judge a simple command with everything written on it."""
        self.settle()
        if words:
            self.start(tuple(words), texts, source, tuple(assigns), tuple(redirects))
            return
        for name in assigns:
            self.variables[name] = UNSURE
            self.assigned.append(name)
            self.refuse(f"it sets the variable {name}")
        self.bare_redirects(source, redirects)

    def bare_redirects(self, source: str, redirects: list[Redirect]) -> None:
        """Note redirects that belong to no simple command."""
        if redirects:
            read = [item.target for item in redirects if item.kind == "read" and item.target is not None]
            named = tuple(target.text for target in read if target.static)
            fields = (
                (), "", (), source, tuple(redirects), (), self.cwds, self.inside, self.parent, "",
                self.redirect_refusal(redirects), named, (), False, None, len(named) < len(read), False, self.piped,
            )  # fmt: skip
            self.parts.append(_new_part(Part, fields))

    def redirect_refusal(self, redirects: "Sequence[Redirect]") -> str | None:
        """Why these redirects are not read-only, or None."""
        for redirect in redirects:
            target = redirect.target
            if redirect.kind == "write" and not redirect.harmless_write:
                return redirect.refusal
            if redirect.kind == "read" and target is not None:
                if target.static:
                    reason = None if target.text == "/dev/null" else self.read_refusal(target.text)
                    if reason or target.text.startswith("/dev/std"):
                        return reason or f"it reads {target.text}"
                elif not self.ordinary_target(redirect):
                    return f"the file of the redirect {utf8(redirect.text)} is not known"
            if redirect.kind == "unknown":
                return f"the redirect {utf8(redirect.text)} is not known"
        return None

    def ordinary_target(self, redirect: Redirect) -> bool:
        """Whether an expanded redirect target can only be an ordinary file."""
        assert redirect.target is not None
        prefix = redirect.target.text
        if self.among_devices():
            return False
        if prefix and not redirect.target.glob:
            plain = "/" + posixpath.normpath(prefix).lstrip("/") if prefix[0] == "/" else prefix
            return not (".." in prefix or plain.startswith(_KERNEL) or any(root.startswith(plain) for root in _KERNEL))
        name = redirect.text.lstrip("0123456789<").strip().strip('"').lstrip("$").strip("{}")
        known = self.variables.get(name)
        return known is not None and known.ordinary

    def read_refusal(self, path: str) -> str | None:
        """Why reading this path from the present directories is refused, or None."""
        if self.cwds is not None and path[:1] != "/":
            for directory in self.cwds:
                reason = path_refusal(posixpath.join(directory, path))
                if reason is not None:
                    return reason
            return None
        if self.lost and path[:1] != "/" and path != ".":
            return SOMEWHERE
        return path_refusal(path)

    def start(
        self,
        argv: "tuple[Word, ...]",
        texts: "Sequence[str]",
        source: str,
        assigns: tuple[str, ...] = (),
        redirects: tuple[Redirect, ...] = (),
        *,
        more: bool = False,
    ) -> None:
        """Judge one command and, when it is a wrapper, what it starts."""
        first = argv[0]
        base = first.text
        inner: Inner | None = None
        facts = _NO_FACTS
        starters = STARTERS.get(base)
        if starters is not None and (not starters.isdisjoint(texts) or may_start(base, argv)):
            starters = _SPECIAL
        odd = starters is _SPECIAL or base in _SPECIAL or "/" in base or not first.static or not base.isascii()
        if odd or more or self.defined:
            base, inner, facts, refusal = self.special(argv, texts, more=more)
        elif (builtin := BUILTINS.get(base)) is not None:
            refusal = builtin(argv[1:])
            if base in SPLITTING and splitting(base, argv, texts):
                refusal = "an unquoted expansion in a test may evaluate text as code"
                self.doubt(refusal)
        else:
            facts = self.inspect(base, argv[1:])
            refusal = facts.refusal
        if refusal is None:
            if assigns or redirects or self.cwds is not START:
                refusal = self.context_refusal(base, assigns, redirects, facts)
        elif base in EVALUATING and evaluates(argv, texts):
            self.doubt("it is given a name with an index that bash evaluates as code")
        index = len(self.parts)
        fields = (
            argv, base, texts, source, redirects, assigns, self.cwds, self.inside, self.parent,
            inner.cover if inner else "", refusal, facts.reads, facts.writes, facts.network, facts.kind,
            facts.reads_unknown, more, self.piped,
        )  # fmt: skip
        self.parts.append(_new_part(Part, fields))
        if inner is not None:
            self.start_inner(_fed(inner, base) if more else inner, index, texts, source, argv)
        elif base in CHANGING or base in self.defined:
            self.change(base, argv, texts)

    def start_plain(self, texts: list[str], source: str, redirects: tuple[Redirect, ...] = ()) -> None:
        """Judge one command whose every word is certain; nothing stands in front of it."""
        base = texts[0]
        judge = PLAIN_JUDGES.get(base)
        facts = None if judge is None or self.defined else judge(texts, self.piped)
        if facts is None or (facts.refusal is not None and self.here is not None):
            self.start(tuple(map(known_literal, texts)), texts, source, (), redirects)
            return
        refusal, reads, writes, network, kind, reads_unknown = facts
        if refusal is None and (redirects or self.cwds is not START):
            refusal = self.context_refusal(base, (), redirects, facts)
        fields = (
            None, base, texts, source, redirects, (), self.cwds, self.inside, self.parent, "", refusal, reads,
            writes, network, kind, reads_unknown, False, self.piped,
        )  # fmt: skip
        self.parts.append(_new_part(Part, fields))

    def special(
        self, argv: "tuple[Word, ...]", texts: "Sequence[str]", *, more: bool
    ) -> "tuple[str, Inner | None, CommandFacts, str | None]":
        """Judge a command word that is a wrapper, a keyword, a path, or not known."""
        first = argv[0]
        name = base = first.text if first.static else ""
        if "/" in name:
            base = name[name.rfind("/") + 1 :]
        wrap = WRAPPERS.get(base)
        refusal = self.name_refusal(first, name, base)
        if base in RESERVED:
            self.doubt(f"the shell keyword {base} where a command is expected")
            return base, Inner(argv=argv[1:], refusal="it is a shell keyword", cover="exact"), _NO_FACTS, refusal
        inner = wrap(argv) if wrap is not None else None
        if inner is not None and (base != "find" or inner.refusal is not None):
            only_moves = self.here is not None and inner.refusal == GIT_MOVES
            return base, inner, _NO_FACTS, refusal if only_moves else inner.refusal or refusal
        if inner is not None:
            own = inspect_command(base, (*argv[1:], MORE) if more else argv[1:])
            return base, inner, own, refusal or own.refusal
        if not first.static:
            return base, None, _NO_FACTS, refusal
        args = (*argv[1:], MORE) if more else argv[1:]
        builtin = BUILTINS.get(base) if name == base else None
        if builtin is not None:
            return base, None, _NO_FACTS, refusal or builtin(args)
        facts = self.inspect(base, args)
        if facts.refusal is not None and base in LATE:
            inner = LATE[base](argv, texts, self.values, more=more)
        return base, inner, facts, refusal or facts.refusal

    def inspect(self, name: str, args: "tuple[Word, ...]") -> CommandFacts:
        """Judge a program by its entry."""
        facts = inspect_command(name, args, stdin_is_data=self.piped)
        known_here = None if facts.refusal is None or self.here is None else inspect_here(name, args)
        return known_here or facts

    def start_inner(
        self, inner: Inner, index: int, texts: "Sequence[str]", source: str, argv: "tuple[Word, ...]"
    ) -> None:
        """Judge what a wrapper starts."""
        if self.nested >= MAX_WRAPPERS:
            self.stop("too many commands inside each other")
            return
        parent, self.parent = self.parent, index
        begun = self.begun
        self.begun = {} if begun is None else begun
        self.nested += 1
        self.inside += 1
        cwds, physical = self.cwds, self.physical
        if inner.places:
            self.cwds, self.physical = self.moved(inner.places), True
        start_each(self, inner, texts, source, argv)
        self.inside -= 1
        self.nested -= 1
        self.parent, self.begun = parent, begun
        if inner.places:  # a program of its own moved, not the shell
            self.cwds = self.ok = self.fail = cwds
            self.physical = physical
        elif inner.cover != "strip":
            self.ok = self.fail = self.merge(self.cwds, self.ok)

    def start_words(
        self, command: "tuple[Word, ...]", argv: "tuple[Word, ...]", texts: "Sequence[str]", source: str, *, more: bool
    ) -> None:
        """Judge words that a wrapper starts as a command.

        Few wrappers take variables: behind others what follows `A=1` would not run, but it is meant to.
        """
        while command:
            self.start(command, self.forms(command, argv, texts), source, more=more)
            command = command[1:] if is_assignment(command[0].text) else ()

    def guess_scripts(self, texts: "Sequence[str]") -> None:
        """Read quoted text that may be a script with expansions in it; deny rules and guards look at what it holds."""
        for form in texts[1:]:
            if form[:1] == form[-1:] == '"' and "$" in form and " " in form:
                self.reparse(form[1:-1])

    def forms(self, command: "tuple[Word, ...]", argv: "tuple[Word, ...]", texts: "Sequence[str]") -> "Sequence[str]":
        """Give the texts of a wrapped command's words."""
        if len(command) <= len(argv) and argv[len(argv) - len(command) :] == command:
            return texts[len(argv) - len(command) :]
        known = dict(zip(argv, texts, strict=True))
        return [known.get(word, word.text or "{}") for word in command]

    def name_refusal(self, first: "Word", name: str, base: str) -> str | None:
        """Why the command word itself is not trusted, or None."""
        if not first.static:
            self.doubt("which command runs is not known before it runs")
            return "which command runs is not known before it runs"
        if not base or not name.isascii():
            self.doubt("the command's name is not plain ASCII")
            return f"its name {name!r} is not plain ASCII"
        if name != base and posixpath.dirname(name) not in TRUSTED_DIRECTORIES:
            return f"{name} is not a program of the system"
        if self.defined:
            return "a function may have taken its name"
        return None

    def context_refusal(
        self,
        base: str,
        assigns: tuple[str, ...],
        redirects: tuple[Redirect, ...],
        facts: CommandFacts,
    ) -> str | None:
        """Why the surroundings of a read-only command make it more than that, or None."""
        for name in assigns:
            if not (safe_environment(name) or (name == "IFS" and base == "read")):
                return f"it sets {name} for the command"
        if self.cwds is not START and not self.at_start():
            if base == "git" and not self.in_repository():
                return "it runs git in another directory, whose configuration may run programs"
            refusal = self.somewhere(facts) or self.special_place(facts)
            refusal = refusal or next(filter(None, map(self.read_refusal, facts.reads)), None)
            if refusal is not None:
                return refusal
        # Last, so that this reason says that nothing else is wrong with the command.
        return self.redirect_refusal(redirects) if redirects else None


def _fed(inner: Inner, name: str) -> Inner:
    """What a wrapper under xargs starts: the words that arrive at run time reach it, or name it."""
    bare = inner.argv is XARGS_DEFAULT or not (inner.argv or inner.others or inner.scripts)
    bare = bare or (inner.guessed and not inner.argv)
    return inner._replace(more=True, doubt=inner.doubt or (f"what {name} runs is not known" if bare else ""))
