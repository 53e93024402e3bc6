from pathlib import Path

import pytest

from holdfast.session import SessionStore


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "state" / "sessions", program="test")


@pytest.fixture
def project(tmp_path: Path) -> str:
    place = tmp_path / "My Project"
    place.mkdir()
    return str(place)
