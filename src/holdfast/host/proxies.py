"""Which proxy and which certificates a request uses, from the environment it was given."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from holdfast.host.http_errors import HttpError

if TYPE_CHECKING:
    import ssl

__all__ = ["is_loopback", "proxy_for", "tls_context"]

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where distributions keep what they trust."""


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


def tls_context(environ: Mapping[str, str]) -> "ssl.SSLContext":
    """How to check certificates: by `SSL_CERT_FILE` or `SSL_CERT_DIR` where given, else by what the system trusts.

    Reading the system's certificates takes tens of milliseconds, so only an address with TLS asks for this.

    Raises:
        HttpError: The certificates that were named cannot be read.
    """
    import ssl  # noqa: PLC0415 - with the first request

    cafile, capath = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    try:
        context = ssl.create_default_context(cafile=cafile, capath=capath)
    except OSError as error:
        raise HttpError(
            f"The certificates in {cafile or capath!r} cannot be read: {error}. Correct SSL_CERT_FILE or SSL_CERT_DIR.",
            "certificates",
        ) from error
    if cafile is None and capath is None and not _has_certificates(context):
        for bundle in filter(os.path.isfile, _BUNDLES):  # an interpreter that was built for another distribution
            context.load_verify_locations(bundle)
            break
    return context


def _has_certificates(context: "ssl.SSLContext") -> bool:
    """Whether there is anybody to trust: certificates that are loaded, or a directory of them."""
    import ssl  # noqa: PLC0415 - loaded already

    directory = ssl.get_default_verify_paths().capath
    return bool(context.cert_store_stats()["x509_ca"]) or bool(directory and os.listdir(directory))


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
