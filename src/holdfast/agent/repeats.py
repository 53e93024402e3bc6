"""Notice a model that makes the same failing call again and again, and say so once."""

from typing import Any

import msgspec

from holdfast.events import CallFinished, encode_json

__all__ = ["RepeatGuard"]

_MAX_KEYS = 200
_sorted_json = msgspec.json.Encoder(order="deterministic").encode


class RepeatGuard:
    """Counts failures of the same call. A call that works, however often, is nobody's business."""

    __slots__ = ("_failures", "_limit")

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit
        self._failures: dict[tuple[str, bytes], int] = {}

    def take(self, reply: CallFinished, arguments: Any) -> str | None:
        """A call has ended; the warning for the model when it is time for one."""
        if not reply.is_error and not self._failures:
            return None
        key = (reply.name, _normal(arguments))
        if not reply.is_error:
            self._failures.pop(key, None)
            return None
        if reply.outcome == "cancelled":  # nobody knows whether it would have failed
            return None
        count = self._failures.pop(key, 0) + 1
        self._failures[key] = count
        if len(self._failures) > _MAX_KEYS:
            del self._failures[next(iter(self._failures))]
        if count != self._limit:
            return None
        return (
            f"The same {reply.name} call has now failed {count} times in the same way. Repeating it will not help: "
            "read its error again, then change the arguments, try another way, or tell the user what stands in the way."
        )


def _normal(arguments: Any) -> bytes:
    try:
        return _sorted_json(arguments)
    except (TypeError, UnicodeEncodeError, RecursionError):
        return encode_json(arguments)
