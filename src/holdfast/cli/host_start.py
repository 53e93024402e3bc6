"""How a session with a host begins: its first request is read, the session started, and the request answered."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.cli.offers import answer_initialize
from holdfast.cli.opening import read_initialize
from holdfast.cli.stream_input import ControlRequest, control_error, control_success
from holdfast.contract import HoldfastError, UsageError
from holdfast.lib.uuids import new_uuid
from holdfast.session.cutting import ResumeRejected

if TYPE_CHECKING:
    from holdfast.app.start_agent import RunningAgent
    from holdfast.cli.headless import Plan
    from holdfast.cli.host import Host

__all__ = ["FieldsMissing", "Opening"]

_READER = "CLAUDE_AGENT_SDK_VERSION"
"""Set by libraries that list, read and delete conversations themselves, where they expect the program to keep them."""
_MISSING = "initialize_fields_not_delivered"
_NOTHING_PENDING: dict[str, Any] = {"pending_permission_requests": [], "pending_user_dialog_requests": []}


class FieldsMissing(UsageError):
    """Limits were promised for the first request, and did not come."""


class Opening:
    """The beginning of one session; without a request of the host the command line alone counts."""

    def __init__(self, request: ControlRequest | None, host: "Host", write: Callable[[dict[str, Any]], None]) -> None:
        self._request = request
        self._host = host
        self._write = write
        self._dialogs: frozenset[str] = frozenset()
        host.greeting = {} if request is None else dict(request.fields)

    def plan(self, plan: "Plan") -> "Plan":
        """What was asked for, all together.

        Raises:
            UsageError: Something of it cannot be.
        """
        fields = {} if self._request is None else self._request.fields
        if lost := [name for name in plan.moved if fields.get(name) is None]:
            raise FieldsMissing(
                f"the first request must be initialize with {', '.join(lost)}, as --initialize-fields says; without "
                "that the session must not start"
            )
        wanted = read_initialize(fields, plan.options, plan.agent, self._host.calls)
        if self._request is not None:  # it speaks the whole protocol: it fills in what servers ask for
            options = wanted.options._replace(form_asker=self._host, has_reader=_READER in os.environ)
            wanted = wanted._replace(options=options)
        self._dialogs = wanted.dialogs
        return plan._replace(options=wanted.options, agent=wanted.agent, has_agent_text=wanted.has_agent_text)

    @contextmanager
    def told(self) -> Generator[None]:
        """Tell the host of a start that fails: its request gets an error, and a result line says the same."""
        try:
            yield
        except HoldfastError as error:
            # Of a resume that is refused the process's end tells, and its result: hosts wait for just that.
            if self._request is not None and not isinstance(error, ResumeRejected):
                self._write(control_error(self._request.request_id, str(error)))
            missing = {"startup_failure_reason": _MISSING} if isinstance(error, FieldsMissing) else {}
            self._write({**_failed(str(error)), **missing})
            raise

    def done(self, agent: "RunningAgent") -> None:
        """Answer the request, and let the host's further lines count."""
        if self._request is not None:
            answer = answer_initialize(agent, self._request.fields)
            self._write(control_success(self._request.request_id, answer, _NOTHING_PENDING))
        self._host.serve(agent, self._dialogs)


def _failed(reason: str) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "result": reason,
        "session_id": "",
        "total_cost_usd": 0.0,
        "usage": {},
        "modelUsage": {},
        "permission_denials": [],
        "errors": [reason],
        "uuid": new_uuid(),
    }
