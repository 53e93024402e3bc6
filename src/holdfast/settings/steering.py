"""Environment variables that a folder never sets, also not for child processes, and also not when it is trusted.

They choose which code runs, where traffic goes, whom we believe, or how we ourselves behave.
"""

# fmt: off
_NAMES = frozenset({
    "BASHOPTS", "BASH_ENV", "BROWSER", "CARGO_HOME", "CC", "CDPATH", "CURL_CA_BUNDLE", "CURL_HOME", "CXX",
    "DISPLAY", "DOCKER_HOST", "EDITOR", "ENV", "GCONV_PATH", "GEM_HOME", "GEM_PATH", "GLIBC_TUNABLES", "HOME",
    "HOSTALIASES", "IFS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "KUBECONFIG", "LESSCLOSE", "LESSOPEN",
    "LOCALDOMAIN", "LOGNAME", "MAKEFLAGS", "MANPAGER", "MAVEN_OPTS", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS",
    "NODE_PATH", "NODE_TLS_REJECT_UNAUTHORIZED", "OPENSSL_CONF", "PAGER", "PATH", "PERL5DB", "PERL5LIB",
    "PERL5OPT", "PROMPT_COMMAND", "PS4", "REQUESTS_CA_BUNDLE", "RES_OPTIONS", "RIPGREP_CONFIG_PATH", "RUBYLIB",
    "RUBYOPT", "RUSTC_WRAPPER", "SHELL", "SHELLOPTS", "SSLKEYLOGFILE", "SUDO_ASKPASS", "TEMP", "TMP", "TMPDIR",
    "USER", "VISUAL", "WGETRC", "ZDOTDIR", "_JAVA_OPTIONS",
})
_PREFIXES = (
    "ANTHROPIC_", "AWS_", "AZURE_", "BASH_DEFAULT", "BASH_FUNC_", "BASH_MAX", "CARGO_", "CLAUDE_", "DISABLE_",
    "DYLD_", "ENABLE_", "GEMINI_", "GIT_", "GOOGLE_", "HOLDFAST_", "LD_", "MAX_MCP", "MCP_", "NPM_CONFIG_",
    "OLLAMA_", "OPENAI_", "OTEL_", "PIP_", "PYTHON", "SSH_", "SSL_", "UV_", "XDG_", "YARN_",
)
# fmt: on


def is_steering_variable(name: str) -> bool:
    """Whether an environment variable decides over programs, libraries, endpoints, certificates or us."""
    upper = name.upper()
    return upper in _NAMES or upper.startswith(_PREFIXES) or upper.endswith("_PROXY")
