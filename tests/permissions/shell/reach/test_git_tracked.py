"""What git prints of tracked files under Read rules, in a real repository."""

import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.tool_facts import facts_from_input


def verdict(command: str, folder: Path, *denied: str, allowed: tuple[str, ...] = ()) -> str:
    rules = [Rule.parse("deny", text) for text in denied] + [Rule.parse("allow", text) for text in allowed]
    context = PermissionContext.started_in(str(folder), "default", rules)
    return decide(facts_from_input("Bash", {"command": command}, cwd=str(folder)), context).behavior


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, timeout=20)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    (top / "sub").mkdir(parents=True)
    for name in (".env", "a.py", "sub/.env", "sub/b.py"):
        (top / name).write_text("x")
    git(top, "init", "-q")
    git(top, "add", ".")
    return top


NAMED = [
    "git show HEAD:.env", "git show :.env", "git show :0:.env", "git show :./.env", "git show HEAD:./.env",
    "git show HEAD~1:.env", "git show 'HEAD@{2020-01-01 10:00:00}:.env'", "git show 'HEAD^{/fix: x}:.env'",
    "git diff .env", "git diff -- .env", "git diff HEAD -- ./.env", "git diff HEAD~1 HEAD .env", "git diff -- :/.env",
    "git diff -- ':(top).env'", "git log -p -- .env", "git log -p .env", "git log --follow -p .env",
    "git log -L1,2:.env", "git log -L 1,2:.env", "git log -L:x:.env", "git blame .env", "git blame -L 1,5 .env",
    "git blame HEAD -- .env", "git annotate .env", "git cat-file -p HEAD:.env", "git cat-file blob :.env",
    "git archive HEAD .env", "git grep x -- .env", "git grep x HEAD -- .env", "git diff --no-index /dev/null .env",
    "git diff HEAD:.env HEAD:a.py", "git --no-pager show HEAD:.env", "(git show HEAD:.env)", "git show HEAD:.env | cat",
]  # fmt: skip


def test_a_file_that_git_names_in_its_own_ways_is_denied(repository: Path) -> None:
    every = ("Bash",)
    assert [one for one in NAMED if verdict(one, repository, "Read(./.env)", allowed=every) != "deny"] == []
    assert verdict("git show HEAD:.env", repository, "Read(./other)") == "allow"


