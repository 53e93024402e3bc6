"""The preview of `sed -i`: what this machine's sed would do, or nothing."""

import subprocess
from pathlib import Path

import pytest

from holdfast.contract import ToolFailed
from holdfast.tools.shell._sed import apply_sed_edit, preview_sed_edit

CONTENT = b"alpha\nbeta\ngamma\xff\r\nalpha again"


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/alpha/ALPHA/' f",
        "sed -i 's/alpha/ALPHA/g; 2d' f",
        "sed -i -E 's/(a)(l)/\\2\\1/' f",
        "sed -i -e 1d -e '$d' f",
        "sed -n -i '/beta/p' f",
        "sed --in-place -- 's/x/y/' f",
    ],
)
def test_what_is_shown_is_what_sed_does(tmp_path: Path, command: str) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    preview = preview_sed_edit(command, str(tmp_path))
    assert preview is not None
    assert (tmp_path / "f").read_bytes() == CONTENT
    apply_sed_edit(preview.edit)
    ours = (tmp_path / "f").read_bytes()
    (tmp_path / "f").write_bytes(CONTENT)
    subprocess.run(["/bin/bash", "-c", command], cwd=tmp_path, check=True, timeout=60)
    assert ours == (tmp_path / "f").read_bytes()
    assert bool(preview.diff) == (ours != CONTENT)


@pytest.mark.parametrize(
    "command",
    [
        "sed 's/a/b/' f",
        "sed -i.bak 's/a/b/' f",
        "sed -i 's/a/b/' f g",
        "sed -i 's/a/b/w out' f",
        "sed -i 's/a/id/e' f",
        "sed -i 's/a/b/' *",
        "sed -i 's/a/b/' f && rm f",
        "sed -i 's/a/b/' missing",
        "sed -i -f script f",
        "sed -i 's/a/b/' f > out",
        "sudo sed -i 's/a/b/' f",
        "X=1 sed -i 's/a/b/' f",
        "sed -i 's/a/b/' /dev/null",
        "sed -i 's/[/b/' f",
        "sed -i",
    ],
)
def test_everything_else_has_no_preview(tmp_path: Path, command: str) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    assert preview_sed_edit(command, str(tmp_path)) is None
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_stays(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(CONTENT)
    preview = preview_sed_edit("sed -i 's/alpha/x/' f", str(tmp_path))
    assert preview is not None
    (tmp_path / "f").write_bytes(b"other")
    with pytest.raises(ToolFailed):
        apply_sed_edit(preview.edit)
    assert (tmp_path / "f").read_bytes() == b"other"
