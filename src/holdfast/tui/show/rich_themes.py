"""A theme as rich reads it: markdown and code in the colours that everything else has, and on no background."""

from pygments import token
from rich.style import Style
from rich.syntax import ANSISyntaxTheme
from rich.theme import Theme as RichTheme

from holdfast.tui.show.themes import THEMES, Theme

__all__ = ["code_theme", "markdown_theme"]

_CODE = {
    token.Comment: "dim",
    token.Keyword: "accent",
    token.Operator.Word: "accent",
    token.Name.Builtin: "accent",
    token.Name.Decorator: "warn",
    token.Name.Exception: "warn",
    token.Name.Constant: "warn",
    token.Name.Tag: "accent",
    token.Name.Attribute: "warn",
    token.Literal: "warn",
    token.String: "ok",
    token.Generic.Deleted: "bad",
    token.Generic.Inserted: "ok",
    token.Generic.Error: "bad",
}
_BOLD = (token.Name.Function, token.Name.Class, token.Generic.Heading, token.Generic.Subheading, token.Generic.Prompt)
_MARKDOWN = {
    "code": "accent",
    "code_block": "",
    "block_quote": "dim",
    "list": "",
    "item.bullet": "accent",
    "item.number": "accent",
    "hr": "dim",
    "link": "accent",
    "link_url": "dim",
    "table.border": "dim",
    "table.header": "bold",
    "kbd": "bold",
    "h1": "bold",
    "h2": "bold",
    "h3": "bold",
    "h4": "bold",
    "h5": "bold",
    "h6": "dim",
    "h7": "dim",
}
_made: dict[int, tuple[RichTheme, ANSISyntaxTheme]] = {}


def markdown_theme(theme: Theme | None) -> RichTheme:
    """How the parts of markdown look."""
    return _both(theme)[0]


def code_theme(theme: Theme | None) -> ANSISyntaxTheme:
    """How the words of code look."""
    return _both(theme)[1]


def _both(theme: Theme | None) -> tuple[RichTheme, ANSISyntaxTheme]:
    looks = THEMES["ansi"] if theme is None else theme
    if id(looks) not in _made:
        parts = {f"markdown.{name}": _style(looks, style) for name, style in _MARKDOWN.items()}
        parts["markdown.h1"] += Style(underline=True)
        words: dict[tuple[str, ...], Style] = dict.fromkeys(_BOLD, Style(bold=True))
        words |= {kind: _style(looks, style) for kind, style in _CODE.items()}
        _made[id(looks)] = (RichTheme(parts), ANSISyntaxTheme(words))
    return _made[id(looks)]


def _style(looks: Theme, name: str) -> Style:
    look = looks[name]
    return Style(color=None if look.colour is None else f"color({look.colour})", bold=look.bold or None)
