"""Settings that git sees and a reader of its files may miss: each is refused, or starts nothing."""

import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.permissions.shell.reach.git_config import GIT_HARDENING, git_config_refusal

PLAIN = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "e",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "e",
    "LC_ALL": "C",
}
LOOKING = ("status", "diff", "diff HEAD~1", "log -p", "log -m -p", "show", "blame a.txt", "submodule status")


def git(folder: Path, *words: str, hardened: bool = False) -> str:
    environment = {**PLAIN, "HOME": str(folder.parent), **(GIT_HARDENING if hardened else {})}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=30,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.decode(errors="replace")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    git(folder, "init", "-q")
    (folder / ".gitattributes").write_text("*.txt diff=d filter=f\n")
    for text in ("one\n", "two\n"):
        (folder / "a.txt").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", text.strip())
    (folder / "a.txt").write_text("six\n")  # of one size with the last, so that git must look inside
    return folder


class Lab:
    """A repository, and a program that leaves a marker when it is started."""

    def __init__(self, tmp_path: Path, template: Path) -> None:
        self.tmp, self.template = tmp_path, template
        self.marker = tmp_path / "marker"
        self.program = tmp_path / "program"
        self.program.write_text(f'#!/bin/sh\ntouch {self.marker}\ncat "$1"\n')
        self.program.chmod(0o755)
        self.repo = self.make(tmp_path / "repo")
        self.evil = f'[diff "d"]\ntextconv = {self.program}\n'.encode()
        self.clean = f'[filter "f"]\nclean = {self.program}\n'.encode()

    def make(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.template, folder))

    def add(self, data: bytes, path: Path | None = None) -> None:
        with (path or self.repo / ".git" / "config").open("ab") as file:
            file.write(data)

    def starts(self, folder: Path) -> bool:
        """Whether the program is started without the hardening, so that a case is no empty threat."""
        for words in LOOKING:
            git(folder, *words.split())
            if self.marker.exists():
                self.marker.unlink()
                return True
        return False

    def index(self, change: Callable[[bytes], bytes]) -> None:
        path = self.repo / ".git" / "index"
        body = change(path.read_bytes()[:-20])
        path.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())

    def link(self, folder: Path, name: str = "x", *, owner: Path | None = None) -> None:
        """Name a hostile repository as a submodule in the index."""
        self.make(folder)
        self.add(self.clean, folder / ".git" / "config")
        head = git(folder, "rev-parse", "HEAD").strip()
        git(owner or self.repo, "update-index", "--add", "--cacheinfo", f"160000,{head},{name}")


@pytest.fixture
def lab(tmp_path: Path, template: Path) -> Lab:
    return Lab(tmp_path, template)


def test_a_lone_carriage_return_ends_no_line(lab: Lab) -> None:
    program = os.fsencode(lab.program)
    lab.add(b'[diff "d"]\n\txfuncname = a\r[other "y"]\n\ttextconv = ' + program + b"\n")
    assert lab.starts(lab.repo)
    assert git_config_refusal(str(lab.repo))


@pytest.mark.parametrize("header", [b'[diff "d.textconv\0z"]', b'[filter "f.clean\0"]', b'[core "pager\0"]'])
def test_a_name_that_ends_at_a_nul_is_refused(lab: Lab, header: bytes) -> None:
    lab.add(header + b"\n\tx = " + os.fsencode(lab.program) + b"\n")
    assert b"pager" in header or lab.starts(lab.repo)
    assert git_config_refusal(str(lab.repo))


@pytest.mark.parametrize("value", ["ext\0ra", "%(prefix)/extra", ":(optional)extra"])
def test_an_include_that_only_git_can_follow_is_refused(lab: Lab, value: str) -> None:
    (lab.repo / ".git" / "ext").write_bytes(lab.evil)
    (lab.repo / ".git" / "extra").write_bytes(lab.evil)
    lab.add(f"[include]\npath = {value}\n".encode())
    assert git_config_refusal(str(lab.repo))


@pytest.mark.parametrize(("name", "value"), [("more ", '"more "'), ("more ", "more \\\n"), ("more x", "more\tx")])
def test_blanks_in_the_name_of_an_included_file_are_those_that_git_keeps(lab: Lab, name: str, value: str) -> None:
    (lab.repo / ".git" / name).write_bytes(lab.evil)
    lab.add(f"[include]\npath = {value}\n".encode())
    assert "\t" in value or lab.starts(lab.repo)  # only some versions make a space of a tab
    assert git_config_refusal(str(lab.repo))


