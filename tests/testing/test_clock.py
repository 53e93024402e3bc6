import asyncio
import socket
import threading
import time

import pytest

from holdfast.testing import Deadlock, VirtualClock, run_virtual


def test_an_hour_of_sleep_takes_no_real_time():
    async def sleep() -> float:
        await asyncio.sleep(3_600)
        return asyncio.get_running_loop().time()

    assert run_virtual(sleep()) == pytest.approx(3_600)


def test_sleepers_wake_in_the_order_of_their_times():
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append(name)

    async def main() -> None:
        await asyncio.gather(sleeper("late", 3), sleeper("early", 1), sleeper("middle", 2))

    run_virtual(main())
    assert woken == ["early", "middle", "late"]


def test_timeouts_fire_in_virtual_time():
    async def main() -> float:
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(90):
                await loop.create_future()
        return loop.time()

    assert run_virtual(main()) == pytest.approx(90)


def test_waiting_for_nothing_is_reported_as_a_deadlock_that_names_the_task():
    async def stuck_forever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="stuck_forever"):
        run_virtual(stuck_forever())


def test_a_deadlock_is_reported_at_the_virtual_time_it_happens():
    async def main() -> None:
        await asyncio.sleep(5)
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match=r"at 5\.000 s"):
        run_virtual(main())


def test_the_result_and_the_errors_of_the_coroutine_come_through():
    async def good() -> int:
        return 42

    async def bad() -> None:
        raise ValueError("no")

    assert run_virtual(good()) == 42
    with pytest.raises(ValueError, match="no"):
        run_virtual(bad())


def test_work_in_threads_takes_no_virtual_time():
    async def main() -> tuple[str, float]:
        timer = asyncio.get_running_loop().create_task(asyncio.sleep(1_000))
        name = await asyncio.to_thread(lambda: threading.current_thread().name)
        now_s = asyncio.get_running_loop().time()
        timer.cancel()
        return name, now_s

    name, now_s = run_virtual(main())
    assert name != threading.main_thread().name
    assert now_s == 0.0


def test_time_moves_on_when_a_thread_does_not_come_back():
    release = threading.Event()

    async def main() -> None:
        asyncio.get_running_loop().call_later(60, release.set)
        await asyncio.to_thread(release.wait, 30)

    run_virtual(main(), outside_wait_s=0.01)
    assert release.is_set()


def test_a_thread_is_waited_for_where_time_cannot_move_on():
    entered, release = threading.Event(), threading.Event()

    def work() -> str:
        entered.set()
        assert release.wait(30)
        time.sleep(0.2)  # longer than the clock waits before it moves on: that is what is tested
        return "done"

    async def main() -> str:
        working = asyncio.get_running_loop().run_in_executor(None, work)
        assert entered.wait(30)
        release.set()
        return await working

    assert run_virtual(main(), outside_wait_s=0.01) == "done"


def test_real_input_is_waited_for():
    async def main() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        line = await reader.readline()
        writer.close()
        await writer.wait_closed()
        return line

    def echo_slowly() -> None:
        connection, _ = listener.accept()
        with connection:
            data = connection.recv(100)
            time.sleep(0.02)  # the other side takes real time: that is what is tested
            connection.sendall(data.upper())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = threading.Thread(target=echo_slowly)
        server.start()
        assert run_virtual(main()) == b"HELLO\n"
        server.join(10)


def test_the_clock_starts_at_zero_and_can_be_used_as_a_plain_event_loop():
    loop = VirtualClock()
    try:
        assert loop.time() == 0.0
        loop.run_until_complete(asyncio.sleep(2))
        assert loop.time() == pytest.approx(2)
    finally:
        loop.close()
