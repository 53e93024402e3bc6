import os
import stat
from pathlib import Path

import pytest

from holdfast.settings.directories import Directories, home_directory, private_directory, user_directories
from holdfast.settings.errors import SettingsError
from holdfast.settings.sources import SettingsRoots


def test_the_usual_places_hold_on_each_platform() -> None:
    env = {"HOME": "/home/u"}
    assert user_directories(env, platform="linux") == Directories(
        "/home/u/.config/holdfast", "/home/u/.local/state/holdfast", "/home/u/.cache/holdfast"
    )
    assert user_directories(env, platform="darwin").config == "/home/u/Library/Application Support/holdfast"
    assert "AppData" in user_directories(env, platform="win32").state


def test_xdg_variables_count_when_absolute_and_a_relative_one_would_lead_into_the_folder() -> None:
    env = {"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": ""}
    assert user_directories(env, platform="linux") == Directories(
        "/c/holdfast", "/home/u/.local/state/holdfast", "/home/u/.cache/holdfast"
    )


def test_a_relative_home_is_not_believed() -> None:
    assert os.path.isabs(home_directory({"HOME": "here"}))
    assert home_directory({"HOME": "/x/../y"}) == "/y"


def test_roots_come_from_the_environment_and_the_platform() -> None:
    env = {"HOME": "/home/u", "CLAUDE_CONFIG_DIR": "/claude"}
    roots = SettingsRoots.from_environment(env, platform="linux")
    assert (roots.user_existing, roots.managed_existing, roots.managed_native) == (
        "/claude",
        ("/etc/claude-code",),
        ("/etc/holdfast",),
    )
    assert SettingsRoots.from_environment({"HOME": "/h", "CLAUDE_CONFIG_DIR": "x"}).user_existing == "/h/.claude"
    mac = SettingsRoots.from_environment(env, platform="darwin")
    assert mac.managed_existing == ("/Library/Application Support/ClaudeCode",)
    windows = SettingsRoots.from_environment(env, platform="win32")
    assert windows.managed_existing == ("C:\\Program Files\\ClaudeCode",)


def test_a_private_directory_is_made_and_narrowed(tmp_path: Path) -> None:
    path = tmp_path / "a/b"
    private_directory(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    path.chmod(0o755)
    private_directory(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_directory_that_may_have_been_planted_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").write_text("")
    for name in ("shared", "link", "file", "file/below"):
        with pytest.raises(SettingsError):
            private_directory(str(tmp_path / name))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.mkdir(mode=0o700)
    os.chown(path, 12345, 12345)
    with pytest.raises(SettingsError, match="another user"):
        private_directory(str(path))
