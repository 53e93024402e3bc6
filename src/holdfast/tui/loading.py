"""What a session needs is loaded while its prompt stands there already: what is typed meanwhile is drawn at once."""

import asyncio
import sys
import threading
from contextlib import suppress
from importlib import import_module

__all__ = ["load_beside"]

_MODULES = (
    "holdfast.app.start_agent",
    "holdfast.agent.loop",
    "holdfast.models.open",
    "holdfast.definitions.library",
    "holdfast.engine.pipeline",
    "holdfast.app.lookout",
    "holdfast.app.sandbox",
    "holdfast.tui.ask.trust",
    "holdfast.tui.commands.run",
)
"""In the order in which a start uses them."""
_GIVE_WAY_S = 0.0005


async def load_beside() -> None:
    """Return when all of it is loaded. What cannot be loaded fails again where it is used, and is told there."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    interval_s = sys.getswitchinterval()

    def tell() -> None:
        if not done.done():
            done.set_result(None)

    def load() -> None:
        try:
            with suppress(ImportError):
                for name in _MODULES:
                    import_module(name)
        finally:
            sys.setswitchinterval(interval_s)
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(tell)

    sys.setswitchinterval(_GIVE_WAY_S)
    threading.Thread(target=load, name="holdfast-loading", daemon=True).start()
    await done
