import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from holdfast.contract import UsageError
from holdfast.events import encode_json
from holdfast.models import ModelError, ModelOptions, open_model
from holdfast.models.options import as_options

KEYS = {"ANTHROPIC_API_KEY": "sk-a", "OPENAI_API_KEY": "sk-o", "GEMINI_API_KEY": "k", "AWS_REGION": "eu-central-1"}


@pytest.mark.parametrize(
    ("spec", "name", "wire", "window"),
    [
        ("anthropic:claude-opus-5-5", "anthropic:claude-opus-5-5", "anthropic", 1_000_000),
        ("claude-haiku-4-5-20251001", "anthropic:claude-haiku-4-5-20251001", "anthropic", 200_000),
        ("sonnet", "anthropic:claude-sonnet-5-5", "anthropic", 1_000_000),
        ("anthropic:opus", "anthropic:claude-opus-5-5", "anthropic", 1_000_000),
        (" Anthropic: claude-x ", "anthropic:claude-x", "anthropic", 200_000),
        ("gpt-5-mini", "openai:gpt-5-mini", "openai", 400_000),
        ("o4-mini", "openai:o4-mini", "openai", 200_000),
        ("openai:org/model:v2", "openai:org/model:v2", "openai", 128_000),
        ("ollama:qwen3:4b", "ollama:qwen3:4b", "openai", 32_768),
        ("openai-responses:gpt-6-sol", "openai-responses:gpt-6-sol", "openai", 1_050_000),
        ("gemini-2.5-pro", "gemini:gemini-2.5-pro", "openai", 1_048_576),
        (
            "bedrock:us.anthropic.claude-opus-5-5-v1:0",
            "bedrock:us.anthropic.claude-opus-5-5-v1:0",
            "anthropic",
            1_000_000,
        ),
    ],
)
def test_a_model_is_found_by_what_users_write(spec: str, name: str, wire: str, window: int) -> None:
    model = open_model(spec, environ=KEYS)
    assert (model.name, model.wire, model.context_window) == (name, wire, window)


@pytest.mark.parametrize("spec", ["", "llama", "google:gemini", "anthropic:", ":x", "claude"])
def test_an_unknown_name_is_refused_with_the_known_forms(spec: str) -> None:
    with pytest.raises(UsageError, match=r"anthropic:NAME.*scripted:FILE.*sonnet"):
        open_model(spec, environ=KEYS)


@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("sonnet", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("openai-responses:gpt-5", "OPENAI_API_KEY"),
        ("gemini:gemini-2.5-pro", "GEMINI_API_KEY"),
        ("bedrock:anthropic.claude-opus-5-5", "AWS_REGION"),
    ],
)
def test_a_missing_key_is_an_error_that_names_the_variable(spec: str, variable: str) -> None:
    with pytest.raises(ModelError, match=variable) as caught:
        open_model(spec, environ={})
    assert caught.value.kind == "auth"


def test_servers_of_ones_own_need_no_key() -> None:
    assert open_model("ollama:x", environ={}).name == "ollama:x"
    assert open_model("openai:x", environ={"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}).name == "openai:x"
    assert open_model("claude-x", environ={}, settings={"headers": {"Authorization": "Bearer x"}}).wire == "anthropic"


def test_settings_come_as_options_or_in_camel_case() -> None:
    assert open_model("sonnet", environ=KEYS, settings={"contextWindow": 5_000}).context_window == 5_000
    assert open_model("sonnet", environ=KEYS, settings=ModelOptions(context_window=7)).context_window == 7
    with pytest.raises(UsageError, match="contextWindow"):
        open_model("sonnet", environ=KEYS, settings={"contextWindow": "large"})


def test_a_short_name_can_be_pointed_elsewhere() -> None:
    environ = {**KEYS, "ANTHROPIC_DEFAULT_OPUS_MODEL": "claude-opus-9"}
    assert open_model("opus", environ=environ).name == "anthropic:claude-opus-9"


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://", "http://host:99999"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="address"):
        open_model("sonnet", environ={**KEYS, "ANTHROPIC_BASE_URL": url})


def test_a_key_with_a_line_break_is_refused_without_telling_it() -> None:
    with pytest.raises(UsageError) as caught:
        open_model("sonnet", environ={"ANTHROPIC_API_KEY": "sk-secret\nX-Other: 1"})
    assert "sk-secret" not in str(caught.value)


def test_opening_loads_no_http_library(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom holdfast.models import open_model\n"
        "open_model('sonnet', environ={'ANTHROPIC_API_KEY': 'x'})\nprint('httpx2' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout.split() == ["False"]


def test_options_may_be_given_for_a_provider_or_a_model_and_the_closer_one_wins() -> None:
    settings = MappingProxyType({
        "ollama:qwen3:4b": {"contextWindow": 4},
        "contextWindow": 1,
        "anthropic": MappingProxyType({"contextWindow": 2}),
        "opus": {"contextWindow": 3},
        "openai": {"contextWindow": 5, "baseUrl": "http://127.0.0.1:1/v1"},
    })  # fmt: skip
    windows = {
        spec: open_model(spec, environ=KEYS, settings=settings).context_window
        for spec in ("claude-opus-5-5", "haiku", "openai:x", "ollama:qwen3:4b", "ollama:other")
    }
    assert windows == {"claude-opus-5-5": 3, "haiku": 2, "openai:x": 5, "ollama:qwen3:4b": 4, "ollama:other": 1}


def test_headers_and_extra_of_several_sections_are_joined_and_plain_values() -> None:
    frozen = MappingProxyType({"tags": ("a",), "user": MappingProxyType({"id": 1})})
    settings = {"headers": {"a": "1", "b": "1"}, "openai": {"headers": {"b": "2"}, "extra": frozen}}
    options = as_options(settings, rank=lambda key: int(key == "openai"))
    assert options.headers == {"a": "1", "b": "2"}
    assert options.extra == {"tags": ["a"], "user": {"id": 1}}
    assert b'"user":{"id":1}' in encode_json(options.extra)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"baseUrll": "x"}, "'baseUrll'.*Did you mean 'baseUrl'"),
        ({"base_url": "x"}, "Did you mean 'baseUrl'"),
        ({"openai": {"base_url": "x"}}, "'base_url' for 'openai'.*Did you mean 'baseUrl'"),
        ({"google": {"apiKey": "sk-secret"}}, "'google'.*a provider .anthropic, openai, .*, ollama. or a model"),
        ({"openai": "sk-secret"}, "'openai'.*is str"),
        ({"anthropic": {"contextWindow": "large"}}, "for 'anthropic'.*contextWindow"),
    ],
)
def test_a_wrong_key_of_the_options_is_told_without_its_value(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        open_model("openai:x", environ=KEYS, settings=settings)
    assert "secret" not in str(caught.value)
