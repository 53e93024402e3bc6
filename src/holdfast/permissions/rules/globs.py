"""Patterns in which `*` stands for any text: tool names, parameter values, agent names, hosts. Linear time."""

from typing import NamedTuple


class StarGlob:
    """A compiled pattern; everything but `*` is literal."""

    __slots__ = ("_head", "_middle", "_tail", "literal", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        head, *rest = text.split("*")
        self.literal = not rest
        self._head = head
        self._tail = rest.pop() if rest else ""
        self._middle = tuple(part for part in rest if part)

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        if self.literal:
            return text == self.text
        if len(text) < len(self._head) + len(self._tail) or not text.startswith(self._head):
            return False
        if not text.endswith(self._tail):
            return False
        position, stop = len(self._head), len(text) - len(self._tail)
        for part in self._middle:
            found = text.find(part, position, stop)
            if found < 0:
                return False
            position = found + len(part)
        return True

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
