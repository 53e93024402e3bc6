"""Edit rules against files that an option, a small language or a redirect of a command writes."""

from typing import Any

import pytest

from holdfast.permissions.policy.cases import judge


def verdict(command: str, *, mode: str = "bypassPermissions", **rules: Any) -> str:
    return judge("Bash", {"command": command}, mode=mode, cwd="/proj", home="/home/u", **rules).behavior


OPTIONS = [
    "/usr/bin/time -o out/n ls", "/usr/bin/time --output=out/n ls", "command time -o out/n ls", "strace -o out/n ls",
    "strace -fo out/n ls", "strace -oout/n ls", "ltrace -o out/n ls", "perf record -o out/n ls", "gcc a.c -oout/n",
    "valgrind --log-file=out/n ls", "go build -o out/n .", "openssl rand -out out/n 10", "gpg --output out/n -d a.gpg",
    "openssl req -x509 -keyout out/k -out c.pem", "curl -sSLo out/n http://h", "curl --trace out/n http://h",
    "curl -D out/n http://h", "curl --output-dir out -O http://h/x", "wget -O out/n http://h", "wget -P out http://h/x",
    "pandoc a.md -o out/n", "sort -oout/n a.txt", "shuf -o out/n a", "iconv -o out/n a", "xxd a out/n", "uniq a out/n",
    "git diff --output=out/n", "git archive -o out/n HEAD", "git format-patch -o out HEAD~1", "git rm out/n",
    "git mv a out/n", "git restore out/n", "git -C out rm n", "git clone http://h out/n", "git worktree add out/n",
    "git checkout -- out/n", "git config -f out/n a.b c", "ssh-keygen -f out/n", "patch -d out < p", "script out/n",
    "ls | sponge out/n", "csplit -f out/x a 1", "logsave out/n ls", "vim -c 'w out/n' a", "vim '+w! out/n' a",
    "ex out/n",
    "perl -pi -e 1 out/n", "find . -fprint out/n", "find . -fls out/n", "find . -fprintf out/n %p",
    "find . -fprint0 out/n",
    "tar xf a -C out", "tar -C out -xf a", "tar -xf a --directory=out", "bsdtar xf a -C out", "unzip a.zip -d out",
    "7z x a.7z -oout", "tar cf out/a.tar sub", "tar -C sub -cf out/a.tar .", "tar --create --file=out/a.tar sub",
]  # fmt: skip
OPERANDS = [
    "cd out && curl -O http://h/x", "cd out && tar xf ../a.tar", "find out -exec touch {} +",
    "find out -exec rm {} ';'", "find out -exec sed -i s/a/b/ {} +", "mktemp -p out", "mktemp --tmpdir=out",
    "gzip -r out", "lz4 a out/n",
    "7z a out/n.7z sub", "ar r out/n.a x.o", "scp h:x out/", "scp h:x out/n", "ffmpeg -i a out/n.mp4",
    "convert a out/n", "cargo build --target-dir out", "cmake -S . -B out", "docker cp c:/x out/n",
    "kubectl cp p:/x out/n",
    "yq -i . out/n", "prettier --write out/n", "black out/n", "ruff check --fix out", "gofmt -w out/n",
    "clang-format -i out/n",
    "dos2unix out/n", "rename s/a/b/ out/a", "virtualenv out/v",
]  # fmt: skip
SCRIPTS = [
    "sed -n 'w out/n' a", "sed -e p -e 'w out/n' a", "sed 's/a/b/gw out/n' a", "sed '/x/W out/n' a", "gsed 'w out/n' a",
    "sed --expression='w out/n' a", "busybox sed 'w out/n' a", "env sed 'w out/n' a", "awk '{print > \"out/n\"}' a",
    "awk '{print >> \"out/n\"}' a", "awk '{printf \"%s\", $1 > \"out/n\"}' a", "awk -v f=out/n '{print > f}' a",
    "awk '{print > f}' f=out/n a", 'awk "{print > \\"out/n\\"}" a', "mawk '{print > \"out/n\"}' a",
    "gawk -i inplace 1 out/n", "gawk --include=inplace 1 out/n", "gawk -oout/n 1 a",
]  # fmt: skip
REDIRECTS = ["echo x <> out/n", "exec 3<>out/n", "cat 1<>out/n", "npm test {f}> out/n", "exec {f}<>out/n"]


@pytest.mark.parametrize("command", [*OPTIONS, *OPERANDS, *SCRIPTS, *REDIRECTS])
def test_an_edit_rule_holds_for_what_a_command_is_told_to_write(command: str) -> None:
    assert verdict(command, deny=["Edit(out/**)"]) == "deny"
    assert verdict(command, ask=["Edit(out/**)"]) == "ask"
    assert verdict(command, mode="default", allow=["Bash", "Edit(**)"], deny=["Edit(out/**)"]) == "deny"


def test_the_same_options_with_other_files_are_left_alone() -> None:
    for command in (*OPTIONS, *OPERANDS, *SCRIPTS):
        assert verdict(command.replace("out", "elsewhere"), deny=["Edit(out/**)"]) in ("allow", "ask")
    for command in (
        "kubectl get -o out/n x",
        "ssh -o out/n h",
        "npm test --prefix out",
        "git checkout out",
        "black --check out",
        "gofmt -l out/n",
        "docker run img out/n",
        "find out -exec cat {} +",
        "find out -exec sed -n p {} +",
        "find . -name '*.o' -exec rm {} +",
        "scp out/n h:",
        "cmake -S out",
    ):
        assert verdict(command, deny=["Edit(out/**)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "npm test <> f", "npm test {f}> f", "npm test {f}>> f", "echo x 1<> f", "exec 3<>f", "exec 3<> f; echo x >&3",
        "exec {f}> f", "(npm test) <> f", "sh -c 'npm test <> f'", 'npm test <>"$X"', "<>f npm test",
    ],
)  # fmt: skip
def test_a_redirect_that_writes_needs_more_than_a_rule_for_commands(command: str) -> None:
    assert verdict(command, mode="default", allow=["Bash"]) == "ask"


def test_an_edit_rule_covers_a_file_that_is_opened_for_both() -> None:
    for command in ("npm test <> f", "npm test {f}> f"):
        assert verdict(command, mode="default", allow=["Bash", "Edit(f)"]) == "allow"
        assert verdict(command, mode="default", allow=["Bash", "Edit(g)"]) == "ask"


def test_a_file_that_is_opened_for_both_is_read() -> None:
    assert verdict("cat <> .env", deny=["Read(.env)"]) == "deny"
    assert verdict("cat <> .env", ask=["Read(.env)"]) == "ask"
    assert verdict("sed 'r .env' a", deny=["Read(.env)"]) == "deny"
    assert verdict("awk 'BEGIN{getline l < \".env\"; print l}'", deny=["Read(.env)"]) == "deny"
