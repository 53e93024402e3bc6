"""Plan mode asks about what most likely only looks, and denies the rest."""

import pytest

from holdfast.permissions import NoDisk, PermissionContext, Rule, decide, facts_from_input


def verdict(command: str, *rules: Rule, mode: str = "plan") -> str:
    """What becomes of the command."""
    context = PermissionContext.started_in("/p", mode, rules, home="/home/user", trusted=True, disk=NoDisk())
    return decide(facts_from_input("Bash", {"command": command}, "/p"), context).behavior


LOOKS = (
    "curl http://localhost:3000/health",
    "curl -s http://127.0.0.1:8080/x | head -5",
    "docker ps -a | grep web",
    "docker logs web",
    "docker compose ps",
    "docker compose logs web",
    "docker container ls",
    "gh pr view 1",
    "gh issue list --limit 5",
    "glab mr list",
    "sqlite3 app.db 'SELECT count(*) FROM users;'",
    "sqlite3 -readonly -header app.db .tables",
    "kubectl get pods",
    "pip list",
    "npm ls --depth=0",
    "go env GOPATH",
    "ss -tlnp",
    "crontab -l",
)
CHANGES = (
    "curl -X POST http://localhost:3000/x",
    "curl -XDELETE http://localhost:3000/x",
    "curl -d a http://localhost:3000/x",
    "curl --json '{}' http://localhost:3000/x",
    "curl http://localhost:3000/x > out",
    "curl -o out http://localhost:3000/x",
    "curl http://example.com",
    "docker rm web",
    "docker compose up -d",
    "docker container rm web",
    "gh pr view 1 --web",
    "gh pr comment 1 -b x",
    "gh api repos/a/b",
    "docker ps; rm x",
    "docker ps $(touch x)",
    "X=1 docker ps",
    "./docker ps",
    "sqlite3 app.db 'DELETE FROM users'",
    "sqlite3 app.db 'SELECT 1; DROP TABLE users'",
    "sqlite3 app.db \"SELECT writefile('x', 'y')\"",
    "sqlite3 app.db '.shell id'",
    "sqlite3 -cmd '.shell id' app.db 'SELECT 1'",
    "kubectl delete pod x",
    "pip install x",
    "go env -w GOFLAGS=x",
    "ss -K dst 1.2.3.4",
    "crontab -r",
    "python3 x.py",
)


@pytest.mark.parametrize("command", LOOKS)
def test_plan_mode_asks_about_what_most_likely_only_looks(command: str) -> None:
    assert verdict(command) == "ask"
    assert verdict(command, mode="dontAsk") == "deny"


@pytest.mark.parametrize("command", CHANGES)
def test_plan_mode_denies_what_may_change_something(command: str) -> None:
    assert verdict(command) == "deny"


@pytest.mark.parametrize("command", LOOKS)
def test_a_rule_answers_the_question_in_plan_mode_and_a_deny_stays(command: str) -> None:
    assert verdict(command, Rule.parse("allow", "Bash")) == "allow"
    assert verdict(command, Rule.parse("deny", "Bash")) == "deny"
    assert verdict(command, Rule.parse("allow", "Bash"), Rule.parse("ask", "Bash")) == "ask"


@pytest.mark.parametrize("command", CHANGES)
def test_no_rule_lets_what_may_change_something_pass_in_plan_mode(command: str) -> None:
    assert verdict(command, Rule.parse("allow", "Bash")) == "deny"
