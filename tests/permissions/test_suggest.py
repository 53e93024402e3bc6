import pytest

from holdfast.permissions.suggest import suggest_rules_for
from holdfast.permissions.traits import facts_from_input


@pytest.mark.parametrize(
    ("tool", "arguments", "rules"),
    [
        ("Bash", {"command": "git commit -m x"}, ("Bash(git commit *)",)),
        ("Bash", {"command": "npm run test && git add a"}, ("Bash(npm run test *)", "Bash(git add *)")),
        ("Bash", {"command": "python3 x.py"}, ()),
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
