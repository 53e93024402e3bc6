"""One long session that goes through every state a person meets, driven in a real terminal and photographed."""

import json
import re
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.tui.conftest import Terminal

ROWS = 30
ANSWER = (
    "# What I found\n\nThe total is **wrong** for large orders: `total` takes the discount twice.\n\n"
    "1. `subtotal` takes it already.\n2. `total` must not do it again.\n\n"
    "| order | expected | got |\n|---|---|---|\n| small | 12.00 | 12.00 |\n| large | 137.85 | 126.56 |\n\n"
    "```python\ndef total(items):\n    return subtotal(items)  # once is enough\n```\n\nShall I fix it?"
)
_MARK = "❯"  # noqa: RUF001 - the mark people know
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_LAST = (
    (re.compile(r"\b\d{1,2} [A-Z][a-z]{2} \d\d:\d\d\b"), "01 Jan 00:00"),
    (re.compile(r"/hf-[a-z0-9_]{8}/"), "/hf-00000000/"),
    (re.compile(r"(?<=--resume )[0-9a-f-]+|^[0-9a-f-]{12,}$"), "00000000"),
    (re.compile(r" \d+(\.\d)? s(?=(?:\x1b\[[\d;]*m)*\s*$)"), ""),  # only of calls that took a moment
    (re.compile(r"\b\d+(\.\d)? s\b"), "0 s"),
    (
        re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
        "0" * 8 + "-0000" * 3 + "-" + "0" * 12,
    ),
)


class Shot(NamedTuple):
    """What the terminal showed in one state."""

    name: str
    drawn: list[str]
    """The last lines, with their colours."""

    @property
    def text(self) -> str:
        """The same as text alone."""
        return "\n".join(_COLOUR.sub("", line).rstrip() for line in self.drawn).rstrip("\n")


def call(tool: str, **given: Any) -> dict[str, Any]:
    return {"tool": tool, "input": given}


def bash(command: str, **more: Any) -> dict[str, Any]:
    return call("Bash", command=command, **more)


def gated(door: str) -> str:
    """A command that works until the test opens the door."""
    return f"until test -e {door}; do sleep 0.05; done; echo {door} is open"


QUESTIONS = [
    {
        "question": "Which rounding should totals use?",
        "header": "Rounding",
        "options": [
            {"label": "Half even", "description": "as banks do"},
            {"label": "Half up", "description": "as people expect"},
        ],
        "multiSelect": False,
    },
    {
        "question": "What should the change touch?",
        "header": "Scope",
        "options": [
            {"label": "Code", "description": "shop/orders.py"},
            {"label": "Tests", "description": "tests/test_orders.py"},
            {"label": "Docs", "description": "README.md"},
        ],
        "multiSelect": True,
    },
]
TURNS: tuple[Any, ...] = (
    {"blocks": [{"text": "I will look at the orders first, and"}, {"text": " then…", "after_s": 300}]},
    {
        "blocks": [
            {"thinking": "The discount is taken in two places.\nI should show both."},
            {"text": ANSWER, "chunk": 9},
        ]
    },
    {"blocks": [call("Read", file_path="shop/orders.py"), call("Grep", pattern="DISCOUNT", path="shop")]},
    {
        "blocks": [
            bash(gated("north"), description="Wait for the north door"),
            bash(gated("south"), description="Wait for the south door"),
        ]
    },
    "Both doors are open.",
    {"blocks": [bash("git status && touch made.txt && rm -rf build", description="Clean the build")]},
    {"expect": ["keep the build"], "blocks": ["I keep the build directory."]},
    {"blocks": [bash("touch kept.txt")]},
    {"blocks": [bash("touch kept.txt")]},
    "It was asked once.",
    {
        "blocks": [
            call(
                "Edit",
                file_path="shop/orders.py",
                old_string="return subtotal(items) * DISCOUNT",
                new_string="return subtotal(items)",
            )
        ]
    },
    "The second discount is gone.",
    {"blocks": [bash("for n in 1 2 3; do echo step $n; done; until test -e east; do sleep 0.05; done")]},
    "It goes on beside us.",
    {"blocks": [call("AskUserQuestion", questions=QUESTIONS)]},
    {"expect": ["Half up", "Tests"], "blocks": [call("EnterPlanMode")]},
    {"blocks": [call("ExitPlanMode")]},
    "Then I begin.",
)
CODE = """\
DISCOUNT = 0.9


def subtotal(items):
    return sum(items) * DISCOUNT


def total(items):
    return subtotal(items) * DISCOUNT
"""
RULES = [f"Bash({word} *)" for word in ("until", "test", "sleep", "echo", "for")]


