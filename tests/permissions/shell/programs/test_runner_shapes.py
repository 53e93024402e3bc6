"""Where the command stands behind a runner, and when that is not sure."""

import pytest

from holdfast.permissions.shell.programs.runners import command_start
from holdfast.permissions.shell.text.analysis import analyse


def started(command: str) -> str | None:
    part = next(part for part in analyse(command).parts if part.depth == 0)
    at = command_start(part.name, part.argv)
    return None if at is None else " ".join(part.texts[at:])


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        ("npx eslint src/*.ts", "eslint src/*.ts"),
        ("npx -y -p a b c", "b c"),
        ("npx --yes --package=a b", "b"),
        ("npx -- b -c d", "b -c d"),
        ("npm --prefix a exec -- b", "b"),
        ("npm x b", "b"),
        ("pnpm -F a exec b", "b"),
        ("pnpm dlx --package a b", "b"),
        ("yarn dlx -q b c", "b c"),
        ("uvx --from a b c", "b c"),
        ("uv run --with a -p 3.12 b c", "b c"),
        ("uv --directory a tool run b", "b"),
        ("poetry -C a run b", "b"),
        ("bundle exec --gemfile=a b", "b"),
        ("conda run -n a b", "b"),
        ("direnv exec . b", "b"),
        ("docker exec -it -u root web b c", "b c"),
        ("docker -H h exec web b", "b"),
        ("docker container exec web b", "b"),
        ('docker run --rm -v "$PWD":/a -e A="$B" --name=x img b', "b"),
        ('docker run --volume="$PWD":/a img b', "b"),
        ('docker exec "web-$N" b', "b"),
        ("docker run img", ""),
        ("docker compose -f a.yml exec -T db b -c 'c d'", "b -c c d"),
        ("docker-compose run --rm web b", "b"),
        ("podman run -it img b", "b"),
        ('kubectl -n a exec "$POD" -c app -- b c', "b c"),
        ("mise x node@20 -- b", "b"),
        ("gosu root b", "b"),
    ],
)
def test_the_command_is_found_behind_options_and_operands(command: str, inner: str) -> None:
    assert started(command) == inner


@pytest.mark.parametrize(
    "command",
    [
        'npx "$X" b', "npx $X b", "npx --call 'b c'", "npx -c 'b c'", "npx --some a b", "npx 'b c' d",
        "uv run --some a b", "uv $X run b", 'uv "$X" b run', "yarn exec 'b && c'", "pnpm -c exec 'b c'",
        "docker exec $C b", 'docker exec "$C" b', "docker run -v $PWD:/a img b", "docker run -v a/* img b",
        "docker run --entrypoint sh img -c 'b c'", "docker run img -c b", 'docker run -"$X" img b',
        "docker $X exec web b", "docker --some a exec web b", "docker logs run",
        "kubectl exec pod b", "kubectl exec $P -- b", "mise x -c 'b c' -- d", "doppler run --command='b c' -- d",
        "ssh host b", "tmux new b", "hyperfine 'b c'", "nix run b",
    ],
)  # fmt: skip
def test_what_is_not_sure_has_no_start(command: str) -> None:
    assert started(command) is None
