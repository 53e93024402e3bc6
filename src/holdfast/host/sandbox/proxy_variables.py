"""How programs in a sandbox find the way out: every usual variable names our door."""

from collections.abc import Mapping
from typing import Final

__all__ = ["PORT", "proxy_variables"]

PORT: Final = 31128
"""Below the ports that the kernel gives away by itself, so that no connection has taken it."""
_NAMES: Final = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "grpc_proxy", "ws_proxy", "wss_proxy")
_ONLY_HTTP: Final = (
    "npm_config_proxy", "npm_config_https_proxy", "PIP_PROXY", "CARGO_HTTP_PROXY", "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
)  # fmt: skip
_LOCAL: Final = "localhost,127.0.0.1,::1"


def proxy_variables(given: Mapping[str, str | None]) -> dict[str, str]:
    """The variables, on top of those that a command is given.

    Programs that know no SOCKS fail on an address that begins with it, so that all get the one for HTTP. What a
    program's own configuration says of proxies is overruled: no other can be reached from inside.
    """
    url = f"http://127.0.0.1:{PORT}"
    found: dict[str, str] = {}
    for name in _NAMES:
        found[name] = found[name.upper()] = url
    found.update(dict.fromkeys(_ONLY_HTTP, url))
    found.update(
        NO_PROXY=_LOCAL,
        no_proxy=_LOCAL,
        npm_config_noproxy=_LOCAL,
        RSYNC_PROXY=f"127.0.0.1:{PORT}",
        SOCKS_SERVER=f"127.0.0.1:{PORT}",
        NODE_USE_ENV_PROXY="1",
        # Git over SSH: ssh needs somebody who asks the proxy for a tunnel.
        GIT_SSH_COMMAND=f"ssh -o ProxyCommand='nc -X connect -x 127.0.0.1:{PORT} %h %p'",
    )
    return found | _for_git(url, given.get("GIT_CONFIG_COUNT") or "")


def _for_git(url: str, count: str) -> dict[str, str]:
    """Git's own setting wins over the variables above, so that it is said here as well."""
    number = int(count) if count.isascii() and count.isdigit() else 0
    return {
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": "http.proxy",
        f"GIT_CONFIG_VALUE_{number}": url,
    }
