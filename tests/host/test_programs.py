"""Programs that we start ourselves come from outside the project."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from holdfast.contract import UsageError
from holdfast.host.programs import find_program, own_places, paths_outside
from holdfast.host.ripgrep import Ripgrep

if TYPE_CHECKING:
    from pathlib import Path


def plant(directory: Path, name: str = "tool") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / name
    program.write_text("#!/bin/sh\necho planted\n")
    program.chmod(0o755)
    return program


def test_only_absolute_entries_outside_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    plant(work)
    plant(work / "node_modules" / ".bin")
    real = plant(elsewhere)
    monkeypatch.chdir(work)
    entries = ["", ".", "node_modules/.bin", str(work), f"{work}/node_modules/.bin", f"{elsewhere}/../work"]
    assert find_program("tool", outside=[str(work)], path=os.pathsep.join(entries)) is None
    path = os.pathsep.join([*entries, str(elsewhere)])
    assert find_program("tool", outside=[str(work)], path=path) == str(real)
    monkeypatch.setenv("PATH", path)
    assert find_program("tool", outside=[str(work)]) == str(real)
    assert find_program("tool", outside=[str(work), str(elsewhere)]) is None


def test_links_into_the_project_do_not_count(tmp_path: Path) -> None:
    work, linked, entry = tmp_path / "work", tmp_path / "linked", tmp_path / "entry"
    planted = plant(work)
    linked.mkdir()
    (linked / "tool").symlink_to(planted)
    entry.symlink_to(work)
    path = f"{linked}{os.pathsep}{entry}"
    assert find_program("tool", outside=[str(work)], path=path) is None
    assert find_program("tool", outside=[str(tmp_path / "entry")], path=path) is None


def test_a_link_out_of_the_project_does_not_count_either(tmp_path: Path) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    plant(elsewhere)
    work.mkdir()
    (work / "bin").symlink_to(elsewhere)
    assert find_program("tool", outside=[str(work)], path=f"{work}/bin") is None


def test_who_works_in_the_root_directory_still_has_the_systems_programs() -> None:
    assert find_program("sh", outside=["/"], path="/usr/bin:/bin") in ("/usr/bin/sh", "/bin/sh")
    assert paths_outside(["/"], "/home/me/bin:/usr/bin:/opt/x/bin") == ["/usr/bin"]
    assert paths_outside(["/usr/bin"], "/usr/bin") == []


def test_a_directory_or_a_file_without_the_right_to_run_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    assert find_program("tool", outside=[], path=str(tmp_path)) is None
    (tmp_path / "tool").rmdir()
    (tmp_path / "tool").write_text("")
    assert find_program("tool", outside=[], path=str(tmp_path)) is None


def test_a_planted_ripgrep_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "rg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.pathsep}{tmp_path}")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none" / "python"))
    monkeypatch.delenv("HOLDFAST_RG", raising=False)
    with pytest.raises(UsageError, match="ripgrep is missing"):
        _ = Ripgrep().binary
    with pytest.raises(UsageError, match="ripgrep is missing"):
        _ = Ripgrep(outside=lambda: [str(tmp_path)]).binary
    monkeypatch.setenv("HOLDFAST_RG", "./rg")
    with pytest.raises(UsageError, match="absolute path"):
        _ = Ripgrep().binary
    monkeypatch.setenv("HOLDFAST_RG", str(tmp_path / "rg"))
    assert Ripgrep().binary == str(tmp_path / "rg")


def test_ripgrep_sees_no_key_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", "/tmp/x")
    seen = Ripgrep().environment
    assert "ANTHROPIC_API_KEY" not in seen
    assert "RIPGREP_CONFIG_PATH" not in seen


def test_our_own_places_are_the_package_and_the_environment_of_this_python(tmp_path: Path) -> None:
    places = own_places({"HOLDFAST_RG": str(tmp_path / "rg")})
    assert any(place.endswith("/holdfast") for place in places)
    assert os.path.dirname(sys.executable).startswith(places[1])
    assert places[2:] == [str(tmp_path / "rg")]
    assert len(own_places({"HOLDFAST_RG": "rg"})) == 2
