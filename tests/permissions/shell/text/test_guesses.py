"""Runners: rules that allow them cover the arguments of what they start, rules that forbid see every word."""

from typing import Any

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.text.analysis import analyse

ALLOWED = [
    "npx:*", "uv run:*", "uvx:*", "poetry run:*", "bundle exec:*", "pnpm exec:*", "npm exec:*", "docker exec:*",
    "docker run:*", "docker compose:*", "kubectl exec:*", "ssh:*", "xargs:*",
]  # fmt: skip


def verdict(command: str, mode: str = "default", **rules: Any) -> str:
    return judge("Bash", {"command": command}, mode=mode, **rules).behavior


ORDINARY = [
    "npx eslint src/*.ts",
    "uv run pytest tests/*.py",
    'for t in tests/test_*.py; do uv run pytest "$t"; done',
    "npx prettier --write src/{a,b}.ts",
    "bundle exec rspec spec/*_spec.rb",
    'docker run --rm -v "$PWD":/app img pytest',
    'docker run --rm -v "$(pwd)":/w -w /w -e A="$B" node:20 npm test',
    'uv run python -c "import x; print(x.y(1))"',
    "uv run pytest -k 'a and (b or c)'",
    'npx jest -t "it\'s ok"',
    "npx eslint --rule '{\"a\": [1, 2]}' src",
    "docker compose exec -T db psql -U x -c 'select 1'",
    "docker compose exec db psql -c 'select * from t where a > 1'",
    "bundle exec rails runner 'puts User.where(id: 1).count'",
    'poetry run python -c "print(1 > 0)"',
    "npm exec -- eslint src/*.ts",
    "pnpm exec eslint 'a b' $X",
    'kubectl exec pod -- ls "$X"',
    "ls src | xargs npx eslint",
    "uv run pytest -k 'cd .. and x' && uv run pytest $X",
]


@pytest.mark.parametrize("command", ORDINARY)
@pytest.mark.parametrize("forbidden", [{}, {"deny": ["Bash(rm:*)"]}, {"ask": ["Bash(git push:*)"]}])
def test_a_rule_on_a_runner_covers_the_arguments_of_what_it_starts(command: str, forbidden: dict[str, Any]) -> None:
    assert verdict(command, allow=[f"Bash({rule})" for rule in ALLOWED], **forbidden) == "allow"


@pytest.mark.parametrize("command", ORDINARY)
def test_arguments_behind_a_runner_are_no_doubt_where_everything_is_allowed(command: str) -> None:
    assert verdict(command, "bypassPermissions", deny=["Bash(rm:*)"]) == "allow"
    assert verdict(command, allow=["Bash"], deny=["Bash(rm:*)"]) == "allow"


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("npx eslint src/*.ts", "npx eslint:*"),
        ("npx eslint src/*.ts", "npx eslint src/*.ts"),
        ("uv run pytest -k 'a or (b)'", "uv run pytest -k 'a or (b)'"),
    ],
)
def test_narrow_rules_cover_as_wide_ones_do(command: str, content: str) -> None:
    assert verdict(command, allow=[f"Bash({content})"], deny=["Bash(rm:*)"]) == "allow"
    assert verdict(command, allow=["Bash(npx other:*)"]) == "ask"


FORBIDDEN = [
    "npx rm x", "npx -p a rm x", "npx a rm x", "uv run rm x", "docker exec web rm x", "docker run img rm x",
    "docker run --rm -v a:b img rm x", "docker run --some a img rm x", "npx sh -c 'rm x'", "npx a 'rm x'",
    "npx a 'b (c; rm x'", "npx a b 'c && rm x' d", "docker run img sh -c 'rm x'", "ssh h 'rm x'", "ssh h rm x",
    "kubectl exec pod -- rm x", "npx env A=1 rm x", "npx a env A=1 rm x", "npx a timeout 5 rm x", "npx A=1 rm x",
    "uv run find . -exec rm {} +", "npx npx npx rm x", "npx a npx b rm x", "npx a sh -c 'npx b \"rm x\"'",
    "ls | xargs npx rm", "ls | xargs docker exec web rm", "npx -c 'rm x'", "npx --call='rm x'",
    'npx a "$(rm x)"', "npx a `rm x`",
    "docker compose exec web rm x", "npx a bash <<< 'rm x'", "docker run --entrypoint rm img x",
]  # fmt: skip


