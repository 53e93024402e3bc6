"""Agents at work as a tree, and the types that can be started."""

from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.ask.approval import home_relative
from holdfast.tui.panels.pages import ListPage, Page, Row, TextPage
from holdfast.tui.show.agents import AgentNode, AgentTree
from holdfast.tui.show.outcomes import counted
from holdfast.tui.show.themes import agent_style
from holdfast.tui.show.words import Line, shown_lines

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["agents_page"]


def agents_page(agent: "RunningAgent", tree: AgentTree) -> Page:
    """Who works and has worked here; Enter shows what one did."""

    def rows() -> list[Row]:
        found = [_row(depth, node, _style(agent, node.type)) for depth, node in tree.rows()]
        types = [_type_row(agent, name) for name in agent.agent_types]
        return [*found, *types]

    return ListPage("Agents", rows, empty="no agent has been started, and none can be")


def _type_row(agent: "RunningAgent", name: str) -> Row:
    about = agent.about_type(name)

    def page() -> Page:
        lines: list[Line] = [[("", line)] for line in shown_lines(about or "nobody has said what it is for")]
        definition = agent.definitions.agents.get(name)
        where = "comes with Holdfast" if definition is None else f"defined in {home_relative(definition.source)}"
        return TextPage(f"type {visible(name)}", lambda: [*lines, [], [("dim", visible(where))]])

    return Row(
        [("dim", "type "), (_style(agent, name), visible(name)), ("dim", f"  {visible(about, limit_chars=160)}")],
        open=page,
    )


def _style(agent: "RunningAgent", name: str) -> str:
    definition = agent.definitions.agents.get(name)
    return agent_style("" if definition is None else definition.color.strip().lower())


def _row(depth: int, node: AgentNode, name_style: str) -> Row:
    style, state = ("accent", "works") if node.ended_s is None else ("ok", "done")
    if node.outcome not in ("", "success"):
        style, state = "bad", node.outcome.replace("_", " ")
    facts = [f"{node.elapsed_s:.0f} s", counted(node.calls, "call")]
    facts += [f"{node.tokens:,} tokens"] if node.tokens else []
    line: Line = [
        ("dim", "  " * depth + ("└ " if depth else "")),
        (style, "● "),
        (name_style, node.type),
        ("", f"  {node.wish}" if node.wish else ""),
        (style, f"  {state}"),
        ("dim", f"  {', '.join(facts)}  {node.steps[-1] if node.steps else ''}"),
    ]
    return Row(line, open=lambda: _steps(node))


def _steps(node: AgentNode) -> Page:
    def lines() -> list[Line]:
        said: list[Line] = [[("", line)] for line in shown_lines(node.said.strip())] if node.said.strip() else []
        return [*([("dim", f"● {step}")] for step in node.steps), [], *said]

    wish = f"  {node.wish}" if node.wish else ""
    return TextPage(f"{node.type} ({visible(node.id)}){wish}", lines, follows=True)
