import shlex

import pytest

from holdfast.permissions.shell.programs.inspect import inspect_command
from holdfast.permissions.shell.programs.tool_table import TOOLS
from holdfast.permissions.shell.words.word import Word


def refusal(command: str) -> str | None:
    name, *words = shlex.split(command)
    return inspect_command(name, [Word(word) for word in words]).refusal


@pytest.mark.parametrize("option", ["-o {}", "-o{}", "--output={}", "-x {}", "--sort {}", "-E {}", "--dedup={}"])
def test_lsblk_takes_columns_that_the_kernel_knows(option: str) -> None:
    for column in TOOLS["lsblk"].columns.split():
        assert refusal("lsblk " + option.format(column)) is None
        assert refusal("lsblk " + option.format(column.upper())) is None


@pytest.mark.parametrize("option", ["-o {}", "-oNAME,{}", "--output=+{}", "-x {}", "--sort {}", "-E {}", "--dedup={}"])
@pytest.mark.parametrize("column", ["UUID", "fstype", "LABEL", "PARTUUID", "PTTYPE", "SERIAL", "FSUSE%", "", "NEWER"])
def test_lsblk_refuses_columns_that_may_come_from_the_disk(option: str, column: str) -> None:
    assert refusal("lsblk " + option.format(column))


def test_lsblk_refuses_options_that_show_such_columns() -> None:
    assert refusal("lsblk -f")
    assert refusal("lsblk -aO")
    assert refusal("lsblk --output-all")


@pytest.mark.parametrize("column", TOOLS["findmnt"].columns.split())
def test_findmnt_takes_columns_of_the_mount_table(column: str) -> None:
    assert refusal(f"findmnt -o {column}") is None


@pytest.mark.parametrize("kind", ["UUID", "LABEL", "PARTUUID", "PARTLABEL", "ID"])
@pytest.mark.parametrize("form", ["{}=x", "-S {}=x", "-S{}=x", "--source={}=x", "-T {}=x", "-n -- {}=x"])
def test_findmnt_never_looks_for_a_label(kind: str, form: str) -> None:
    assert refusal("findmnt " + form.format(kind))


@pytest.mark.parametrize(
    "form", ["-s /x", "--fstab /dev/sda", "-s -S /dev/sda", "-sT /x", "-o UUID", "-o TARGET,label"]
)
def test_findmnt_compares_nothing_with_the_labels_in_fstab(form: str) -> None:
    assert refusal("findmnt " + form)


def test_findmnt_with_a_word_known_only_at_run_time_is_refused() -> None:
    unknown = Word("/", static=False, may_be_flag=False)
    assert inspect_command("findmnt", [unknown]).refusal
