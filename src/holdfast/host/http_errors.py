"""What can go wrong between us and a web server, by what the caller may do about it."""

from typing import Literal

from holdfast.contract.errors import HoldfastError

__all__ = ["HttpError", "HttpErrorKind"]

HttpErrorKind = Literal[
    "unreachable",  # no connection: refused, no such name, a certificate that is not trusted, a proxy that will not
    "connect_timeout",  # no connection in time
    "silent",  # nothing came for too long
    "overdue",  # the whole took too long
    "cut",  # the connection broke, or what came is no HTTP
    "too_large",  # more than the caller takes
    "invalid",  # the request cannot be sent at all
    "certificates",  # the certificates to trust cannot be read
]


class HttpError(HoldfastError):
    """An exchange that did not come to its end. `has_begun`: the head of an answer was read before."""

    def __init__(self, message: str, kind: HttpErrorKind, *, has_begun: bool = False) -> None:
        super().__init__(message)
        self.kind: HttpErrorKind = kind
        self.has_begun = has_begun
