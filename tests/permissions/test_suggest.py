import pytest

from holdfast.permissions import PermissionContext, Rule, decide
from holdfast.permissions.suggest import suggest_rules_for
from holdfast.permissions.traits import facts_from_input


@pytest.mark.parametrize(
    ("tool", "arguments", "rules"),
    [
        ("Bash", {"command": "git commit -m x"}, ("Bash(git commit *)",)),
        ("Bash", {"command": "npm run test && git add a"}, ("Bash(npm run test *)", "Bash(git add *)")),
        ("Bash", {"command": "python3 x.py"}, ()),
        ("Bash", {"command": "FOO=1 make all"}, ("Bash(FOO=1 make all)",)),
        (
            "Bash",
            {"command": "FOO=1  BAR=a/b make all -j2 && git add a"},
            ("Bash(FOO=1 BAR=a/b make all -j2)", "Bash(git add *)"),
        ),
        ("Bash", {"command": "FOO=$(id) make all"}, ()),
        ("Bash", {"command": "FOO='a b' make all"}, ()),
        ("Bash", {"command": "FOO=* make all"}, ()),
        ("Bash", {"command": "FOO=1 python3 x.py"}, ()),
        ("Bash", {"command": "sudo make install"}, ()),
        ("Edit", {"file_path": "src/a[1].py"}, (r"Edit(//proj/src/a\[1\].py)",)),
        ("Read", {"file_path": "/etc/hosts"}, ("Read(//etc/hosts)",)),
        ("WebFetch", {"url": "https://Docs.Python.org/x", "prompt": "p"}, ("WebFetch(domain:docs.python.org)",)),
        ("WebFetch", {"url": "http://127.0.0.1/", "prompt": "p"}, ()),
        ("mcp__files__list", {}, ("mcp__files__list",)),
    ],
)
def test_the_saved_rules_are_the_shortest_safe_ones(
    tool: str, arguments: dict[str, str], rules: tuple[str, ...]
) -> None:
    assert suggest_rules_for(facts_from_input(tool, arguments, "/proj")) == rules


@pytest.mark.parametrize(
    ("in_force", "tool", "arguments", "rules"),
    [
        (["Bash(git *)"], "Bash", {"command": "git add a && make all"}, ("Bash(make all *)",)),
        (["Bash(git add *)", "Bash(make all *)"], "Bash", {"command": "git add a && make all"}, ()),
        (["Bash(FOO=1 make all)"], "Bash", {"command": "FOO=1 make all && git add a"}, ("Bash(git add *)",)),
        (["Edit(//proj/a)"], "Edit", {"file_path": "a"}, ()),
        (["mcp__files__list"], "mcp__files__list", {}, ()),
        (["Read"], "Edit", {"file_path": "a"}, ("Edit(//proj/a)",)),
    ],
)
def test_rules_that_are_in_force_are_not_suggested_again(
    in_force: list[str], tool: str, arguments: dict[str, str], rules: tuple[str, ...]
) -> None:
    context = PermissionContext.started_in("/proj", "default", [Rule.parse("allow", text) for text in in_force])
    assert suggest_rules_for(facts_from_input(tool, arguments, "/proj"), context) == rules


@pytest.mark.parametrize("command", ["FOO=1 make all", "FOO=1 BAR=a/b make all -j2 && git add a"])
def test_the_rules_for_a_command_with_variables_allow_it_and_no_other(command: str) -> None:
    rules = suggest_rules_for(facts_from_input("Bash", {"command": command}, "/proj"))
    context = PermissionContext.started_in("/proj", "default", [Rule.parse("allow", text) for text in rules])

    def said(text: str) -> str:
        return decide(facts_from_input("Bash", {"command": text}, "/proj"), context).behavior

    assert (said(command), said(command.replace("FOO=1", "FOO=2")), said(f"{command} x")) == (
        "allow",
        "ask",
        "ask" if "git" not in command else "allow",
    )
