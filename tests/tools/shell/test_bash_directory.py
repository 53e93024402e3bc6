"""Bash: the directory it carries on from one command to the next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.events import CallFinished

from .conftest import text

if TYPE_CHECKING:
    pass


@pytest.mark.parametrize(
    "move",
    [
        "cd sub",
        "cd sub && true",
        "cd sub; exit 0",
        "cd ./sub/../sub",
        "pushd sub >/dev/null",
        "set -e; cd sub; false",
        "d=sub; cd $d",
        'eval "cd sub"',
        "builtin cd sub",
        "f() { cd sub; }; f",
        "CDPATH=/ ; cd ./sub",
    ],
)
def test_the_directory_is_carried_on_and_variables_are_not(desk: Any, tmp_path: Path, move: str) -> None:
    (tmp_path / "sub").mkdir()

    async def work() -> tuple[str, str]:
        await desk.sh(move)
        place = await desk.sh("pwd -P")
        await desk.sh("export HF_TEST_X=1")
        return text(place), text(await desk.sh('echo "[$HF_TEST_X]"'))

    assert desk.run(work) == (str(tmp_path / "sub"), "[]")


@pytest.mark.parametrize("move", ["(cd sub)", "cd sub | true", "exec true", "cd sub &"])
def test_a_move_of_a_subshell_does_not_count(desk: Any, tmp_path: Path, move: str) -> None:
    (tmp_path / "sub").mkdir()

    async def work() -> str:
        await desk.sh(move)
        return text(await desk.sh("pwd -P"))

    assert desk.run(work) == str(tmp_path)


@pytest.mark.parametrize("move", ["cd /", "cd ..", "cd out", "cd sub && pushd / >/dev/null"])
def test_a_move_outside_is_set_back_and_said(desk: Any, tmp_path: Path, move: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "out").symlink_to("/usr")

    async def work() -> tuple[str, str]:
        moved = await desk.sh(move)
        return text(moved), text(await desk.sh("pwd -P"))

    told, place = desk.run(work)
    assert "working directory" in told
    assert place == str(tmp_path)


def test_a_directory_that_the_command_removed_is_not_carried_on(desk: Any, tmp_path: Path) -> None:
    async def work() -> str:
        await desk.sh("mkdir sub && cd sub && rmdir ../sub")
        return text(await desk.sh("pwd -P"))

    assert desk.run(work) == str(tmp_path)


def test_a_directory_with_a_newline_in_its_name_is_carried_on(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "a\nb ").mkdir()

    async def work() -> str:
        await desk.sh("cd a*")
        return text(await desk.sh('pwd -P | od -c | head -1000 >/dev/null; basename "$PWD"'))

    assert desk.run(work) == "a\nb "


def test_a_directory_that_is_gone_is_left_for_the_project(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    async def work() -> tuple[CallFinished, str]:
        await desk.sh("cd sub")
        (tmp_path / "sub").rmdir()
        return await desk.sh("pwd"), text(await desk.sh("pwd -P"))

    lost, place = desk.run(work)
    assert lost.is_error
    assert "is gone" in text(lost)
    assert place == str(tmp_path)
