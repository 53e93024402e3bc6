"""Files of a project that choose the program behind a version query."""

from pathlib import Path

import pytest

from holdfast.permissions.shell.analysis import analyse
from holdfast.permissions.shell.commands import toolchain_refusal


def refusal(command: str, cwd: Path) -> str | None:
    return toolchain_refusal(analyse(command, cwd=str(cwd)), str(cwd))


@pytest.mark.parametrize("name", ["rust-toolchain", "rust-toolchain.toml"])
@pytest.mark.parametrize("command", ["cargo --version", "rustc -V", "rustfmt --version", "ls && cargo version | head"])
def test_a_rust_project_chooses_its_compiler(tmp_path: Path, name: str, command: str) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert analyse(command).read_only
    assert refusal(command, below) is None
    (tmp_path / name).write_text('[toolchain]\npath = "/proc/self/cwd/evil"\n', encoding="utf-8")
    assert name in str(refusal(command, below))
    assert refusal("python3 --version", below) is None
    assert refusal("ls", below) is None


def test_the_directory_that_the_text_moves_to_is_the_one_that_counts(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "rust-toolchain").symlink_to("nowhere")
    assert refusal("cargo --version", tmp_path) is None
    assert "rust-toolchain" in str(refusal("cd sub && cargo --version", tmp_path))
    assert "not known" in str(refusal('cd "$x" && cargo --version', tmp_path))


def test_a_stand_in_that_follows_a_path_of_the_project_is_asked_about(tmp_path: Path) -> None:
    versions = tmp_path / ".tool-versions"
    versions.write_text("nodejs 20.1.0\n", encoding="utf-8")
    assert refusal("node --version", tmp_path) is None
    versions.write_text("nodejs path:/tmp/x\n", encoding="utf-8")
    assert ".tool-versions" in str(refusal("node --version", tmp_path))


@pytest.mark.parametrize("made", ["directory", "too long", "loop"])
def test_what_cannot_be_read_may_choose_anything(tmp_path: Path, made: str) -> None:
    versions = tmp_path / ".tool-versions"
    if made == "directory":
        versions.mkdir()
    elif made == "loop":
        versions.symlink_to(versions)
    else:
        versions.write_text("x" * 200_000, encoding="utf-8")
    assert refusal("node --version", tmp_path)
