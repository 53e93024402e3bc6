"""Agents at work as a tree, and the types that can be started."""

from typing import TYPE_CHECKING

from holdfast.lib.visible import visible
from holdfast.tui.panels.pages import ListPage, Page, Row, TextPage
from holdfast.tui.show.agents import AgentNode, AgentTree
from holdfast.tui.show.outcomes import counted
from holdfast.tui.show.words import Line, shown_lines

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["agents_page"]


def agents_page(agent: "RunningAgent", tree: AgentTree) -> Page:
    """Who works and has worked here; Enter shows what one did."""

    def rows() -> list[Row]:
        found = [_row(depth, node) for depth, node in tree.rows()]
        types = [Row([("dim", "type "), ("", visible(name))]) for name in agent.agent_types]
        return [*found, *types]

    return ListPage("Agents", rows, empty="no agent has been started, and none can be")


def _row(depth: int, node: AgentNode) -> Row:
    style, state = ("accent", "works") if node.ended_s is None else ("ok", "done")
    if node.outcome not in ("", "success"):
        style, state = "bad", node.outcome.replace("_", " ")
    facts = [f"{node.elapsed_s:.0f} s", counted(node.calls, "call")]
    facts += [f"{node.tokens:,} tokens"] if node.tokens else []
    line: Line = [
        ("dim", "  " * depth + ("└ " if depth else "")),
        (style, "● "),
        ("bold", node.type),
        (style, f"  {state}"),
        ("dim", f"  {', '.join(facts)}  {node.steps[-1] if node.steps else ''}"),
    ]
    return Row(line, open=lambda: _steps(node))


def _steps(node: AgentNode) -> Page:
    def lines() -> list[Line]:
        said: list[Line] = [[("", line)] for line in shown_lines(node.said.strip())] if node.said.strip() else []
        return [*([("dim", f"● {step}")] for step in node.steps), [], *said]

    return TextPage(f"{node.type} ({visible(node.id)})", lines, follows=True)
