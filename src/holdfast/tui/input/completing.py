"""What the input line offers: commands behind `/`, files and servers' resources behind `@`."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from holdfast.lib.visible import visible
from holdfast.tui.input.file_names import FileNames, score

__all__ = ["InputCompleter", "Offers"]

_AT = re.compile(r'(?:^|[\s(])@(?:"([^"\n]*)|([^\s@"]*))$')
_MOST = 50


class Offers(NamedTuple):
    """Where offers come from; all are asked in a thread, with every key."""

    cwd: Callable[[], str]
    hides: Callable[[str], bool]
    """A rule keeps this resolved path from being told."""
    commands: Callable[[], Sequence[tuple[str, str]]]
    """Names without their slash, each with what it is for."""
    resources: Callable[[], Sequence[tuple[str, str]]]
    """`server:uri`, each with what it is."""


class InputCompleter(Completer):
    """Offers names; a file that a rule hides is not offered."""

    def __init__(self, offers: Offers) -> None:
        self._offers = offers
        self._names = FileNames()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What fits the word before the cursor."""
        del complete_event
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text and "\n" not in text:
            yield from self._commands(text)
        elif found := _AT.search(text):
            is_quoted = found[1] is not None
            typed = str(found[1] if is_quoted else found[2])
            yield from () if is_quoted else self._resources(typed)
            for name in self._below(typed) if typed and "/" not in typed else self._in_directory(typed):
                whole = f'{name}"' if is_quoted else f'"{name}"' if " " in name else name
                yield Completion(whole, start_position=-len(typed), display=visible(name))

    def _commands(self, text: str) -> Iterable[Completion]:
        typed = text[1:].lower()
        found = [one for one in self._offers.commands() if typed in one[0].lower()]
        for name, about in sorted(found, key=lambda one: not one[0].lower().startswith(typed)):
            yield Completion(f"/{name}", start_position=-len(text), display_meta=visible(about, limit_chars=100))

    def _resources(self, typed: str) -> Iterable[Completion]:
        for name, about in self._offers.resources():
            if name.startswith(typed):
                shown = visible(name, limit_chars=80)
                yield Completion(
                    name, start_position=-len(typed), display=shown, display_meta=visible(about, limit_chars=80)
                )

    def _below(self, typed: str) -> Iterable[str]:
        cwd = self._offers.cwd()
        fitting = [(found, name) for name in self._names.below(cwd) if (found := score(name, typed)) is not None]
        fitting.sort()
        shown = 0
        for _, name in fitting:
            if not self._offers.hides(os.path.realpath(os.path.join(cwd, name))):
                yield name
                shown += 1
            if shown >= _MOST:
                return

    def _in_directory(self, typed: str) -> Iterable[str]:
        head, _, begun = typed.rpartition("/")
        outer = os.path.expanduser(head) if head or not typed.startswith("/") else "/"
        folder = os.path.join(self._offers.cwd(), outer)
        try:
            with os.scandir(folder) as entries:
                names = sorted((entry.name, entry.is_dir()) for entry, _ in zip(entries, range(5_000), strict=False))
        except OSError:
            return
        fitting = [(name, is_dir) for name, is_dir in names if name.startswith(begun) and name.isprintable()]
        for name, is_dir in fitting[:_MOST]:
            if (name.startswith(".") and not begun) or self._offers.hides(os.path.realpath(os.path.join(folder, name))):
                continue
            whole = f"{head}/{name}" if head or typed.startswith("/") else name
            yield f"{whole}/" if is_dir else whole