@pytest.mark.parametrize("command", FORBIDDEN)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_rules_that_forbid_hold_on_every_word_behind_a_runner(command: str, mode: str) -> None:
    allow = ["Bash", "Bash(npx:*)"]
    assert verdict(command, mode, allow=allow, deny=["Bash(rm:*)"]) == "deny"
    assert verdict(command, mode, allow=allow, ask=["Bash(rm:*)"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "npx $CMD", "npx -p x $CMD", 'npx "$CMD" a', "npx ./bin/* a", "docker exec web $CMD", 'docker run img "$CMD"',
        'docker run img sh -c "$CMD"', 'docker run --entrypoint sh img -c "$CMD"', 'docker run img -c "$CMD"',
        "docker exec $C ls", 'docker exec "$C" ls $X', "docker run -v $PWD:/a img $X", "kubectl exec pod -- $CMD",
        "kubectl exec $P -- ls", 'ssh h "$CMD"', "ssh h ls $X", "npx env $X", "npx timeout 5 $X", 'npx -c "$X"',
        'npx --call="$X"', 'uv run bash -c "$X"', "npx sh $X", "npx 'a b' $X", "npx --some x $C", "npx xargs $X",
        'docker compose exec web sh -c "$X"', "ls | xargs docker exec web", "ls | xargs npx -p a",
        "find . -exec docker exec web {} ;", "ssh h 'a (b'", "yarn exec 'a (b'",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_a_command_that_is_not_known_behind_a_runner_stays_a_doubt(command: str, mode: str) -> None:
    allow = ["Bash", *[f"Bash({rule})" for rule in ALLOWED]]
    assert verdict(command, mode, allow=allow, deny=["Bash(git push:*)"]) == "ask"


def test_a_rule_on_a_runner_does_not_cover_what_a_wrapper_behind_it_starts() -> None:
    assert verdict("npx timeout 5 touch x", allow=["Bash(npx:*)"]) == "ask"
    assert verdict("npx timeout 5 touch x", allow=["Bash(npx:*)", "Bash(touch:*)"]) == "allow"
    assert verdict("find . -exec npx eslint {} +", allow=["Bash(find:*)"]) == "ask"
    assert verdict("timeout 5 npx eslint $X", allow=["Bash(timeout:*)"]) == "ask"


def test_files_that_arguments_may_name_are_still_held_against_path_rules() -> None:
    allow = ["Bash(npx:*)", "Bash(docker exec:*)"]
    assert verdict("npx a 'echo x > .env'", allow=allow, deny=["Edit(.env)"]) == "deny"
    assert verdict("npx a 'cat < .env'", allow=allow, deny=["Read(.env)"]) == "deny"
    assert verdict("docker exec web cat .env", allow=allow, deny=["Read(.env)"]) == "deny"


OUTSIDE = [
    ("docker exec web ls /app", "docker exec:*"),
    ("docker exec web ls /app", "docker:*"),
    ("docker exec web ls /app", "docker exec web ls /app"),
    ("docker run --rm img ls /app", "docker run:*"),
    ("docker compose exec web cat /app/settings.py", "docker compose exec:*"),
    ("docker exec web sh -c 'cat /etc/hosts'", "docker exec:*"),
    ("kubectl exec pod -- cat /etc/hosts", "kubectl exec:*"),
    ("ssh host ls /var/log", "ssh host:*"),
    ("uv run ls /opt", "uv run:*"),
    ("TZ=UTC cat /etc/hosts", "TZ=UTC cat:*"),
    ("env cat /etc/hosts", "env cat /etc/hosts"),
]


@pytest.mark.parametrize(("command", "content"), OUTSIDE)
def test_what_a_runner_starts_reads_outside_by_the_runners_rule(command: str, content: str) -> None:
    assert verdict(command, allow=[f"Bash({content})"]) == "allow"
    assert verdict(command, allow=["Bash(docker ps:*)"]) == "ask"
    assert verdict(command, "bypassPermissions", deny=["Read(//**)"]) == "deny"


def test_a_directory_of_a_container_is_not_one_of_this_machine() -> None:
    for command in ("docker exec web sh -c 'cd /app && ls'", "kubectl exec pod -- sh -c 'cd /app; touch x'"):
        assert verdict(command, allow=["Bash(docker exec:*)", "Bash(kubectl exec:*)"]) == "allow"
        assert verdict(command, allow=["Bash(ls:*)", "Bash(touch:*)"]) == "ask"
        assert verdict(f"cd /etc && {command}", allow=["Bash(docker exec:*)", "Bash(kubectl exec:*)"]) == "ask"
    assert verdict("sh -c 'cd /etc && touch x'", allow=["Bash(sh:*)"]) == "ask"
    assert verdict("npx sh -c 'cd /etc && touch x'", allow=["Bash(npx:*)"]) == "ask"


def test_a_rule_on_a_runner_does_not_cover_reads_of_other_parts() -> None:
    allow = ["Bash(docker exec:*)"]
    assert verdict("docker exec web ls /app; cat /etc/hosts", allow=allow) == "ask"
    assert verdict('docker exec web ls "$(cat /etc/hosts)"', allow=allow) == "ask"
    assert verdict("docker exec web ls < /etc/hosts", allow=allow) == "ask"
    assert verdict("docker exec web timeout 5 cat /etc/hosts", allow=allow) == "ask"


@pytest.mark.parametrize("runner", ["npx", "ssh"])
def test_runners_inside_runners_give_as_many_parts_as_the_text_has_words_and_no_multiple_of_that(runner: str) -> None:
    few, many = (len(analyse(f"{runner} " * count + "rm $x").parts) for count in (20, 40))
    assert many < 3 * few < 1_000


def test_a_limit_inside_arguments_is_still_a_doubt() -> None:
    many = " ".join(f"'a {number}'" for number in range(80))
    found = analyse(f"npx a {many}")
    assert found.doubt
    assert not found.parsed
    assert verdict("npx eslint" + " a" * 2_500, "bypassPermissions", deny=["Bash(rm:*)"]) == "ask"


def test_arguments_that_cannot_be_parsed_leave_the_text_understood_but_for_removals_in_them() -> None:
    found = analyse('npx jest -t "it\'s ok" && rm -rf build')
    assert found.parsed
    assert found.unread == ("it's ok",)
    assert verdict(found.command, "bypassPermissions") == "allow"
    assert verdict("npx a 'b (c; rm -rf /'", "bypassPermissions") == "ask"
    assert verdict("npx sh -c 'b (c; rm -rf /'", "bypassPermissions") == "ask"


def test_what_was_a_guess_is_looked_at_again_where_it_is_none() -> None:
    allow = ["Bash", "Bash(ssh:*)"]
    assert verdict("npx ls $X", "bypassPermissions", deny=["Bash(rm:*)"]) == "allow"
    assert verdict("ssh npx ls $X", "bypassPermissions", allow=allow, deny=["Bash(rm:*)"]) == "ask"
    assert verdict("ssh h npx a 'b (c'", "bypassPermissions", allow=allow, deny=["Bash(rm:*)"]) == "ask"


def test_a_guess_is_seen_from_where_its_runner_goes() -> None:
    for command in (
        "uv --directory out run touch q",
        "uv --directory out run a touch q",
        "uv --directory out run a 'x > q'",
    ):
        assert verdict(command, "bypassPermissions", deny=["Edit(out/**)"]) == "deny"
    assert analyse("npx a 'cd $X'; ls").parts[-1].cwds == analyse("ls").parts[-1].cwds
