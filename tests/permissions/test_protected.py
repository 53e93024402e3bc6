import pytest

from holdfast.permissions.protected import is_protected_directory, is_secret, protected_by


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/p/.git", ".git"),
        ("/p/.git/config", ".git"),
        ("/p/.GIT/config", ".git"),
        ("/p/.g\u200cit/config", ".git"),
        ("/home/u/.config/git/config", ".config/git"),
        ("/home/u/.config/other", None),
        ("/p/.gitignore", None),
        ("/p/git/config", None),
        ("/p/.claude/worktrees/w/a", None),
        ("/p/.claude/worktrees/w/.envrc", ".envrc"),
        ("/p/.claude/worktrees2/w", ".claude"),
        ("/p/.agents/skills/x/SKILL.md", ".agents/skills"),
        ("/p/.agents/notes.md", None),
        ("/p/sub/lefthook-local.yml", "lefthook*"),
        ("/p/.yarnrc.yml", ".yarnrc*"),
        ("/p/src/a.py", None),
    ],
)
def test_what_governs_tools_is_protected_by_name_alone(path: str, entry: str | None) -> None:
    assert protected_by(("/p/plain", path)) == entry


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/home/u/.config/holdfast", True),
        ("/home/u/.CLAUDE", True),
        ("/p/.claude/worktrees/w/.git", True),
        ("/p/.claude/worktrees/.holdfast", True),
        ("/p/.git/config", False),
        ("/p/.claude/worktrees/w", False),
        ("/p/not.git", False),
        ("/p/.bashrc", False),
    ],
)
def test_a_protected_directory_is_told_by_its_own_name_without_the_index(path: str, *, is_one: bool) -> None:
    assert is_protected_directory(path) is is_one
    assert not is_one or protected_by((path,)) is not None


@pytest.mark.parametrize(
    "path", ["/x/.env", "/x/.env.local", "/h/.ssh/config", "/x/key.pem", "/etc/shadow", "/h/.AWS/x"]
)
def test_files_with_secrets_are_known(path: str) -> None:
    assert is_secret((path,))


@pytest.mark.parametrize(
    "path", ["/usr/lib/python3/tokenize.py", "/usr/share/doc/x", "/etc/passwd", "/x/environment.yml"]
)
def test_ordinary_files_are_no_secrets(path: str) -> None:
    assert not is_secret((path,))
