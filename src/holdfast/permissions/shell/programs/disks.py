"""lsblk and findmnt: the kernel's lists of disks and mounts, without a look at the disks themselves."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.tool_table import TOOLS
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.word import Word

LSBLK_COLUMNS = names(
    "ALIGNMENT DISC-ALN DISC-GRAN DISC-MAX DISC-ZERO GROUP HCTL HOTPLUG KNAME LOG-SEC MAJ:MIN MIN-IO MODE"
    " MOUNTPOINT MOUNTPOINTS NAME OPT-IO OWNER PATH PHY-SEC PKNAME RA RAND REV RM RO ROTA RQ-SIZE SCHED SIZE START"
    " STATE SUBSYSTEMS TRAN TYPE VENDOR WSAME ZONED"
)
"""Columns from the kernel alone; the others come from the first blocks of each disk when udev does not know them."""
FINDMNT_COLUMNS = names(
    "AVAIL FREQ FROOT FS-OPTIONS FSROOT FSTYPE ID INO.AVAIL INO.TOTAL INO.USE% INO.USED MAJ:MIN OPT-FIELDS OPTIONS"
    " PARENT PASSNO PROPAGATION SIZE SOURCE TARGET TID USE% USED VFS-OPTIONS"
)


def _refuse_columns(found: Scan, known: frozenset[str], *options: str) -> None:
    for word in found.values(*options):
        columns = word.text.removeprefix("+").upper().split(",")
        if not word.static or not known.issuperset(columns):
            found.refuse(f"one of the columns {word.text!r} may be read from the disk itself")


def _facts(found: Scan) -> CommandFacts:
    return CommandFacts(found.refusal, tuple(found.reads), (), kind=found.tool.kind, reads_unknown=found.reads_unknown)


def inspect_lsblk(args: "Sequence[Word]") -> CommandFacts:
    """Let `lsblk` print and sort by what the kernel knows."""
    found = scan(TOOLS["lsblk"], args)
    _refuse_columns(found, LSBLK_COLUMNS, "-o", "-x", "-E", "-T")
    return _facts(found)


def inspect_findmnt(args: "Sequence[Word]") -> CommandFacts:
    """Let `findmnt` look at mounts; to find one by a label, it reads every disk and keeps what it saw in a file."""
    found = scan(TOOLS["findmnt"], args)
    _refuse_columns(found, FINDMNT_COLUMNS, "-o")
    wanted = [*found.operands, *found.values("-S", "-T", "-M")]
    for word in wanted:
        if "=" in word.text or not word.static:
            found.refuse("findmnt reads the disks to find a label")
    if wanted and found.has("-s"):
        found.refuse("findmnt reads a disk to compare it with the labels in fstab")
    return _facts(found)
