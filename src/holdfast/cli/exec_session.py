"""The session of `holdfast exec`: tool calls in as JSON lines, replies out as JSON lines, for any language."""

import asyncio
import signal
from typing import Any, Literal, cast

import msgspec

from holdfast.app import Options, open_session
from holdfast.app.servers import join_servers
from holdfast.cli.form_lines import form_request, form_withdrawn, read_form_response
from holdfast.cli.options import tell, to_options, warn
from holdfast.cli.wire import error_line, event_line, result_line
from holdfast.contract import Answer, Fatal, FormAnswer, PermissionUpdate, Question, UsageError
from holdfast.engine import OpenQuestions
from holdfast.events import (
    CallFinished,
    Event,
    FormAsked,
    FormWithdrawn,
    PermissionAsked,
    PermissionWithdrawn,
    encode_json,
)
from holdfast.host.stdio import LineReader, LineWriter
from holdfast.permissions import Rule
from holdfast.permissions.updates import DESTINATIONS, read_updates

__all__ = ["run_exec"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGINT,)

_STILL_S = 1.0
"""So long a reader may read nothing after the first signal."""

_KNOWN_KEYS = "behavior, message, updated_input, updated_permissions, rules, destination, interrupt"
_ANSWER_KEYS = frozenset(
    {
        *("type", "request_id", "requestId", "tool_use_id", "toolUseID", "behavior", "message", "interrupt"),
        *("updated_input", "updatedInput", "updated_permissions", "updatedPermissions", "rules", "destination"),
        *("allow", "input", "reason", "decisionClassification", "decision_classification"),
    }
)


def run_exec(given: dict[str, Any]) -> int:
    """Answer calls until standard input ends; returns the exit code."""
    return asyncio.run(_Session(to_options(given), events=given["events"], ask=given["ask"] == "stdio").run())


