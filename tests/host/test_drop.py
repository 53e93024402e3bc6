import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.host import capture, drop
from holdfast.host.capture import Output
from holdfast.host.command import Command
from holdfast.host.processes import Processes


def test_without_a_handle_for_nowhere_everything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(24, "Too many open files")

    class Greedy:
        def add(self, data: bytes | memoryview) -> None: ...

        def skip(self, waiting_bytes: int, drop: Callable[[int], int]) -> bool:
            return bool(drop(waiting_bytes))

    monkeypatch.setattr(os, "open", refuse)
    dropper = drop.Dropper(0)
    assert not any(dropper.drops_some(Greedy()) for _ in range(2))
    dropper.close()


@pytest.mark.skipif(not hasattr(os, "splice"), reason="needs splice")
def test_what_nobody_wants_is_dropped_unseen_and_the_end_is_still_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "LINES_COUNTED_WITHIN_BYTES", 1 << 20)
    monkeypatch.setattr(capture, "_WORTH_DROPPING_BYTES", 1000)
    monkeypatch.setattr(drop, "_FRESH_S", 1000.0)
    dropped: list[int] = []
    splice = os.splice

    def counted(source: int, target: int, count: int) -> int:
        dropped.append(splice(source, target, count))
        return dropped[-1]

    monkeypatch.setattr(os, "splice", counted)
    content = b"".join(b"%d\n" % number for number in range(10_000_000, 12_000_000))
    file = tmp_path / "numbers"
    file.write_bytes(content)

    async def work() -> Output:
        async with Processes() as processes:
            return (await processes.run(Command(argv=["cat", str(file)], kept_bytes=1000))).output

    output = asyncio.run(asyncio.wait_for(work(), 60))
    assert sum(dropped) > 0
    assert output.total_bytes == len(content)
    assert output.stdout.kept() == (content[:1000], len(content) - 2000, content[-1000:])
