"""Which proxy and which certificates a request uses, from the environment it was given."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from holdfast.models.errors import ModelError

if TYPE_CHECKING:
    import ssl

__all__ = ["is_loopback", "proxy_for", "tls_context"]


def is_loopback(host: str) -> bool:
    """The host is this machine."""
    return host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127.")


def proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for this address.

    `HTTPS_PROXY` or `HTTP_PROXY` by the address's scheme, else `ALL_PROXY`, lower case first; none for what `NO_PROXY`
    lists and for this machine itself, which no proxy could reach.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    proxy = _either(environ, f"{parts.scheme}_proxy") or _either(environ, "all_proxy")
    if not proxy or is_loopback(host) or _is_excepted(host, parts.port, _either(environ, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def tls_context(url: str, environ: Mapping[str, str], *, proxy: str | None = None) -> "ssl.SSLContext | bool":
    """How to check certificates: `SSL_CERT_FILE` or `SSL_CERT_DIR` where given, else what the system trusts.

    Reading the system's certificates takes tens of milliseconds; an address without TLS gets a context that trusts
    nobody.
    """
    import ssl  # noqa: PLC0415 - loaded with the first request

    if not (url.startswith("https:") or (proxy or "").startswith("https:")):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    cafile, capath = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if not cafile and not capath:
        return True
    try:
        return ssl.create_default_context(cafile=cafile or None, capath=capath or None)
    except OSError as error:
        raise ModelError(
            f"The certificates in {cafile or capath!r} cannot be read: {error}. Correct SSL_CERT_FILE or SSL_CERT_DIR.",
            "connection",
        ) from error


def _either(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _is_excepted(host: str, port: int | None, no_proxy: str) -> bool:
    for item in no_proxy.lower().split(","):
        name = item.strip()
        if not name:
            continue
        if name == "*":
            return True
        bare, _, named_port = name.rpartition(":")
        if bare and named_port.isdigit() and "]" not in named_port:
            if port is None or str(port) != named_port:
                continue
            name = bare
        name = name.strip("[]").removeprefix("*").removeprefix(".")
        if name and (host == name or host.endswith("." + name)):
            return True
    return False