def test_an_include_through_a_link_is_followed_as_the_system_does(lab: Lab) -> None:
    (lab.repo / "x" / "y").mkdir(parents=True)
    (lab.repo / ".git" / "link").symlink_to(lab.repo / "x" / "y")
    (lab.repo / "x" / "extra").write_bytes(lab.evil)
    lab.add(b"[include]\npath = link/../extra\n")
    assert lab.starts(lab.repo)
    assert git_config_refusal(str(lab.repo))


@pytest.mark.parametrize("head", [None, "nonsense\n", "ref: heads/main\n", "../../.git/HEAD"])
def test_git_goes_past_a_directory_that_is_no_repository(lab: Lab, head: str | None) -> None:
    inner = lab.repo / "sub" / ".git"
    inner.mkdir(parents=True)
    if head is not None:
        (inner / "HEAD").write_text(head)
        (inner / "objects").mkdir()
        (inner / "refs").mkdir()
    assert git_config_refusal(str(inner.parent)) is None
    lab.add(lab.evil)
    assert lab.starts(inner.parent)
    assert git_config_refusal(str(inner.parent))


def test_a_whole_repository_hides_the_one_around_it(lab: Lab) -> None:
    inner = lab.make(lab.repo / "sub")
    lab.add(lab.evil)
    assert git_config_refusal(str(inner)) is None


@pytest.mark.parametrize("blank", [" ", "\t", "\v"])
def test_blanks_belong_to_the_name_of_the_common_directory(lab: Lab, blank: str) -> None:
    tree = lab.tmp / "tree"
    git(lab.repo, "worktree", "add", "-q", str(tree))
    (tree / "a.txt").write_text("x")
    shutil.copytree(lab.repo / ".git", lab.repo / "other")
    shutil.copytree(lab.repo / ".git", lab.repo / f"other{blank}")
    lab.add(lab.evil, lab.repo / f"other{blank}" / "config")
    (lab.repo / ".git" / "worktrees" / "tree" / "commondir").write_text(f"../../../other{blank}\n")
    assert lab.starts(tree)
    assert git_config_refusal(str(tree))


def test_blanks_belong_to_the_name_of_the_git_directory(lab: Lab) -> None:
    (lab.repo / "modules").mkdir()
    shutil.copytree(lab.repo / ".git", lab.repo / "modules" / "g")
    shutil.move(lab.repo / ".git", lab.repo / "modules" / "g ")
    lab.add(lab.evil, lab.repo / "modules" / "g " / "config")
    (lab.repo / ".git").write_text("gitdir: modules/g \n")
    assert lab.starts(lab.repo)
    assert git_config_refusal(str(lab.repo))


