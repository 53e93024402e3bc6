"""A permission question as a person sees it: what, where, why, each part with its verdict, the risk, the answers."""

import os
from typing import Any

import msgspec

from holdfast.contract import Question, QuestionBrief, QuestionPart
from holdfast.lib.visible import visible
from holdfast.tui.ask.deceptions import notes_on, size_words
from holdfast.tui.ask.menu import Menu, Option
from holdfast.tui.show.diffs import diff_lines, is_diff
from holdfast.tui.show.words import Line, shown_lines, wrapped

__all__ = [
    "approval_body",
    "approval_menu",
    "approval_options",
    "home_relative",
    "keeping_menu",
    "mode_offered",
    "whole_question",
]

_SHOWN_DIFF = 120
_FIRST_LINES, _LAST_LINES = 60, 20
_BAR: tuple[str, str] = ("accent", "  │ ")
_PART_STYLES = {"reads": ("ok", "✓"), "allow": ("ok", "✓"), "ask": ("warn", "?"), "deny": ("bad", "✗")}
_SUBJECTS = ("command", "file_path", "notebook_path", "url", "query", "skill", "description")
_TITLES = {"Bash": "run this command", "Write": "write this file", "Edit": "make this change"}


def approval_menu(question: Question, columns: int, *, has_body: bool = True, is_whole: bool = False) -> Menu:
    """The question with its answers; the one that is chosen beforehand is no."""
    options = approval_options(question)
    body = approval_body(question, columns, is_whole=is_whole) if has_body else []
    menu = Menu(f"Let {visible(question.tool)} do this?", options, body=body, default=len(options) - 1)
    menu.subject = next((visible(str(question.input[key])) for key in _SUBJECTS if question.input.get(key)), "")
    menu.opens = lambda: whole_question(question)
    menu.has_plain_answers = True
    return menu


def approval_options(question: Question) -> list[Option]:
    """The answers: a yes comes first, and the last is the plain no."""
    rules = ", ".join(visible(rule) for rule in question.suggestions)
    options = [Option("Yes, this once", "once", takes_text=True)]
    if mode_offered(question):
        options.append(Option("Yes, and make such changes without asking (acceptEdits mode)", "mode", takes_text=True))
    elif rules:
        options.append(Option(f"Yes, and for this session allow {rules}", "session", takes_text=True))
    if rules:
        options.append(Option("Always or never: keep a rule about this …", "keep"))
    options.append(Option("No, and tell the model what to do instead (Tab)", "why", wants_text=True))
    options.append(Option("No (Esc)", "no"))
    return options


def mode_offered(question: Question) -> str:
    """The permission mode in which such calls need no yes, where one is offered."""
    return _brief(question).passes_in


def keeping_menu(question: Question, files: dict[str, str]) -> Menu:
    """Where a rule is kept; `files` names each place's file."""
    rules = ", ".join(visible(rule) for rule in question.suggestions)
    yes, no = "Always allow", "Always refuse"
    options = [Option("Allow for this session", "allow session")] if mode_offered(question) else []
    options += [
        Option(f"{yes}, in this folder, for me ({files['localSettings']})", "allow localSettings"),
        Option(f"{yes}, in this folder, for everybody ({files['projectSettings']})", "allow projectSettings"),
        Option(f"{yes}, in all folders, for me ({files['userSettings']})", "allow userSettings"),
        Option(f"{no}, in this folder, for me ({files['localSettings']})", "deny localSettings"),
        Option("Back to the question (Esc)", "back"),
    ]
    return Menu(f"Keep {rules} where?", options, default=len(options) - 1)


def approval_body(question: Question, columns: int, *, is_whole: bool = False) -> list[Line]:
    """What stands above the answers for good."""
    lines = _body(question, _brief(question), is_whole=is_whole)
    return [[], *(part for line in lines for part in wrapped(line, columns))]


def whole_question(question: Question) -> list[Line]:
    """The same with nothing left out, for the panel."""
    return _body(question, _brief(question), is_whole=True)


def _brief(question: Question) -> QuestionBrief:
    return QuestionBrief() if question.brief is None else question.brief()


def _body(question: Question, brief: QuestionBrief, *, is_whole: bool) -> list[Line]:
    head: Line = [("warn", "? "), ("bold", visible(question.tool)), ("", _wants(question))]
    if question.cwd:
        head.append(("dim", f" in {visible(home_relative(question.cwd))}"))
    if question.agent:
        head.append(("dim", f", for the agent {visible(question.agent)}"))
    lines: list[Line] = [head, *_what(question, brief, is_whole=is_whole), *_parts(brief)]
    if brief.risk:
        lines.append([("bad" if brief.is_risky else "dim", f"  risk {'high' if brief.is_risky else 'low'}: ")])
        lines[-1].append(("bad" if brief.is_risky else "dim", visible(brief.risk)))
        if brief.is_confined:
            lines[-1].append(("dim", "; it would run in the sandbox"))
    lines.append([("dim", f"  asked because {visible(question.reason)}")])
    lines += [[("dim", f"    {line}")] for line in _origin(question)]
    return lines


