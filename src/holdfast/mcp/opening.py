"""A connection, from nothing to a greeting: servers of earlier years need a second try that suits them better."""

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager

from holdfast.lib.visible import visible
from holdfast.mcp.config import ServerConfig
from holdfast.mcp.connect import Surroundings, open_transport
from holdfast.mcp.handshake import Era, Greeting, LostByQuestionError, greet
from holdfast.mcp.session import Session
from holdfast.mcp.wire import McpError, RpcError

__all__ = ["in_our_words", "opened"]

_log = logging.getLogger(__name__)
_SAID_CHARS = 500
_NOT_HERE = frozenset({400, 404, 405})
"""With these an address of the transport of 2024 answers a request of today's, says the protocol."""


@contextmanager
def in_our_words(name: str) -> Generator[None]:
    """What a server says when it refuses us is told as its words: nobody must take them for ours.

    Raises:
        McpError: It refused.
    """
    try:
        yield
    except RpcError as error:
        said = visible(str(error), limit_chars=_SAID_CHARS)
        raise McpError(f"The MCP server {visible(name)!r} refused to begin: {said}") from error


async def opened(
    make: Callable[[], Session], config: ServerConfig, around: Surroundings, era: Era
) -> tuple[Session, Greeting]:
    """Reach the server and begin.

    Args:
        make: A session for one try.
        config: The server.
        around: What all servers share.
        era: What it spoke the last time.

    Raises:
        McpError: That is not possible.
    """
    try:
        return await _tried(make(), config, around, era)
    except LostByQuestionError:
        # Programs of the first years end when they are asked something that they do not know.
        _log.info("the MCP server %s ended at the newer protocol's first question; it is started again", config.name)
        return await _tried(make(), config, around, "only older")
    except RpcError as error:
        if config.kind != "http" or not isinstance(error.data, dict) or error.data.get("status") not in _NOT_HERE:  # pyright: ignore[reportUnknownMemberType]
            raise
        try:
            return await _tried(make(), config._replace(kind="sse"), around, "only older")
        except McpError as second:
            _log.debug("%s does not speak the older transport either: %s", config.name, second)
            raise error from second


async def _tried(session: Session, config: ServerConfig, around: Surroundings, era: Era) -> tuple[Session, Greeting]:
    try:
        await open_transport(session, config, around)
        greeting = await greet(
            session,
            around.capabilities(config.name),
            who=around.who,
            timeout_s=around.startup_s,
            era=era,
            may_be_silent=config.kind == "stdio",
        )
    except BaseException:
        await session.close()
        raise
    return session, greeting
