import ssl
from pathlib import Path

import pytest

from holdfast.host.http_errors import HttpError
from holdfast.host.proxies import proxy_for, tls_context

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


def test_certificates_come_from_the_system_or_from_the_file_that_is_named(tmp_path: Path) -> None:
    system = tls_context({})
    assert system.verify_mode is ssl.CERT_REQUIRED
    assert system.check_hostname
    with pytest.raises(HttpError, match="SSL_CERT_FILE") as caught:
        tls_context({"SSL_CERT_FILE": str(tmp_path / "none.pem")})
    assert caught.value.kind == "certificates"
    own = tls_context({"SSL_CERT_DIR": str(tmp_path)})
    assert own.verify_mode is ssl.CERT_REQUIRED
    assert own.cert_store_stats()["x509_ca"] == 0
