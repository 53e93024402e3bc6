"""Every dangerous option of every table, in every quoting style, through the whole analysis."""

from collections.abc import Iterator

import pytest

from holdfast.permissions.shell.programs.inspect import TABLES
from holdfast.permissions.shell.programs.tool_table import GIT_READS, TOOLS, Tool, parse_options
from holdfast.permissions.shell.text.analysis import analyse

CALLS: dict[str, tuple[str, str, Tool]] = {
    **{name: (name, "in.txt", tool) for name, tool in TABLES.items() if tool.operands != "inner"},
    **{name: (name, "in.txt", TOOLS[name]) for name in ("unzip", "zipinfo", "iconv", "strings", "c++filt")},
    **{f"git {name}": (f"git {name}", "HEAD", tool) for name, tool in GIT_READS.items()},
    "sed": ("sed", "p in.txt", TOOLS["sed"]),
    "awk": ("awk", "1 in.txt", TOOLS["awk"]),
    "jq": ("jq", ". in.json", TOOLS["jq"]),
    "yq": ("yq", ".a in.yml", TOOLS["yq"]),
    "date": ("date", "", TOOLS["date"]),
    "tar": ("tar -t -f a.tar", "", TOOLS["tar"]),
}
DANGEROUS = sorted(
    name
    for name, (_, _, tool) in CALLS.items()
    if any(not option.allowed for option in parse_options(tool.options)[0].values())
    or any(not option.allowed for option in parse_options(tool.options)[1].values())
)


def quotings(flag: str) -> Iterator[str]:
    """The same word in every way bash reads it."""
    yield flag
    yield f"'{flag}'"
    yield f'"{flag}"'
    yield f"\\{flag}"
    yield f"{flag[0]}\\{flag[1:]}"
    yield f"{flag[:2]}''{flag[2:]}"
    yield f'{flag[0]}"{flag[1:]}"'
    yield f"$'{flag}'"
    yield "$'" + "".join(f"\\x{ord(letter):02x}" for letter in flag) + "'"
    yield f"{{{flag},{flag}}}"
    yield f"$(echo {flag})"
    yield f"${{x:-{flag}}}"
    yield f"{flag[:-1]}[{flag[-1]}]"
    yield f"\\\n{flag}"


@pytest.mark.parametrize("name", DANGEROUS)
def test_no_quoting_hides_a_dangerous_option(name: str) -> None:
    start, end, tool = CALLS[name]
    short, long = parse_options(tool.options)
    accepted: list[str] = []
    for letter, option in {**short, **long}.items():
        if option.allowed:
            continue
        flag = f"--{letter}" if len(letter) > 1 else f"-{letter}"
        value = "" if option.takes == "none" else " x"
        glued = "" if option.takes == "none" else "=x" if len(letter) > 1 else "x"
        for spelling in quotings(flag):
            if (tool.plain and spelling[:1] in ("{", "$")) or (tool.plain and "[" in spelling):
                continue  # known only at run time: fine for a plain tool, whose one refused option only formats
            accepted += [
                command
                for command in (
                    f"{start} {spelling}{value} {end}",
                    f"{start} {end} {spelling}{value}",
                    f"{start} {spelling}{glued} {end}",
                )
                if analyse(command).read_only
            ]
    assert accepted == []
