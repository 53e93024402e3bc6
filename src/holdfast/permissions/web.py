"""Web addresses as text: one canonical spelling, refusal of everything that is not the public web, domain rules.

Nothing here touches the network. The client dials exactly `WebTarget.host` and checks every resolved address again
with `address_problem`.
"""

import ipaddress
import re
import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

_BAD_PORTS: Final = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530,
    531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 2375, 2376, 3306,
    3389, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    11211, 27017,
})  # fmt: skip
"""Ports of other services (the Fetch standard's list, and databases): a web page is never served there."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LOCAL_SUFFIXES: Final = frozenset({
    "local", "localhost", "internal", "localdomain", "intranet", "lan", "home", "corp", "private", "onion",
    "home.arpa",
})  # fmt: skip
_METADATA_HOSTS: Final = frozenset({
    "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "metadata.azure.com",
    "metadata.packet.net",
})  # fmt: skip
_V4_CLOSED: Final = tuple(
    ipaddress.IPv4Network(net)
    for net in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
)
_V6_OPEN: Final = ipaddress.IPv6Network("2000::/3")
_V6_CLOSED: Final = tuple(ipaddress.IPv6Network(net) for net in ("2001::/23", "2001:db8::/32", "3fff::/20"))
_V6_EMBEDDING: Final = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0),
    (ipaddress.IPv6Network("::ffff:0:0:0/96"), 0),
    (ipaddress.IPv6Network("::/96"), 0),
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),
    (ipaddress.IPv6Network("2002::/16"), 80),
)
"""IPv6 networks that carry an IPv4 address, and how far it is shifted."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_MAX_URL_CHARS: Final = 2_000
_MAX_CACHED_CHARS: Final = 500


class WebTarget(NamedTuple):
    """A web address that may be judged by rules."""

    url: str
    """Canonical spelling; the one to fetch."""
    scheme: str
    host: str
    """Lower case, ASCII (punycode where needed), no trailing dot; an address without brackets."""
    port: int


class WebRefusal(NamedTuple):
    """Why an address is never fetched, whatever the rules say."""

    reason: str


def check_url(url: str) -> WebTarget | WebRefusal:
    """Bring a web address into its one canonical form, or say why it is refused."""
    return _checked(url) if len(url) <= _MAX_CACHED_CHARS else _check(url)


@lru_cache(maxsize=1_024)
def _checked(url: str) -> WebTarget | WebRefusal:
    return _check(url)


def _check(url: str) -> WebTarget | WebRefusal:
    problem = _text_problem(url)
    if problem:
        return WebRefusal(problem)
    found = _SCHEME.fullmatch(url)
    if found is None or found[1].lower() not in _DEFAULT_PORTS or not found[2].startswith("//"):
        return WebRefusal(f"only http:// and https:// addresses are fetched, not {url[:80]!r}")
    scheme = found[1].lower()
    rest = found[2][2:]
    end = min((i for i in (rest.find(mark) for mark in "/?#") if i >= 0), default=len(rest))
    authority, tail = rest[:end], rest[end:]
    if "@" in authority:
        return WebRefusal("the address carries a user name or password; leave out everything before '@'")
    split = _host_and_port(authority, scheme)
    if isinstance(split, WebRefusal):
        return split
    raw_host, port = split
    host = canonical_host(raw_host)
    if isinstance(host, WebRefusal):
        return host
    problem = host_problem(host)
    if problem:
        return WebRefusal(problem)
    shown = f"[{host}]" if ":" in host else host
    suffix = "" if port == _DEFAULT_PORTS[scheme] else f":{port}"
    path = quote(tail.partition("#")[0], safe="/?#[]@!$&'()*+,;=:%~-._") if tail else "/"
    path = path if path.startswith("/") else f"/{path}"
    return WebTarget(f"{scheme}://{shown}{suffix}{path}", scheme, host, port)


def _text_problem(url: str) -> str:
    if len(url) > _MAX_URL_CHARS:
        return f"the address has {len(url)} characters; at most {_MAX_URL_CHARS} are read"
    if "\\" in url:
        return "the address contains a backslash, which programs read differently; use '/'"
    if url != url.strip() or not url:
        return "the address is empty or has spaces around it"
    for char in url:
        if ord(char) < 0x20 or (
            ord(char) > 0x7E and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co")
        ):
            return f"the address contains the invisible character U+{ord(char):04X}; remove it"
        if char == "\x7f":
            return "the address contains the invisible character U+007F; remove it"
    return ""


def _host_and_port(authority: str, scheme: str) -> tuple[str, int] | WebRefusal:
    if authority.startswith("["):
        host, closed, after = authority.partition("]")
        if not closed or (after and not after.startswith(":")):
            return WebRefusal(f"{authority!r} is not a host; write an IPv6 address as [address]:port")
        host, colon, port = host + closed, after[:1], after[1:]
    else:
        host, colon, port = authority.partition(":")
    if not colon:
        return host, _DEFAULT_PORTS[scheme]
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65_536):
        return WebRefusal(f"{port!r} is not a port; write a number from 1 to 65535, or leave it out")
    if int(port) in _BAD_PORTS:
        return WebRefusal(f"port {int(port)} belongs to another service than the web")
    return host, int(port)


