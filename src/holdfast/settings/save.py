"""Write rules that the user chose to keep into a settings file: atomically, in its layout, never over a broken one."""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from holdfast.contract.names import MODES, as_mode
from holdfast.lib.atomic import ABSENT, Absent, FileChangedError, write_atomic
from holdfast.lib.stamp import Stamp
from holdfast.settings.documents import document, read_text
from holdfast.settings.edit_text import add_to_list, remove_from_list, set_list, set_value
from holdfast.settings.errors import SettingsError
from holdfast.settings.layout import find_layout
from holdfast.settings.model import Behavior
from holdfast.settings.sources import (
    LOCAL_FILE,
    Candidate,
    SettingsRoots,
    SourceKind,
    folder_candidates,
    user_candidates,
)

_ATTEMPTS = 50
_USER_MODE, _PROJECT_MODE = 0o600, 0o644


class SaveTarget(msgspec.Struct, frozen=True):
    """A settings file to write to."""

    file: str
    within: str | None = None
    """The folder the file must really be in; None for the user's own file."""


class Saved(msgspec.Struct, frozen=True):
    """What saving did."""

    path: str
    changed: bool
    created: bool = False


def save_target(
    kind: Literal[SourceKind.USER, SourceKind.PROJECT, SourceKind.LOCAL], cwd: str, roots: SettingsRoots
) -> SaveTarget:
    """Choose the file for a kind: the native one, unless only the existing format's file is there."""
    return save_targets(kind, cwd, roots)[0]


def save_targets(
    kind: Literal[SourceKind.USER, SourceKind.PROJECT, SourceKind.LOCAL], cwd: str, roots: SettingsRoots
) -> tuple[SaveTarget, ...]:
    """The file that `save_target` chooses, and behind it the one in the other format, where there is one."""
    layout = find_layout(cwd, home=roots.home)
    if kind is SourceKind.USER:
        return tuple(SaveTarget(file) for file in _chosen(user_candidates(roots)))
    place = layout.root
    if kind is SourceKind.LOCAL and layout.main_checkout is not None:
        place = layout.main_checkout
    return tuple(SaveTarget(file, within=place) for file in _chosen(folder_candidates(kind, [place])))


def _chosen(found: list[Candidate]) -> tuple[str, ...]:
    existing, native = found[0].path, found[1].path
    if not os.path.lexists(existing):
        return (native,)
    return (native, existing) if os.path.lexists(native) else (existing,)


def places_for_rules(cwd: str) -> dict[str, str]:
    """By the name of the destination: the file that a rule kept there goes to."""
    roots = SettingsRoots.from_environment()
    kinds: dict[str, Literal[SourceKind.USER, SourceKind.PROJECT, SourceKind.LOCAL]] = {
        "localSettings": SourceKind.LOCAL,
        "projectSettings": SourceKind.PROJECT,
        "userSettings": SourceKind.USER,
    }
    return {name: save_targets(kind, cwd, roots)[0].file for name, kind in kinds.items()}


def save_rules(file: str, behavior: Behavior, rules: Sequence[str], *, within: str | None = None) -> Saved:
    """Add rules to a settings file. Rules that are there already are not written twice.

    Args:
        file: The settings file; created when missing (0600 for the user's, 0644 in a project).
        behavior: Which list.
        rules: The rules as text.
        within: For a project's file, the project's folder; a file that really lies elsewhere is refused.

    Raises:
        SettingsError: The file is broken, refused, or cannot be written. It is unchanged then.
    """
    path = ("permissions", behavior)
    return _save(SaveTarget(file, within), lambda text: add_to_list(text, path, rules))


def replace_rules(file: str, behavior: Behavior, rules: Sequence[str], *, within: str | None = None) -> Saved:
    """Let a settings file hold these rules of a behavior and no others; the arguments are those of `save_rules`."""
    path = ("permissions", behavior)
    return _save(SaveTarget(file, within), lambda text: set_list(text, path, rules))


def remove_rules(file: str, behavior: Behavior, rules: Sequence[str], *, within: str | None = None) -> Saved:
    """Take rules out of a settings file."""
    path = ("permissions", behavior)
    return _save(SaveTarget(file, within), lambda text: remove_from_list(text, path, rules) if text else text)


