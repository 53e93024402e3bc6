"""The agent's side of the protocol: what an editor may ask, and the sessions that it has opened."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from holdfast import __version__
from holdfast.acp.wire import INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, Peer, RpcError, as_list, as_object
from holdfast.contract.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.acp.session import EditorSession
    from holdfast.app.begin import SessionChoice
    from holdfast.app.options import AgentOptions, Options

__all__ = ["AgentServer"]

Fields = dict[str, Any]
VERSION = 1
_PAGE = 50
_AUTH_REQUIRED = -32000


class AgentServer:
    """Answers the requests of one editor. Several sessions may be open, in several folders."""

    def __init__(self, write: Callable[[bytes], None], choices: "Callable[[], tuple[Options, AgentOptions]]") -> None:
        """`choices` gives what the command line asked for; it is called when the first session begins."""
        self.peer = Peer(write, self._handle)
        self._choices = choices
        self._capabilities: Mapping[str, Any] = {}
        self._sessions: dict[str, EditorSession] = {}
        self._methods: dict[str, Callable[[Fields], Awaitable[Any]]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    async def _handle(self, method: str, params: Fields) -> Any:
        doing = self._methods.get(method)
        if doing is None:
            raise RpcError(METHOD_NOT_FOUND, f"the method {method!r} is not known here")
        return await doing(params)

    async def close(self) -> None:
        """End every session; what is under way is answered as stopped."""
        self.peer.hang_up()
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.cancel()
        await self.peer.settle()
        for session in sessions:
            await session.close()

    # The connection.

    async def _initialize(self, params: Fields) -> Fields:
        self._capabilities = as_object(params.get("clientCapabilities"))
        return {
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "additionalDirectories": {}},
            },
            "agentInfo": {"name": "holdfast", "title": "Holdfast", "version": __version__},
            "authMethods": [],
        }

    async def _authenticate(self, params: Fields) -> NoReturn:
        raise RpcError(
            INVALID_PARAMS,
            f"there is no way to sign in called {params.get('methodId')!r}; set the key of the model's provider in the "
            "environment of the editor, or name a model with --model",
        )

    # Sessions.

    async def _new(self, params: Fields) -> Fields:
        session = await self._open(params)
        self._later(session.show)
        return {"sessionId": session.id, **session.state()}

    async def _load(self, params: Fields) -> Fields:
        session = await self._reopen(params)
        session.show_history()
        self._later(session.show)
        return session.state()

    async def _resume(self, params: Fields) -> Fields:
        session = await self._reopen(params)
        self._later(session.show)
        return session.state()

    async def _reopen(self, params: Fields) -> "EditorSession":
        from holdfast.app.begin import SessionChoice  # noqa: PLC0415 - initialize is answered without it

        id_ = _text(params, "sessionId")
        before = self._sessions.pop(id_, None)
        if before is not None:
            await before.cancel()
            await before.close()
        return await self._open(params, SessionChoice(resume=id_))

    async def _open(self, params: Fields, choice: "SessionChoice | None" = None) -> "EditorSession":
        cwd = _text(params, "cwd")
        if not os.path.isabs(cwd) or not os.path.isdir(cwd):
            raise RpcError(INVALID_PARAMS, f"cwd must be the absolute path of a directory, got {cwd!r}")
        session = await asyncio.to_thread(self._made, params, cwd)
        from holdfast.app.begin import NEW_SESSION  # noqa: PLC0415 - loaded just now
        from holdfast.models.errors import ModelError  # noqa: PLC0415 - the same
        from holdfast.session.errors import SessionError  # noqa: PLC0415 - the same

        try:
            await session.begin(choice or NEW_SESSION)
        except ModelError as error:
            raise RpcError(_AUTH_REQUIRED, str(error)) from error
        except SessionError as error:
            raise RpcError(NOT_FOUND, str(error)) from error
        self._sessions[session.id] = session
        return session

    def _made(self, params: Fields, cwd: str) -> "EditorSession":
        """In a thread: it loads most of the program, and the editor may go on talking."""
        from holdfast.acp.consent import servers_of  # noqa: PLC0415 - see above
        from holdfast.acp.session import EditorSession, Wanted  # noqa: PLC0415 - the same

        options, agent = self._choices()
        more = as_list(params.get("additionalDirectories"))
        if not all(isinstance(path, str) for path in more):
            raise RpcError(INVALID_PARAMS, "additionalDirectories must be a list of paths")
        added = (*options.add_dirs, *more)
        wanted = Wanted(options._replace(cwd=cwd, add_dirs=added), agent, servers_of(params.get("mcpServers")))
        return EditorSession(self.peer, wanted, self._capabilities)

    async def _list(self, params: Fields) -> Fields:
        from datetime import UTC, datetime  # noqa: PLC0415 - only here

        from holdfast.session import user_store  # noqa: PLC0415 - as above
        from holdfast.session.summaries import list_sessions  # noqa: PLC0415 - the same

        cwd = params.get("cwd")
        found = await asyncio.to_thread(list_sessions, user_store(), str(cwd) if cwd else None)
        cursor = params.get("cursor")
        first = int(cursor) if isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() else 0
        page = [
            {
                "sessionId": one.id,
                "cwd": one.project,
                "title": one.title or None,
                "updatedAt": datetime.fromtimestamp(one.active_at, UTC).isoformat(),
            }
            for one in found[first : first + _PAGE]
        ]
        more = {"nextCursor": str(first + _PAGE)} if len(found) > first + _PAGE else {}
        return {"sessions": page, **more}

    async def _close(self, params: Fields) -> Fields:
        session = self._session(params)
        del self._sessions[session.id]
        await session.cancel()
        await session.close()
        return {}

    # In a session.

    async def _prompt(self, params: Fields) -> Fields:
        return await self._session(params).prompt(params.get("prompt"))

    async def _cancel(self, params: Fields) -> None:
        await self._session(params).cancel()

    async def _set_mode(self, params: Fields) -> Fields:
        try:
            self._session(params).set_mode(_text(params, "modeId"))
        except HoldfastError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from error
        return {}

    async def _set_option(self, params: Fields) -> Fields:
        session = self._session(params)
        return {"configOptions": session.set_option(_text(params, "configId"), params.get("value"))}

    def _session(self, params: Fields) -> "EditorSession":
        found = self._sessions.get(_text(params, "sessionId"))
        if found is None:
            raise RpcError(NOT_FOUND, f"no session {params['sessionId']!r} is open; open it with session/load")
        return found

    @staticmethod
    def _later(show: Callable[[], None]) -> None:
        """Show it behind the answer: before that the editor does not know the session."""
        asyncio.get_running_loop().call_soon(show)


def _text(params: Fields, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise RpcError(INVALID_PARAMS, f"{name} must be a string, got {value!r}")
    return value
