"""Names for messages that never come twice, and names for their parts that anybody finds again."""

import os

__all__ = ["new_uuid", "part_uuid"]


def new_uuid() -> str:
    """A random UUID; the module of that name would cost more to load than this whole file."""
    return _written(os.urandom(16).hex())


def part_uuid(whole: str, index: int) -> str:
    """The name of one part of a message, always the same; the first part has the name of the whole."""
    if index == 0:
        return whole
    from hashlib import blake2b  # noqa: PLC0415 - few messages have several parts

    return _written(blake2b(f"{whole}:{index}".encode(), digest_size=16).hexdigest())


def _written(digits: str) -> str:
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) & 3]}{digits[17:20]}-{digits[20:]}"
    )
