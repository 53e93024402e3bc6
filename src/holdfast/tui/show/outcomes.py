"""What came of a call, in a few words and a few lines, from its data where it has some."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from holdfast.app.plain_errors import for_people
from holdfast.contract.render import Line as ToolLine
from holdfast.events import CallFinished
from holdfast.lib.visible import visible
from holdfast.tui.show.diffs import count_changes, diff_lines, is_diff
from holdfast.tui.show.words import HINT, Line, shown_lines

__all__ = ["body_of", "facts_of", "text_of"]

_FIRST, _LAST = 3, 4
"""So many lines of a longer output are shown, from its two ends."""
_DRAWN_LINES = 200
_DIFF_LINES = 60

Data = Mapping[str, Any]


def text_of(content: str | list[dict[str, Any]]) -> str:
    """What a model reads, as text."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", f"[{block.get('type')}]")) for block in content)


def facts_of(event: CallFinished) -> str:
    """Behind the call's own line: how many, how much. Empty where there is nothing to add."""
    data = _data(event)
    if event.is_error or data is None:
        return ""
    found = _FACTS.get(event.name)
    return "" if found is None else visible(found(data))


def body_of(
    event: CallFinished, drawn: Sequence[ToolLine] | None = None, *, has_diff: bool = True, most: int = _FIRST + _LAST
) -> list[Line]:
    """Under the call's own line: a diff (unless it was seen before), a list, or the ends of its output.

    Args:
        event: Its reply.
        drawn: What its tool draws by itself.
        has_diff: A diff is shown.
        most: So many lines of an output.
    """
    if event.is_error:
        return _set_in(_ends(for_people(text_of(event.content)).strip("\n")), "")
    if event.display and is_diff(event.display):
        return diff_lines(event.display, most=_DIFF_LINES) if has_diff else []
    data = _data(event)
    if data is not None and event.name == "Bash":
        return _command(event, data, most)
    if data is not None and event.name in _FACTS:
        return []
    if drawn is not None:
        return [*_by_tool(drawn), *_where(event.spilled_to)]
    shown = (event.display or text_of(event.content)).strip("\n")
    return [*_set_in(_ends(shown)), *_where(event.spilled_to)]


def _command(event: CallFinished, data: Data, most: int) -> list[Line]:
    path = data.get("persistedOutputPath") or event.spilled_to
    out, err = str(data.get("stdout") or "").strip("\n"), str(data.get("stderr") or "").strip("\n")
    lines: list[Line] = []
    if event.display:
        lines += _set_in(shown_lines(event.display))
    elif out:
        lines += _set_in(_ends(out, is_whole=not path, most=most))
    if err and not event.display:
        lines += _set_in(_ends(err, is_whole=not path, most=most), "warn", is_first=not lines)
    if not lines:
        task = data.get("backgroundTaskId")
        said = f"as {task}; /tasks shows it" if task else "no output"
        lines = _set_in([visible(said)])
    return lines + _where(path)


def _where(path: Any) -> list[Line]:
    return [] if not path else [[("dim", "    all of it"), HINT, ("dim", f": {visible(str(path))}")]]


def _by_tool(lines: Sequence[ToolLine]) -> list[Line]:
    """What a tool draws, made safe and set in."""
    return [
        [
            ("dim", f"  {'⎿' if not place else ' '} "),
            *((role, visible(text.expandtabs(4), limit_chars=_LINE_CHARS)) for role, text in line),
        ]
        for place, line in enumerate(lines[:_DRAWN_LINES])
    ]


def _set_in(lines: Sequence[str | Line], style: str = "dim", *, is_first: bool = True) -> list[Line]:
    return [
        [
            ("dim", f"  {'⎿' if is_first and not place else ' '} "),
            *([(style, line)] if isinstance(line, str) else line),
        ]
        for place, line in enumerate(lines)
    ]


