"""Real `holdfast -p` processes that are killed at random points and resumed; `make torture` kills 200."""

from collections.abc import Callable


def test_killed_command_lines_go_on_with_nothing_done_twice_and_every_request_valid(
    run_script: Callable[..., str],
) -> None:
    assert run_script("torture_cli.py", "--kills", "5", "--seed", "3").startswith("5 kills")
