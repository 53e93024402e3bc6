"""`holdfast tools`: what a model can call."""

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import click

from holdfast.app import build_executor
from holdfast.app.deferral import search_tools
from holdfast.cli.completers import complete_tools
from holdfast.cli.lists_by_default import ListsByDefault
from holdfast.cli.options import to_options
from holdfast.cli.session_options import session_options
from holdfast.cli.wire import json_line
from holdfast.contract import Tool
from holdfast.registry import project, project_bytes
from holdfast.registry.deferral import SEARCH, search_mode, told_by_name

if TYPE_CHECKING:
    from holdfast.engine import Executor

__all__ = ["command"]


@click.group("tools", cls=ListsByDefault)
def command() -> None:
    """List the tools, or show one with its schema. Without a command it lists them."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the provider-ready list as JSON.")
@click.option("--cost", is_flag=True, help="Tell how many tokens each tool costs before the first word.")
@session_options
def list_tools(*, as_json: bool, cost: bool, **given: Any) -> int:
    """List every tool with what it does."""
    executor = _executor(given)
    pool, facts = executor.pool, executor.state.session.prompt
    if cost:
        return _tell_cost(executor, as_json=as_json)
    if as_json:
        click.echo(pool.to_bytes(facts=facts))
        return 0
    width = max((len(tool.name) for tool in pool), default=0)
    for tool in pool:
        name = click.style(tool.name.ljust(width), bold=True)
        click.echo(f"{name}  {_fitted(tool.description(facts), indent=width + 2)}")
    return 0


def _tell_cost(executor: "Executor", *, as_json: bool) -> int:
    """How many tokens a session costs before the user's first word, by our estimate, the dearest first."""
    from holdfast.agent.prompt.build import PromptParts, build_system_prompt  # noqa: PLC0415 - only here
    from holdfast.lib.tokens import estimate_bytes, estimate_tokens  # noqa: PLC0415 - the same

    pool, facts = executor.pool, executor.state.session.prompt
    rare = [tool.name for tool in pool if tool.should_defer and not tool.always_load]
    waiting = rare if pool.find(SEARCH) is not None and search_mode(os.environ).kind == "on" else []
    costs = {tool.name: estimate_bytes(project_bytes(tool, facts=facts)) for tool in pool if tool.name not in waiting}
    parts = PromptParts(tools=frozenset(tool.name for tool in pool), facts=facts, appended=told_by_name(waiting))
    prompt = sum(estimate_tokens(block.text) for block in build_system_prompt(parts))
    total = prompt + sum(costs.values())
    rows = sorted(costs.items(), key=lambda row: (-row[1], row[0]))
    if as_json:
        click.echo(json_line({"system_prompt": prompt, "tools": dict(rows), "by_name_only": waiting, "total": total}))
        return 0
    for name, tokens in (("system prompt", prompt), *rows, ("total", total)):
        click.echo(f"{tokens:7,}  {name}")
    if waiting:
        click.echo(f"\nTold by name only, until ToolSearch loads them: {', '.join(waiting)}")
    return 0


def _executor(given: dict[str, Any]) -> "Executor":
    options = to_options(given)
    return build_executor(options._replace(own_tools=search_tools(options)), agents=("general-purpose",))


def _fitted(text: str, *, indent: int) -> str:
    """The text as a terminal shows it best; whoever reads it from a pipe gets one line."""
    if not sys.stdout.isatty():
        return text
    columns = max(20, shutil.get_terminal_size().columns - indent)
    return f"\n{' ' * indent}".join(textwrap.wrap(text, columns))


@command.command("show")
@click.argument("name", shell_complete=complete_tools)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@session_options
def show_tool(name: str, *, as_json: bool, **given: Any) -> int:
    """Show one tool: text, arguments, behaviour."""
    executor = _executor(given)
    pool, facts = executor.pool, executor.state.session.prompt
    found = pool.find(name)
    if found is None:
        click.echo(f"holdfast: {pool.missing(name)}", err=True)
        return 1
    tool = found.tool
    if as_json:
        click.echo(json_line({**project(tool, facts=facts), "names": tool.names, **_behaviour(tool)}))
        return 0
    click.echo(click.style(" / ".join(tool.names), bold=True))
    click.echo(f"\n{tool.prompt(facts)}\n")
    schema = tool.arguments.schema(facts)
    required = set(schema.get("required", ()))
    for argument, about in schema["properties"].items():
        mark = "required" if argument in required else f"default {about.get('default')!r}"
        click.echo(f"  {click.style(argument, bold=True)} ({mark})  {about.get('description', '')}")
    click.echo()
    for key, value in _behaviour(tool).items():
        click.echo(f"  {key}: {value}")
    return 0


def _behaviour(tool: Tool) -> dict[str, Any]:
    return {
        "read_only": tool.read_only,
        "concurrency_safe": tool.concurrency_safe,
        "interrupt_behavior": tool.interrupt_behavior,
        "max_result_chars": tool.max_result_chars,
        "search_hint": tool.search_hint,
    }
