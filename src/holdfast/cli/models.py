"""`holdfast models`: which models there are, what they cost, and which one would be asked."""

import os
from typing import Any, NamedTuple

import click

from holdfast.app import load_rights
from holdfast.app.choose_model import NoModelError, choose_model, model_settings
from holdfast.cli.lists_by_default import ListsByDefault
from holdfast.cli.options import to_options
from holdfast.cli.session_options import session_options
from holdfast.cli.wire import json_line
from holdfast.contract.errors import UsageError
from holdfast.models.catalog import KnownModel, as_of, known_models
from holdfast.models.open import ALIASES, KEYS, open_model, provider_of

__all__ = ["command"]


class _Row(NamedTuple):
    name: str
    window: int
    known: KnownModel | None
    price: tuple[float, float] | None
    """Of input and output, where the settings say another one than the list."""


@click.group("models", cls=ListsByDefault)
def command() -> None:
    """List models with their windows and prices. Without a command it lists them."""


@command.command("list", short_help="List models with window and prices.")
@click.argument("provider", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON lines.")
@session_options
def list_models(provider: str | None, *, as_json: bool, **given: Any) -> int:
    """List the models that are known: name, context window, dollars for a million tokens of input and output.

    Any other model of a provider works, too: write provider:NAME. Prices and windows of your own stand in the settings
    under modelOptions.
    """
    if provider is not None and provider not in KEYS:
        raise UsageError(f"There is no provider {provider!r}. Known are {', '.join(KEYS)}.")
    settings = load_rights(to_options(given)).settings
    rows = [row for row in _rows(model_settings(settings)) if provider in (None, provider_of(row.name))]
    try:
        chosen = choose_model(None, settings, os.environ)
    except NoModelError:
        chosen = ""
    if as_json:
        for row in rows:
            click.echo(json_line(_fields(row, is_chosen=_is(row, chosen))))
        return 0
    width = max((len(row.name) for row in rows), default=0)
    click.echo(f"  {'MODEL'.ljust(width)}  {'WINDOW':>9}  {'USD IN / OUT':>16}")
    for row in rows:
        mark = click.style("›", bold=True) if _is(row, chosen) else " "  # noqa: RUF001 - a mark
        click.echo(f"{mark} {row.name.ljust(width)}  {row.window:>9,}  {_price(row):>16}")
    click.echo()
    _tell_keys(provider, chosen)
    return 0


def _rows(options: Any) -> list[_Row]:
    rows: list[_Row] = []
    for known in known_models():
        name = f"{provider_of(known.name)}:{known.name}"
        rows.append(_row(name, known, options))
    listed = {row.name for row in rows}
    own = [key for key in options or () if ":" in key and provider_of(key) in KEYS]
    short = [f"{provider_of(name)}:{name}" for name in ALIASES.values()]
    return rows + [_row(name, None, options) for name in dict.fromkeys([*short, *own]) if name not in listed]


def _row(name: str, known: KnownModel | None, options: Any) -> _Row:
    """As a session would open it; no key is needed to look."""
    blank = {variable: "-" for variables in KEYS.values() for variable in variables}
    model: Any = open_model(name, environ={**blank, "AWS_REGION": "-", **os.environ}, settings=options)
    price = model.price
    listed = None if known is None else known.price
    own = None if price is None or price == listed else (price.input, price.output)
    return _Row(name, model.context_window, known, own)


def _is(row: _Row, chosen: str) -> bool:
    name = ALIASES.get(chosen.removeprefix("anthropic:"), chosen)
    return bool(name) and name in (row.name, row.name.partition(":")[2])


def _price(row: _Row) -> str:
    if row.price is not None:
        return f"${row.price[0]:g} / ${row.price[1]:g} (own)"
    return "not known" if row.known is None else f"${row.known.input:g} / ${row.known.output:g}"


def _fields(row: _Row, *, is_chosen: bool) -> dict[str, Any]:
    known = row.known
    price = row.price or (None if known is None else (known.input, known.output))
    return {
        "name": row.name,
        "context_window": row.window,
        "usd_per_million_input": None if price is None else price[0],
        "usd_per_million_output": None if price is None else price[1],
        "as_of": None if known is None or row.price is not None else known.as_of or as_of(),
        "source": None if known is None or row.price is not None else known.source or "the provider's price list",
        "is_chosen": is_chosen,
    }


def _tell_keys(provider: str | None, chosen: str) -> None:
    older = sorted({(known.as_of, provider_of(known.name)) for known in known_models() if known.as_of})
    apart = "".join(f"; prices of {whose} as of {date}" for date, whose in older)
    click.echo(f"List prices for a million tokens, and windows, as of {as_of()}{apart}. Short names:")
    click.echo("  " + ", ".join(f"{short} = {name}" for short, name in ALIASES.items()))
    for name, variables in KEYS.items():
        if provider in (None, name):
            found = next((variable for variable in variables if os.environ.get(variable, "").strip()), None)
            missing = f"no key: set {' or '.join(variables)}" if variables else "no key needed"
            click.echo(f"  {name}: {f'key in {found}' if found else missing}")
    click.echo(f"Default model: {chosen or 'none is chosen'}")
