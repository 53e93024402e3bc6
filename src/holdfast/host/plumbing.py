"""The pipes of one start: made before, connected after, and closed when nothing came of it."""

import os

from holdfast.host.capture import Intake, Output
from holdfast.host.command import Command, Stdin
from holdfast.host.pipe_writer import PipeWriter
from holdfast.host.pipes import PipeReader, PipeStream, SparePipes
from holdfast.host.poller import Poller
from holdfast.host.process import Process
from holdfast.host.spawn import Environment, spawn


class Plumbing:
    """Our ends of the pipes of one process."""

    __slots__ = ("_command", "_nothing", "_spare", "_stderr", "_stdin", "_stdout", "_theirs")

    def __init__(self, command: Command, nothing: int, spare: SparePipes) -> None:
        """Take what is to be started, a handle that reads as empty, and where pipes come from."""
        self._command = command
        self._nothing = nothing
        self._spare = spare
        self._stdin = self._stdout = self._stderr = -1
        self._theirs: list[int] = []

    def spawn(self, environment: Environment, own_entry: bytes) -> int:
        """Make the pipes and start the process.

        Raises:
            OSError: It could not be started.
            ValueError: An argument or a variable holds a NUL byte.
        """
        command, theirs = self._command, self._theirs
        try:
            stdin = self._nothing if command.stdin is Stdin.NOTHING else self._make_stdin()
            self._stdout, stdout = self._spare.take()
            theirs.append(stdout)
            stderr = stdout
            if not command.merge_stderr:
                self._stderr, stderr = self._spare.take()
                theirs.append(stderr)
            return spawn(
                command.argv,
                environment,
                own_entry,
                streams=(stdin, stdout, stderr),
                errors=self._spare.take_plain(),
                cwd=command.cwd,
                pass_fds=command.pass_fds,
            )
        finally:
            for fd in theirs:
                os.close(fd)

    def _make_stdin(self) -> int:
        theirs, self._stdin = os.pipe()
        self._theirs.append(theirs)
        return theirs

    def connect(self, process: Process, output: Output, poller: Poller) -> None:
        """Hand our ends to the process."""
        command = self._command
        stream = writer = None
        readers: list[PipeReader] = []
        on_end = process.pipe_ended
        if command.streams_stdout:
            stream = PipeStream(poller, self._stdout)
        else:
            readers.append(PipeReader(poller, self._stdout, sink=Intake(output, output.stdout), on_end=on_end))
        if not command.merge_stderr:
            readers.append(PipeReader(poller, self._stderr, sink=Intake(output, output.stderr), on_end=on_end))
        if self._stdin >= 0:
            writer = PipeWriter(poller.loop, self._stdin)
            if isinstance(command.stdin, bytes):
                writer.send_and_close(command.stdin)
        process.attach(readers=readers, stream=stream, writer=writer)

    def close(self) -> None:
        """Nothing came of it."""
        for fd in (self._stdin, self._stdout, self._stderr):
            if fd >= 0:
                os.close(fd)
