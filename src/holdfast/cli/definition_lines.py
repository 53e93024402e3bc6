"""What people wrote for agents, as `holdfast agents` and `holdfast skills` print it."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from holdfast.cli.wire import json_line
from holdfast.lib.visible import visible

__all__ = ["echo_findings", "echo_rows", "echo_shown"]

Row = tuple[str, str, str]
"""Name, whose it is, and what it is for."""
Finding = tuple[str, str]
"""A file and what is odd about it."""
_ABOUT_CHARS = 200


def echo_rows(rows: Iterable[Row], *, as_json: bool, nothing: str) -> int:
    """Print one line for each."""
    found = list(rows)
    for name, source, about in found:
        if as_json:
            click.echo(json_line({"name": name, "source": source, "description": about}))
        else:
            said = visible(about, limit_chars=_ABOUT_CHARS)
            click.echo(f"{click.style(visible(name), bold=True)}  [{source}]  {said}")
    if not found and not as_json:
        click.echo(nothing)
    return 0


def echo_shown(facts: Mapping[str, Any], text: str, *, as_json: bool) -> int:
    """Print all about one of them, and its text."""
    known = {name: value for name, value in facts.items() if value not in (None, "", (), [], {})}
    if as_json:
        click.echo(json_line({**known, "text": text}))
        return 0
    for name, value in known.items():
        said = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType] - texts and lists of texts
        click.echo(f"{click.style(name, bold=True)}: {visible(said)}")
    click.echo()
    for line in text.splitlines():
        click.echo(visible(line))
    return 0


def echo_findings(findings: Iterable[Finding], *, count: int, what: str, as_json: bool) -> int:
    """Print what is odd, and how many were looked at; 1 if anything is."""
    found = list(findings)
    for path, reason in found:
        if as_json:
            click.echo(json_line({"path": path, "finding": reason}))
        else:
            click.echo(f"{visible(path)}: {visible(reason)}")
    if not as_json:
        click.echo(f"{what}: {count}, findings: {len(found)}", err=True)
    return 1 if found else 0
