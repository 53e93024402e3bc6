"""Where the command stands among the words of a program that runs another one.

Only what is sure counts: an option outside these tables, or a word that may become several, leaves it unknown.
"""

from typing import Final

from holdfast.permissions.shell.programs.program import PROGRAMS
from holdfast.permissions.shell.programs.wrapper_shapes import Shape, open_wrapper, shape_of
from holdfast.permissions.shell.words.word import Word


def _forms() -> dict[str, dict[tuple[str, ...], Shape]]:
    found: dict[str, dict[tuple[str, ...], Shape]] = {}
    for name, program in PROGRAMS.items():
        for field, text in program.fields.items():
            kind, *path = field.split(" ")
            if kind == "start":
                found.setdefault(name, {})[tuple(path)] = shape_of(text)
    return found


_FORMS: Final = _forms()
"""By program and subcommands: what stands in front of the command that is started."""


def command_start(name: str, argv: tuple[Word, ...]) -> int | None:
    """Find the command that a runner starts, the number of words when it names none; None when that is not sure."""
    forms, at = _FORMS.get(name), 1
    known = _certain_shape(argv)
    if known is None or forms is None:
        return None
    path: list[str] = []
    while tuple(path) not in forms:
        front = PROGRAMS[name].fields.get(" ".join(("front", *path)))
        if front is None:
            return None
        opened = open_wrapper(shape_of(front), known[at - 1 :])
        at += opened.start
        if not opened.known or at > len(argv) or not argv[at - 1].static:
            return None
        path.append(argv[at - 1].text)
    form = forms[tuple(path)]
    start = _behind_dashes(form, argv, at) if form.dashed else _behind_operands(form, argv, known, at)
    return start if start is not None and _is_command(argv, start) else None


def _certain_shape(argv: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The words, with something certain in place of those whose text is not known but which stay one word."""
    known: list[Word] = []
    for word in argv:
        if word.static or not word.whole:
            known.append(word)
        elif word.text.startswith("-") and "=" not in word.text:
            return None
        else:
            known.append(Word(f"{word.text}x"))
    return tuple(known)


def _behind_operands(form: Shape, argv: tuple[Word, ...], known: tuple[Word, ...], at: int) -> int | None:
    opened = open_wrapper(form._replace(operands=0), known[at - 1 :])
    start = at - 1 + opened.start
    passed = argv[start : start + form.operands]
    if not opened.known or any(not word.static and (word.may_be_flag or not word.whole) for word in passed):
        return None
    return start + len(passed)


def _behind_dashes(form: Shape, argv: tuple[Word, ...], at: int) -> int | None:
    for index in range(at, len(argv)):
        word = argv[index]
        if not (word.static or word.whole) or word.text.partition("=")[0] in form.scripts:
            return None
        if word.static and word.text == "--":
            return index + 1
    return None


def _is_command(argv: tuple[Word, ...], start: int) -> bool:
    """Whether a program's name stands there, and not options for one the text does not tell, or a whole script."""
    if not all(word.static or word.whole for word in argv[:start]):
        return False
    if start >= len(argv):
        return True
    name = argv[start]
    return name.static and name.text[:1] != "-" and not any(blank in name.text for blank in " \t\n")
