# ruff: noqa: RUF001 - characters that look alike are the point of this file
import ipaddress
import random
import re

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.rules.globs import DomainRule, compile_domain
from holdfast.permissions.web import WebRefusal, WebTarget, address_problem, canonical_host, check_url, host_problem

ACCEPTED = [
    ("https://example.com", "https://example.com/", "example.com", 443),
    ("HTTPS://EXAMPLE.COM./a?b#c", "https://example.com/a?b", "example.com", 443),
    ("http://example.com:8080/x", "http://example.com:8080/x", "example.com", 8080),
    ("http://example.com:80", "http://example.com/", "example.com", 80),
    ("https://example.com?q=1", "https://example.com/?q=1", "example.com", 443),
    ("https://example.com#@evil.com", "https://example.com/", "example.com", 443),
    ("https://example.com/a b/é%20", "https://example.com/a%20b/%C3%A9%20", "example.com", 443),
    ("https://bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
    ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
    ("https://ｅｘａｍｐｌｅ。com/", "https://example.com/", "example.com", 443),
    ("https://straße.de", "https://xn--strae-oqa.de/", "xn--strae-oqa.de", 443),
    ("http://8.8.8.8/", "http://8.8.8.8/", "8.8.8.8", 80),
    ("http://134744072/", "http://8.8.8.8/", "8.8.8.8", 80),
    ("http://0x8.0x8.2056/", "http://8.8.8.8/", "8.8.8.8", 80),
    ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/", "2606:4700::1111", 80),
    ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/", "2606:4700::1111", 8080),
    ("http://[::ffff:8.8.8.8]/", "http://[::ffff:808:808]/", "::ffff:808:808", 80),
]


@pytest.mark.parametrize(("url", "canonical", "host", "port"), ACCEPTED)
def test_a_public_address_gets_one_spelling(url: str, canonical: str, host: str, port: int) -> None:
    found = check_url(url)
    assert isinstance(found, WebTarget)
    assert (found.url, found.host, found.port) == (canonical, host, port)
    assert check_url(found.url) == found


REFUSED = """
ftp://example.com|file:///etc/passwd|javascript:alert(1)|example.com|//example.com|http:example.com|http:/example.com
http://|http:///x|https://user@example.com|https://user:pw@example.com|https://example.com@evil.com|http://@example.com
http://example.com:0|http://example.com:99999|http://example.com:x|http://example.com:|http://example.com:-1|http://a.com:٣
http://example.com:22|http://example.com:25|http://example.com:6379|http://exa mple.com|http://example..com|http://.com
http://example.com..|http://-a.com|http://a-.com|http://a_b.com|http://%31.com|http://example.com%00.evil.com
http://localhost|http://LOCALHOST.|http://a.localhost|http://printer.local|http://x.internal|http://router.lan|http://intranet
http://metadata.google.internal|http://metadata|http://metadata.goog|http://foo.home.arpa|http://localhost.localdomain
http://127.0.0.1|http://127.1|http://2130706433|http://0x7f000001|http://0x7f.1|http://0177.0.0.1|http://017700000001
http://0|http://0.0.0.0|http://10.1.2.3|http://172.16.0.1|http://192.168.1.1|http://169.254.169.254|http://100.64.0.1
http://100.100.100.200|http://198.18.0.1|http://192.0.2.1|http://203.0.113.9|http://224.0.0.1|http://240.0.0.1
http://255.255.255.255|http://168.63.129.16|http://192.0.0.192|http://256.1.1.1|http://1.2.3.4.5|http://4294967296
http://1.2.3.08|http://08.8.8.8|http://0x100000000|http://1.2.3|http://１２７.0.0.1|http://127。0。0。1|http://ⓛocalhost
http://[::1]|http://[::]|http://[fe80::1]|http://[fe80::1%25eth0]|http://[fc00::1]|http://[fd00:ec2::254]|http://[ff02::1]
http://[::ffff:127.0.0.1]|http://[::127.0.0.1]|http://[2002:7f00:1::]|http://[64:ff9b::10.0.0.1]|http://[64:ff9b:1::1]
http://[2001:db8::1]|http://[2001::1]|http://[3fff::1]|http://[100::1]|http://[::ffff:0:7f00:1]|http://[x]|http://[::1|http://[::1]x
http://xn--a.com|http://xn--|http://xn--example-.com|http://xn--zzzzzzzzzzzzzzzz99999.com|http://a\u0300|http://\u0301a.com|http://i❤.ws
""".strip().replace("\n", "|")


@pytest.mark.parametrize(
    "url", [item.encode().decode("unicode_escape") if "\\u" in item else item for item in REFUSED.split("|")]
)
def test_everything_that_is_not_the_public_web_is_refused_whatever_the_rules(url: str) -> None:
    public_in_disguise = {"http://1.2.3"}
    if url in public_in_disguise:
        assert isinstance(check_url(url), WebTarget)
        return
    assert isinstance(check_url(url), WebRefusal), url
    for mode in ("default", "bypassPermissions", "auto"):
        assert judge("WebFetch", {"url": url}, mode=mode, allow=["WebFetch"]).behavior == "deny"


@pytest.mark.parametrize(
    "char", ["\0", "\t", "\n", "\r", "\x7f", "\\", "\u200b", "\u202e", "\u2028", "\ud800", "\ue000"]
)
@pytest.mark.parametrize("place", ["https://exa{}mple.com/", "https://example.com/{}", "{}https://example.com/"])
def test_hidden_characters_are_refused_everywhere(char: str, place: str) -> None:
    assert isinstance(check_url(place.format(char)), WebRefusal)


def test_spaces_around_and_endless_addresses_are_refused() -> None:
    assert isinstance(check_url(" https://example.com"), WebRefusal)
    assert isinstance(check_url(""), WebRefusal)
    assert isinstance(check_url("https://example.com/" + "a" * 200_000), WebRefusal)
    assert isinstance(check_url("https://" + "a." * 200 + "com"), WebRefusal)
    assert isinstance(check_url("https://" + "é" * 60 + ".com"), WebRefusal)
    assert isinstance(check_url("https://example.com/" + "a" * 1_900), WebTarget)


def test_no_random_host_is_accepted_that_is_not_canonical() -> None:
    rng = random.Random(45)
    alphabet = "abz019.-_xX%@:[]#?/\\ \0\t。１é\u200d０"
    for _ in range(20_000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 14)))
        found = check_url(f"http://{text}/")
        if isinstance(found, WebTarget):
            assert found.host.isascii()
            assert found.host == found.host.lower().rstrip(".")
            assert host_problem(found.host) == ""
            assert set(found.host) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-:")
            assert check_url(found.url) == found


