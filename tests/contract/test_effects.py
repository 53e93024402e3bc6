from pathlib import Path

import pytest

from holdfast.contract import UNKNOWN_EFFECTS, Effects


def test_effects_are_values():
    effects = Effects(reads=[Path("/a")], writes=["/b"], network=["example.org"], process=True)
    assert effects == Effects(reads=("/a",), writes=("/b",), network=("example.org",), process=True)
    assert len({effects, Effects(reads=["/a"], writes=["/b"], network=["example.org"], process=True)}) == 1
    assert effects != Effects()
    assert effects != "effects"
    assert repr(effects) == (
        "Effects(reads=('/a',), writes=('/b',), network=('example.org',), process=True, known=True)"
    )


def test_effects_cannot_be_changed_and_silence_is_not_harmless():
    with pytest.raises(AttributeError, match="immutable"):
        Effects().process = True
    assert UNKNOWN_EFFECTS.known is False
    assert Effects() != UNKNOWN_EFFECTS