SECRETS = {"Read(./.env)": "env-secret", "Read(sub/k.pem)": "pem-secret"}
PRINTING = [
    "git grep S HEAD", "git grep S HEAD~1", "git grep S @", "git grep -e S HEAD", "git grep --cached S",
    "git grep S HEAD:", "git grep S HEAD:sub", "git grep S HEAD:sub -- k.pem", "git grep S HEAD:./sub",
    "git grep S -- '*.pem'", "git grep S -- 's*/k*'", "git grep S -- ':(glob)**/k.pem'", "git grep S -- '.en\\v'",
    "git grep S -- :/", "git grep S a '*.pem'", "git log --full-diff -p a", "git log -p --full-diff -- a",
    "git log --full-diff -p -- ':!.env'", "git show --full-diff HEAD -- a", "git whatchanged -p --full-diff a",
    "git log -p --author a", "git log -p ':/two'", "git diff ':/one'",
    "git show --all HEAD:a", "git show 'HEAD^{/t}'", "git show 'HEAD@{0}'", "git show 'HEAD^{/two: x}'",
    "git diff --end-of-options HEAD~1 HEAD",
    "git status -v", "git status -vv", "git status --verbose", "git status -v a", "git diff HEAD: HEAD~1:",
    "git diff HEAD~1:sub HEAD:sub", "git diff HEAD~1:./ HEAD:./", "git diff HEAD:sub",
    "git diff-tree -p HEAD~1: HEAD:", "git diff-tree -p HEAD~1:sub HEAD:sub", "git diff-index -p HEAD",
    "git diff -- '.en\\v'", "git diff -- '[^x]env'", "git diff -- 'sub/[[:alpha:]].pem'", "git diff a '*.pem'",
    "git diff -- . ':(exclude,attr:x).env'", "git diff -- . ':(exclude,glob)*.pem'",
    "git diff -- . ':(exclude,literal)*'", "git config --blob HEAD:.env -l", "git config --blob=:.env -l",
    "git config -l --blob HEAD:./.env", "git config -f .env -l", "git stash show -p", "git stash show --minimal",
    "git stash show -b", "git stash list -p", "git for-each-ref --format='%(raw)'",
    "git diff --check", "git diff --no-index sub other", "git diff --no-index .env a",
    "git log -m -p --first-parent", "git show -s -p", "git diff --stat -U1", "git log -L2,2:.env",
    "git reflog show -p", "git cat-file --batch --batch-all-objects", "git rev-parse HEAD | git diff-tree --stdin -p",
    "git archive HEAD", "git archive HEAD:sub", "git archive -o /dev/stdout HEAD sub", "git -C . diff",
    "git -C sub diff", "git -C sub grep S", "git -C . show HEAD:.env", "git -C sub blame k.pem", "git -c x.y=z log -p",
    "git --git-dir=.git log -p", "GIT_DIR=.git git show HEAD", "git --icase-pathspecs diff -- .ENV",
    "GIT_ICASE_PATHSPECS=1 git diff -- .ENV", "git diff --no-inde sub other",
    "git commit --dry-run -v",
    "git format-patch --stdout HEAD~1", "git fast-export HEAD", "git merge-file -p sub/k.pem a a",
    "git interpret-trailers .env", "git -c alias.d=diff d", "git alias-of-log", "git $(echo diff)",
    "yes n | git add -p", "yes n | git checkout -p", "git log --remerge-diff -p",
]  # fmt: skip


@pytest.fixture
def history(tmp_path: Path) -> Path:
    top = tmp_path / "history"
    (top / "sub").mkdir(parents=True)
    (top / "other").mkdir()
    (top / "other" / "k.pem").write_text("S other\n")
    git(tmp_path, "init", "-q", str(top))
    for key, value in {"user.name": "n", "user.email": "a@b", "alias.alias-of-log": "log -p"}.items():
        git(top, "config", key, value)
    for message in ("one", "two", "two: x"):
        for name, text in {".env": "[S]\nS=env-secret", "sub/k.pem": "S pem-secret", "a": "S a", "b.py": "S b"}.items():
            (top / name).write_text(f"{text}{len(message)}{message} \n")
        git(top, "add", ".")
        git(top, "commit", "-qm", message)
    (top / ".env").write_text("[S]\nS=env-secret-stashed \n")
    (top / "sub" / "k.pem").write_text("S pem-secret-stashed \n")
    git(top, "stash")
    (top / ".env").write_text("[S]\nS=env-secret-staged \n")
    (top / "sub" / "k.pem").write_text("S pem-secret-staged \n")
    git(top, "add", ".")
    (top / ".env").write_text("[S]\nS=env-secret-changed \n")
    (top / "sub" / "k.pem").write_text("S pem-secret-changed \n")
    git(top, "tag", "-f", "content", "HEAD:.env")
    return top


def shown_by(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False
    )
    return done.stdout.decode(errors="replace")


def test_git_prints_no_held_file_unasked(history: Path) -> None:
    shown = {command: shown_by(command, history) for command in PRINTING}
    for rule, text in SECRETS.items():
        held = [command for command in PRINTING if text in shown[command]]
        assert [one for one in held if verdict(one, history, rule, allowed=("Bash",)) == "allow"] == []
    silent = [one for one in PRINTING if not any(text in shown[one] for text in SECRETS.values())]
    assert silent == []


