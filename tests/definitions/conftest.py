"""A home and a project to write definitions into."""

from pathlib import Path

import pytest

from holdfast.definitions.places import Where
from holdfast.settings.sources import SettingsRoots


class Folders:
    """A user's home and a project, with places for definitions."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = base / "project"
        self.policy = base / "etc"
        for place in (self.home, self.project, self.policy):
            place.mkdir()

    def where(self, cwd: Path | None = None, *, trusted: bool = True) -> Where:
        """What decides where to look."""
        roots = SettingsRoots(
            home=str(self.home),
            user_native=str(self.home / ".config" / "holdfast"),
            user_existing=str(self.home / ".claude"),
            managed_existing=(str(self.policy),),
            managed_native=(),
            state=str(self.home / ".state"),
        )
        return Where(str(cwd or self.project), str(self.project), roots, trusted)

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file: `~/x` in the home, `/x` in the policy's directory, else in the project."""
        base = self.home if path.startswith("~/") else self.policy if path.startswith("/") else self.project
        file = base / path.lstrip("~/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path.resolve())
