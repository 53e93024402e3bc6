"""What every request carries before the user's first word stays small: each tool has a limit of its own."""

import json
from importlib import resources

import pytest

from holdfast.lib.tokens import estimate_bytes

OFFERED = json.loads((resources.files("holdfast.app") / "offered.json").read_text("utf-8"))
ENTRIES = {entry["name"]: entry for group in OFFERED for entry in group["anthropic"]}
LIMITS = {"Bash": 900, "Agent": 900}


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_tool_costs_at_most_its_share_of_tokens(name: str) -> None:
    rendered = json.dumps(ENTRIES[name], ensure_ascii=False, separators=(",", ":")).encode()
    assert estimate_bytes(rendered) <= LIMITS.get(name, 450)
