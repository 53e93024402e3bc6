"""What is known about one simple command before it runs."""

from typing import NamedTuple


class CommandFacts(NamedTuple):
    """The verdict on one external program with its arguments.

    Attributes:
        refusal: why this is not proven read-only, or None when it is.
        reads: files and directories the command reads, as written.
        writes: files and directories the command creates, changes or removes, as written.
        network: the command talks to another machine or asks a name server.
        kind: a word for display: read, search, list, text, system, git, version, wrapper; and for commands that
            change something: edit, remove, package, network, run, process, privilege, git-write.
        reads_unknown: the command also reads files whose names are not known from the text.
    """

    refusal: str | None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    network: bool = False
    kind: str | None = None
    reads_unknown: bool = False
