"""Files of a project that choose what a harmless command starts."""

import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.shell.reach.known_here import toolchain_refusal
from holdfast.permissions.shell.text.analysis import analyse


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


@pytest.mark.parametrize("name", [".java-options", ".jenv-options"])
def test_options_of_a_project_are_not_handed_to_java_unasked(tmp_path: Path, name: str) -> None:
    assert refusal("java -version", tmp_path) is None
    (tmp_path / ".java-version").write_text("17\n", encoding="utf-8")
    assert refusal("java -version", tmp_path) is None
    (tmp_path / name).write_text("-javaagent:x.jar\n", encoding="utf-8")
    assert name in str(refusal("java -version", tmp_path))
    (tmp_path / name).unlink()
    (tmp_path / ".java-version").write_text("../../evil\n", encoding="utf-8")
    assert ".java-version" in str(refusal("javac -version", tmp_path))


def test_an_archive_is_listed_unasked_only_if_it_is_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    for options, name in (("-cf", "plain.tar"), ("-czf", "sub/packed.tar")):
        subprocess.run(["tar", options, name, "a.txt"], cwd=tmp_path, check=True, timeout=30)
    assert refusal("tar tf plain.tar", tmp_path) is None
    assert refusal("tar -tvf none.tar", tmp_path) is None
    assert "decompressor" in str(refusal("tar tf sub/packed.tar", tmp_path))
    assert "decompressor" in str(refusal("cd sub && tar -tf packed.tar | head", tmp_path))
    assert "decompressor" in str(refusal("tar tf sub/../sub.tar; tar tf sub/packed.tar", tmp_path))
