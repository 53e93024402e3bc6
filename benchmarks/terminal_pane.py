"""A pane of tmux with a program in it: keys go in and bytes come out through one connection, each with its time."""

import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Self

COLUMNS, ROWS = 100, 40
WAIT_S = 60.0
_OCTAL = re.compile(rb"\\(\d{3})")
_GO = "read -r _; exec "
LETTERS = [
    chr(code) for first, last in ((0x3B1, 0x3C9), (0x430, 0x44F), (0x561, 0x586)) for code in range(first, last + 1)
]
"""Letters that no answer holds."""
_LINE = 40


class Pane:
    """One program in a terminal of its own, under a shell that waits for the word to start it."""

    def __init__(self, place: Path, argv: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        self._socket = str(place / f"tmux-{os.urandom(4).hex()}")
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
        shell = f"env -i TERM=screen-256color {words} bash --norc --noprofile -c {shlex.quote(_GO + shlex.join(argv))}"
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self._client = subprocess.Popen(
            [
                "tmux",
                "-S",
                self._socket,
                "-f",
                os.devnull,
                "-C",
                "new-session",
                "-s",
                "a",
                *size,
                "-c",
                str(cwd),
                shell,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.sent = 0
        """How many bytes the program has sent to its terminal."""
        self._recent = b""
        self._news = threading.Condition()
        self._times: list[tuple[int, float]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._tell(f"refresh-client -C {COLUMNS}x{ROWS}")
        time.sleep(0.3)
        self.pid = int(self._ask("display", "-p", "-t", "a", "#{pane_pid}"))
        self._dice = Random(20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(subprocess.SubprocessError, OSError):
            self._ask("kill-server")
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
        self._client.kill()
        self._client.wait()

    def start(self, mark: str) -> float:
        """Seconds until the program has written this."""
        began = time.perf_counter()
        self._tell("send-keys -t a Enter")
        return self.until(mark) - began

    def until(self, text: str, *, limit_s: float = WAIT_S) -> float:
        """When these bytes came, from now on or just before."""
        found = self._wait(lambda: text.encode() in self._recent, limit_s)
        if not found:
            raise TimeoutError(f"it never wrote {text!r}; it shows:\n{self.screen()}")
        return found

    def forget(self) -> None:
        """What came until now does not count for `until`."""
        with self._news:
            self._recent = b""

    def say(self, text: str) -> None:
        """Type a line."""
        self._tell(f"send-keys -t a -l {shlex.quote(text)}")
        time.sleep(0.5)  # some take what comes faster as pasted, its end as well
        self._tell("send-keys -t a Enter")

    def press(self, key: str) -> None:
        """Press a key by its name."""
        self._tell(f"send-keys -t a {key}")

    def screen(self) -> str:
        """What the terminal shows."""
        return self._ask("capture-pane", "-p", "-t", "a")

    def memory_mb(self) -> float:
        """What the largest of its processes holds; the first one may be its guard."""
        return max((_resident_mb(pid) for pid in _tree(self.pid)), default=0.0)

    def echoes(self, keys: int) -> tuple[list[float], int]:
        """Milliseconds from each key to its letter on the terminal, and how many were lost or changed places."""
        times: list[float] = []
        wrong = 0
        typed = ""
        for number in range(keys):
            letter = LETTERS[number % len(LETTERS)]
            self.forget()
            began = time.perf_counter()
            self._tell(f"send-keys -t a -l {letter}")
            times.append((self.until(letter) - began) * 1000)
            typed += letter
            if len(typed) == _LINE or number == keys - 1:
                time.sleep(0.2)
                wrong += typed not in self.screen()
                self._tell("send-keys -t a C-u")
                typed = ""
                time.sleep(0.1)
            time.sleep(self._dice.uniform(0.02, 0.06))
        return times, wrong

    def _tell(self, command: str) -> None:
        assert self._client.stdin is not None
        self._client.stdin.write(f"{command}\n".encode())
        self._client.stdin.flush()

    def _ask(self, *words: str) -> str:
        argv = ["tmux", "-S", self._socket, *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=WAIT_S).stdout.strip()

    def _wait(self, is_there: Callable[[], bool], limit_s: float) -> float:
        with self._news:
            return self._came if self._news.wait_for(is_there, limit_s) else 0.0

    _came = 0.0

    def _read(self) -> None:
        assert self._client.stdout is not None
        for line in self._client.stdout:
            if line.startswith(b"%output "):
                now = time.perf_counter()
                data = _OCTAL.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ", 2)[2][:-1])
                with self._news:
                    self.sent += len(data)
                    self._came = now
                    self._recent = (self._recent + data)[-65_536:]
                    self._news.notify_all()


def _tree(root: int) -> list[int]:
    found, waiting = list[int](), [root]
    while waiting:
        found.append(waiting.pop())
        with suppress(OSError):
            for task in Path(f"/proc/{found[-1]}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return found


def _resident_mb(pid: int) -> float:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
    return 0.0


def end_those_at_home(home: Path) -> int:
    """End what a peer left running, each by its id: whatever has this home."""
    ended = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if f"HOME={home}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
                    ended += 1
    return ended
