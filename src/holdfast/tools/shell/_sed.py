"""`sed -i` as an edit that can be shown before it happens: what was shown is what is written."""

import os
import subprocess
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from holdfast.contract import FileRead, FileStamp, ToolContext, ToolFailed, ToolResult
from holdfast.host.child_env import child_environment
from holdfast.host.programs import find_program
from holdfast.lib.atomic import FileChangedError, write_atomic
from holdfast.lib.diff import git_diff, hunks_of, span_between
from holdfast.lib.handles import regular_file
from holdfast.lib.resolve import resolve_path
from holdfast.lib.stamp import Stamp, hash_bytes
from holdfast.permissions import shell
from holdfast.tools.shell._output import BashOutput

__all__ = ["SedEdit", "SedPreview", "apply_sed_edit", "preview_sed_edit", "write_shown_edit"]

_LIMIT_BYTES = 10 << 20
_LIMIT_S = 5.0
_IN_PLACE = frozenset({"-i", "--in-place"})
_FLAGS = frozenset({"-E", "-r", "--regexp-extended", "-n", "--quiet", "--silent", "-z", "--null-data", "--posix"})


class SedEdit(BaseModel):
    """The edit that was shown; only the approval layer makes one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file_path: str
    """Resolved."""
    old_sha256: str
    new_content: bytes


class SedPreview(NamedTuple):
    """What to show, and what to do once it was approved."""

    diff: str
    edit: SedEdit


class _Parsed(NamedTuple):
    options: list[str]
    scripts: list[str]
    file: str


def preview_sed_edit(command: str, cwd: str) -> SedPreview | None:
    """The effect of a plain `sed -i SCRIPT FILE` as a diff; None when the command is anything else.

    Nothing is changed. The script runs in sed's own sandbox on a copy of the content, so the diff is exactly what this
    machine's sed would do. It may take as long as sed does, at most five seconds: call it in a thread.
    """
    parsed = _parse(command)
    sed = find_program("sed", outside=(cwd,), path="/usr/local/bin:/usr/bin:/bin")
    if parsed is None or sed is None:
        return None
    try:
        resolved = resolve_path(os.path.join(cwd, parsed.file))
        if resolved.kernel is not None:
            return None
        with regular_file(resolved.path) as handle:
            if os.fstat(handle).st_size > _LIMIT_BYTES:
                return None
            old = os.pread(handle, _LIMIT_BYTES + 1, 0)
        argv = [sed, "--sandbox", *parsed.options, *(word for script in parsed.scripts for word in ("-e", script))]
        done = subprocess.run(
            argv, input=old, capture_output=True, timeout=_LIMIT_S, check=False, cwd="/", env=child_environment()
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if done.returncode or len(old) > _LIMIT_BYTES:
        return None
    spans = span_between(old, done.stdout)
    diff = git_diff(resolved.path.lstrip("/"), hunks_of(old, spans)) if spans else ""
    edit = SedEdit(file_path=resolved.path, old_sha256=hash_bytes(old), new_content=done.stdout)
    return SedPreview(diff, edit)


def apply_sed_edit(edit: SedEdit) -> FileRead:
    """Write exactly what was shown, if the file is still what it was then.

    Raises:
        ToolFailed: It changed meanwhile, or cannot be written.
    """
    try:
        with regular_file(edit.file_path) as handle:
            stamp = Stamp.of(os.fstat(handle))
            if hash_bytes(os.pread(handle, _LIMIT_BYTES + 1, 0)) != edit.old_sha256:
                raise ToolFailed(f"{edit.file_path!r} changed after the edit was shown; nothing was written. Try again")
            written = write_atomic(edit.file_path, edit.new_content, expect=stamp, links="refuse")
    except FileChangedError as error:
        raise ToolFailed(f"{edit.file_path!r} changed after the edit was shown; nothing was written") from error
    except OSError as error:
        raise ToolFailed(f"{edit.file_path!r} could not be written: {error.strerror or error}") from error
    new = written.stamp
    digest = hash_bytes(edit.new_content)
    return FileRead(
        edit.file_path,
        FileStamp(
            new.dev,
            new.ino,
            new.size,
            new.mtime_ns,
            digest,
            whole=False,
            ctime_ns=new.ctime_ns,
            content_sha256=digest,
            shown=(0, 0),
        ),
    )


def write_shown_edit(edit: SedEdit, ctx: ToolContext) -> ToolResult[BashOutput]:
    """Do what was approved, in place of the command; a file that the model has read stays read."""
    read = apply_sed_edit(edit)
    known = ctx.file_reads.get(edit.file_path)
    modifiers = () if known is None else (read._replace(stamp=read.stamp._replace(whole=known.whole)),)
    data: BashOutput = {"stdout": "", "stderr": "", "interrupted": False, "noOutputExpected": True}
    return ToolResult(data, f"[{edit.file_path} was changed as shown]", modifiers=modifiers)


def _parse(command: str) -> _Parsed | None:
    analysis = shell.analyse(command)
    if analysis.doubt or analysis.redirects or len(analysis.parts) != 1:
        return None
    part = analysis.parts[0]
    plain = part.name == "sed" and part.certain_text and not part.assigns and not part.cover
    if not plain or not any(word.text in _IN_PLACE for word in part.argv):
        return None
    return _split([word.text for word in part.argv[1:]])


def _split(words: list[str]) -> _Parsed | None:
    options: list[str] = []
    scripts: list[str] = []
    operands: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in ("-e", "--expression") and at < len(words):
            scripts.append(words[at])
            at += 1
        elif word in _FLAGS:
            options.append(word)
        elif word == "--":
            operands += words[at:]
            break
        elif word.startswith("-") and word not in _IN_PLACE:
            return None  # a backup suffix, a script file, or options written together
        elif word not in _IN_PLACE:
            operands.append(word)
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    from holdfast.permissions.shell.programs.parsers.sed import script_refusal  # noqa: PLC0415 - loaded by the analysis

    if len(operands) != 1 or not scripts or script_refusal("\n".join(scripts)) is not None:
        return None
    return _Parsed(options, scripts, operands[0])
