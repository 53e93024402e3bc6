"""The page of the Python reference: every promised name with its arguments, fields and members."""

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

from holdfast.contract.function_tool import _described_parameters
from holdfast.events import Event

ROOT = Path(__file__).parent.parent
_NAMES = ROOT / "tests" / "shape" / "public_names.txt"
_MODULES = {
    "holdfast": "What most programs need.",
    "holdfast.contract": "What tools, questions and answers are made of.",
    "holdfast.hooks": "Functions of your own that hear [events of a session](../extend/hooks.md).",
    "holdfast.models": "For [a provider of your own](../extend/provider.md).",
    "holdfast.events": "The events themselves are on [their own page](events.md).",
    "holdfast.permissions": "For [a second classifier](../concepts/permissions.md#a-model-as-second-classifier).",
    "holdfast.session": "To keep what [an executor of your own](../concepts/sessions.md#in-python) does.",
    "holdfast.tools.web.web_fetch": "To test [the web](../concepts/web.md) without one.",
    "holdfast.testing": "The test kit; see [test an agent](../guides/testing-an-agent.md).",
}


def python_page() -> str:
    """Every promised name."""
    lines = ["# Python", "", "Generated from the code by `make docs`.", ""]
    lines += ["These names, imported from these modules, are promised; all others may change.", ""]
    names: dict[str, list[str]] = {}
    told: dict[int, str] = {}
    for line in _NAMES.read_text("utf-8").split():
        home, _, name = line.partition(":")
        names.setdefault(home, []).append(name)
    for home in sorted(names, key=list(_MODULES).index):
        lines += [f"## `{home}`", "", _MODULES[home], ""]
        module = importlib.import_module(home)
        for name in names[home]:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, Event) and value is not Event:
                continue
            if callable(value) and id(value) in told:
                lines += [f"### `{name}`", "", f"The same as `{told[id(value)]}.{name}`.", ""]
                continue
            told[id(value)] = home
            lines += _named(name, value)
    return "\n".join(lines) + "\n"


def _named(name: str, value: Any) -> list[str]:
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return [f"### `{name}`", "", _constant(value), ""]
    lines = [f"### `{name}`", "", first_sentence(value), "", f"`{name}{_signature(value)}`", ""]
    maker = vars(value).get("__init__") if inspect.isclass(value) else value
    told = _described_parameters(inspect.getdoc(maker) or "")
    if told:
        rows = [
            f"| `{argument}` | {_argument(maker, argument)} | {cell(meaning)} |" for argument, meaning in told.items()
        ]
        lines += ["| argument | type | default | meaning |", "|---|---|---|---|", *rows, ""]
    if inspect.isclass(value):
        fields = [row for row in _fields(value) if row[0] not in told]
        rows = [f"| `{field}` | {type_cell(kind)} | {cell(meaning)} |" for field, kind, meaning in fields]
        lines += ["| field | type | meaning |", "|---|---|---|", *rows, ""] if rows else []
        lines += _members(value)
    return lines


def _members(value: type) -> list[str]:
    rows = [
        f"| `{key}{_signature(member) if callable(member) else ''}` | {cell(first_sentence(member))} |"
        for key, member in ((key, getattr(raw, "__func__", raw)) for key, raw in list(vars(value).items()))
        if not key.startswith("_") and (callable(member) or isinstance(member, property)) and first_sentence(member)
    ]
    return ["| member | meaning |", "|---|---|", *rows, ""] if rows else []


def _constant(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value!r}`"
    if type(value).__module__.startswith("holdfast"):
        return f"A ready-made `{type(value).__name__}`."
    return f"For annotations: `{str(value).replace('typing.', '').replace('holdfast.contract.', '')}`"


def _fields(kind: type) -> list[tuple[str, str, str]]:
    """What an object holds: annotated names in the class or on `self`, with the text beneath each."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    except (OSError, TypeError):
        return []
    assert isinstance(tree, ast.ClassDef)
    made = next((part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)
    found: list[tuple[str, str, str]] = []
    for body in (tree.body, [] if made is None else made.body):
        for at, part in enumerate(body):
            if isinstance(part, ast.AnnAssign):
                name = ast.unparse(part.target).removeprefix("self.")
                after = body[at + 1] if at + 1 < len(body) else None
                beneath = after.value if isinstance(after, ast.Expr) else None
                if not name.startswith("_") and "ClassVar" not in ast.unparse(part.annotation):
                    text = str(beneath.value) if isinstance(beneath, ast.Constant) else ""
                    found.append((name, ast.unparse(part.annotation), _paragraph(text)))
    return found


def type_cell(annotation: str) -> str:
    """A type in a cell, which a pipe would end."""
    short = re.sub(
        r"\b(typing|collections\.abc|holdfast(\.\w+)*)\.(?=[A-Z])", "", annotation.strip("'").replace("~", "")
    )
    return f"`{short.replace(' | ', ' or ')}`"


def _argument(maker: Any, argument: str) -> str:
    """The type and the default of an argument, as two cells."""
    found = inspect.signature(maker).parameters.get(argument.lstrip("*"))
    if found is None or found.annotation is found.empty:
        return " | "
    kind = found.annotation if isinstance(found.annotation, str) else inspect.formatannotation(found.annotation)
    default = "required" if found.default is found.empty else f"`{_shown(found.default)}`"
    return f"{type_cell(kind)} | {'' if found.kind is found.VAR_KEYWORD else default}"


def _shown(default: Any) -> str:
    text = repr(default)
    return "…" if " object at 0x" in text or "<function" in text else text.replace("|", "or")


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    if str(found) in ("(*args, **kwargs)", "(*args: Any, **kwargs: Any)"):  # a protocol, or one that only hands on
        return ""
    names = [
        ("*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else "") + one.name
        for one in found.parameters.values()
        if one.name != "self"
    ]
    return f"({', '.join(names)})"


def first_sentence(value: Any) -> str:
    """The first paragraph of what is written about something."""
    return _paragraph(inspect.getdoc(value.fget if isinstance(value, property) else value) or "")


def _paragraph(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split("\n\n", maxsplit=1)[0].split())


def cell(text: str) -> str:
    """A text that may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")
