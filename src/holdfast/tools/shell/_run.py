"""One command from its start to its reply: in the foreground, in the background, or from one to the other."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from holdfast.contract import ContextModifier, ToolContext, ToolFailed, ToolResult
from holdfast.host.capture import Output
from holdfast.host.command import Command, Exit, StartError, Stopped
from holdfast.host.process import Process
from holdfast.host.shell import CwdReport, shell_argv
from holdfast.lib import posix
from holdfast.lib.names import show_name
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.word import names
from holdfast.tasks import TaskRecord, TooManyTasks
from holdfast.tools.shell._directory import leave, lost_directory, may_move
from holdfast.tools.shell._follow import Follower, Leave
from holdfast.tools.shell._git import git_operations, summary
from holdfast.tools.shell._output import BashOutput
from holdfast.tools.shell._reply import ending, show
from holdfast.tools.shell._shown import ShownFile

if TYPE_CHECKING:
    from holdfast.tools.shell.bash import Bash, BashArgs

__all__ = ["Run"]

_NO_SANDBOX: Final = "There is no sandbox in this session, so dangerouslyDisableSandbox changed nothing"
_NOT_FOUND: Final = 127
_NOT_FROM_HERE: Final = (
    "Nobody was asked about this command, so programs in {} were not looked for; name the program by its path"
)
_STARTS_NOTHING: Final = names(
    "true false : echo printf test [ cd pwd cat head tail wc ls stat cut tr nl seq basename dirname realpath date id"
    " uname whoami hostname grep egrep fgrep sleep"
)
_SILENT: Final = names("mv cp rm mkdir rmdir chmod chown chgrp touch ln cd export unset wait true :")


class Run:
    """One call of Bash."""

    def __init__(self, tool: "Bash", args: "BashArgs", ctx: ToolContext, analysis: Analysis) -> None:
        self._tool = tool
        self._args = args
        self._ctx = ctx
        self._analysis = analysis
        wanted_s = tool.limits.default_s if args.timeout is None else args.timeout / 1000
        self._limit_s = min(wanted_s, max(tool.limits.max_s, tool.limits.default_s))
        self._notices = [_NO_SANDBOX] if args.dangerously_disable_sandbox and not _is_on(tool) else []
        self._is_confined = False
        self._report: CwdReport | None = None
        self._env: Mapping[str, str | None] = {}

    async def result(self) -> ToolResult[BashOutput]:
        """Start the command and wait for what comes of it.

        Raises:
            ToolFailed: It could not be started.
        """
        if not posix.has_process_groups():
            raise ToolFailed(posix.NO_PROCESSES)
        unasked = self._starts_nothing and not self._ctx.asked and not self._is_plain
        processes = self._tool.board.processes
        rights = self._ctx.rights
        env = await self._tool.environment.variables(
            processes,
            unasked=unasked,
            own_word=self._runs_on_our_word,
            roots=None if rights is None else rights.guarded_roots(),
        )
        self._env = env
        if self._args.run_in_background:
            return await self._in_background(env)
        if (shown_there := await self._in_terminal(env)) is not None:
            return shown_there
        if may_move(self._analysis):
            self._report = CwdReport()
        try:
            shown = ShownFile.of(self._analysis, self._ctx)
            process = await processes.start(self._command(env))
            ended = await self._follow(process)
            if isinstance(ended, Exit):
                return self._finished(process.output, ended, shown)
            return await self._leave(process, ended)
        except StartError as error:
            if not os.path.isdir(self._ctx.cwd):
                return lost_directory(self._ctx)
            raise ToolFailed(str(error)) from error
        finally:
            if self._report is not None:
                self._report.close()

    def _command(self, env: Mapping[str, str | None]) -> Command:
        text, report = self._args.command, self._report
        return self._walled(
            Command(
                argv=shell_argv(text if report is None else report.script(text)),
                cwd=self._ctx.cwd,
                env=env,
                pass_fds=() if report is None else (report.fd,),
                spill_path=self._new_result_file,
                label=self._description,
            )
        )

    async def _in_terminal(self, env: Mapping[str, str | None]) -> ToolResult[BashOutput] | None:
        """In a terminal of the editor, where it has some and no wall is to be around the command; None: run it here."""
        terminals, wall, before = self._tool.terminals, self._tool.wall, list(self._notices)
        if terminals is None or not terminals.are_usable:
            return None
        if wall is not None and wall.is_on and self._tool.runs_confined(self._args, self._ctx):
            return None
        from holdfast.tools.shell._terminals import handed_over, run_in_terminal  # noqa: PLC0415 - only in an editor

        text, board = self._args.command, self._tool.board
        with handed_over(board.processes, board.places, text) as handed:
            if handed is None:
                return None
            report = handed.reports() if may_move(self._analysis) else None
            argv = shell_argv(text if report is None else report.script(text))
            command = Command(argv=argv, cwd=self._ctx.cwd, env=env, label=self._description)
            if self._walled(command) is not command:
                return None
            shown_file = ShownFile.of(self._analysis, self._ctx)
            done = await run_in_terminal(terminals, handed, command, self._ctx, self._limit_s)
            if done is None:
                self._notices = before
                return None
            self._report = report
            if done.is_cut:
                self._notices.append("The editor kept only the end of the output")
            return self._finished(done.output, done.ended, shown_file)

    def _walled(self, command: Command) -> Command:
        wall, args = self._tool.wall, self._args
        if wall is None:
            return command
        if not wall.is_on:
            return wall.without_writes(command, self._ctx)
        if self._tool.runs_confined(args, self._ctx):
            if self._ctx.asked:
                wall.answered()
            self._is_confined = True
            return wall.wrap(command, self._ctx)
        self._notices.append(wall.outside(leaves=args.dangerously_disable_sandbox))
        return command

    @property
    def _description(self) -> str:
        return self._args.description or self._args.command[:200]

    def _new_result_file(self) -> str | None:
        try:
            return self._tool.board.places.result_file(self._ctx.tool_use_id or "bash")
        except OSError:
            return None  # the output is then bounded without its full text, and the reply says so

    async def _follow(self, process: Process) -> Exit | Leave:
        follower = Follower(
            process,
            self._ctx,
            limit_s=self._limit_s,
            automatic_s=self._automatic_s,
        )
        return await self._tool.followed.follow(self._ctx.tool_use_id, follower)

    @property
    def _automatic_s(self) -> float | None:
        limits = self._tool.limits
        if limits.automatic_background_s is None:
            return None
        is_on = self._ctx.session.agent_id is None or limits.automatic_in_subagents
        return limits.automatic_background_s if is_on and self._may_go_on_alone else None

    @property
    def _may_go_on_alone(self) -> bool:
        only_sleeps = self._analysis.first_sleep_s is not None and len(self._analysis.parts) == 1
        return self._ctx.session.prompt.background and not only_sleeps

    @property
    def _runs_on_our_word(self) -> bool:
        """No person, rule or hook wanted this very command: our reading of its text let it run."""
        granted = self._ctx.granted
        return granted == "mode" or (not granted and self._analysis.read_only)

    @property
    def _starts_nothing(self) -> bool:
        """We let it run because it starts nothing: then git is kept from starting hooks, too."""
        if self._analysis.read_only or self._ctx.granted != "mode" or not self._analysis.uses_git:
            return self._analysis.read_only
        from holdfast.permissions.shell.judge.rewriters import only_adds  # noqa: PLC0415 - only with such a command

        return only_adds(self._analysis)

    @property
    def _is_plain(self) -> bool:
        """Only programs that start nothing, whatever the environment says; fifty variables cost each shell time."""
        return _STARTS_NOTHING.issuperset(self._analysis.names)

    # The ways to end.

    def _finished(self, output: Output, ended: Exit, shown_file: ShownFile | None) -> ToolResult[BashOutput]:
        analysis, ctx = self._analysis, self._ctx
        meaning = analysis.exit_meaning(ended.code) if ended.code else None
        opening, is_error = ending(ended, meaning, limit_s=self._limit_s)
        if ended.code == _NOT_FOUND and (left_out := self._tool.environment.left_out(self._env)):
            self._notices.append(_NOT_FROM_HERE.format(", ".join(map(show_name, left_out))))
        if self._is_confined and (wall := self._tool.wall) is not None:
            errors = output.stderr.text() if is_error else ""
            self._notices += wall.notices(self._args.command, errors, failed=is_error)
        modifiers = () if self._report is None else self._moved(self._report)
        if not opening and not self._notices and not output.total_bytes:
            self._notices.append("The command gave no output")
        shown = show(output, opening=opening, notices=self._notices, spill_path=self._new_result_file)
        if shown_file is not None and ended.code == 0:
            modifiers = (*modifiers, *shown_file.read(ctx, whole_output=shown.is_whole))
        operations = {} if is_error else git_operations(analysis, output)
        data = self._data(shown.fields, exitCode=ended.shell_code)
        if meaning is not None:
            data["returnCodeInterpretation"] = meaning
        if ended.timed_out:
            data["timedOutAfterMs"] = round(self._limit_s * 1000)
            data["interrupted"] = True
        if operations:
            data["structuredContent"] = {"gitOperation": operations}
        if analysis.names and _SILENT.issuperset(analysis.names):
            data["noOutputExpected"] = True
        display = (summary(operations) or None) if operations else None
        return ToolResult(data, shown.content, is_error=is_error, modifiers=modifiers, display=display)

    def _moved(self, report: CwdReport) -> tuple[ContextModifier, ...]:
        modifiers, notice = leave(report.read(), self._ctx, self._tool.inside)
        if notice:
            self._notices.append(notice)
        return modifiers

    async def _leave(self, process: Process, reason: Leave) -> ToolResult[BashOutput]:
        """Stop waiting: the command goes on as a task, or ends here if it may not."""
        if reason == "timeout" and not self._may_go_on_alone:
            ended = await process.kill_tree(stopped_by=Stopped.TIMEOUT)
            return self._finished(process.output, ended, None)
        try:
            record = self._tool.board.adopt(process, **self._as_task())
        except TooManyTasks as error:
            ended = await process.kill_tree(stopped_by=Stopped.TIMEOUT)
            self._notices.append(f"It could not go on in the background: {error}")
            return self._finished(process.output, ended, None)
        waited_s = self._limit_s if reason == "timeout" else self._tool.limits.automatic_background_s
        why = "The user let the command go on" if reason == "user" else f"After {waited_s:g} s the command goes on"
        result = self._background_result(record, f"{why} in the background as task {record.id}.")
        if reason == "user":
            result.data["backgroundedByUser"] = True
        elif reason == "automatic":
            result.data["assistantAutoBackgrounded"] = True
        else:
            result.data["timedOutAfterMs"] = round(self._limit_s * 1000)
        result.data["stdout"] = process.output.stdout.last_lines(20)
        return result

    async def _in_background(self, env: Mapping[str, str | None]) -> ToolResult[BashOutput]:
        command = self._walled(
            Command(argv=shell_argv(self._args.command), cwd=self._ctx.cwd, env=env, label=self._description)
        )
        try:
            record = await self._tool.board.launch(command, **self._as_task())
        except (StartError, TooManyTasks) as error:
            if not os.path.isdir(self._ctx.cwd):
                return lost_directory(self._ctx)
            raise ToolFailed(str(error)) from error
        what = "waits for its turn" if record.status == "pending" else "runs"
        return self._background_result(record, f"The command {what} in the background as task {record.id}.")

    def _as_task(self) -> dict[str, Any]:
        return {
            "description": self._description,
            "tool_use_id": self._ctx.tool_use_id,
            "text": self._args.command,
            "meaning": self._analysis.exit_meaning,
        }

    def _background_result(self, record: TaskRecord, opening: str) -> ToolResult[BashOutput]:
        notices = "".join(f"\n[{notice}]" for notice in self._notices)
        text = (
            f"{opening} Its output goes to {record.output_file}. You will be told when it ends; until then TaskOutput "
            f"shows what it wrote and TaskStop ends it. Do not wait for it in a loop.{notices}"
        )
        data = self._data({"stdout": "", "stderr": ""}, backgroundTaskId=record.id, rawOutputPath=record.output_file)
        return ToolResult(data, text, backgrounded=True)

    def _data(self, fields: Mapping[str, Any], **more: Any) -> BashOutput:
        data: Any = {"stdout": "", "stderr": "", "interrupted": False, **fields, **more}
        if self._args.dangerously_disable_sandbox:
            data["dangerouslyDisableSandbox"] = True
        return data


def _is_on(tool: "Bash") -> bool:
    return tool.wall is not None and tool.wall.is_on