def test_every_private_network_is_closed_and_its_neighbours_open() -> None:
    closed = ["10.0.0.0", "172.31.255.255", "100.127.255.255", "192.168.0.0", "198.19.255.255", "0.1.2.3", "239.1.1.1"]
    opened = ["9.255.255.255", "172.32.0.0", "100.128.0.0", "192.169.0.0", "198.20.0.0", "1.1.1.1", "223.255.255.255"]
    assert all(address_problem(ipaddress.ip_address(text)) for text in closed)
    assert not any(address_problem(ipaddress.ip_address(text)) for text in opened)


RULES = [
    ("example.com", "example.com", True),
    ("example.com", "www.example.com", False),
    ("example.com", "badexample.com", False),
    ("EXAMPLE.com.", "example.com", True),
    ("*.example.com", "a.example.com", True),
    ("*.example.com", "a.b.example.com", True),
    ("*.example.com", "example.com", False),
    ("*.example.com", "evilexample.com", False),
    ("api.*.com", "api.x.com", True),
    ("api.*.com", "api.x.y.com", False),
    ("git*.com", "github.com", True),
    ("git*.com", "git.evil.com", False),
    ("*.git*.com", "a.b.github.com", True),
    ("bücher.example", "xn--bcher-kva.example", True),
    ("*.bücher.example", "www.xn--bcher-kva.example", True),
    ("8.8.8.8", "8.8.8.8", True),
    ("[2606:4700::1111]", "2606:4700:0::1111", False),
]


