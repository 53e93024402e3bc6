"""What programs read of a command: the fields of its result."""

from typing import Any, NotRequired, TypedDict

__all__ = ["BashOutput"]


class BashOutput(TypedDict):
    """What programs read of a finished or moved command."""

    stdout: str
    stderr: str
    interrupted: bool
    exitCode: NotRequired[int]
    isImage: NotRequired[bool]
    backgroundTaskId: NotRequired[str]
    backgroundedByUser: NotRequired[bool]
    assistantAutoBackgrounded: NotRequired[bool]
    dangerouslyDisableSandbox: NotRequired[bool]
    returnCodeInterpretation: NotRequired[str]
    noOutputExpected: NotRequired[bool]
    structuredContent: NotRequired[Any]
    persistedOutputPath: NotRequired[str]
    persistedOutputSize: NotRequired[int]
    rawOutputPath: NotRequired[str]
    timedOutAfterMs: NotRequired[int]
