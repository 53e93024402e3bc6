import asyncio
import os
import select

import pytest

from holdfast.host.command import Command, Stdin
from holdfast.host.poller import Poller
from holdfast.host.processes import Processes


@pytest.mark.parametrize("has_epoll", [True, False])
def test_processes_work_with_and_without_epoll(has_epoll: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        if not has_epoll:
            monkeypatch.delattr(select, "epoll")
        async with Processes() as processes:
            done = await processes.run(Command(argv=["/bin/bash", "-c", "cat; yes | head -c 5000000"], stdin=b"hello"))
            assert done.output.total_bytes == 5_000_005
            server = await processes.start(Command(argv=["/bin/cat"], stdin=Stdin.PIPE, streams_stdout=True))
            await server.write(b"line\n")
            assert await server.read() == b"line\n"
            late = await processes.run(Command(argv=["/bin/sleep", "100"], timeout_s=0.05))
            assert late.exit.timed_out

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_callback_may_remove_another_of_the_same_round() -> None:
    async def main() -> list[str]:
        poller = Poller(asyncio.get_running_loop())
        pipes = [os.pipe() for _ in range(2)]
        called: list[str] = []

        def first() -> None:
            called.append("one of two")
            for ours, _ in pipes:
                poller.remove(ours)

        for ours, theirs in pipes:
            poller.add(ours, first)
            os.write(theirs, b"x")
        await asyncio.sleep(0.05)
        for pair in pipes:
            for fd in pair:
                os.close(fd)
        poller.close()
        poller.close()
        return called

    assert asyncio.run(main()) == ["one of two"]


def test_one_owner_serves_one_loop() -> None:
    processes = Processes()
    home = asyncio.new_event_loop()
    home.run_until_complete(_true(processes))
    with pytest.raises(ValueError, match="another event loop"):
        asyncio.run(_true(processes))
    home.run_until_complete(processes.close())
    home.close()


async def _true(processes: Processes) -> None:
    await processes.run(Command(argv=["/bin/true"]))
