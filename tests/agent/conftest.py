"""A home, a policy directory and a project, for tests of instruction files."""

from pathlib import Path

import pytest

from holdfast.agent.instructions import InstructionOptions, Instructions, load_instructions
from holdfast.settings import SettingsRoots


class Place:
    """A home, a policy directory and a project with two levels below it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home, self.policy, self.project = base / "home", base / "etc", base / "home" / "code" / "app"
        self.cwd = self.project / "src" / "web"
        self.cwd.mkdir(parents=True)
        (self.project / ".git").mkdir()
        self.roots = SettingsRoots(
            home=str(self.home),
            user_native=str(self.home / ".config" / "holdfast"),
            user_existing=str(self.home / ".claude"),
            managed_existing=(str(self.policy / "claude-code"),),
            managed_native=(str(self.policy / "holdfast"),),
            state=str(base / "state"),
        )

    def write(self, path: Path | str, text: str | bytes) -> Path:
        target = self.project / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def load(
        self, *, cwd: Path | None = None, trusted: bool = True, options: InstructionOptions | None = None
    ) -> Instructions:
        return load_instructions(
            str(cwd or self.cwd), root=str(self.project), roots=self.roots, trusted=trusted, options=options
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def texts(found: Instructions) -> list[str]:
    return [file.text for file in found.files]