class Scenes:
    """Drives the session and keeps what it showed."""

    def __init__(self, terminal: Terminal, home: Path, columns: int) -> None:
        self.terminal = terminal
        self.home = home
        self.work = terminal.place
        self.columns = columns
        self.shots: list[Shot] = []
        self._task = "\0"
        """The name of the background task, which is another one each time."""

    def shoot(self, name: str, *wanted: str | Callable[[str], object]) -> None:
        """Wait until it shows this, and keep what it shows."""
        self.terminal.until(*wanted)
        drawn = [self._steady(line) for line in self.terminal.settled().split("\n")]
        while drawn and not _COLOUR.sub("", drawn[-1]).strip():  # what is below the live region
            drawn.pop()
        self.shots.append(Shot(name, drawn[-ROWS:]))

    def _steady(self, line: str) -> str:
        return steady(line).replace(self._task, "b00000000")

    def ready(self) -> None:
        """The run is over, and the input line waits."""
        self.terminal.until(_is_idle)

    def play(self) -> None:
        """Everything, in the order in which a person may meet it."""
        self.first_run()
        self.answers()
        self.calls()
        self.approvals()
        self.background()
        self.questions()
        self.back()
        self.resume()

    def first_run(self) -> None:
        terminal = self.terminal
        lines = [{"script": 1, "timed": True, "context_window": 9_000_000}, *TURNS]
        (self.home / "tour.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        terminal.say("holdfast")
        self.shoot("first run: the folder", "Trust this folder", _keys)
        terminal.press("2")
        self.shoot("first run: the model", "Which model should work here?", _keys)
        terminal.press("5")
        terminal.until("say:")
        terminal.say("scripted:../tour.jsonl")
        self.shoot("first run: it answers", "Use it from now on?", _keys)
        terminal.press("2")
        self.shoot("ready", "(shift+tab)", "/help", lambda text: "sandbox" in text)

    def answers(self) -> None:
        terminal = self.terminal
        terminal.say("Why are large orders too cheap?")
        self.shoot("an answer streams", "orders first, and", _is_running)
        terminal.press("Escape")
        self.shoot("interrupted", "interrupted. What should happen", _is_idle)
        terminal.say("Go on")
        self.shoot("an answer", "Shall I fix it?", _is_idle)

    def calls(self) -> None:
        terminal = self.terminal
        terminal.say("Look at both doors")
        self.shoot("calls side by side", "2 calls side by side", lambda text: text.count("Ctrl-B") == 2)
        (self.work / "south").touch()
        (self.work / "north").touch()
        self.shoot("calls have ended", "Both doors are open.", _is_idle)
        terminal.press("C-o")
        self.shoot("whole output", "south is open", "(5 of 5)")
        terminal.press("q")
        self.ready()

    def approvals(self) -> None:
        terminal = self.terminal
        terminal.say("Clean up")
        self.shoot("approval", "Let Bash do this?", _keys)
        terminal.press("Tab")
        terminal.until("say:")
        terminal.type("keep the build")
        self.shoot("denied with words", "say: keep the build", "Enter sends")
        terminal.press("Enter")
        self.shoot("denied", "I keep the build directory.", _is_idle)
        terminal.say("Make the file")
        terminal.until("Let Bash do this?", _keys)
        terminal.press("3")
        self.shoot("always", "Keep Bash(touch", _keys)
        terminal.press("1")
        self.shoot("always allowed", "It was asked once.", _is_idle)
        terminal.say("Fix it")
        self.shoot("diff", "Let Edit do this?", _keys)
        terminal.press("1")
        self.shoot("changed", "The second discount is gone.", _is_idle)

    def background(self) -> None:
        terminal = self.terminal
        terminal.say("Run the long one")
        terminal.until("⎿ step 1", _is_running)
        terminal.press("C-b")
        self._task = re.findall(r"background task (b\w{8})", terminal.until("background task"))[-1]
        self.shoot("in the background", "It goes on beside us.", _is_idle)
        terminal.press("C-t")
        self.shoot("tasks", "running", "Enter opens")
        terminal.press("Enter")
        self.shoot("output of a task", "step 3", "Esc closes")
        terminal.press("q")
        self.ready()
        (self.work / "east").touch()
        self.shoot("a task has ended", "completed", _is_idle)

    def questions(self) -> None:
        terminal = self.terminal
        state = Path(self.home, ".local", "state", "holdfast", "sessions")
        (next(state.glob("*/*/")) / "plan.md").write_text(
            "# Round once\n\n1. Change `total` to **half up**.\n2. Run the tests.\n", encoding="utf-8"
        )
        terminal.say("Plan the rounding")
        self.shoot("a question", "Which rounding", _keys)
        terminal.press("2")
        terminal.until("Space marks")
        terminal.press("1", "2")
        self.shoot("several answers", "[x] Tests", "[x] Code")
        terminal.press("5")
        self.shoot("a plan", "Go on with this plan?", _keys)
        terminal.press("2")
        self.shoot("a plan is approved", "Then I begin.", _is_idle)

    def back(self) -> None:
        terminal = self.terminal
        terminal.say("/undo")
        self.shoot("undone", "restored  ", _is_idle)
        terminal.press("Escape", "Escape")
        self.shoot("rewind", "Go back to before which prompt?", _keys)
        terminal.press("1")
        self.shoot("rewound", "✻ the conversation", _is_idle)
        terminal.press("C-c")
        terminal.press("C-d")
        terminal.until("to go on:", lambda text: text.endswith("$"))

    def resume(self) -> None:
        terminal = self.terminal
        _wipe(terminal)
        terminal.say("holdfast --continue")
        self.shoot("resumed", "(shift+tab)", _is_idle)
        terminal.say("/exit")
        self.shoot("the end", "to go on:", lambda text: text.endswith("$"))


def _keys(text: str) -> bool:
    last = text.rsplit("\n", 1)[-1]
    return "1-9 or" in last or "Space marks" in last


def _is_idle(text: str) -> bool:
    last = text.rsplit("\n", 1)[-1]
    return "(shift+tab)" in last and not _is_running(text)


def _is_running(text: str) -> bool:
    return bool(re.search(r"· (a )?message (now )?(waits|cuts)", text.rsplit("\n", 1)[-1]))


def _wipe(terminal: Terminal, before: str = "") -> None:
    """An empty terminal with the shell's prompt, and nothing above it."""
    terminal.type(f"{before}clear")
    terminal.until("clear")
    terminal.press("Enter")
    terminal.until(lambda text: text.strip() == "$")
    terminal.tmux("clear-history", "-t", "a")


def steady(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, instead in _LAST:
        text = pattern.sub(instead, text)
    return text


@contextmanager
def stage(terminal: Terminal, columns: int, background: str = "") -> Generator[Scenes]:
    """A home and a project whose paths are always of the same length, and a shell in it."""
    with tempfile.TemporaryDirectory(prefix="hf-", dir="/tmp") as short:
        home = Path(short, "home")
        work = home / "shop-project"
        (work / "shop").mkdir(parents=True)
        (work / "shop" / "orders.py").write_text(CODE, encoding="utf-8")
        (work / "AGENTS.md").write_text("# Rules\n\nRun the tests before you end.\n", encoding="utf-8")
        (work / ".claude").mkdir()
        (work / ".claude" / "settings.json").write_text(
            json.dumps({"permissions": {"allow": RULES}}, indent=2), encoding="utf-8"
        )
        terminal.place = work
        xdg = {
            "XDG_CONFIG_HOME": ".config",
            "XDG_STATE_HOME": ".local/state",
            "XDG_DATA_HOME": ".local/share",
            "XDG_CACHE_HOME": ".cache",
        }
        environ = {"HOME": str(home), **{name: str(home / path) for name, path in xdg.items()}}
        environ |= dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "")
        terminal.open(columns, ROWS, environ)
        if background:
            terminal.tmux("set", "-g", "window-style", f"bg={background}")
        _wipe(terminal, f'holdfast() {{ {terminal.program} "$@"; }}; ')
        yield Scenes(terminal, home, columns)
