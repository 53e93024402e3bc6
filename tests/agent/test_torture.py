"""Agents that are killed at random points and resumed; `make torture` kills 200."""

from collections.abc import Callable


def test_killed_agents_go_on_with_no_result_lost_and_nothing_done_twice(run_script: Callable[..., str]) -> None:
    assert run_script("torture_loop.py", "--kills", "20", "--seed", "7").startswith("20 kills")
