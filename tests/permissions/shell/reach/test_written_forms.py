"""Edit rules and protected paths against words that the shell still expands, and texts that a command hands on."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.permissions.policy.cases import judge

RULE = "Edit(out/**)"


@pytest.fixture
def project(tmp_path: Path) -> str:
    for name in ("out", "sub", ".git", "home"):
        (tmp_path / name).mkdir()
    for name in ("a.txt", "out/a", "out/b", "sub/s.txt", ".git/config", "home/.bashrc"):
        (tmp_path / name).write_text("x")
    return str(tmp_path)


def verdict(command: str, cwd: str, *, mode: str = "default", **rules: Any) -> str:
    return judge("Bash", {"command": command}, mode=mode, cwd=cwd, home=f"{cwd}/home", **rules).behavior


def is_held(command: str, cwd: str) -> bool:
    """Whether the rule is met in every mode, as deny and as ask."""
    ways: list[dict[str, Any]] = [{"mode": "bypassPermissions"}, {"allow": ["Bash", "Edit(**)"]}]
    denied = {verdict(command, cwd, deny=[RULE], **way) for way in ways}
    asked = {verdict(command, cwd, ask=[RULE], **way) for way in ways}
    return denied == {"deny"} and asked == {"ask"}


BRACES = [
    "tee out/{new,b2}", "tee {out/new,b2}", "tee o{u,x}t/new", "tee out/{a,{b,c}}", 'tee "out"/{a,b}',
    "touch {out,sub}/n",
    "touch out/n{1..3}", "touch out/n{01..03}", "touch out/n{a..c}", "touch ou{t..t}/n", "mkdir out/{n,m}",
    "dd of=out/{n,}", "rm -rf ou{t,x}", "rm -{r,f} out", "cp a.txt -t ou{t,x}", "cp --target-directory=ou{t,x} a.txt",
    "find ou{t,x} -delete", "find . -fprint out/{n,}", "sort -o out/{n,m} a.txt", "truncate -s 0 out/{a,b}",
    "cd sub && tee ../out/{x,y}", "sudo tee out/{a,b}", "timeout 5 touch out/{a,b}", "bash -c 'touch out/{a,b}'",
    "echo $(touch out/{a,b})", "gawk -i inplace 1 out/{a,b}", "echo x | tee -a out/{n,m} > /dev/null",
]  # fmt: skip
PATTERNS = [
    "rm -rf o*", "rm -rf ./o*", "rm -r ou[!x]", "mv o* y", "chmod -R 000 o*", "chown -R root ou?", "cp a.txt ou[t]",
    "cp a.txt o*", "cp -t ou? a.txt", "mv a.txt ou?", "mv -t ou[t] a.txt", "ln -s a.txt ou?", "install a.txt ou?",
    "rsync -a sub/ ou?/", "find o* -delete", "cd sub && rm -rf ../o*", "tar xf a -C ou?", "unzip -d ou? a.zip",
    "perl -i -pe 1 out/*", "vim out/*", "gzip out/*", 'for d in o*; do rm -rf "$d"; done',
]  # fmt: skip
KNOWN = [
    "touch $PWD/out/n", 'touch "$PWD/out/n"', "touch ${PWD}/out/n", "touch $(pwd)/out/n", "cp a.txt $PWD/out",
    "rm -rf $PWD/out", 'rm -rf "$PWD"/o*', "for f in out/a out/b; do touch $f; done", "X=out/n; touch $X",
    "X=out; touch $X/n", 'X=out; rm -rf "$X"', "touch ${X:-out/n}", "touch `echo out/n`", "touch $(echo out)/n",
    'sed "w $PWD/out/n" a.txt', 'sed "s/a/$V/w out/n" a.txt',
]  # fmt: skip
HANDED = [
    "sed '1e touch out/n' a.txt", "sed '1e echo x > out/n' a.txt", "awk '{print | \"tee out/n\"}' a.txt",
    "awk '{print | \"cat > out/n\"}' a.txt", "awk 'BEGIN{system(\"touch out/n\")}'",
    "awk 'BEGIN{\"touch out/n\" | getline}'", "tar --to-command='tee out/n' -xf a",
    "awk '{print | \"tee out/{a,b}\"}' a.txt", "awk -v c='tee out/n' '{print | c}' a.txt",
    "awk 'BEGIN{system(\"sed -n \\\"w out/n\\\" a.txt\")}'",
]  # fmt: skip


@pytest.mark.parametrize("command", [*BRACES, *PATTERNS, *KNOWN, *HANDED])
def test_an_edit_rule_holds_against_every_form_of_a_word(command: str, project: str) -> None:
    assert is_held(command, project)


@pytest.mark.parametrize(
    "command", ["touch sub/{1..5000}", "rm -rf s*/t*/u*/v", "awk '{print > $1}' a.txt", 'sed "$X" a.txt']
)
def test_what_is_not_looked_at_is_asked_about_when_rules_are_about_edits(command: str, project: str) -> None:
    assert verdict(command, project, mode="bypassPermissions", deny=[RULE]) == "ask"
    assert verdict(command, project, allow=["Bash", "Edit"]) == "allow"


def test_more_files_than_are_looked_at_are_asked_about(project: str) -> None:
    for number in range(1_001):
        Path(project, "sub", f"n{number}").touch()
    assert verdict("rm sub/n*", project, mode="bypassPermissions", deny=[RULE]) == "ask"
    assert verdict("rm sub/n1*", project, mode="bypassPermissions", deny=[RULE]) == "allow"


PROTECTED = [
    "tee .git/{config2,hooks/x}", "touch {.git,x}/y", "tee .bash{rc,_profile}", "touch $PWD/.git/x",
    'touch "${PWD}/.git/x"', "touch $(pwd)/.git/x", "touch $HOME/.bashrc", 'touch "$HOME/.bashrc"',
    "touch ${HOME}/.bashrc", "touch $X/.git/hooks/y", "for f in .git/config; do tee $f; done", "rm -r ./.g*",
    "chmod 755 .git/*", "cp a.txt .gi?", "mv a.txt .gi[t]/config", "find . -fprint .git/config",
    "find .gi? -name x -delete",
    "tar xf a -C .git", "tar -xf a -C.git", "unzip a.zip -d .git", "7z x a.7z -o.git", "tar cf .git/a.tar sub",
    "echo x 1<> .git/config", "exec {f}>.git/config", "sed 'w .git/config' a.txt", "sed 's/a/b/w .git/config' a.txt",
    "awk '{print > \".git/config\"}' a.txt", "awk '{print | \"tee .git/config\"}' a.txt",
    "awk -v f=.git/config '{print > f}' a.txt", "strace -o .git/config ls", "curl --output-dir .git -O http://h/x",
    "perl -pi -e 1 .bashrc", "vim .git/config", "git mv a.txt .mcp.json", "ln -s .git q && touch q/config",
    "rm .[a-z]*/config",
]  # fmt: skip


@pytest.mark.parametrize("command", PROTECTED)
def test_a_protected_path_is_asked_about_in_every_form(command: str, project: str) -> None:
    assert verdict(command, project, allow=["Bash", "Edit(**)"]) == "ask"
    assert verdict(command, project, mode="auto") == "ask"
    assert verdict(command, project, mode="acceptEdits", allow=["Bash(*)"]) == "ask"


ORDINARY = [
    "npm test", "npm run build -- --out dist", "pytest -q sub/*.py", "gcc -O2 -o prog a.c", "touch sub/{a,b}",
    "mkdir -p build/{bin,lib}", "rm -rf build dist *.log", "cp *.txt sub", "sed -i 's/a/b/' *.txt",
    "sed -n 'w c.txt' a.txt",
    'sed "s/@V@/$V/" a.txt', "awk '{print > \"c.txt\"}' a.txt", "awk '{print > \"/dev/stderr\"}' a.txt",
    "awk 'BEGIN{system(\"date\")}'", "tar xzf a.tgz", "tar czf sub/a.tgz sub", "unzip a.zip -d sub", "strace -o t ls",
    "git add -A && git commit -m x", "git checkout main", "git rm a.txt", "ssh -o X=no h ls",
    "find . -name '*.pyc' -delete",
    "find sub -type f -exec rm {} +", "chmod +x sub/*.sh", "for i in 1 2 3; do touch sub/$i; done", "touch $PWD/sub/n",
    'for f in *.txt; do cp "$f" sub/; done', "python -c \"import os; os.system('ls')\"", "echo {1..1000} > /dev/null",
    "dd if=a.txt of=b.txt", "perl -pi -e s/a/b/ a.txt", "kubectl get pods -o yaml", "openssl rand -out rnd 3",
]  # fmt: skip


@pytest.mark.parametrize("command", ORDINARY)
def test_a_rule_about_another_directory_leaves_ordinary_commands_alone(command: str, project: str) -> None:
    assert verdict(command, project, allow=["Bash", "Edit"], deny=[RULE]) in ("allow", *_asked_before(command))
    assert verdict(command, project, allow=["Bash", "Edit"]) == "allow"


def _asked_before(command: str) -> tuple[str, ...]:
    """A word that is only known at run time is a question where Edit rules are in force."""
    return ("ask",) if "$i" in command else ()
