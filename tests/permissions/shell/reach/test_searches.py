"""Which files a search opens, by what real searches print."""

import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.tool_facts import facts_from_input

RULES = {"Read(.env)": "hidden-secret", "Read(./.env)": "hidden-secret", "Read(sub/k.pem)": "plain-secret"}


def verdict(command: str, folder: Path, *denied: str, mode: str = "default") -> str:
    context = PermissionContext.started_in(str(folder), mode, [Rule.parse("deny", text) for text in denied])
    return decide(facts_from_input("Bash", {"command": command}, cwd=str(folder)), context).behavior


def printed(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, text in {
        ".env": "S=hidden-secret\n", "sub/k.pem": "S plain-secret\n", "other/k.pem": "S other\n", "a.py": "S\n",
        "list": "!.env\n", "a": "S\n",
    }.items():  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


RIPGREP = [
    "rg -g .env S", "rg -g '.e*' S", "rg -g '*' S", "rg -g.env S", "rg --glob=.env S", "rg --iglob .ENV S",
    "rg --glob-case-insensitive -g .ENV S", "rg -ng '*.env' S", "rg -g '!a' -g '.e*' S", "rg -g '\\.env' S",
    "rg -g '/.env' S", "rg -g '.{env,x}' S", "rg -g '[.]env' S", "rg -g '[^x]env' S", "rg -g '**/.env' S",
    "rg --type-add e:.env -te S", "rg --type-add=py:.env --type=py S", "rg -nuu S", "rg -n -u -u S", "rg -n. S",
    "rg --ignore-file list S", "rg -e --files -e S --hidden", "rg --hidden -e S -e -g x.py .", "rg S </dev/null",
    "rg S <&-", "rg S < .", "cat a | { rg S < /dev/null; }", "rg -g 'sub/**' S", "rg -g 'sub/*' S",
]  # fmt: skip
GREP = [
    "grep -r --exclude=x --include='*.py' S .", "grep -r -e S -e --include=zz .", "grep -r --include='.en\\v' S .",
    "grep -r --include='[^x]env' S .", "grep --der S", "grep --di=recurse S .", "grep -drecurse S", "grep -r S < a",
    "cat a | grep -r S", "grep -r --inc='.e*' S .",
]  # fmt: skip
OTHERS = ["diff sub other", "diff other/k.pem sub", "sdiff sub other", "diff -N sub other", "diff s* other"]
FOUND = [
    "find . -type f -exec cat {} \\; -name zz", "find . -name '.\\env' -exec cat {} \\;",
    "find . -name '[^x]env' -exec cat {} \\;", "find . -newer -name -name .env -exec cat {} \\;",
    "tar -f - -c .", "tar --cre -f - sub", "rgrep S", "gtar -cf - .", "bsdtar cf - sub",
]  # fmt: skip


@pytest.mark.parametrize("command", [*RIPGREP, *GREP, *OTHERS])
def test_no_search_prints_a_held_file_unasked(command: str, project: Path) -> None:
    if shutil.which(command.split(maxsplit=1)[0]) is None or ("rg " in command and shutil.which("rg") is None):
        pytest.skip("the program is not installed")
    (project / "-name").touch()
    shown = printed(command, project)
    held = [rule for rule, text in RULES.items() if text in shown]
    assert held or "other" in shown
    for mode in ("default", "bypassPermissions"):
        assert [rule for rule in held if verdict(command, project, rule, mode=mode) == "allow"] == []


@pytest.mark.parametrize("command", FOUND)
def test_what_hands_files_on_is_held_back_in_every_mode(command: str, project: Path) -> None:
    assert verdict(command, project, "Read(.env)", "Read(sub/k.pem)", mode="bypassPermissions") != "allow"


FREE = [
    "rg S", "rg -g '*.py' S", "rg -g '*.{ts,tsx}' S", "rg -g '!x' -g '*.py' S", "rg -g 'src/**/*.py' S", "rg -tpy S",
    "rg -g 'src/**' S", "rg --type ts -trust S", "rg -tsh S", "rg -g '!x' S", "rg -T py S", "rg --files -g .env",
    "cat a | rg S", "rg S <<< S", "rg -n S a.py", "grep -r --include='*.py' S .", "grep -r --include=*.py S .",
    "grep -r --include='*.{py,js}' S .", "grep -rn S src", "grep -n S a", "diff a a.py", "diff -u a.py list",
    "ag -g py", "ag S src", "find . -name '*.py' -exec grep -n S {} +", "git grep S -- '*.py'", "git grep S src",
]  # fmt: skip


def test_a_search_that_opens_no_held_file_stays_free(project: Path) -> None:
    (project / "src").mkdir()
    assert [one for one in FREE if verdict(one, project, "Read(.env)", mode="bypassPermissions") != "allow"] == []


def test_fd_that_starts_a_reader_opens_what_it_finds(project: Path) -> None:
    def asked(command: str, rule: str) -> bool:
        return verdict(command, project, rule, mode="bypassPermissions") != "allow"

    for command in ("fd -X cat", "fdfind -x cat", "fd . sub -x cat", "fd --exec-batch cat"):
        assert asked(command, "Read(sub/k.pem)")
    for command in ("fd -H -X cat", "fd -Hx cat", "fd -u -x cat", "fd --hidden --exec cat", "fd --unrestricted -x cat"):
        assert asked(command, "Read(.env)")


def test_the_settings_file_of_ripgrep_may_say_anything(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(project / "list"))
    assert verdict("rg -g '*.py' S", project, "Read(.env)") == "ask"
