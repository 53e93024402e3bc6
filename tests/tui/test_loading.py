"""What a session needs is loaded beside the event loop, which goes on meanwhile."""

import subprocess
import sys

PROGRAM = """
import asyncio, sys
from holdfast.tui.loading import load_beside

async def main():
    before, turns = sys.getswitchinterval(), 0
    loading = asyncio.ensure_future(load_beside())
    while not loading.done():
        await asyncio.sleep(0)
        turns += 1
    print(turns > 50, "holdfast.app.start_agent" in sys.modules, sys.getswitchinterval() == before)

asyncio.run(main())
"""


def test_the_loop_goes_on_while_the_agent_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True True True\n"
