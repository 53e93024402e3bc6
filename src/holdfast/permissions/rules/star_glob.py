"""Patterns in which `*` stands for any text: tool names, parameter values, agent names. Linear time."""

__all__ = ["StarGlob"]


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
