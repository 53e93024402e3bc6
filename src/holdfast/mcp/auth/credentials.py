"""What a server gave us when the user logged in: kept in the system's key ring, or in a file for the user alone."""

import hashlib
import logging
import os
import time
from typing import Any, Literal, Protocol, cast

import msgspec

from holdfast.lib.guarded_read import read_guarded
from holdfast.settings.directories import private_directory
from holdfast.settings.errors import SettingsError
from holdfast.settings.merge import canonical

__all__ = ["CredentialStore", "Credentials", "credential_key"]

_log = logging.getLogger(__name__)
_VERSION = 1
_MAX_BYTES = 1 << 20
_SERVICE = "holdfast-mcp"
_EARLY_S = 30.0

Place = Literal["auto", "file", "keyring"]


class Credentials(msgspec.Struct):
    """One login. The parts are kept as the servers gave them."""

    version: int = _VERSION
    name: str = ""
    url: str = ""
    token: dict[str, Any] = {}
    expires_at: float | None = None
    client: dict[str, Any] = {}
    """How the authorization server knows us."""
    metadata: dict[str, Any] = {}
    """What the authorization server says about itself, so that a token can be renewed without asking again."""
    resource: dict[str, Any] = {}

    @property
    def access_token(self) -> str:
        """What goes with each request; empty when there is none."""
        found = self.token.get("access_token")
        return found if isinstance(found, str) else ""

    @property
    def can_renew(self) -> bool:
        """A new token can be had without a person."""
        return bool(self.token.get("refresh_token") and self.client)

    @property
    def is_over(self) -> bool:
        """The token has ended, or is about to."""
        return self.expires_at is not None and time.time() >= self.expires_at - _EARLY_S


def credential_key(name: str, url: str, place: str) -> str:
    """Whose login it is: the server's name and address, and the folder where a folder brings it."""
    return hashlib.sha256(canonical([name, url, place])).hexdigest()[:40]


class CredentialStore:
    """Keeps logins. Without a directory they end with the session."""

    def __init__(self, directory: str | None, place: Place = "auto") -> None:
        """Take the directory of the files, and whether the system's key ring is used where there is one."""
        self._directory = directory
        self._place = place
        self._held: dict[str, Credentials] = {}

    def load(self, key: str) -> Credentials:
        """The login of a server; an empty one when there is none, or it cannot be read."""
        if key in self._held:
            return self._held[key]
        data: bytes | None = None
        ring = self._ring()
        if ring is not None:
            data = _from_ring(ring, key)
        if data is None:
            data = self._from_file(key)
        found = _decoded(data) if data is not None else None
        self._held[key] = found or Credentials()
        return self._held[key]

    def save(self, key: str, credentials: Credentials) -> None:
        """Keep a login; who cannot write keeps it for this session."""
        self._held[key] = credentials
        data = msgspec.json.encode(credentials)
        ring = self._ring()
        if ring is not None and _to_ring(ring, key, data):
            self._remove_file(key)
            return
        self._to_file(key, data)

    def forget(self, key: str) -> bool:
        """Take a login away; false when there was none."""
        was_there = bool(self.load(key).token or self._held[key].client)
        self._held[key] = Credentials()
        ring = self._ring()
        if ring is not None:
            _drop_from_ring(ring, key)
        self._remove_file(key)
        return was_there

    def _ring(self) -> "_Ring | None":
        if self._place == "file":
            return None
        try:
            import keyring  # type: ignore[import-not-found]  # noqa: PLC0415 - not everybody has it
        except ImportError:
            if self._place == "keyring":
                _log.warning("the setting mcp.tokens is keyring, but the package keyring is missing; a file is used")
                self._place = "file"
            return None
        return cast("_Ring", keyring)

    def _path(self, key: str) -> str | None:
        return None if self._directory is None else os.path.join(self._directory, f"{key}.json")

    def _from_file(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            return None if path is None else read_guarded(path, limit_bytes=_MAX_BYTES, owner="me", follow=False)
        except OSError as error:
            _log.warning("the login in %s is not used: %s", path, error)
            return None

    def _to_file(self, key: str, data: bytes) -> None:
        from holdfast.lib.atomic import WriteFailedError, write_atomic  # noqa: PLC0415 - only with a login

        path = self._path(key)
        if path is None:
            return
        try:
            directory = private_directory(os.path.dirname(path))
            write_atomic(os.path.join(os.path.realpath(directory), os.path.basename(path)), data, mode=0o600)
        except (OSError, SettingsError, WriteFailedError) as error:
            _log.warning("the login cannot be kept beyond this session: %s", error)

    def _remove_file(self, key: str) -> None:
        path = self._path(key)
        if path is not None:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
            except OSError as error:
                _log.warning("the login in %s cannot be taken away: %s", path, error)


class _Ring(Protocol):
    """What the package `keyring` offers."""

    def get_password(self, service_name: str, username: str) -> str | None: ...

    def set_password(self, service_name: str, username: str, password: str) -> None: ...

    def delete_password(self, service_name: str, username: str) -> None: ...


def _from_ring(ring: _Ring, key: str) -> bytes | None:
    try:
        found = ring.get_password(_SERVICE, key)
    except Exception as error:  # noqa: BLE001 - a foreign package in front of a foreign service
        _log.warning("the key ring cannot be read: %s", error)
        return None
    return None if found is None else found.encode()


def _to_ring(ring: _Ring, key: str, data: bytes) -> bool:
    try:
        ring.set_password(_SERVICE, key, data.decode())
    except Exception as error:  # noqa: BLE001 - the same
        _log.warning("the key ring takes nothing, so that the login goes to a file: %s", error)
        return False
    return True


def _drop_from_ring(ring: _Ring, key: str) -> None:
    try:
        ring.delete_password(_SERVICE, key)
    except Exception as error:  # noqa: BLE001 - the same; one that is not there is an error to some rings
        _log.debug("the key ring dropped nothing: %s", error)


def _decoded(data: bytes) -> Credentials | None:
    try:
        found = msgspec.json.decode(data, type=Credentials)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _log.warning("a login that was kept cannot be read: %s", error)
        return None
    return found if found.version == _VERSION else None
