"""The environment that children see: the user's own, without model providers' credentials, and never interactive."""

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from holdfast.host import tree
from holdfast.host.spawn import Environment

_SESSION_MARK = tree.SESSION_MARK.encode()
_JOB_MARK = tree.JOB_MARK.encode()


class Scrub(StrEnum):
    """How much of our environment children see (setting `env.scrub`)."""

    CREDENTIALS = "credentials"
    """Everything but the credentials of model providers."""
    ALLOWLIST = "allowlist"
    """Only what programs need to find files, speak the user's language and reach a display."""
    NONE = "none"
    """Everything."""


# fmt: off
# A variable is a provider's credential when its first word is a provider's and a later word says so.
_PROVIDERS = frozenset((
    "AI21", "ALEPHALPHA", "ALIBABA", "ANTHROPIC", "ANYSCALE", "ARK", "BASETEN", "BEDROCK", "CEREBRAS", "CLAUDE",
    "CO", "CODESTRAL", "CODEX", "COHERE", "COPILOT", "DASHSCOPE", "DEEPINFRA", "DEEPSEEK", "FEATHERLESS",
    "FIREWORKS", "FRIENDLI", "GEMINI", "GIGACHAT", "GROQ", "HF", "HOLDFAST", "HUGGINGFACE", "HUGGINGFACEHUB",
    "HYPERBOLIC", "INFERENCE", "JINA", "KIMI", "LAMBDA", "LEPTON", "LITELLM", "LLM", "LLMGATEWAY", "MINIMAX",
    "MISTRAL", "MOONSHOT", "NEBIUS", "NOVITA", "NVIDIA", "OLLAMA", "OPENAI", "OPENCODE", "OPENROUTER", "PALM",
    "PERPLEXITY", "PERPLEXITYAI", "PORTKEY", "PPLX", "QWEN", "REPLICATE", "SAMBANOVA", "SILICONFLOW", "STEPFUN",
    "TOGETHER", "TOGETHERAI", "UPSTAGE", "VLLM", "VOLCENGINE", "VOYAGE", "WATSONX", "XAI", "ZAI", "ZHIPUAI",
))
_SECRET_WORDS = frozenset((
    "APIKEY", "AUTH", "AUTHORIZATION", "CREDENTIAL", "CREDENTIALS", "HEADERS", "KEY", "KEYS", "PASSWORD", "SECRET",
    "SECRETS", "TOKEN",
))
_SECRET_NAMES = frozenset((
    "AWS_BEARER_TOKEN_BEDROCK", "AZURE_AI_API_KEY", "AZURE_API_KEY", "AZURE_INFERENCE_CREDENTIAL",
    "AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_KEY", "CLOUDFLARE_AI_TOKEN",
    "GITHUB_COPILOT_TOKEN", "GOOGLE_AI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
    "HUGGING_FACE_HUB_TOKEN", "IBM_WATSONX_API_KEY", "VERTEXAI_API_KEY", "VERTEX_API_KEY",
))
_ALLOWED = frozenset((
    "COLORTERM", "DISPLAY", "HOME", "HOSTNAME", "LANG", "LANGUAGE", "LOGNAME", "MAIL", "NO_COLOR", "PATH", "PWD",
    "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV", "WAYLAND_DISPLAY",
))
# What changes the meaning of a script before its first line: files that bash reads and functions that it takes from its
# environment, options, where `cd` goes. The text that was judged must be what runs, so these never pass, in any mode.
_GOVERNS_SHELLS = frozenset((
    "BASHOPTS", "BASH_COMPAT", "BASH_ENV", "BASH_XTRACEFD", "CDPATH", "ENV", "GLOBIGNORE", "POSIXLY_CORRECT", "PS4",
    "SHELLOPTS",
))
# fmt: on
_EXPORTED_FUNCTION = "BASH_FUNC_"
_NOTHING: Mapping[str, str] = MappingProxyType({})
_ALLOWED_PREFIXES = ("LC_", "XDG_")

# Nobody sits in front of a child: editors succeed without changes, pagers print, prompts fail. `CI` stays as it is,
# because it changes what builds and tests do, not only whether they ask.
_NOT_INTERACTIVE = {
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "SSH_ASKPASS_REQUIRE": "never",
    "SUDO_ASKPASS": "/bin/false",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    "VISUAL": "true",
}


