"""The shortest command lines: the version, and what is missing before a model can be asked."""

import pytest

from holdfast import __version__
from holdfast.cli.main import run


@pytest.mark.parametrize("flag", ["-v", "-V", "--version"])
def test_the_version_has_every_usual_flag(flag: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([flag]) == 0
    assert capfd.readouterr().out == f"holdfast {__version__}\n"


def test_no_model_and_no_key_end_alike(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "HOLDFAST_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert run(["-p", "hello"]) == 2
    assert "no model is chosen" in capfd.readouterr().err
    assert run(["-p", "hello", "--model", "anthropic:sonnet"]) == 2
    assert "ANTHROPIC_API_KEY" in capfd.readouterr().err
