"""Headers that a program of the user knows, such as a token that changes."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from holdfast.host.command import Command, StartError
from holdfast.lib.visible import visible
from holdfast.mcp.auth.badge import AskPerson, Refused
from holdfast.mcp.config import ServerConfig
from holdfast.mcp.wire import McpError

if TYPE_CHECKING:
    from holdfast.mcp.connect import Surroundings

__all__ = ["HelpedBadge"]

_HELPER_S = 10.0


class HelpedBadge:
    """What the program printed last; it is asked again when the server refuses that."""

    def __init__(self, config: ServerConfig, around: "Surroundings") -> None:
        self._config = config
        self._around = around
        self._fixed = {name.lower(): value for name, value in config.headers.items()}
        self._helped: dict[str, str] = {}
        self._lock = asyncio.Lock()

    @property
    def mark(self) -> str:
        """What the program printed."""
        return str(self._helped)

    def headers(self) -> Mapping[str, str]:
        """Those of the configuration, and on top what the program printed."""
        return {**self._fixed, **self._helped}

    async def renew(self, refused: Refused, ask: AskPerson | None) -> None:
        """Ask the program again; the same answer again is no help."""
        del ask
        async with self._lock:
            if self.mark != refused.mark:
                return
            await self.ask_program()
            if self.mark == refused.mark:
                raise McpError(
                    f"The MCP server {self._config.name!r} refuses what its headersHelper prints (HTTP "
                    f"{refused.status}); run that program and look."
                )

    async def ask_program(self) -> None:
        """Run the program.

        Raises:
            McpError: It failed, or printed something else.
        """
        config, around = self._config, self._around
        told = {"MCP_SERVER_NAME": config.name, "MCP_SERVER_URL": config.url}
        command = Command(
            argv=["/bin/sh", "-c", config.headers_helper],
            cwd=around.cwd,
            env={
                "CLAUDE_PROJECT_DIR": around.root,
                "HOLDFAST_PROJECT_DIR": around.root,
                **{f"{prefix}_{name}": value for prefix in ("CLAUDE_CODE", "HOLDFAST") for name, value in told.items()},
            },
            timeout_s=_HELPER_S,
            label=f"headersHelper of {config.name}",
        )
        try:
            finished = await around.processes().run(await around.confined(config, command))
        except StartError as error:
            raise McpError(f"The headersHelper of {config.name!r} cannot be started: {error}") from error
        try:
            found = msgspec.json.decode(finished.output.stdout.text(), type=dict[str, str])
        except (msgspec.MsgspecError, RecursionError) as error:
            said = visible(finished.output.stderr.last_lines(3).strip(), limit_chars=300)
            raise McpError(
                f"The headersHelper of {config.name!r} did not print a JSON object of strings: {error}."
                + (f" It said: {said}" if said else "")
            ) from error
        self._helped = {name.lower(): value for name, value in found.items()}