def canonical_host(host: str) -> str | WebRefusal:
    """Lower case, one trailing dot off, punycode, every numeric spelling of an address as the usual one."""
    if host.startswith("["):
        return _canonical_v6(host[1:-1])
    if "%" in host or any(char.isspace() for char in host):
        return WebRefusal(f"{host!r} is not a host name; percent signs and spaces do not belong there")
    name = unicodedata.normalize("NFKC", host).lower() if not host.isascii() else host.lower()
    name = name.replace("\u3002", ".")
    name = name.removesuffix(".")
    if not name or len(name) > 253:
        return WebRefusal(f"{host[:80]!r} is not a host name; it is empty or too long")
    labels: list[str] = []
    for label in name.split("."):
        ascii_label = _ascii_label(label)
        if ascii_label is None:
            return WebRefusal(f"{label[:80]!r} in {host[:80]!r} is not a valid part of a host name")
        labels.append(ascii_label)
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        return _canonical_v4(labels)
    return ".".join(labels)


def _canonical_v6(text: str) -> str | WebRefusal:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return WebRefusal(f"[{text[:80]}] is not an IPv6 address")
    if address.scope_id is not None:
        return WebRefusal(f"[{text[:80]}] names a network interface; such addresses are local")
    mapped = address.ipv4_mapped
    # Python 3.13 writes ::ffff:8.8.8.8, others ::ffff:808:808.
    return str(address) if mapped is None else f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}"


def _ascii_label(label: str) -> str | None:
    if label.isascii():
        if _LABEL.fullmatch(label) is None:
            return None
        return label if not label.startswith("xn--") or _is_real_punycode(label) else None
    if unicodedata.category(label[0]).startswith("M") or not all(map(_is_name_character, label)):
        return None
    try:
        encoded = "xn--" + label.encode("punycode").decode("ascii")
    except UnicodeError:
        return None
    return encoded if _LABEL.fullmatch(encoded) else None


def _is_name_character(char: str) -> bool:
    return char == "-" or unicodedata.category(char) in ("Ll", "Lo", "Lm", "Mn", "Mc", "Nd")


def _is_real_punycode(label: str) -> bool:
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, OverflowError, ValueError):
        return False
    if decoded.isascii() or unicodedata.normalize("NFKC", decoded).lower() != decoded:
        return False
    return _ascii_label(decoded) == label


def _canonical_v4(labels: list[str]) -> str | WebRefusal:
    """Read an address as C libraries do: one to four parts, decimal or hexadecimal; octal is refused as ambiguous."""
    shown = ".".join(labels)
    refusal = WebRefusal(f"{shown!r} is not an address; write four decimal numbers, without leading zeros")
    if len(labels) > 4:
        return refusal
    numbers: list[int] = []
    for label in labels:
        if _NUMERIC_LABEL.fullmatch(label) is None or len(label) > 12:
            return refusal
        if label.startswith("0x"):
            numbers.append(int(label[2:] or "0", 16))
        elif label.startswith("0") and label != "0":
            return refusal
        else:
            numbers.append(int(label))
    *high, low = numbers
    if any(number > 255 for number in high) or low >= 256 ** (5 - len(numbers)):
        return refusal
    value = low + sum(number << (24 - 8 * index) for index, number in enumerate(high))
    return str(ipaddress.IPv4Address(value))


@lru_cache(maxsize=4_096)
def host_problem(host: str) -> str:
    """Why a canonical host is not on the public web; empty when it may be."""
    address = _as_address(host)
    if address is not None:
        return address_problem(address)
    labels = host.split(".")
    if len(labels) == 1:
        return f"{host!r} is a name without a dot; such names are local"
    endings = {labels[-1], ".".join(labels[-2:])}
    if not endings.isdisjoint(_LOCAL_SUFFIXES):
        return f"{host!r} is a name of the local network"
    if host in _METADATA_HOSTS:
        return f"{host!r} is a cloud metadata service"
    return ""


def _as_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def address_problem(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Why an address must not be dialled; empty when it is public. Every resolved address is checked with this."""
    if isinstance(address, ipaddress.IPv4Address):
        closed = any(address in network for network in _V4_CLOSED)
        return f"{address} is not a public address" if closed else ""
    for network, shift in _V6_EMBEDDING:
        if address in network:
            return address_problem(ipaddress.IPv4Address((int(address) >> shift) & 0xFFFF_FFFF))
    if address not in _V6_OPEN or any(address in network for network in _V6_CLOSED):
        return f"{address} is not a public address"
    return ""
