"""A story that goes on sensibly when the person steers it elsewhere: says no, stops it, or writes something."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from holdfast.agent.notes import OWN_WORDS
from holdfast.models.interface import ModelRequest
from holdfast.models.playback import all_text, newest_text
from holdfast.models.script import Turn, parse_turn

__all__ = ["FIX", "WITH_AGENTS", "steered"]

Story = Mapping[int, Callable[[ModelRequest], Any]]
"""By the number of a turn, from 0: what is said instead where the person steered elsewhere; none: nothing else."""

_REFUSED: Final = "the user refused"
_NO: Final = (
    "You said no, so I leave it at that. My words come from a script that knows only one way on; a real model would "
    "now do what you want instead."
)
_ELSEWHERE: Final = (
    "That went another way than the script knows that my words come from, so I stop here. Everything that ran was real."
)
_CANNOT_READ: Final = "(My words come from a script: I cannot take in what you write, and go on.)\n\n"
_OVER: Final = "The demo is over. With a real model you could go on here; Ctrl-D leaves."
_MORE_TURNS: Final = 20
_PACE_S: Final = 0.02


def steered(turns: Sequence[Any], otherwise: Story) -> list[Any]:
    """The turns of a story, each with what is said where the one before it did not go as written."""
    chosen = [partial(_choose, turn, otherwise.get(number)) for number, turn in enumerate(turns)]
    return [*chosen, *[_OVER] * _MORE_TURNS]


def _choose(turn: Any, otherwise: Callable[[ModelRequest], Any] | None, request: ModelRequest) -> Turn:
    said = newest_text(request)
    found = None if otherwise is None else otherwise(request)
    if found is None and _REFUSED in said:
        found = _say(_NO)
    written = parse_turn(found or (turn(request) if callable(turn) else turn))
    if any(text not in said for text in written.expect):
        written = parse_turn(_say(_ELSEWHERE))
    if _has_words_of_theirs(request):
        lead = parse_turn(_say(_CANNOT_READ))
        written = msgspec.structs.replace(written, blocks=(*lead.blocks, *written.blocks))
    return written


def _has_words_of_theirs(request: ModelRequest) -> bool:
    """The newest message, and not the first one, holds something that the person wrote."""
    if len(request.messages) < 2:
        return False
    content: Any = request.messages[-1].get("content", "")
    texts = (
        [content]
        if isinstance(content, str)
        else [str(block.get("text", "")) for block in content if block.get("type") == "text"]
    )
    return any(text.strip() and not text.startswith(OWN_WORDS) for text in texts)


def _say(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"after_s": 0.3, "blocks": [{"text": text, "pace_s": _PACE_S}, *calls]}


def _bash(command: str, description: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command, "description": description}}


# The story of the failing test.

_EDIT: Final = {
    "tool": "Edit",
    "input": {
        "file_path": "shop/orders.py",
        "old_string": (
            "    amount = subtotal(items)\n    if amount >= DISCOUNT_FROM:\n        amount -= amount * DISCOUNT\n"
            "    return round(amount + shipping_for(items), 2)"
        ),
        "new_string": "    return round(subtotal(items) + shipping_for(items), 2)",
    },
}
_RAN: Final = "Ran 3 tests"
_TOOK: Final = re.compile(r" in [\d.]+s$", re.MULTILINE)
_PUBLISH: Final = _bash("git push origin main", "Publish the fix")


def _without_tests(request: ModelRequest) -> Any:
    if _REFUSED not in newest_text(request):
        return None
    return _say(
        "You said no, so I do not run the tests. The README says that large orders are cheaper once; `total` takes "
        "the discount a second time, so I take that out.",
        _EDIT,
    )


def _untested(request: ModelRequest) -> Any:
    said = newest_text(request)
    if "Edited shop/orders.py" not in said or _RAN in said:
        return None
    return _say("The change is made, and no test has run since. Now I would publish it.", _PUBLISH)


def _left_to_them(request: ModelRequest) -> Any:
    if "Bash(git push *)" not in newest_text(request) or f"{_RAN}\n\nOK" in _TOOK.sub("", all_text(request)):
        return None
    return _say(
        "The second discount is gone. Whether the tests pass now you see with `python3 -m unittest`: I was not to run "
        "them. I did not publish it: this project's settings forbid `git push`."
    )


FIX: Final[Story] = {2: _without_tests, 3: _untested, 4: _left_to_them}


# The story with agents.


def _by_subtotal(request: ModelRequest) -> Any:
    if "subtotal" in newest_text(request):
        return None
    return _say(
        "You chose another way. My words come from a script that only knows the one by `subtotal`, so I plan that.",
        {"tool": "EnterPlanMode", "input": {}},
    )


WITH_AGENTS: Final[Story] = {2: _by_subtotal}
