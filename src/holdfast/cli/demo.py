"""`holdfast demo`: a scripted model at work on a copied sample project, with real tools, for a person to watch."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import click

from holdfast.app import Options, build_executor
from holdfast.contract import Tool, tool
from holdfast.engine import Executor
from holdfast.events import CallFinished, CallStarted, Event

__all__ = ["command"]

_BAR = 44
_LOG_LINES = 4_000


class _Arrival(NamedTuple):
    """A call, and how long after the previous one the model has finished writing it."""

    after_s: float
    name: str
    input: dict[str, Any]


@tool(read_only=True, concurrency_safe=True)
async def check(part: str) -> str:
    """Check one part of the project; it takes a while, as checks do."""
    await asyncio.sleep(0.6)
    return f"{part}: checked"


@tool
async def publish(version: str) -> str:
    """Publish a version to everybody."""
    return f"published {version}"


_EXPLORE = (
    _Arrival(0.0, "check", {"part": "prices"}),
    _Arrival(0.1, "check", {"part": "orders"}),
    _Arrival(0.1, "Read", {"file_path": "orders.py"}),
    _Arrival(0.1, "Read", {"file_path": "prices.py"}),
    _Arrival(0.1, "Grep", {"pattern": "DISCOUNT", "output_mode": "content"}),
    _Arrival(0.1, "Glob", {"pattern": "**/*.py"}),
)
_REFUSED = (
    _Arrival(0.0, "publish", {"version": "1.0"}),
    _Arrival(0.0, "Read", {"file_path": "orders.py", "lines": 3}),
    _Arrival(0.0, "Glob", {"pattern": "*.md"}),
)
_SPILLED = (_Arrival(0.0, "Grep", {"pattern": "order", "path": "shop.log", "output_mode": "content", "head_limit": 0}),)


@click.command("demo")
def command() -> int:
    """Show the main job on a sample project, no key needed."""
    with _sample_project() as project:
        click.echo(f"A copy of a small project, a scripted model, real tools. Nothing leaves {project}.\n")
        asyncio.run(_show(project))
    click.echo('Next: holdfast tools · holdfast call Read \'{"file_path": "README.md"}\' · holdfast exec --help')
    return 0


@contextmanager
def _sample_project() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as directory:
        project = Path(directory, "shop")
        with as_file(files("holdfast.cli").joinpath("demo_project")) as source:
            shutil.copytree(source, project, ignore=shutil.ignore_patterns("__pycache__"))
        log = "".join(f"2026-11-{n % 28 + 1:02} order {n:05} packed and shipped\n" for n in range(_LOG_LINES))
        project.joinpath("shop.log").write_text(log, encoding="utf-8")
        yield project


async def _show(project: Path) -> None:
    tools: tuple[Tool, ...] = (check, publish)
    stage = _Stage()
    executor = build_executor(
        Options(cwd=str(project), own_tools=tools, disallowed_tools=("Glob(*.key)",)), on_event=stage.note
    )
    async with executor:
        _title("1. Calls start while the model is still writing, and run side by side")
        await stage.play(executor, _EXPLORE)
        stage.draw()
        _title("2. What is not allowed or not right is answered, never dropped")
        await stage.play(executor, _REFUSED)
        stage.list_replies()
        _title("3. A result too long for a model goes to disk")
        await stage.play(executor, _SPILLED)
        stage.list_replies(keep_last=True)


class _Stage:
    """Plays a turn as a streaming model would and remembers when what happened."""

    def __init__(self) -> None:
        self._began = 0.0
        self._calls: list[_Arrival] = []
        self._arrived: list[float] = []
        self._started: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._replies: list[CallFinished] = []
        self._stream_end = 0.0

    def note(self, event: Event) -> None:
        """Remember when a call started; its reply tells how long it took."""
        if isinstance(event, CallStarted):
            self._started[event.tool_use_id] = time.perf_counter() - self._began

    async def play(self, executor: Executor, calls: Sequence[_Arrival]) -> None:
        """Stream the calls in, collect the replies."""
        self.__init__()
        self._began = time.perf_counter()
        self._calls = list(calls)
        for number, call in enumerate(calls):
            await asyncio.sleep(call.after_s)
            self._arrived.append(time.perf_counter() - self._began)
            executor.add({"type": "tool_use", "id": f"call{number}", "name": call.name, "input": call.input})
        self._stream_end = time.perf_counter() - self._began
        async for event in executor.results():
            if isinstance(event, CallFinished):
                self._replies.append(event)
                took_s = event.duration_ms / 1000
                self._ended[event.tool_use_id] = self._started.get(event.tool_use_id, 0.0) + took_s
        executor.end_turn()

    def draw(self) -> None:
        """One bar per call: when the model had written it (·), when it ran (█), when the stream ended (│)."""
        whole = max([*self._ended.values(), self._stream_end])
        for number, call in enumerate(self._calls):
            began, ended = self._started[f"call{number}"], self._ended[f"call{number}"]
            start, length = int(began / whole * _BAR), max(1, round((ended - began) / whole * _BAR))
            bar = " " * start + click.style("█" * min(length, _BAR - start), fg="green")
            label = f"{call.name} {next(iter(call.input.values()))}"
            click.echo(f"  {label:<16.16} {bar}{' ' * (_BAR - start - length)} {(ended - began) * 1000:6.1f} ms")
        alone = sum(self._ended[key] - self._started[key] for key in self._ended)
        click.echo(f"  {'model writes':<16} {click.style('─' * int(self._stream_end / whole * _BAR), fg='cyan')}")
        click.echo(
            f"  Everything answered {whole:.2f} s after the first word; one after the other it would have been "
            f"{self._stream_end + alone:.2f} s. Replies came back in the order of the calls: "
            f"{', '.join(reply.name for reply in self._replies)}.\n"
        )

    def list_replies(self, *, keep_last: bool = False) -> None:
        """Each reply as the model reads it, shortened for the screen."""
        for call, reply in zip(self._calls, self._replies, strict=True):
            mark = click.style("✗", fg="red") if reply.is_error else click.style("✓", fg="green")
            shown = str(reply.content).strip().splitlines()
            click.echo(f"  {mark} {call.name}({', '.join(f'{k}={v}' for k, v in call.input.items())})")
            for line in shown[:1] + (["…", shown[-1]] if keep_last else []):
                click.echo(f"      {line}")
        click.echo()


def _title(text: str) -> None:
    click.echo(click.style(text, bold=True))
