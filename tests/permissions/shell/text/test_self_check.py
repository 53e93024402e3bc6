"""An analysis that gives wrong answers is not trusted, and one that fails asks."""

import logging

import pytest

from holdfast.permissions.shell.text import analysis
from holdfast.permissions.shell.text.analysis import Analysis, analyse


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_sound", None)
    monkeypatch.setattr(analysis, "_analyse", analysis._analyse.__wrapped__)


def test_the_known_texts_get_their_answers_here() -> None:
    assert analyse("ls").read_only
    assert analysis._sound is True


@pytest.mark.parametrize("wrong", [("ls", False, None), ("rm x", True, None), ("ls", True, ("cat",))])
def test_nothing_is_read_only_where_one_answer_is_wrong(
    wrong: tuple[str, bool, tuple[str, ...] | None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(analysis, "_KNOWN", (*analysis._KNOWN, wrong))
    with caplog.at_level(logging.WARNING):
        found = [analyse(text) for text in ("ls", "cat x | head", "git status; for i in a; do ls; done")]
    assert not any(one.read_only for one in found)
    assert all(part.refusal for one in found for part in one.parts)
    assert [record.name for record in caplog.records] == [analysis.__name__]


def test_an_error_in_the_analysis_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_command: str, _cwd: str | None = None) -> Analysis:
        raise SystemError("the span is wrong")

    monkeypatch.setattr(analysis, "read_plain_list", broken)
    found = analyse("php -r 'rm x'")
    assert not found.read_only
    assert "the span is wrong" in found.doubt
    assert found.pieces