def test_a_submodule_whose_work_tree_was_moved_is_refused(lab: Lab) -> None:
    library = lab.make(lab.tmp / "library")
    git(lab.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    assert git_config_refusal(str(lab.repo)) is None
    lab.link(lab.tmp / "moved" / "x", owner=lab.repo / "lib")
    lab.add(f"[core]\nworktree = {lab.tmp}/moved\n".encode(), lab.repo / ".git" / "modules" / "lib" / "config")
    assert lab.starts(lab.repo)
    assert git_config_refusal(str(lab.repo))


def test_the_work_tree_is_found_from_the_git_directory_not_from_the_included_file(lab: Lab) -> None:
    (lab.repo / ".git" / "more").mkdir()
    (lab.repo / ".git" / "more" / "config").write_text("[core]\nworktree = ../..\n")
    lab.add(b"[include]\npath = more/config\n")
    assert git_config_refusal(str(lab.repo))
    (lab.repo / ".git" / "more" / "config").write_text("[core]\nworktree = ..\n")
    assert git_config_refusal(str(lab.repo)) is None


@pytest.mark.parametrize("mode", [b"\0\0\xe0\1", b"\0\1\xe0\0", b"\0\0\xe1\xed"])
def test_a_submodule_may_have_any_permissions_in_the_index(lab: Lab, mode: bytes) -> None:
    lab.link(lab.repo / "x")
    lab.index(lambda body: body.replace(b"\0\0\xe0\0", mode))
    assert lab.starts(lab.repo)
    assert git_config_refusal(str(lab.repo))


def test_an_index_that_tells_another_length_of_a_name_is_refused(lab: Lab) -> None:
    def longer(body: bytes) -> bytes:
        at = body.index(b"a.txt") - 2
        return body[:at] + struct.pack(">H", 9) + body[at + 2 :]

    lab.index(longer)
    assert git_config_refusal(str(lab.repo))


def test_an_index_that_is_no_file_is_refused(lab: Lab) -> None:
    (lab.repo / ".git" / "index").unlink()
    os.mkfifo(lab.repo / ".git" / "index")
    assert git_config_refusal(str(lab.repo))


def test_an_index_of_the_same_size_and_time_is_read_again(lab: Lab) -> None:
    lab.link(lab.repo / "x")
    index = lab.repo / ".git" / "index"
    lab.index(lambda body: body.replace(b"\0\0\xe0\0", b"\0\0\x81\xa4"))
    before = index.stat()
    assert git_config_refusal(str(lab.repo)) is None
    lab.index(lambda body: body.replace(b"\0\0\x81\xa4", b"\0\0\xe0\0"))
    os.utime(index, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert git_config_refusal(str(lab.repo))


def test_a_bare_repository_whose_head_leads_nowhere_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare")
    (tmp_path / "HEAD").unlink()
    (tmp_path / "HEAD").symlink_to("refs/heads/none")
    assert git_config_refusal(str(tmp_path))


def test_a_submodule_that_only_commits_name_is_not_entered(lab: Lab) -> None:
    nested = lab.make(lab.repo / "nested")
    git(lab.repo, "add", "nested")
    git(lab.repo, "commit", "-qm", "with it")
    git(nested, "commit", "-qam", "more")
    git(lab.repo, "commit", "-qam", "newer")
    git(lab.repo, "rm", "-q", "--cached", "nested")
    lab.add(lab.evil, nested / ".git" / "config")
    lab.add(b"[diff]\nsubmodule = diff\n[status]\nsubmoduleSummary = true\n")
    assert lab.starts(lab.repo)
    assert git_config_refusal(str(lab.repo)) is None
    for words in LOOKING:
        git(lab.repo, *words.split(), hardened=True)
    assert not lab.marker.exists()


def test_merges_are_not_made_again_to_show_them(lab: Lab) -> None:
    git(lab.repo, "stash", "-q")
    git(lab.repo, "checkout", "-qb", "side", "HEAD~1")
    (lab.repo / "b.txt").write_text("b\n")
    git(lab.repo, "add", ".")
    git(lab.repo, "commit", "-qm", "side")
    git(lab.repo, "merge", "-q", "-m", "both", "-")
    lab.add(b"[log]\ndiffMerges = remerge\n")
    objects = lab.repo / ".git" / "objects"
    before = objects.stat().st_mtime_ns
    assert "both" in git(lab.repo, "log", "-m", "-p", hardened=True)
    assert objects.stat().st_mtime_ns == before
    git(lab.repo, "log", "-m", "-p")
    assert objects.stat().st_mtime_ns != before


def test_a_signature_starts_no_program(lab: Lab) -> None:
    """A format of the user's own that asks for signatures."""
    folder = lab.tmp / "bin"
    folder.mkdir()
    shutil.copy(lab.program, folder / "gpg")
    tree = git(lab.repo, "rev-parse", "HEAD^{tree}").strip()
    text = (
        f"tree {tree}\nauthor n <e> 1700000000 +0000\ncommitter n <e> 1700000000 +0000\n"
        "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\nsigned\n"
    )
    (lab.tmp / "commit").write_text(text)
    commit = git(lab.repo, "hash-object", "-t", "commit", "-w", str(lab.tmp / "commit")).strip()
    path = {"PATH": f"{folder}:{PLAIN['PATH']}"}
    for form in ("%G?", "%+GG", "%-GS", "% GK"):
        words = ["git", "log", "-1", f"--format={form}", commit]
        for hardened in (True, False):
            environment = {**PLAIN, **(GIT_HARDENING if hardened else {}), **path}
            subprocess.run(words, cwd=lab.repo, env=environment, capture_output=True, timeout=30, check=False)
            assert lab.marker.exists() is not hardened
        lab.marker.unlink()
