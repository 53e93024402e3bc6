"""What the input line offers: commands behind `/`, files behind `@`."""

import os
import re
from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from holdfast.lib.visible import visible
from holdfast.tui.commands.run import COMMANDS

__all__ = ["InputCompleter"]

_AT = re.compile(r"(?:^|\s)@([^\s@]*)$")
_MOST = 50


class InputCompleter(Completer):
    """Offers names; a file that a rule hides is not offered."""

    def __init__(self, cwd: Callable[[], str], hides: Callable[[str], bool]) -> None:
        self._cwd = cwd
        self._hides = hides

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """What fits the word before the cursor."""
        del complete_event
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text:
            for name, (about, _) in COMMANDS.items():
                if name.startswith(text[1:]):
                    yield Completion(f"/{name}", start_position=-len(text), display_meta=about)
        elif found := _AT.search(text):
            yield from self._files(found[1])

    def _files(self, typed: str) -> Iterable[Completion]:
        head, _, begun = typed.rpartition("/")
        folder = os.path.join(self._cwd(), head) if head or not typed.startswith("/") else "/"
        try:
            with os.scandir(folder) as entries:
                names = sorted((entry.name, entry.is_dir()) for entry, _ in zip(entries, range(5_000), strict=False))
        except OSError:
            return
        fitting = [(name, is_dir) for name, is_dir in names if name.startswith(begun) and name.isprintable()]
        for name, is_dir in fitting[:_MOST]:
            if (name.startswith(".") and not begun) or self._hides(os.path.realpath(os.path.join(folder, name))):
                continue
            whole = f"{head}/{name}" if head or typed.startswith("/") else name
            shown = f"{whole}/" if is_dir else whole
            yield Completion(shown, start_position=-len(typed), display=visible(shown))