def _ends(text: str, *, is_whole: bool = True, most: int = _FIRST + _LAST) -> list[str | Line]:
    """The first and the last lines of a long text, with the number of those between where it is known."""
    if not text.strip():
        return []
    lines = text.expandtabs(4).split("\n")
    last = most - _FIRST
    if len(lines) <= most + 1:
        return [visible(line, limit_chars=_LINE_CHARS) for line in lines]
    left_out = f"{len(lines) - most:,} " if is_whole else ""
    return [
        *(visible(line, limit_chars=_LINE_CHARS) for line in lines[:_FIRST]),
        [("dim", f"… {left_out}more lines"), HINT],
        *(visible(line, limit_chars=_LINE_CHARS) for line in lines[-last:]),
    ]


_LINE_CHARS = 1_000
"""A longer line is cut, with its length; all of it is behind Ctrl-O."""


# The words for each tool.


def _read(data: Data) -> str:
    file = cast("Data", data.get("file") or {})
    kind = data.get("type")
    if kind == "text":
        return counted(file.get("numLines"), "line")
    if kind == "image":
        dimensions = cast("Data", file.get("dimensions") or {})
        width, height = dimensions.get("originalWidth"), dimensions.get("originalHeight")
        return f"picture {width}×{height}" if width and height else "picture"  # noqa: RUF001 - the sign of a size
    if kind == "notebook":
        cells: Any = file.get("cells")
        return counted(len(cast("list[Any]", cells)) if isinstance(cells, list) else None, "cell")
    if kind == "parts":
        return counted(file.get("count"), "page")
    return "unchanged since it was read" if kind == "file_unchanged" else ""


def _glob(data: Data) -> str:
    return counted(data.get("numFiles"), "file") + (", and more" if data.get("truncated") else "")


def _grep(data: Data) -> str:
    if data.get("mode") == "content":
        return counted(data.get("numLines"), "line")
    files = counted(data.get("numFiles"), "file")
    matches = data.get("numMatches")
    return f"{counted(matches, 'match', 'matches')} in {files}" if isinstance(matches, int) else files


def _changed(data: Data) -> str:
    patch: Any = data.get("structuredPatch")
    added, removed = count_changes(cast("list[Any]", patch) if isinstance(patch, list) else [])
    words = f"+{added} -{removed}"
    return f"new, {words}" if data.get("type") == "create" else words


def _bash(data: Data) -> str:
    code = data.get("exitCode")
    if data.get("backgroundTaskId"):
        return "goes on in the background"
    if data.get("returnCodeInterpretation"):
        return str(data["returnCodeInterpretation"])
    return f"exit {code}" if code else ""


def _fetched(data: Data) -> str:
    size = data.get("bytes")
    return f"{data.get('code')} {data.get('codeText') or ''}".strip() + (
        f", {size:,} bytes" if isinstance(size, int) else ""
    )


def _searched(data: Data) -> str:
    results: Any = data.get("results")
    return counted(len(cast("list[Any]", results)), "result") if isinstance(results, list) else ""


def _agent(data: Data) -> str:
    if data.get("status") == "async_launched":
        return f"goes on beside you as {data.get('agentId')}"
    uses, tokens = data.get("totalToolUseCount"), data.get("totalTokens")
    words = [counted(uses, "call")] if isinstance(uses, int) else []
    if isinstance(tokens, int):
        words.append(f"{tokens:,} tokens")
    return ", ".join(words)


_FACTS: dict[str, Callable[[Data], str]] = {
    "Read": _read,
    "Glob": _glob,
    "Grep": _grep,
    "Write": _changed,
    "Edit": _changed,
    "NotebookEdit": _changed,
    "Bash": _bash,
    "WebFetch": _fetched,
    "WebSearch": _searched,
    "Agent": _agent,
}


def counted(count: Any, one: str, many: str = "") -> str:
    """A number with its word."""
    if not isinstance(count, int):
        return ""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _data(event: CallFinished) -> Data | None:
    return cast("Data", event.data) if isinstance(event.data, Mapping) else None
