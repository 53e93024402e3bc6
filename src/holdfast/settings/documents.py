"""One settings source as it was written: read, parsed, checked, not yet judged or merged."""

import os

import msgspec

from holdfast.lib.guarded_read import ReadRefusedError, read_guarded
from holdfast.lib.positions import MAX_BYTES, JsonTextError, Object, decode, parse
from holdfast.settings.errors import SettingsError
from holdfast.settings.schema import Flaw, check, describe, normalised
from holdfast.settings.sources import Candidate, SourceKind

_ADVICE = (
    "Its rules are not known, so nothing is started; --setting-sources can leave out the file of the user, the project "
    "or the local one."
)
_ADVICE_NAMED = '--settings takes a regular file, or the JSON text itself, such as --settings "$(cat FILE)".'


class Document(msgspec.Struct, frozen=True):
    """A settings source with the places of its values."""

    kind: SourceKind
    root: Object
    anchor: str
    folder: str
    path: str | None = None
    """The file; None for text and flags of the command line and for session settings."""
    flaws: tuple[Flaw, ...] = ()


def read_document(candidate: Candidate) -> Document | None:
    """Read a candidate, or return None when the file does not exist.

    Raises:
        SettingsError: The file is there but cannot be used.
    """
    text = read_text(candidate.path, private=not candidate.kind.is_folder)
    if text is None:
        if candidate.required:
            raise SettingsError("the settings file does not exist", path=candidate.path, advice="Check the path.")
        return None
    return document(text, candidate)


def read_text(path: str, *, private: bool, advice: str = _ADVICE) -> str | None:
    """Read the text of a settings file; `private` files must belong to the user and be writable by nobody else."""
    try:
        data = read_guarded(path, limit_bytes=MAX_BYTES, owner="me" if private else "anyone")
    except ReadRefusedError as error:
        raise SettingsError(f"the file is refused: {error.reason}", path=path, advice=advice) from error
    except OSError as error:
        raise SettingsError(f"the file cannot be read: {error.strerror}", path=path, advice=advice) from error
    except ValueError as error:  # a NUL byte in the path
        raise SettingsError("the path cannot be used", path=path) from error
    if data is None:
        return None
    try:
        return decode(data)
    except JsonTextError as error:
        raise _broken(error, path) from error


def document(text: str, candidate: Candidate, *, path: str | None = None) -> Document:
    """Parse and check settings text."""
    shown = path or candidate.path
    try:
        node = parse(text)
    except JsonTextError as error:
        raise _broken(error, shown) from error
    if not isinstance(node, Object):
        raise SettingsError(
            f"settings must be an object, not {describe(node)}",
            path=shown,
            line=node.line,
            advice="Start with { and end with }.",
        )
    return checked(node, candidate, path=shown)


def checked(node: Object, candidate: Candidate, *, path: str | None, strict: bool = False) -> Document:
    """Check a parsed source and make the document of it; `strict`: it is no file, so an unknown mode is an error."""
    root = normalised(node)
    flaws = check(root, path=path or candidate.path, strict=strict, is_folder=candidate.kind.is_folder)
    return Document(
        candidate.kind, root, anchor=candidate.anchor, folder=candidate.folder, path=path, flaws=tuple(flaws)
    )


def _broken(error: JsonTextError, path: str) -> SettingsError:
    return SettingsError(
        f"this is not valid JSON: {error.reason}",
        path=path,
        line=error.line,
        column=error.column,
        advice=f"Correct the file. {_ADVICE}",
    )


def command_line_path(value: str, *, cwd: str, home: str) -> str:
    """Return the file that a value of `--settings` names."""
    return os.path.normpath(os.path.join(cwd, home + value[1:] if value.startswith("~/") else value))


def command_line_settings(value: str, *, cwd: str, home: str) -> Document:
    """Read the value of `--settings`: JSON text when it starts with a brace, else a file."""
    if value.lstrip().startswith("{"):
        place = Candidate(SourceKind.COMMAND_LINE, "--settings", anchor=cwd, folder=cwd)
        return document(value, place, path="--settings")
    path = command_line_path(value, cwd=cwd, home=home)
    where = os.path.dirname(path)
    candidate = Candidate(SourceKind.COMMAND_LINE, path, anchor=where, folder=where, required=True)
    text = read_text(path, private=False, advice=_ADVICE_NAMED)
    if text is None:
        raise SettingsError("the file named by --settings does not exist", path=path, advice="Check the path.")
    return document(text, candidate)
