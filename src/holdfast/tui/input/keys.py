"""What each key does: in the input line, and while a question is open."""

import re
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Always, Condition, Filter, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from holdfast.tui.show.words import Line

if TYPE_CHECKING:
    from holdfast.tui.ask.menu import Menu
    from holdfast.tui.screen import Screen

__all__ = ["Actions", "Keys"]

_ALWAYS = Always()
_PASTED = re.compile(r"\r\n?")
_TWICE_S = 0.6
"""Escape twice within this time is one wish."""


class Actions:
    """What keys do; the conversation sets these."""

    def __init__(self) -> None:
        self.submit: Callable[[str], None] = lambda _text: None
        self.interrupt: Callable[[], bool] = lambda: False
        self.next_mode: Callable[[], None] = lambda: None
        self.background: Callable[[], None] = lambda: None
        self.open_result: Callable[[], None] = lambda: None
        self.open_tasks: Callable[[], None] = lambda: None
        self.rewind: Callable[[], None] = lambda: None
        self.edit: Callable[[], None] = lambda: None
        self.paste: Callable[[str], str] = lambda text: text
        self.paste_picture: Callable[[], None] = lambda: None
        self.history_line: Callable[[str], str] = lambda text: text
        self.live: Callable[[int], list[Line]] = lambda _rows: []
        self.status: Callable[[], Line] = list
        self.mode: Callable[[], Line] = list
        self.own_status: Callable[[], str] = lambda: ""


class Keys:
    """The keys of one screen."""

    def __init__(self, screen: "Screen") -> None:
        self._screen = screen
        self._said_bye = False
        self._escaped_s = 0.0

    def bindings(self) -> KeyBindings:
        """All of them."""
        keys = KeyBindings()
        self._for_questions(keys)
        self._for_input(keys)
        return keys

    def _for_questions(self, keys: KeyBindings) -> None:
        choosing = Condition(lambda: bool(self._screen.menus) and not self._menu.is_typing)
        saying = Condition(lambda: bool(self._screen.menus) and self._menu.is_typing)
        for key, name in (("up", "up"), ("down", "down"), (" ", "space"), ("enter", "enter"), ("tab", "tab")):
            _bind(keys, key, do=partial(self._menu_key, name), when=choosing)
        for digit in "123456789":
            _bind(keys, digit, do=partial(self._menu_key, digit), when=choosing)
        _bind(keys, "escape", do=partial(self._menu_key, "escape"), when=choosing | saying, eager=True)
        for key, step in (("left", -1), ("right", 1)):
            _bind(keys, key, do=partial(self._screen.questions.go, step), when=choosing)
        _bind(keys, "r", do=self._screen.questions.review, when=choosing)
        _bind(keys, "c-o", do=self._screen.questions.open_whole, when=choosing | saying)
        for swallowed in ("<any>", "<bracketed-paste>"):  # what is typed or pasted blindly answers nothing
            _bind(keys, swallowed, do=lambda: None, when=choosing)
        _bind(keys, "enter", do=self._say, when=saying)

    def _for_input(self, keys: KeyBindings) -> None:
        free = ~Condition(lambda: bool(self._screen.menus))
        buffer = self._screen.buffer
        _bind(keys, "enter", do=self._enter, when=free & ~is_searching)
        for newline in (("escape", "enter"), ("c-j",)):
            _bind(keys, *newline, do=partial(buffer.insert_text, "\n"), when=free)
        _bind(keys, "escape", do=self._escape, when=free & ~is_searching)
        _bind(keys, "c-c", do=self._stop)
        _bind(keys, "<sigint>", do=self._stop)
        _bind(keys, "c-d", do=self._end, when=free)
        _bind(keys, "c-z", do=self._suspend)
        _bind(keys, "c-l", do=self._screen.refresh)  # the library's own would clear the screen
        _bind(keys, "s-tab", do=partial(self._act, "next_mode"))
        for key, name in (
            ("c-b", "background"),
            ("c-o", "open_result"),
            ("c-t", "open_tasks"),
            ("c-g", "edit"),
            ("c-v", "paste_picture"),
        ):
            _bind(keys, key, do=partial(self._act, name), when=free)
        _bind(keys, "tab", do=self._complete, when=free)
        keys.add("<bracketed-paste>", filter=~Condition(self._is_choosing))(self._paste)

    @property
    def _menu(self) -> "Menu":
        return self._screen.menus[0]

    def _is_choosing(self) -> bool:
        return bool(self._screen.menus) and not self._menu.is_typing

    def _act(self, name: str) -> None:
        getattr(self._screen.actions, name)()

    def _menu_key(self, name: str) -> None:
        menu, was_typing = self._menu, self._menu.is_typing
        menu.key(name)
        if menu.is_typing and not was_typing:
            self._screen.fill_input(menu.prefilled)
        elif was_typing and not menu.is_typing:
            self._screen.fill_input("")

    def _suspend(self) -> None:
        self._screen.app.suspend_to_background()

    def _paste(self, event: KeyPressEvent) -> None:
        self._screen.buffer.insert_text(self._screen.actions.paste(event.data))

    def _complete(self) -> None:
        buffer = self._screen.buffer
        state = buffer.complete_state
        if state is None:
            buffer.start_completion(select_first=True)
        elif len(state.completions) == 1:  # nothing to choose: it is taken, and the line goes on
            buffer.go_to_completion(0)
            buffer.complete_state = None
            if not buffer.text.endswith("/"):
                buffer.insert_text(" ")
        else:
            buffer.complete_next()

    def _say(self) -> None:
        if self._menu.is_deaf:
            return
        buffer = self._screen.buffer
        text, buffer.text = buffer.text, ""
        self._menu.say(_PASTED.sub("\n", text).strip())

    def _enter(self) -> None:
        buffer = self._screen.buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # the offer that is chosen stands in the line already
            if not buffer.text.startswith("/"):
                buffer.insert_text(" ")
                return
        if buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
            return
        text = _PASTED.sub("\n", buffer.text)
        self._said_bye = False
        if text.strip():
            buffer.text = self._screen.actions.history_line(text)
            buffer.append_to_history()
            buffer.reset()
            self._screen.actions.submit(text)

    def _escape(self) -> None:
        """Stop the run; twice: clear the line, or go back where there is nothing to clear."""
        buffer, now = self._screen.buffer, time.monotonic()
        is_twice = now - self._escaped_s < _TWICE_S
        self._escaped_s = now
        if buffer.complete_state is not None:
            buffer.cancel_completion()
        elif self._screen.actions.interrupt():
            self._escaped_s = 0.0
        elif is_twice:
            self._escaped_s = 0.0
            if buffer.text:
                buffer.reset()
            else:
                self._screen.actions.rewind()

    def _end(self) -> None:
        if self._screen.buffer.text:
            self._screen.buffer.delete()
        else:
            self._screen.leave()

    def _stop(self) -> None:
        if self._screen.menus:
            self._menu.withdraw()
        if self._screen.actions.interrupt():
            self._said_bye = False
        elif self._screen.buffer.text:
            self._screen.buffer.reset()
        elif self._said_bye:
            self._screen.leave()
        else:
            self._said_bye = True
            self._screen.commit([[("dim", "Ctrl-C again, Ctrl-D or /exit leaves")]])


def _bind(
    keys: KeyBindings, *names: str, do: Callable[[], object], when: Filter = _ALWAYS, eager: bool = False
) -> None:
    def handle(_event: KeyPressEvent) -> None:
        do()

    keys.add(*names, filter=when, eager=eager)(handle)