def save_directories(file: str, directories: Sequence[str], *, within: str | None = None) -> Saved:
    """Add additional directories to a settings file."""
    path = ("permissions", "additionalDirectories")
    return _save(SaveTarget(file, within), lambda text: add_to_list(text, path, directories))


def remove_directories(file: str, directories: Sequence[str], *, within: str | None = None) -> Saved:
    """Take additional directories out of a settings file."""
    path = ("permissions", "additionalDirectories")
    return _save(SaveTarget(file, within), lambda text: remove_from_list(text, path, directories) if text else text)


def save_value(file: str, key: tuple[str, ...], value: str | float | bool, *, within: str | None = None) -> Saved:  # noqa: FBT001  # a value, not a switch
    """Set one scalar of a settings file, for example `("permissions", "defaultMode")`. The result must be valid."""
    if key == ("permissions", "defaultMode") and as_mode(value) is None:
        raise SettingsError(
            f"permissions.defaultMode {value!r} is not a mode", path=file, advice=f"Use {', '.join(MODES)}."
        )
    return _save(SaveTarget(file, within), lambda text: set_value(text, key, value))


def _save(target: SaveTarget, edit: Callable[[str], str]) -> Saved:
    real = _resolved(target)
    for _ in range(_ATTEMPTS):
        try:
            return _attempt(real, target, edit)
        except FileChangedError:
            continue
    raise SettingsError("the file is being changed all the time", path=real, advice="Try again.")


def _resolved(target: SaveTarget) -> str:
    real = os.path.realpath(target.file)
    advice = "Remove the link."
    if os.path.islink(target.file) and not os.path.exists(real):
        raise SettingsError("the file is a link to something that does not exist", path=target.file, advice=advice)
    if target.within is None:
        return real
    root = os.path.realpath(target.within)
    if os.path.commonpath([real, root]) != root:
        reason = "the file is really outside its project, so nothing is written"
        raise SettingsError(reason, path=target.file, advice=advice)
    return real


def _attempt(real: str, target: SaveTarget, edit: Callable[[str], str]) -> Saved:
    try:
        before = os.stat(real, follow_symlinks=False)
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise SettingsError(f"the file cannot be reached: {error.strerror}", path=real) from error
    text = read_text(real, private=target.within is None) if before is not None else None
    if text is not None:
        _refuse_broken(text, real)
    changed = edit(text or "")
    if changed == (text or ""):
        return Saved(real, changed=False)
    _refuse_broken(changed, real)
    expect = ABSENT if before is None else Stamp.of(before, sha256=hashlib.sha256((text or "").encode()).hexdigest())
    _write(real, changed.encode(), target, expect)
    if before is None and target.within is not None and os.path.basename(real) == LOCAL_FILE:
        _keep_out_of_git(os.path.dirname(real))
    return Saved(real, changed=True, created=before is None)


def _write(real: str, data: bytes, target: SaveTarget, expect: Stamp | Absent) -> None:
    private = target.within is None
    mode = (_USER_MODE if private else _PROJECT_MODE) if expect is ABSENT else None
    try:
        os.makedirs(os.path.dirname(real), mode=0o700 if private else 0o755, exist_ok=True)
        write_atomic(real, data, mode=mode, expect=expect, links="refuse")
    except FileChangedError:
        raise
    except OSError as error:
        reason = f"the rules were not saved: {error}"
        raise SettingsError(reason, path=real, advice="Check rights and space.") from error


def _keep_out_of_git(folder: str) -> None:
    """Let git ignore the local file that was just made, by a file beside it that ignores itself as well.

    So the repository stays clean, and nothing of git's own is touched. A file that is there is the project's business.
    """
    with suppress(OSError):  # no reason to lose the rules that were saved
        handle = os.open(os.path.join(folder, ".gitignore"), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{LOCAL_FILE}\n.gitignore\n")


def _refuse_broken(text: str, path: str) -> None:
    document(text, Candidate(SourceKind.USER, path, anchor="/", folder="/"))