def is_provider_credential(name: str, value: str = "", extra: Iterable[str] = ()) -> bool:
    """Whether a variable holds what authenticates us to a model provider."""
    upper = name.upper()
    if upper in _SECRET_NAMES or name in extra:
        return True
    first, *rest = upper.split("_")
    if first not in _PROVIDERS:
        return False
    has_user_info = "://" in value and "@" in value  # a proxy address with a password in it
    return has_user_info or not _SECRET_WORDS.isdisjoint(rest) or any(word.startswith("APIKEY") for word in rest)


def child_environment(
    base: Mapping[str, str] | None = None,
    *,
    scrub: Scrub = Scrub.CREDENTIALS,
    credential_names: Iterable[str] = (),
    allowed_names: Iterable[str] = (),
    given: Mapping[str, str] = _NOTHING,
) -> dict[str, str]:
    """Make the environment of children from ours (or `base`).

    Args:
        base: The variables to start from; ours when omitted.
        scrub: What is taken away.
        credential_names: More variables that hold providers' credentials (from the providers' settings).
        allowed_names: More variables that pass in allow-list mode.
        given: What the user's settings set for children; it counts last, but never governs a shell, and holds no
            provider's credential unless nothing is scrubbed.
    """
    source = os.environ if base is None else base
    extra = frozenset(credential_names)
    allowed = _ALLOWED.union(allowed_names)
    kept: dict[str, str] = {}
    for name, value in source.items():
        if name in _GOVERNS_SHELLS or name.startswith(_EXPORTED_FUNCTION):
            continue
        is_allowed = (
            scrub is Scrub.NONE
            or (scrub is Scrub.CREDENTIALS and not is_provider_credential(name, value, extra))
            or (scrub is Scrub.ALLOWLIST and (name in allowed or name.startswith(_ALLOWED_PREFIXES)))
        )
        if is_allowed:
            kept[name] = value
    kept.update(_NOT_INTERACTIVE)
    kept.update((name, value) for name, value in given.items() if may_be_given(name, value, scrub=scrub))
    return kept


def may_be_given(name: str, value: str, *, scrub: Scrub) -> bool:
    """Whether a variable of the settings reaches children."""
    if name in _GOVERNS_SHELLS or name.startswith(_EXPORTED_FUNCTION):
        return False
    return scrub is Scrub.NONE or not is_provider_credential(name, value)


class ChildEnvironments:
    """The environments of one session's children: made once for each set of changes, not at every start."""

    _KEPT = 64

    def __init__(self, environment: Mapping[str, str], mark: str) -> None:
        """Take what all children see, and the mark by which they are known."""
        self._marks = {_SESSION_MARK: mark.encode()}
        self._base = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        self._job_entry = b"%b=%b." % (_JOB_MARK, mark.encode())
        self._made: dict[tuple[object, ...], Environment] = {}

    def of(self, changes: Mapping[str, str | None], *, inherits: bool = True) -> Environment:
        """The environment with these variables added, or (None) taken away.

        Args:
            changes: What this child sees differently.
            inherits: False: it sees nothing but `changes` and our marks.

        Raises:
            ValueError: A name is empty or holds an equals sign.
        """
        key = (inherits, *changes.items())
        made = self._made.get(key)
        if made is None:
            if len(self._made) >= self._KEPT:
                self._made.clear()
            made = self._made[key] = self._make(changes, inherits=inherits)
        return made

    def job_entry(self, job: int) -> bytes:
        """The mark of one job, as `NAME=value`."""
        return b"%b%d" % (self._job_entry, job)

    def _make(self, changes: Mapping[str, str | None], *, inherits: bool) -> Environment:
        variables = dict(self._base) if inherits else {}
        for name, value in changes.items():
            if value is None:
                variables.pop(os.fsencode(name), None)
            else:
                variables[os.fsencode(name)] = os.fsencode(value)
        # Last, so that nothing a caller adds can hide a child from us.
        variables.update(self._marks)
        variables.pop(_JOB_MARK, None)
        return Environment(variables)