class _Session:
    """One process is one session: directory, files seen and rights last until standard input ends."""

    def __init__(self, options: Options, *, events: bool, ask: bool) -> None:
        self._writer = LineWriter()
        self._questions = OpenQuestions(
            self._show,
            self._take_back,
            show_form=lambda form: self._writer.write(encode_json(form_request(form))),
            withdraw_form=lambda form: self._writer.write(encode_json(form_withdrawn(form))),
        )
        self._has_calls = asyncio.Event()
        self._exit_code = 0
        self._options = options
        self._main: asyncio.Task[None] | None = None
        self._session = open_session(
            options, asker=self._questions if ask else None, on_event=self._write_event if events else None
        )
        self._executor = self._session.executor
        self._executor.state.tells_every_layer = events
        warn(self._session.rights)
        for warning in self._session.executor.hooks.warnings:
            tell(warning)

    async def run(self) -> int:
        """Read until the end of input, a signal or a reader that went away; answer every call."""
        loop = asyncio.get_running_loop()
        self._writer.start(loop, on_broken=lambda: self._quit(141))
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._quit, 128 + number)
        replies = asyncio.create_task(self._write_replies())
        self._main = asyncio.create_task(self._serve(LineReader(loop), replies))
        try:
            await self._main
        except asyncio.CancelledError:
            self._questions.close(Answer(message="the run was stopped"))
            await self._executor.interrupt()
            await self._write_the_rest(replies)
        await self._session.close()
        await self._writer.close()
        return self._exit_code

    async def _serve(self, lines: LineReader, replies: asyncio.Task[None]) -> None:
        """Everything that a signal stops: reading, and waiting for what runs when the input has ended."""
        await join_servers(self._session, self._options, on_notice=tell)
        await self._read_lines(lines)
        self._questions.close(Answer(message="standard input ended, so nobody can be asked any more"))
        await self._write_the_rest(replies)

    async def _write_the_rest(self, replies: asyncio.Task[None]) -> None:
        replies.cancel()
        await asyncio.wait([replies])
        async for event in self._executor.results():
            self._write_reply(event)

    def _show(self, question: Question) -> None:
        self._writer.write(
            encode_json(
                {
                    "type": "permission_request",
                    "request_id": question.id,
                    "tool_use_id": question.tool_use_id,
                    "tool_name": question.tool,
                    "input": question.input,
                    "reason": question.reason,
                    "suggestions": question.suggestions,
                    **({"preview": question.preview} if question.preview else {}),
                }
            )
        )

    def _take_back(self, question: Question) -> None:
        self._writer.write(
            encode_json(
                {
                    "type": "permission_withdrawn",
                    "request_id": question.id,
                    "tool_use_id": question.tool_use_id,
                    "tool_name": question.tool,
                }
            )
        )

    async def _read_lines(self, lines: LineReader) -> None:
        async for line in lines:
            if line.is_blank:
                continue
            try:
                message: Any = msgspec.json.decode(line.text())
                await self._take(cast("dict[str, Any]", message) if isinstance(message, dict) else {})
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                self._writer.write(error_line(line.number, f"this line is not valid JSON: {error}"))
            except UsageError as error:
                self._writer.write(error_line(line.number, str(error)))
            await self._writer.drained()

    async def _take(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "tool_use":
            self._executor.add(message)
            self._has_calls.set()
        elif kind == "end_turn":
            self._executor.end_turn()
        elif kind == "interrupt":
            await self._executor.interrupt()
        elif kind == "background":
            if not self._session.background(str(message.get("tool_use_id"))):
                raise UsageError(f"no running call {message.get('tool_use_id')!r} can go on in the background")
        elif kind == "permission_response":
            if self._take_answer(message):
                await self._executor.interrupt()
        elif kind == "form_response":
            self._take_form(message)
        else:
            raise UsageError(
                f"unknown message type {kind!r}; send tool_use, end_turn, permission_response, form_response, "
                "background or interrupt"
            )

    def _take_form(self, message: dict[str, Any]) -> None:
        request_id = str(_either(message, "request_id", "requestId"))
        form = self._questions.form(request_id)
        if form is None:
            raise UsageError(f"no open form has the request_id {request_id!r}")
        try:
            answer = read_form_response(message, form)
        except UsageError as error:
            self._questions.answer_form(request_id, FormAnswer(message=str(error)))
            raise UsageError(f"{error}; it is taken as a no") from error
        self._questions.answer_form(request_id, answer)

    def _take_answer(self, message: dict[str, Any]) -> bool:
        """Whether it is a no that also ends the turn."""
        from holdfast.cli.host_answers import read_behavior  # noqa: PLC0415 - with the first answer

        behavior = read_behavior(message)
        request_id = _either(message, "request_id", "requestId")
        if unknown := sorted(set(message) - _ANSWER_KEYS):
            # It may be a misspelt correction: what the person wanted is not known, so it is no yes.
            self._questions.answer(str(request_id), Answer(message=f"the answer has unknown keys {unknown}"))
            raise UsageError(f"the answer has unknown keys {unknown}, so it is taken as a no; known are {_KNOWN_KEYS}")
        updated: Any = _either(message, "updated_input", "updatedInput", "input")
        if updated is not None and not isinstance(updated, dict):
            raise UsageError(f"updated_input must be a JSON object, got {updated!r}")
        interrupt = message.get("interrupt")
        if interrupt is not None and not isinstance(interrupt, bool):
            raise UsageError(f"interrupt must be true or false, got {interrupt!r}")
        answer = Answer(
            behavior,
            cast("dict[str, Any] | None", updated),
            str(_either(message, "message", "reason") or ""),
            _rules(message.get("rules"), behavior),
            _destination(message.get("destination")),
            _updates(message),
        )
        if not self._questions.answer(str(request_id), answer):
            raise UsageError(f"no open question has the request_id {request_id!r}")
        return behavior == "deny" and interrupt is True

    async def _write_replies(self) -> None:
        while True:
            await self._has_calls.wait()
            self._has_calls.clear()
            try:
                async for event in self._executor.results():
                    self._write_reply(event)
            except Fatal as error:
                tell(str(error))
                self._quit(1)

    def _write_reply(self, event: Event) -> None:
        if isinstance(event, CallFinished):
            self._writer.write(result_line(event))

    def _write_event(self, event: Event) -> None:
        if not isinstance(event, (CallFinished, PermissionAsked, PermissionWithdrawn, FormAsked, FormWithdrawn)):
            self._writer.write(event_line(event))

    def _quit(self, code: int) -> None:
        """Cancel everything; a second signal does not wait for a reader that may never read again."""
        if self._exit_code:
            self._writer.abandon()
        else:
            self._writer.give_up_on_a_still_reader(_STILL_S)
        self._exit_code = self._exit_code or code
        if self._main is not None:
            self._main.cancel()


def _updates(message: dict[str, Any]) -> tuple[PermissionUpdate, ...]:
    """The permission updates of an answer, as a host of `-p` writes them."""

    def refuse(reason: str) -> None:
        raise UsageError(f"a permission update is refused: {reason}")

    return tuple(read_updates(_either(message, "updated_permissions", "updatedPermissions"), refuse))


def _destination(given: Any) -> str:
    if given is not None and given not in DESTINATIONS:
        raise UsageError(f"{given!r} is not a destination; known are {', '.join(DESTINATIONS)}")
    return "session" if given is None else str(given)


def _either(message: dict[str, Any], *names: str) -> Any:
    """A field in snake case, or as programs for other hosts write it."""
    found = [message[name] for name in names if message.get(name) is not None]
    if any(one != found[0] for one in found):
        raise UsageError(f"the answer says {names[0]!r} twice, and not the same")
    return found[0] if found else None


def _rules(given: Any, behavior: Literal["allow", "deny"]) -> tuple[str, ...]:
    """The rules of an answer; a broken one is told now, while the question can still be answered."""
    if given is None:
        return ()
    rules = cast("list[Any]", given)
    if not isinstance(given, list) or not all(isinstance(rule, str) for rule in rules):
        raise UsageError(f"rules must be a list of strings such as 'Bash(git *)', got {given!r}")
    for rule in rules:
        Rule.parse(behavior, rule)
    return tuple(rules)