@pytest.mark.parametrize("form", ["git show {} -- a", "git diff {} a", "git grep S {} -- a", "git show x-g{} -- a"])
def test_the_hash_of_content_is_asked_about_and_that_of_a_commit_is_not(form: str, history: Path) -> None:
    def hash_of(name: str) -> str:
        return shown_by(f"git rev-parse --short {name}", history).strip()

    assert "env-secret" in shown_by(form.format(hash_of("HEAD:.env")), history)
    assert verdict(form.format(hash_of("HEAD:.env")), history, "Read(./.env)") == "ask"
    assert verdict(form.format(hash_of("HEAD")), history, "Read(./.env)") == "allow"
    git(history, "gc", "-q")
    assert verdict(form.format(hash_of("HEAD:.env")), history, "Read(./.env)") == "ask"
    assert verdict(form.format(hash_of("HEAD")), history, "Read(./.env)") == "allow"


def test_a_setting_makes_stash_show_print_patches(history: Path) -> None:
    assert verdict("git stash show", history, "Read(./.env)") == "allow"
    git(history, "config", "stash.showPatch", "true")
    assert "env-secret" in shown_by("git stash show", history)
    assert verdict("git stash show", history, "Read(./.env)") == "ask"


@pytest.mark.parametrize("option", ["-u", "--include-untracked", "--only-untracked"])
def test_stashed_files_that_were_never_tracked_are_asked_about(option: str, history: Path) -> None:
    (history / "new.key").write_text("new-secret\n")
    git(history, "stash", "-u")
    assert "new-secret" in shown_by(f"git stash show -p {option}", history)
    assert verdict(f"git stash show -p {option}", history, "Read(new.key)") == "ask"


@pytest.mark.parametrize("command", ["git diff --no-index fresh other", "git diff fresh {}/aside"])
def test_directories_compared_by_git_are_looked_through(command: str, history: Path) -> None:
    for folder in (history / "fresh", history.parent / "aside"):
        folder.mkdir()
        (folder / "k.pem").write_text(f"fresh-secret {folder.name}\n")
    command = command.format(history.parent)
    assert "fresh-secret" in shown_by(command, history)
    assert verdict(command, history, "Read(fresh/k.pem)", allowed=("Bash",)) == "ask"
    assert verdict("git diff --no-index a b.py", history, "Read(fresh/k.pem)") == "allow"


QUIET = [
    "git grep S -- a", "git grep S HEAD -- a", "git grep S other", "git grep S HEAD:other",
    "git log -p --author x -- a", "git log -p -n 1 a", "git log -L1,1:a", "git log -L 1,1:a",
    "git show HEAD:a", "git show HEAD:other",
    "git diff HEAD:a HEAD~1:a", "git diff HEAD -- a b.py", "git diff HEAD~1 a", "git log -p -- '*.py'",
    "git log -p -- *.py", "git stash show", "git stash show --stat", "git stash list", "git status -sb",
    "git config -l", "git config user.name", "git for-each-ref --format='%(refname)'", "git diff --no-index a b.py",
]  # fmt: skip


def test_git_commands_that_print_no_held_file_stay_free(history: Path) -> None:
    for rule, text in SECRETS.items():
        assert [one for one in QUIET if text in shown_by(one, history)] == []
        assert [one for one in QUIET if verdict(one, history, rule) != "allow"] == []


def test_a_git_command_that_prints_nothing_stays_allowed(history: Path) -> None:
    commands = ["git add .", "git commit -m x", "git commit -v -m x", "git push", "git checkout main", "git stash"]
    commands += ["git -C sub status", "git -C . log --oneline", "git rebase main", "git restore a"]
    allowed = [one for one in commands if verdict(one, history, "Read(./.env)", allowed=("Bash(git *)",)) == "allow"]
    free = [one for one in commands if verdict(one, history, allowed=("Bash(git *)",)) == "allow"]
    assert allowed == free


WHOLE = [
    "git diff", "git diff HEAD~1", "git diff --cached", "git diff -l100", "git diff --stat -p", "git log -p",
    "git log -3 -p", "git log -pn5", "git log -U3", "git log --patch-with-stat", "git log --cc", "git log -W",
    "git show", "git show HEAD", "git show :/fix", "git show HEAD^{tree}", "git stash show -p", "git diff-tree -p HEAD",
    "git diff-index -p HEAD", "git diff-files -p", "git whatchanged -p", "git reflog -p", "git archive HEAD",
    "git format-patch --stdout HEAD", "git cat-file -p 1a2b3c4", "git cat-file --batch", "git diff -- '.e*'",
    "git diff -- '*env'", "git diff -- '*'", "git diff -- .", "git diff .", "git diff -- ':(icase).ENV'",
    "git show HEAD -- . ':!sub'", "git diff && git status", "git diff | head",
]  # fmt: skip


