import pytest

from holdfast.host.child_env import Scrub, child_environment, is_provider_credential

CREDENTIALS = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "OPENAI_API_KEY_2",
    "openai_api_key",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "OPENROUTER_API_KEY",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "OLLAMA_API_KEY",
    "HOLDFAST_TOKEN",
    "CO_API_KEY",
]
OTHERS = [
    "GITHUB_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "NPM_TOKEN",
    "SSH_AUTH_SOCK",
    "ANTHROPIC_MODEL",
    "OPENAI_BASE_URL",
    "OPENAI_MAX_TOKENS",
    "HF_HOME",
    "PATH",
    "KEYBOARD",
    "COPILOT",
    "",
]


@pytest.mark.parametrize("name", CREDENTIALS)
def test_credentials_of_model_providers_never_reach_a_child(name: str) -> None:
    assert is_provider_credential(name)
    assert name not in child_environment({name: "canary"})


@pytest.mark.parametrize("name", OTHERS)
def test_the_users_own_variables_do(name: str) -> None:
    assert child_environment({name: "mine"})[name] == "mine"


def test_an_address_with_a_password_counts_as_a_credential() -> None:
    assert is_provider_credential("OPENAI_BASE_URL", "https://user:secret@proxy.example/v1")
    assert not is_provider_credential("HTTPS_PROXY", "https://user:secret@proxy.example/")


def test_settings_can_name_more_credentials() -> None:
    kept = child_environment({"MY_LLM": "canary", "OTHER": "1"}, credential_names=["MY_LLM"])
    assert "MY_LLM" not in kept
    assert kept["OTHER"] == "1"


def test_the_allow_list_passes_only_what_programs_need() -> None:
    base = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "XDG_RUNTIME_DIR": "/run",
        "GITHUB_TOKEN": "x",
        "MINE": "1",
        "SSH_AUTH_SOCK": "s",
    }
    kept = child_environment(base, scrub=Scrub.ALLOWLIST, allowed_names=["MINE"])
    assert {name for name in base if name in kept} == {"PATH", "LC_ALL", "XDG_RUNTIME_DIR", "MINE"}


def test_none_passes_everything() -> None:
    assert child_environment({"OPENAI_API_KEY": "x"}, scrub=Scrub.NONE)["OPENAI_API_KEY"] == "x"


@pytest.mark.parametrize("scrub", list(Scrub))
def test_nobody_is_asked_anything_in_any_mode(scrub: Scrub) -> None:
    kept = child_environment({"PAGER": "less", "EDITOR": "vi", "GIT_EDITOR": "vi", "TERM": "xterm"}, scrub=scrub)
    assert (kept["PAGER"], kept["EDITOR"], kept["GIT_EDITOR"], kept["TERM"]) == ("cat", "true", "true", "dumb")
    assert kept["GIT_TERMINAL_PROMPT"] == "0"


@pytest.mark.parametrize("scrub", list(Scrub))
@pytest.mark.parametrize(
    "name",
    ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "PS4", "GLOBIGNORE", "BASH_FUNC_ls%%", "BASH_FUNC_git()"],
)
def test_nothing_that_changes_what_a_script_means_is_handed_on(name: str, scrub: Scrub) -> None:
    assert name not in child_environment({name: "() { echo fake; }"}, scrub=scrub, allowed_names=[name])