@pytest.mark.parametrize(("text", "host", "hit"), RULES)
def test_a_domain_rule_is_equality_or_whole_labels(text: str, host: str, hit: bool) -> None:
    rule = compile_domain(text)
    assert isinstance(rule, DomainRule)
    assert rule.matches(host) is hit


def test_a_star_alone_is_every_public_host() -> None:
    url = {"url": "https://example.com"}
    assert judge("WebFetch", url, mode="bypassPermissions", deny=["WebFetch(domain:*)"]).behavior == "deny"
    assert judge("WebFetch", url, allow=["WebFetch(domain:*)"]).behavior == "allow"
    assert judge("WebFetch", {"url": "http://127.0.0.1"}, allow=["WebFetch(domain:*)"]).behavior == "deny"
    assert judge("WebFetch", url, allow=["WebFetch"]).behavior == "allow"


def test_a_look_alike_host_is_another_host() -> None:
    assert judge("WebFetch", {"url": "https://gіthub.com"}, allow=["WebFetch(domain:github.com)"]).behavior == "ask"
    assert canonical_host("gіthub.com") != "github.com"


@pytest.mark.parametrize(
    "url",
    [
        "http://[2606:4700:4700::1111/",
        "http://[2606:4700:4700::1111]x/",
        "http://8.8.8.8.0/",
        "http://1.2.3.0x00000000004/",
        "http://example.com:000080/",
        "http://example.com:65536/",
        "http://example.com:0/",
        f"http://{'a' * 63}.{'a' * 63}.{'a' * 63}.{'a' * 62}/",
        "http://xn--" + "É".encode("punycode").decode() + ".com/",
        "http://xn--" + "ｅé".encode("punycode").decode() + ".com/",
        "https://example.com/" + "a" * (100_001 - 20),
    ],
)
def test_what_is_just_beyond_a_limit_is_refused(url: str) -> None:
    assert isinstance(check_url(url), WebRefusal)


@pytest.mark.parametrize(
    "url",
    [
        "http://[2606:4700:4700::1111]/",
        "http://[2606:4700:4700::1111]:8080/",
        "http://8.8.8.8/",
        "http://1.2.3.0x0000000004/",
        "http://example.com:80/",
        "http://example.com:65535/",
        f"http://{'a' * 63}.{'a' * 63}.{'a' * 63}.{'a' * 61}/",
        "http://xn--" + "é".encode("punycode").decode() + ".com/",
        "https://example.com/" + "a" * (2_000 - 20),
    ],
)
def test_what_just_keeps_a_limit_is_accepted(url: str) -> None:
    assert isinstance(check_url(url), WebTarget)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://exa%6dple.com/", "percent signs"),
        ("http://exa mple.com/", "percent signs"),
        (" http://example.com/", "spaces around"),
        ("", "empty"),
        ("http://example.com:1/", "port 1 belongs"),
        ("http://metadata.goog/", "metadata service"),
        ("http://metadata.other.internal/", "local network"),
    ],
)
def test_a_refusal_says_what_is_wrong(url: str, reason: str) -> None:
    found = check_url(url)
    assert isinstance(found, WebRefusal)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("x" * 300, [80]),
        (f"http://{'x' * 300}/", [80]),
        (f"http://{'x' * 100}.com/", [80, 80]),
        (f"http://[{'x' * 300}]/", [80]),
        (f"http://[fe80::1%{'x' * 300}]/", [72]),
    ],
)
def test_a_refusal_shows_no_more_than_the_beginning(url: str, shown: list[int]) -> None:
    found = check_url(url)
    assert isinstance(found, WebRefusal)
    assert [len(run) for run in re.findall("x{20,}", found.reason)] == shown