def _wants(question: Question) -> str:
    return f" wants to {_TITLES.get(question.tool, 'run')}"


def _what(question: Question, brief: QuestionBrief, *, is_whole: bool) -> list[Line]:
    given = dict(question.input)
    lines: list[Line] = []
    command = given.pop("command", None)
    if isinstance(command, str):
        about = given.pop("description", None)
        if about:
            lines.append([("dim", f"  {visible(str(about), limit_chars=200)}")])
        lines += _command(command, brief, is_whole=is_whole)
    if question.preview and is_diff(question.preview):
        path = given.get("file_path") or given.get("notebook_path")
        if isinstance(path, str):
            lines.append([_BAR, ("", visible(path))])
            lines += [[("warn", f"  {note}")] for note in notes_on(path)]
        return lines + diff_lines(question.preview, most=None if is_whole else _SHOWN_DIFF)
    for key, value in given.items():
        lines += _field(key, value, is_whole=is_whole)
    return lines


def _field(key: str, value: Any, *, is_whole: bool) -> list[Line]:
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    first, *rest = _ends(shown_lines(text), is_whole=is_whole)
    lines: list[Line] = [[_BAR, ("dim", f"{visible(key)}: "), ("", first)]]
    lines += [[_BAR, ("", f"    {line}")] for line in rest]
    if size := size_words(text):
        lines.append([("dim", f"    {size}")])
    return [*lines, *([("warn", f"    {note}")] for note in notes_on(text))]


def _command(command: str, brief: QuestionBrief, *, is_whole: bool) -> list[Line]:
    shown = shown_lines(command)
    if len(shown) <= _FIRST_LINES + _LAST_LINES or is_whole:
        lines: list[Line] = [[_BAR, *pieces] for pieces in _marked(shown, brief.parts)]
    else:
        lines = [[_BAR, ("", line)] for line in _ends(shown, is_whole=False)]
    if size := size_words(command, len(brief.parts)):
        lines.append([("dim", f"    {size}")])
    return [*lines, *([("warn", f"    {note}")] for note in notes_on(command))]


def _ends(lines: list[str], *, is_whole: bool) -> list[str]:
    if is_whole or len(lines) <= _FIRST_LINES + _LAST_LINES:
        return lines
    left_out = len(lines) - _FIRST_LINES - _LAST_LINES
    return [*lines[:_FIRST_LINES], f"… {left_out:,} more lines, Ctrl-O shows all …", *lines[-_LAST_LINES:]]


def _marked(lines: list[str], parts: tuple[QuestionPart, ...]) -> list[Line]:
    """The command's lines with its parts in the colours of their verdicts, where they stand there as written."""
    waiting = sorted(((visible(part.text), part.behavior) for part in parts), key=lambda one: -len(one[0]))
    found: list[Line] = []
    for line in lines:
        pieces: Line = [("", line)]
        for text, behavior in waiting:
            if text and behavior != "reads":
                pieces = _split(pieces, text, _PART_STYLES[behavior][0])
        found.append(pieces)
    return found


def _split(pieces: Line, text: str, style: str) -> Line:
    found: Line = []
    for own, piece in pieces:
        before, matched, after = piece.partition(text) if not own else (piece, "", "")
        found += [one for one in ((own, before), (style, matched), (own, after)) if one[1]]
    return found


def _parts(brief: QuestionBrief) -> list[Line]:
    if len(brief.parts) < 2:
        return []
    lines: list[Line] = []
    reading = [visible(part.text, limit_chars=60) for part in brief.parts if part.behavior == "reads"]
    if reading:
        lines.append([("ok", "    ✓ "), ("", "  ".join(reading)), ("dim", "  only read")])
    for part in brief.parts:
        if part.behavior != "reads":
            style, mark = _PART_STYLES[part.behavior]
            why = f"the rule {part.rule}" if part.rule else part.reason
            lines.append([(style, f"    {mark} "), ("", visible(part.text)), ("dim", f"  {visible(why)}")])
    return lines


def _origin(question: Question) -> list[str]:
    """Which layer asks, and by which rule of which file."""
    for step in reversed(question.trace):
        rule = getattr(step, "rule", None)
        if rule is not None:
            source = getattr(rule, "source", None)
            path, line = getattr(source, "path", None), getattr(source, "line", None)
            where = f"{home_relative(str(path))}{f':{line}' if line else ''}" if path else getattr(source, "kind", "")
            return [f"layer {visible(str(step.layer))}, the rule {visible(rule.text)} of {visible(str(where))}"]
    return [f"layer {visible(str(getattr(question.trace[-1], 'layer', '')))}"] if question.trace else []


def home_relative(path: str) -> str:
    """The path with `~` for the user's home."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if home != "/" and (path == home or path.startswith(home + os.sep)) else path
