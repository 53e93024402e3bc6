"""Patterns in which `*` stands for any text: tool names, parameter values, agent names, hosts. Linear time."""

from typing import NamedTuple


def wild_match(pieces: tuple[str, ...], text: str) -> bool:
    """Match literal pieces in order with anything between them, without backtracking."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return text == first
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    position, end = len(first), len(text) - len(last)
    for piece in pieces[1:-1]:
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True


class StarGlob:
    """A compiled pattern; everything but `*` is literal."""

    __slots__ = ("_pieces", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces = tuple(text.split("*"))

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        return wild_match(self._pieces, text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StarGlob) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"StarGlob({self.text!r})"


class DomainRule(NamedTuple):
    """`domain:host`, `domain:*.host` (every sub-domain, not the host itself), or `*` inside single labels."""

    host: str
    """The exact host, or the host whose sub-domains are meant."""
    kind: str
    """exact, subdomains, labels or any."""
    labels: tuple[StarGlob, ...] = ()

    def matches(self, host: str) -> bool:
        """Whether the rule names this canonical host."""
        if self.kind == "exact":
            return host == self.host
        if self.kind == "any":
            return True
        parts = host.split(".")
        tail = len(self.labels)
        if self.kind == "subdomains":
            return len(parts) > tail and _labels_fit(self.labels, parts[-tail:])
        return len(parts) == tail and _labels_fit(self.labels, parts)


def _labels_fit(globs: tuple[StarGlob, ...], parts: list[str]) -> bool:
    return all(glob.matches(part) for glob, part in zip(globs, parts, strict=True))


def compile_domain(text: str) -> DomainRule | str:
    """Read what follows `domain:` in a rule; the answer is a text when it cannot be used. `*` alone is every host."""
    text = text.strip()
    if text == "*":
        return DomainRule("*", "any")
    from holdfast.permissions.web import WebRefusal, canonical_host  # noqa: PLC0415 - few start with such rules

    if "*" not in text:
        host = canonical_host(text)
        if isinstance(host, WebRefusal) or (":" in text.strip("[]") and not text.startswith("[")):
            return f"{text!r} is not a host name; write domain:example.com without scheme, port or path"
        return DomainRule(host, "exact")
    subdomains = text.startswith("*.")
    rest = text[2:] if subdomains else text
    rest = rest.removesuffix(".").lower()
    probe = canonical_host(rest.replace("*", "x"))
    if isinstance(probe, WebRefusal) or any("*" in label and not label.isascii() for label in rest.split(".")):
        return f"{text!r} is not a host pattern; write domain:*.example.com, or '*' inside one part of the name"
    labels = [label if "*" in label else probe.split(".")[i] for i, label in enumerate(rest.split("."))]
    return DomainRule(".".join(labels), "subdomains" if subdomains else "labels", tuple(map(StarGlob, labels)))
