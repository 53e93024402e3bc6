import ssl
from pathlib import Path

import pytest

from holdfast.models import ModelError
from holdfast.models.proxies import proxy_for, tls_context

PROXY = {"HTTPS_PROXY": "http://proxy:3128", "http_proxy": "plain:80"}


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.example.com/v1", PROXY, "http://proxy:3128"),
        ("http://api.example.com", PROXY, "http://plain:80"),
        ("https://api.example.com", {"all_proxy": "http://all:1"}, "http://all:1"),
        ("https://api.example.com", {}, None),
        ("http://localhost:11434", PROXY, None),
        ("http://127.0.0.1:1", PROXY, None),
        ("http://[::1]:1", PROXY, None),
        ("https://api.example.com", {**PROXY, "NO_PROXY": "example.com"}, None),
        ("https://api.example.com", {**PROXY, "no_proxy": " other.org , .example.com"}, None),
        ("https://api.example.com", {**PROXY, "NO_PROXY": "*"}, None),
        ("https://badexample.com", {**PROXY, "NO_PROXY": "example.com"}, "http://proxy:3128"),
        ("https://api.example.com:8443", {**PROXY, "NO_PROXY": "api.example.com:8443"}, None),
        ("https://api.example.com", {**PROXY, "NO_PROXY": "api.example.com:8443"}, "http://proxy:3128"),
    ],
)
def test_the_proxy_of_an_address(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, environ) == proxy


def test_an_address_without_tls_reads_no_certificates_and_trusts_nobody() -> None:
    context = tls_context("http://127.0.0.1", {})
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.cert_store_stats()["x509_ca"] == 0


def test_certificates_come_from_the_system_or_from_the_file_that_is_named(tmp_path: Path) -> None:
    assert tls_context("https://api.example.com", {}) is True
    with pytest.raises(ModelError, match="SSL_CERT_FILE"):
        tls_context("https://api.example.com", {"SSL_CERT_FILE": str(tmp_path / "none.pem")})
    own = tls_context("https://api.example.com", {"SSL_CERT_DIR": str(tmp_path)})
    assert isinstance(own, ssl.SSLContext)
    assert own.verify_mode is ssl.CERT_REQUIRED
