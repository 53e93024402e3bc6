"""Every state that a person meets, as the real program shows it in a real terminal of three widths.

`HOLDFAST_WRITE_STATES=1` writes the files anew, and the recorded session of the README with them: look at what changed.
"""

import os
from difflib import unified_diff
from pathlib import Path

import pytest
from tests.tui.conftest import Terminal
from tests.tui.pictures import animated, runs_of
from tests.tui.scenes import ROWS, Shot, stage
from tests.tui.test_preferences import contrast

from holdfast.tui.show.themes import Look

HERE = Path(__file__).parent
RECORDED = HERE.parents[1] / "docs" / "session.svg"
IS_WRITING = bool(os.environ.get("HOLDFAST_WRITE_STATES"))
SHOWN = {
    "first run: the folder": 3.0,
    "first run: the model": 2.5,
    "an answer streams": 1.5,
    "an answer": 4.0,
    "calls side by side": 2.5,
    "calls have ended": 2.0,
    "approval": 4.5,
    "denied with words": 2.5,
    "denied": 2.0,
    "always": 3.0,
    "diff": 4.0,
    "changed": 2.0,
    "in the background": 2.0,
    "output of a task": 2.5,
    "a question": 3.0,
    "several answers": 2.5,
    "a plan": 4.0,
    "a plan is approved": 2.0,
    "undone": 2.0,
    "rewind": 3.0,
    "rewound": 2.5,
    "the end": 3.0,
}
"""How long the recorded session shows each state, in seconds."""


def as_file(shots: list[Shot]) -> str:
    return "".join(f"=== {shot.name}\n{shot.text}\n" for shot in shots)


def recorded(shots: list[Shot]) -> str:
    by_name = {shot.name: shot for shot in shots}
    frames = [(by_name[name].drawn, seconds) for name, seconds in SHOWN.items()]
    return animated(frames, columns=80, rows=ROWS, title="A session of Holdfast in a terminal")


DARK = ((0, 0, 0), (30, 30, 30))
LIGHT = ((255, 255, 255), (253, 246, 227))


def is_readable(shots: list[Shot], backgrounds: tuple[tuple[int, int, int], ...] = DARK) -> None:
    """Every colour on these screens is one of our own themes', and stands out."""
    for shot in shots:
        for line in shot.drawn:
            for run in runs_of(line):
                if run.colour is not None:
                    rgb = Look(run.colour).rgb
                    assert rgb is not None
                    for background in backgrounds:
                        assert contrast(rgb, background) >= 4.5, (shot.name, run)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_every_state_looks_as_it_was_drawn(terminal: Terminal, columns: int) -> None:
    with stage(terminal, columns) as scenes:
        scenes.play()
        shots = scenes.shots
    is_readable(shots)
    assert not [line for shot in shots for line in shot.text.split("\n") if len(line) > columns]
    kept = HERE / "states" / f"{columns}.txt"
    if IS_WRITING:
        kept.write_text(as_file(shots), encoding="utf-8")
        if columns == 80:
            RECORDED.write_text(recorded(shots), encoding="utf-8")
    difference = "\n".join(unified_diff(kept.read_text("utf-8").split("\n"), as_file(shots).split("\n"), lineterm=""))
    assert not difference, difference
    if columns == 80:
        assert recorded(shots) == RECORDED.read_text("utf-8")


def test_every_state_can_be_read_in_a_light_terminal(terminal: Terminal) -> None:
    with stage(terminal, 80, background="white") as scenes:
        scenes.play()
        shots = scenes.shots
    is_readable(shots, LIGHT)
    assert as_file(shots) == (HERE / "states" / "80.txt").read_text("utf-8")
