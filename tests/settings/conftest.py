"""A small world on disk: a home, a project, a policy directory. Nothing of the real user is touched."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast.settings.load import Request, load_settings
from holdfast.settings.model import Settings
from holdfast.settings.sources import CommandLine, SettingsRoots, SourceKind
from holdfast.settings.trust import FolderIdentity, MemoryTrust, TrustStore


class World:
    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = self.home / "code" / "app"
        self.policy = base / "etc"
        (self.project / ".git").mkdir(parents=True)
        self.roots = SettingsRoots(
            home=str(self.home),
            user_native=str(self.home / ".config/holdfast"),
            user_existing=str(self.home / ".claude"),
            managed_existing=(str(self.policy / "claude-code"),),
            managed_native=(str(self.policy / "holdfast"),),
            state=str(self.home / ".local/state/holdfast"),
        )
        self.store = TrustStore(self.roots.state, home=self.roots.home)

    def write(self, path: str | Path, content: object) -> Path:
        """Write a file: relative paths are in the project, `~` is the home; data is written as indented JSON."""
        text = str(path)
        target = self.home / text[2:] if text.startswith("~/") else self.project / text
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
        target.chmod(0o644)
        return target

    def load(
        self,
        *,
        cwd: Path | None = None,
        cli: CommandLine | None = None,
        sources: set[SourceKind] | None = None,
        session: Mapping[str, Any] | None = None,
        trusted: bool = False,
    ) -> Settings:
        """Load; `trusted` trusts the folder and approves all that it brings."""
        place = str(cwd or self.project)
        if not trusted:
            return load_settings(
                place, self.roots, cli=cli or CommandLine(), setting_sources=sources, session=session, trust=self.store
            )
        first = load_settings(place, self.roots)
        trust = MemoryTrust()
        trust.trust(FolderIdentity.of(first.root), items=[item.hash for item in first.items])
        return load_settings(
            place, self.roots, cli=cli or CommandLine(), setting_sources=sources, session=session, trust=trust
        )

    def request(self) -> Request:
        return Request(str(self.project), self.roots, trust=self.store)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
