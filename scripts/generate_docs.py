"""Write the generated pages of docs/ from the code, or check that they are up to date (`--check`)."""

import difflib
import json
import os
import sys
from pathlib import Path

from holdfast.app import all_tools
from holdfast.app.offered import FILE
from holdfast.app.subagents import AGENT_TYPES
from holdfast.contract import PromptFacts, SessionFacts, Tool
from holdfast.hooks.events import EVENTS
from holdfast.hooks.inputs import HookInput
from holdfast.permissions.shell.programs.program import FIELDS, ROLES
from holdfast.registry import project_bytes
from holdfast.tools.lists.todo_write import TodoWrite
from holdfast.tools.search.tool_search import ToolSearch

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
TOOLS = ROOT / "docs" / "tools"
HOOKS = ROOT / "docs" / "extend" / "hooks.md"
PROGRAM = ROOT / "docs" / "extend" / "program.md"


def tool_page(tool: Tool) -> str:
    schema = tool.arguments.schema()
    required = set(schema.get("required", ()))
    lines = [f"# {tool.name}", "", "What the model reads:", "", *quoted(tool.prompt()), "", "| argument | | meaning |"]
    lines.append("|---|---|---|")
    for name, about in schema["properties"].items():
        mark = "required" if name in required else f"default `{about.get('default')}`"
        lines.append(f"| `{name}` | {mark} | {about.get('description', '')} |")
    limit = f"{tool.max_result_chars:,} characters" if tool.max_result_chars else "bounds itself"
    behaviour = f"Read-only: {yes(tool.read_only)} · runs beside others: {yes(tool.concurrency_safe)}"
    lines += ["", f"{behaviour} · on a user message: {tool.interrupt_behavior} · result limit: {limit}"]
    if len(tool.names) > 1:
        lines += ["", f"Older names: {', '.join(tool.names[1:])}"]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> list[str]:
    return [f"> {line}".rstrip() for line in text.splitlines()]


def yes(value: object) -> str:
    return "yes" if value else "no"


def pages() -> dict[Path, str]:
    tools = sorted([*all_tools(), TodoWrite(), ToolSearch()], key=lambda tool: tool.name)
    index = ["# Tools", "", "Generated from the code by `make docs`.", ""]
    index += [f"- [{tool.name}]({tool.name.lower()}.md): {tool.description()}" for tool in tools]
    made = {TOOLS / "README.md": "\n".join(index) + "\n"}
    made |= {TOOLS / f"{tool.name.lower()}.md": tool_page(tool) for tool in tools}
    from scripts.reference_pages import PLACE, pages as reference  # noqa: PLC0415, I001 - the path to it stands above

    PLACE.mkdir(parents=True, exist_ok=True)
    own = {HOOKS: hooks_page(HOOKS.read_text("utf-8")), PROGRAM: program_page(PROGRAM.read_text("utf-8"))}
    return made | reference() | {Path(FILE): offered(), **own}


def between_marks(text: str, what: str, lines: list[str]) -> str:
    """A page with these lines between its two marks."""
    head, mark, rest = text.partition(f"<!-- generated: {what} -->\n")
    _, end, tail = rest.partition("<!-- end -->")
    return f"{head}{mark}{chr(10).join(lines)}\n{end}{tail}"


def program_page(text: str) -> str:
    """The page with the words that the entry of a program may hold."""
    for what, table in (("roles", ROLES), ("fields", FIELDS)):
        lines = ["| word | means |", "|---|---|", *(f"| `{name}` | {about} |" for name, about in table.items())]
        text = between_marks(text, what, lines)
    return text


def hooks_page(text: str) -> str:
    """The page with the table of events between its two marks."""
    lines = ["| event | when | what it brings | exit code 2 |", "|---|---|---|---|"]
    for kind in EVENTS.values():
        own = [name for name in kind.__struct_fields__ if name not in HookInput.__struct_fields__]
        fields = ", ".join(f"**`{name}`**" if name == kind.matched_by else f"`{name}`" for name in own)
        about = kind.about if kind.awaited != "later" else f"{kind.about}; not told yet"
        lines.append(f"| {kind.__name__} | {about} | {fields} | {kind.exit_two} |")
    return between_marks(text, "events", lines)


def offered() -> str:
    """Every built-in tool as models read it, one a line; `app/offered.py` reads it."""
    for variable in ("SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY"):
        os.environ.pop(variable, None)  # a tool that needs a service is not in the list
    without, within = PromptFacts(AGENT_TYPES, background=False), PromptFacts(AGENT_TYPES, background=True)
    lines: list[str] = []
    for tool in sorted([*all_tools(), ToolSearch()], key=lambda tool: tool.name):
        entries = {
            wire: [project_bytes(tool, wire, facts).decode() for facts in (without, within)]
            for wire in ("anthropic", "openai")
        }
        if not tool.is_enabled(SessionFacts(prompt=within)):
            continue
        needs = json.dumps(not tool.is_enabled(SessionFacts(prompt=without)))
        rare = json.dumps(tool.should_defer and not tool.always_load)
        wires = ",".join(f'"{wire}":[{both[0]},{both[1]}]' for wire, both in entries.items())
        lines.append(f'{{"names":{json.dumps(tool.names)},"needs_background":{needs},"is_rare":{rare},{wires}}}')
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main() -> int:
    wanted = pages()
    stale = {file for file in TOOLS.glob("*.md") if file not in wanted}
    changed = {file for file, text in wanted.items() if not file.is_file() or file.read_text("utf-8") != text}
    if "--check" not in sys.argv:
        TOOLS.mkdir(parents=True, exist_ok=True)
        for file in stale:
            file.unlink()
        for file, text in wanted.items():
            file.write_text(text, encoding="utf-8")
        print(f"{len(wanted)} pages written, {len(stale)} removed")
        return 0
    for file in sorted(changed | stale):
        before = file.read_text("utf-8").splitlines() if file.is_file() else []
        print(
            "\n".join(
                difflib.unified_diff(before, wanted.get(file, "").splitlines(), str(file), "generated", lineterm="")
            )
        )
    if changed or stale:
        print("The generated docs are out of date; run `make docs` and commit.")
    return 1 if changed or stale else 0


if __name__ == "__main__":
    sys.exit(main())