def test_a_patch_of_everything_is_asked_about_when_a_denied_file_is_tracked(repository: Path) -> None:
    assert [one for one in WHOLE if verdict(one, repository, "Read(./.env)", allowed=("Bash",)) != "ask"] == []


FREE = [
    "git status", "git log", "git log --oneline -5", "git log --stat", "git log -S secret", "git diff --stat",
    "git diff --name-only", "git diff --name-status HEAD~3", "git diff --shortstat", "git show --stat",
    "git show --format=%s -s", "git show --name-only", "git ls-files", "git ls-tree HEAD", "git diff a.py",
    "git diff -- a.py", "git diff sub", "git log -p -- a.py", "git show HEAD:a.py", "git show HEAD -- a.py sub",
    "git blame a.py", "git log -L 1,5:a.py", "git cat-file -t HEAD", "git diff -- . ':!.env'",
    "git diff -- . ':(exclude).env'", "git diff -- :/a.py", "git branch -vv", "git diff -- '*.py'",
]  # fmt: skip


def test_what_prints_no_denied_file_stays_free(repository: Path) -> None:
    assert [one for one in FREE if verdict(one, repository, "Read(./.env)") != "allow"] == []


@pytest.mark.parametrize(
    "rule", ["Read(~/.ssh/**)", "Read(*.pem)", "Read(./secrets/**)", "Read(//etc/**)", "Read(b/.env)"]
)
def test_a_rule_about_files_that_are_not_tracked_asks_nothing(rule: str, repository: Path) -> None:
    (repository / "key.pem").write_text("untracked")
    assert [one for one in ("git diff", "git log -p", "git show") if verdict(one, repository, rule) != "allow"] == []


@pytest.mark.parametrize("rule", [".env", "sub/**", "*.py", "//**/b.py", "./sub"])
def test_rules_of_every_shape_find_their_tracked_files(rule: str, repository: Path) -> None:
    assert verdict("git diff", repository, f"Read({rule})") == "ask"


def test_paths_in_revisions_start_at_the_top_of_the_repository(repository: Path) -> None:
    sub = repository / "sub"
    assert verdict("git show HEAD:sub/.env", sub, "Read(./.env)") == "deny"
    assert verdict("git show :sub/.env", sub, "Read(./.env)") == "deny"
    assert verdict("git show HEAD:sub/b.py", sub, "Read(./.env)") == "allow"
    assert verdict("git diff", sub, "Read(./.env)") == "ask"
    assert verdict("git diff b.py", sub, "Read(./.env)") == "allow"


@pytest.mark.parametrize("version", ["3", "4"])
def test_other_versions_of_the_index_are_read(version: str, repository: Path) -> None:
    git(repository, "update-index", "--index-version", version)
    assert verdict("git diff", repository, "Read(./.env)") == "ask"
    assert verdict("git diff", repository, "Read(./.envrc)") == "allow"


def test_an_index_that_cannot_be_read_is_asked_about(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"DIRC\0\0\0\x09")
    assert verdict("git log -p", repository, "Read(./.env)") == "ask"


def test_outside_a_repository_nothing_is_tracked(tmp_path: Path) -> None:
    assert verdict("git diff", tmp_path, "Read(./.env)") == "allow"


def test_a_folder_with_an_empty_git_directory_belongs_to_the_repository_around_it(repository: Path) -> None:
    (repository / "sub" / ".git").mkdir()
    assert verdict("git diff HEAD", repository / "sub", f"Read(/{repository}/.env)") == "ask"
    assert verdict("git diff HEAD", repository / "sub", f"Read(/{repository}/other)") == "allow"
