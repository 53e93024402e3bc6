import pytest

from holdfast.permissions.policy.suggest_commands import suggest_rules
from holdfast.permissions.rules.command_index import RuleIndex, compile_bash_rule
from holdfast.permissions.shell.judge.coverage import allowed
from holdfast.permissions.shell.text.analysis import analyse


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("npm run test", ("npm run test *",)),
        ("npm run test -- --watch", ("npm run test *",)),
        ("npm test", ("npm test *",)),
        ("git commit -m x", ("git commit *",)),
        ("git add . && git commit -m 'a b'", ("git add *", "git commit *")),
        ("git status && npm install", ("npm install *",)),
        ("timeout 60 cargo build --release", ("cargo build *",)),
        ("mkdir -p a/b", ("mkdir *",)),
        ("pytest tests/x.py -q", ("pytest *",)),
        ("docker compose up -d", ("docker compose up *",)),
        ("gh pr create --fill", ("gh pr create *",)),
        ("./scripts/check.sh --all", ("./scripts/check.sh *",)),
        ("rm -rf build", ("rm -rf build",)),
        ("curl -s https://example.com", ("curl -s https://example.com",)),
        ("git push origin main", ("git push origin main",)),
        ("npm --silent test", ("npm --silent test",)),
        ("git -C ../other log -3 | head", ("git -C ../other log *",)),
        ("git -C ../other push origin main", ("git -C ../other push origin main",)),
        ("git -C '/a b' commit -m x", ("git -C /a\\ b commit *",)),
        ("git -C /a -c core.pager=x log", ()),
        ("npm --prefix web run test", ("npm --prefix web run test *",)),
        ("rm 'a *'", ("rm a\\ \\*",)),
        ("a; b; c; d; e", ("a *", "b *", "c *", "d *", "e *")),
        ("a; b; c; d; e; f", ()),
        ("ls -la", ()),
        ("python3 x.py", ()),
        ("node -e 1", ()),
        ("bash x.sh", ()),
        ("sh -c 'npm test'", ()),
        ("sudo npm test", ()),
        ("env A=b npm test", ()),
        ("xargs rm", ()),
        ("watch npm test", ()),
        ("find . -delete", ()),
        ("npx foo", ()),
        ("$x test", ()),
        ("FOO=1 npm test", ("FOO=1 npm test",)),
        ("LD_PRELOAD=x npm test", ()),
        ("GIT_DIR=x FOO=1 npm test", ()),
        ("npm test > out", ()),
        ("x=1; npm test", ()),
        ("npm test 'unclosed", ()),
        ("eval npm test", ()),
        ("npm test && sudo rm x", ()),
    ],
)
def test_the_shortest_safe_rules_are_suggested(command: str, rules: tuple[str, ...]) -> None:
    assert suggest_rules(analyse(command)) == rules


@pytest.mark.parametrize(
    "command",
    [
        "npm run test",
        "git add . && git commit -m 'a b'",
        "rm -rf build",
        "rm 'a *'",
        "timeout 60 cargo build --release",
        "curl -s 'https://e.com/?a=b&c'",
    ],
)
def test_saved_rules_allow_the_command_next_time(command: str) -> None:
    analysis = analyse(command)
    rules = [compile_bash_rule(content) for content in suggest_rules(analysis)]
    assert rules
    assert allowed(RuleIndex(rules, exact_words=True), analysis).allowed


@pytest.mark.parametrize(
    "command",
    [
        "python3.11 x.py",
        "node20 x.js",
        "ruby3.2 x",
        "lua5.4 x",
        "php8 x",
        "java -jar x",
        "csh x",
        "zsh5 x",
        "perl5.36 x",
    ],
)
def test_an_interpreter_of_any_version_gets_no_rule(command: str) -> None:
    assert suggest_rules(analyse(command)) == ()


@pytest.mark.parametrize(
    "command",
    [
        "git rebase main", "git filter-branch x", "go run main.go", "gh api repos", "sed -i s/a/b/ f", "tar xf a",
        "cp a b", "vim x", "less x", "dotnet run x", "bazel run x", "terraform apply", "kubectl delete pod x",
    ],
)  # fmt: skip
def test_what_may_run_or_destroy_more_is_saved_as_it_is(command: str) -> None:
    assert suggest_rules(analyse(command)) == (command,)


def test_a_variable_that_rules_do_not_mind_keeps_the_rule() -> None:
    assert suggest_rules(analyse("NO_COLOR=1 npm test")) == ("npm test *",)
    assert suggest_rules(analyse("PATH=. npm test")) == ()
