"""What is remembered of a server from run to run: its list of tools, and what each was when the user first met it.

A list that is remembered is offered at once, before the server has started. A pinned tool that says something else
later is off until a person says yes: a server that was approved for one thing must not become another in silence.
"""

import hashlib
import logging
import os

import msgspec

from holdfast.lib.guarded_read import read_guarded
from holdfast.mcp.remote_tool import Listed
from holdfast.settings.directories import private_directory
from holdfast.settings.errors import SettingsError
from holdfast.settings.mcp_servers import ServerEntry
from holdfast.settings.merge import canonical

__all__ = ["PromptArgument", "PromptListed", "Record", "Records", "SkillListed", "record_key"]

_log = logging.getLogger(__name__)
_VERSION = 1
_MAX_BYTES = 48 << 20
"""All pins together always fit: 20,000 names of 256 characters, each written as six bytes at most."""
_MOST_PINS = 20_000


class PromptArgument(msgspec.Struct, frozen=True):
    """What a prompt is called with."""

    name: str
    required: bool = False


class PromptListed(msgspec.Struct, frozen=True):
    """A prompt as a server lists it."""

    name: str
    title: str = ""
    description: str = ""
    arguments: list[PromptArgument] = []


class SkillListed(msgspec.Struct, frozen=True):
    """A skill as a server lists it."""

    uri: str
    name: str
    description: str = ""
    for_model: bool = True
    """False: only a person calls it."""


class Record(msgspec.Struct):
    """What is known of one server."""

    version: int = _VERSION
    name: str = ""
    tools: list[Listed] = []
    pins: dict[str, str] = {}
    """Each tool's identity, by its own name."""
    changed: dict[str, str] = {}
    """Tools that are off, with the identity that waits for a yes."""
    now: dict[str, Listed] = {}
    """What they say now."""
    was: dict[str, Listed] = {}
    """And what they said when they were last on, where that is known."""
    prompts: list[PromptListed] = []
    skills: list[SkillListed] = []
    instructions: str = ""
    is_known: bool = False
    """The server was connected to once."""
    has_resources: bool = False
    is_older: bool = False
    """It spoke the older protocol then."""

    def judge(self, listed: list[Listed], *, pinned: bool) -> list[Listed]:
        """Take a fresh list: who is new is pinned, who has changed is off. Returns those that may be offered."""
        offered: list[Listed] = []
        known = {tool.name: tool for tool in self.tools} | self.was
        self.changed, self.now, self.was = {}, {}, {}
        for tool in listed:
            pin = tool.pin
            is_new = tool.name not in self.pins
            has_room = len(self.pins) < _MOST_PINS
            if not pinned or self.pins.get(tool.name) == pin or (is_new and has_room):
                if not is_new or has_room:
                    self.pins[tool.name] = pin
                offered.append(tool)
            else:
                self.changed[tool.name], self.now[tool.name] = pin, tool
                if tool.name in known:
                    self.was[tool.name] = known[tool.name]
        self.tools = offered
        self.is_known = True
        return offered

    def accept(self, names: list[str] | None = None) -> list[str]:
        """A person has said yes to what changed."""
        accepted = [name for name in self.changed if names is None or name in names]
        if len(self.pins) + len(accepted) > _MOST_PINS:  # what is listed now makes room where it can
            kept = {tool.name for tool in self.tools} | self.changed.keys()
            self.pins = {name: pin for name, pin in self.pins.items() if name in kept}
        for name in accepted:
            self.pins[name] = self.changed.pop(name)
            self.now.pop(name, None)
            self.was.pop(name, None)
        return accepted

    def only_pins(self) -> "Record":
        """What must never be forgotten; all else is asked for again."""
        return Record(name=self.name, pins=self.pins, has_resources=self.has_resources, is_older=self.is_older)


def record_key(entry: ServerEntry, root: str) -> str:
    """The server's identity: its name and whole configuration, and the folder where a folder brings it."""
    place = root if entry.scope == "project" else ""
    return hashlib.sha256(canonical([entry.name, _plain(entry), place])).hexdigest()[:40]


def _plain(entry: ServerEntry) -> object:
    return dict(entry.config)


class Records:
    """The records on disk, one private file for each server. Without a place nothing outlives the session."""

    def __init__(self, directory: str | None) -> None:
        self._directory = directory

    def load(self, key: str) -> Record:
        """The record of a server; a new one when there is none. One that cannot be read is no reason to trust."""
        path = self._path(key)
        if path is None:
            return Record()
        try:
            data = read_guarded(path, limit_bytes=_MAX_BYTES, owner="me", follow=False)
            if data is None:
                return Record()
            found = msgspec.json.decode(data, type=Record)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            _log.warning("the record of an MCP server in %s is not used: %s", path, error)
            return Record()
        return found if found.version == _VERSION else Record()

    def save(self, key: str, record: Record) -> None:
        """Keep a record; who cannot write goes on without."""
        from holdfast.lib.atomic import WriteFailedError, write_atomic  # noqa: PLC0415 - only with servers

        path = self._path(key)
        if path is None:
            return
        try:
            private_directory(os.path.dirname(path))
            data = msgspec.json.encode(record)
            if len(data) > _MAX_BYTES:  # no server can make itself new by saying too much: its pins are always kept
                data = msgspec.json.encode(record.only_pins())
            write_atomic(
                os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)), data, mode=0o600
            )
        except (OSError, SettingsError, WriteFailedError) as error:
            _log.warning("what is known of the MCP server %s is not kept: %s", record.name, error)

    def _path(self, key: str) -> str | None:
        return None if self._directory is None else os.path.join(self._directory, f"{key}.json")
