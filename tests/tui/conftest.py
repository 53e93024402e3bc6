"""A real terminal: tmux holds it, and tests type into it and look at it."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

LIMIT_S = 60.0
HINTS = ("1-9 or", "Space marks")
"""What the last line says while a question takes keys."""
_BEFORE = "PS1='$ ' bash --norc --noprofile"
_KEPT = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")


class Terminal:
    """One terminal with a shell in it. Every wait ends after a minute, with what the terminal showed."""

    def __init__(self, place: Path, socket: Path) -> None:
        self.place = place
        self._socket = str(socket)
        self._socket_at = socket

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-S", self._socket, "-f", os.devnull, *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=LIMIT_S)
        return done.stdout

    def open(self, columns: int = 80, rows: int = 30, environ: Mapping[str, str] = MappingProxyType({})) -> None:
        """A shell of this size, at its prompt."""
        given = (
            {name: os.environ[name] for name in _KEPT if name in os.environ}
            | {"TERM": "screen-256color"}
            | dict(environ)
        )
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
        size = ("-x", str(columns), "-y", str(rows))
        self.tmux("new-session", "-d", "-s", "a", *size, "-c", str(self.place), f"env {words} {_BEFORE}")
        self.until("$")

    program = f"{shlex.quote(sys.executable)} -m holdfast"

    def holdfast(self, *words: str) -> None:
        """Type the command."""
        self.type(f"{self.program} {shlex.join(words)}")
        self.press("Enter")

    def type(self, text: str) -> None:
        """Send these characters as they are."""
        self.tmux("send-keys", "-t", "a", "-l", text)

    def press(self, *keys: str) -> None:
        """Send keys by their names."""
        self.tmux("send-keys", "-t", "a", *keys)

    def say(self, text: str) -> None:
        """Type a line."""
        self.type(text)
        self.press("Enter")

    def screen(self, *, all_of_it: bool = False, escapes: bool = False) -> str:
        """What it shows now; `all_of_it` with the lines that went up."""
        words = [*(("-S", "-") if all_of_it else ()), *(("-e",) if escapes else ())]
        return self.tmux("capture-pane", "-t", "a", "-p", *words).rstrip("\n")

    def settled(self) -> str:
        """What it shows with its colours, once two looks at it are the same; lines that went up belong to it."""
        before = ""
        while True:
            is_panel = self.tmux("display", "-p", "-t", "a", "#{alternate_on}").strip() == "1"
            shown = self.screen(all_of_it=not is_panel, escapes=True)
            if shown == before:
                return shown
            before = shown
            time.sleep(0.05)

    def until(self, *wanted: str | Callable[[str], object], all_of_it: bool = False) -> str:
        """Look until it shows all of this."""
        ends = time.monotonic() + LIMIT_S
        while True:
            shown = self.screen(all_of_it=all_of_it)
            if all(one in shown if isinstance(one, str) else one(shown) for one in wanted):
                return shown
            if time.monotonic() > ends:
                pytest.fail(f"it never showed {wanted!r}; it shows:\n{self.screen(all_of_it=True)}")
            time.sleep(0.02)

    def answer(self, question: str, *keys: str) -> str:
        """Wait for a question and for the moment from which keys count, and press these."""
        shown = self.until(question, lambda text: any(hint in text.rsplit("\n", 1)[-1] for hint in HINTS))
        self.press(*keys)
        return shown

    def script(self, *turns: Any, **header: Any) -> str:
        """A model that says these turns."""
        path = self._socket_at.with_name("script.jsonl")
        lines = [{"script": 1, "timed": True, **header}, *turns]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        return f"scripted:{path}"


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    with tempfile.TemporaryDirectory(prefix="hf-") as short:  # the path of a socket has little room
        found = Terminal(tmp_path, Path(short, "s"))
        try:
            yield found
        finally:
            subprocess.run(
                ["tmux", "-S", str(Path(short, "s")), "kill-server"], capture_output=True, timeout=LIMIT_S, check=False
            )
