import os
from pathlib import Path

import pytest

from holdfast.lib.home import HomeMissingError, check_home, make_directories


def test_a_home_that_is_not_there_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "gone" / "u"
    monkeypatch.setenv("HOME", str(home))
    for place in (home, home / ".local" / "state", f"{home}/", home / "a" / ".." / "b"):
        with pytest.raises(HomeMissingError, match=r"^the home directory .* is not made. Set HOME"):
            make_directories(str(place))
    assert not (tmp_path / "gone").exists()
    (tmp_path / "dangling").symlink_to(home)
    monkeypatch.setenv("HOME", str(tmp_path / "dangling"))
    with pytest.raises(HomeMissingError):
        make_directories(str(tmp_path / "dangling" / "x"))
    assert not (tmp_path / "gone").exists()


def test_other_places_are_made_whether_or_not_there_is_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "gone"))
    for place in (tmp_path / "state" / "holdfast", tmp_path / "gone-too" / "x"):
        make_directories(str(place))
        check_home(str(place))
        assert place.is_dir()
    (tmp_path / "gone").mkdir()
    make_directories(str(tmp_path / "gone" / ".config" / "holdfast"))
    make_directories(str(tmp_path / "gone" / ".config" / "holdfast"))
    assert (tmp_path / "gone" / ".config" / "holdfast").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("HOME", "/")
    make_directories(str(tmp_path / "more"))
    assert os.path.isdir(tmp_path / "more")
