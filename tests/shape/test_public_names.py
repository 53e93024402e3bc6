"""The names we promise, as a checked-in list: changing one is a deliberate step."""

import importlib
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("public_names.txt")


def promised() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in LIST.read_text("utf-8").splitlines():
        module, _, name = line.partition(":")
        found.setdefault(module, []).append(name)
    return found


@pytest.mark.parametrize(
    "module", ["holdfast", "holdfast.contract", "holdfast.events", "holdfast.models", "holdfast.testing"]
)
def test_public_names_are_those_of_the_list(module: str) -> None:
    names: list[str] = importlib.import_module(module).__all__
    assert sorted(names) == promised()[module]
    for name in names:
        assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize(
    "module", ["holdfast.hooks", "holdfast.permissions", "holdfast.session", "holdfast.tools.web.web_fetch"]
)
def test_promised_names_of_other_modules_are_there(module: str) -> None:
    assert set(promised()[module]) <= set(importlib.import_module(module).__all__)
