import os
import subprocess
from pathlib import Path

import pytest

from holdfast.lib.git_config_text import ConfigUnreadableError, parse_config
from holdfast.permissions.shell.reach.git_config import GIT_HARDENING, git_config_refusal, unasked_environment

PLAIN = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "e",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "e",
    "LC_ALL": "C",
}


def git(folder: Path, *words: str, hardened: bool = False) -> str:
    environment = {**PLAIN, "HOME": str(folder.parent), **(GIT_HARDENING if hardened else {})}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def add_config(folder: Path, text: str) -> None:
    with (folder / ".git" / "config").open("a") as file:
        file.write(text)


def test_a_fresh_repository_and_no_repository_are_fine(repo: Path, tmp_path: Path) -> None:
    assert git_config_refusal(str(repo)) is None
    assert git_config_refusal(str(tmp_path)) is None
    assert git_config_refusal(str(tmp_path / "missing")) is None


@pytest.mark.parametrize(
    "text",
    [
        '[filter "x"]\n\tclean = touch marker\n',
        '[filter "x"]\nsmudge=y',
        '[filter "x"]\nprocess = y',
        '[diff "x"]\ncommand = y',
        '[diff "x"]\ntextconv = y',
        "[diff]\nexternal = y",
        "[core]\nfsmonitor = ./x",
        "[core]\nfsmonitor = /bin/true",
        "[core]\npager = x",
        "[core]\neditor = x",
        "[core]\naskPass = x",
        "[core]\nsshCommand = ./x",
        "[core]\ngitProxy = x",
        "[core]\nworktree = /tmp",
        "[alias]\nst = !id",
        '[alias]\nst = "!id"',
        "[credential]\nhelper = !x",
        "[credential]\nhelper = /tmp/x",
        '[credential "u"]\nhelper = ./x',
        "[gpg]\nprogram = x",
        '[gpg "ssh"]\nprogram = x',
        "[pager]\nlog = ./x",
        "[log]\nshowSignature = true",
        '[FILTER "x"]\nCLEAN = y',
        "[diff.x]\ntextconv = y",
        '[remote "o"]\npromisor = true',
        '[remote "o"]\nuploadpack = x',
        "[extensions]\npartialClone = o",
        '[merge "x"]\ndriver = y',
        '[includeIf "gitdir:/"]\npath = x',
        "[core] fsmonitor = ./x",
        "[core]\nfsmonitor = \\\n./x",
        "[interactive]\ndiffFilter = x",
        "[extensions]\nobjectFormat = sha256",
        "[core\nfsmonitor=x",
        "[core]\n= x",
        '[core]\npager = "x',
        "[core]\npager = a\\qb",
        "pager = x",
        "[co re]\na=b",
        "[pretty]\nx = %h %+G?",
        "[format]\npretty = %-GS",
        "[alias]\nwhatchanged = log --output=x",
        '[alias "whatchanged"]\ncommand = log --output=x',
        '[hook "x"]\ncommand = y',
        '[remote "o"]\npartialCloneFilter = blob:none',
    ],
)
def test_settings_that_start_programs_are_refused(repo: Path, text: str) -> None:
    add_config(repo, text)
    assert git_config_refusal(str(repo))


@pytest.mark.parametrize(
    "text",
    [
        "[core]\nfsmonitor = true",
        "[core]\nfsmonitor",
        "[core]\nfsmonitor = false",
        "[core]\nhooksPath = .husky",
        "[user]\nname = x # c",
        "[alias]\nst = status",
        '[remote "o"]\nurl = git@h:x\nfetch = +refs/heads/*:refs/remotes/o/*',
        '[branch "main"]\nremote = o',
        "[credential]\nhelper = store",
        "[core]\nsshCommand = ssh -i ~/.ssh/key",
        "[pager]\nlog = false",
        '[filter "lfs"]\nrequired = true',
        "; a comment\n[a]\nb = c ; d",
        '[remote "o"]\npromisor = false',
        "[alias]\nlg = log --graph\nconfig-list = config --list",
        "[pretty]\nx = %h %s%n%+b",
    ],
)
def test_everyday_settings_are_fine(repo: Path, text: str) -> None:
    add_config(repo, text)
    assert git_config_refusal(str(repo)) is None


def test_a_bad_setting_is_found_from_a_folder_below(repo: Path) -> None:
    below = repo / "a" / "b"
    below.mkdir(parents=True)
    add_config(repo, "[diff]\nexternal = x")
    assert git_config_refusal(str(below))


def test_included_files_are_followed(repo: Path) -> None:
    (repo / ".git" / "extra").write_text("[include]\npath = more\n")
    (repo / ".git" / "more").write_text("[core]\npager = x\n")
    add_config(repo, "[include]\n\tpath = extra\n")
    assert git_config_refusal(str(repo))


def test_an_include_loop_ends(repo: Path) -> None:
    (repo / ".git" / "extra").write_text("[include]\npath = extra\npath = config\n")
    add_config(repo, "[include]\n\tpath = extra\n")
    assert git_config_refusal(str(repo)) is None


def test_the_worktree_configuration_counts(repo: Path) -> None:
    (repo / ".git" / "config.worktree").write_text("[core]\npager = x\n")
    assert git_config_refusal(str(repo))


def test_a_linked_worktree_is_checked_through_its_repository(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    assert git_config_refusal(str(tmp_path / "other")) is None
    add_config(repo, "[diff]\nexternal = x")
    assert git_config_refusal(str(tmp_path / "other"))


def test_a_gitdir_file_that_leads_elsewhere_is_refused(repo: Path, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / ".git").write_text(f"gitdir: {repo}/.git\n")
    assert git_config_refusal(str(fake))
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    (fake / ".git").write_text((tmp_path / "other" / ".git").read_text())
    assert git_config_refusal(str(fake))
    (fake / ".git").write_text("nonsense")
    assert git_config_refusal(str(fake))


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    assert git_config_refusal(str(bare))
    assert git_config_refusal(str(bare / "refs"))


def test_submodules_are_checked(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "library"
    other.mkdir()
    git(other, "init", "-q")
    (other / "b.txt").write_text("b\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "b")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "lib")
    assert (repo / ".git" / "modules" / "lib" / "config").exists()
    assert git_config_refusal(str(repo)) is None
    assert git_config_refusal(str(repo / "lib")) is None
    with (repo / ".git" / "modules" / "lib" / "config").open("a") as file:
        file.write("[core]\nfsmonitor = ./x\n")
    assert git_config_refusal(str(repo))
    assert git_config_refusal(str(repo / "lib"))


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_a_nested_repository_in_the_index_is_checked(repo: Path, version: str) -> None:
    nested = repo / "deep" / "nested"
    nested.mkdir(parents=True)
    git(nested, "init", "-q")
    (nested / "c.txt").write_text("c\n")
    git(nested, "add", ".")
    git(nested, "commit", "-qm", "c")
    git(repo, "add", "deep/nested")
    git(repo, "update-index", f"--index-version={version}")
    assert git_config_refusal(str(repo)) is None
    add_config(nested, '[filter "x"]\nclean = touch marker\n')
    assert git_config_refusal(str(repo))


def test_a_configuration_that_is_no_small_file_is_refused(repo: Path) -> None:
    (repo / ".git" / "config").write_text("#" * 2_000_000)
    assert git_config_refusal(str(repo))
    (repo / ".git" / "config").unlink()
    os.mkfifo(repo / ".git" / "config")
    assert git_config_refusal(str(repo))


def test_long_shared_prefixes_in_the_index_are_read(repo: Path) -> None:
    folder = repo / ("d" * 120) / ("e" * 120)
    folder.mkdir(parents=True)
    (folder / "file.txt").write_text("x\n")
    nested = repo / "z"
    nested.mkdir()
    git(nested, "init", "-q")
    git(nested, "commit", "-qm", "c", "--allow-empty")
    git(repo, "add", ".")
    git(repo, "update-index", "--index-version=4")
    assert git_config_refusal(str(repo)) is None
    add_config(nested, "[diff]\nexternal = x\n")
    assert git_config_refusal(str(repo))


@pytest.mark.parametrize(
    "data", [b"DIRC\0\0\0\2\0\0\0\1\0\0\xe0\0", b"NOPE" + b"\0\0\xe0\0" * 9, b"DIRC\0\0\0\x09\0\0\0\1\0\0\xe0\0"]
)
def test_a_broken_index_is_refused(repo: Path, data: bytes) -> None:
    (repo / ".git" / "index").write_bytes(data)
    assert git_config_refusal(str(repo))


def test_a_repository_without_index_or_that_cannot_be_read(repo: Path) -> None:
    (repo / ".git" / "index").unlink()
    assert git_config_refusal(str(repo)) is None
    (repo / ".git" / "config").unlink()
    (repo / ".git" / "config").symlink_to("config")
    assert git_config_refusal(str(repo))


def test_a_split_index_is_refused(repo: Path) -> None:
    git(repo, "update-index", "--split-index")
    assert git_config_refusal(str(repo))


@pytest.mark.parametrize(
    "key",
    [
        "core.fsmonitor",
        "core.pager",
        "core.hooksPath",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "core.editor",
        "alias.status",
    ],
)
def test_a_hostile_setting_is_refused_or_switched_off(repo: Path, tmp_path: Path, key: str) -> None:
    """With the hardening variables, or by refusal, the marker program never starts."""
    marker = tmp_path / "marker"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "post-index-change").write_text(program.read_text())
    (tmp_path / "hooks" / "post-index-change").chmod(0o755)
    value = (
        str(tmp_path / "hooks")
        if key == "core.hooksPath"
        else f"!{program}"
        if key.startswith("alias")
        else str(program)
    )
    git(repo, "config", key, value)
    (repo / ".gitattributes").write_text("*.txt filter=x diff=x\n")
    (repo / "a.txt").write_text("two\n")
    if git_config_refusal(str(repo)) is None:
        for words in (
            ["status"],
            ["diff"],
            ["log", "-p"],
            ["show"],
            ["blame", "a.txt"],
            ["grep", "o"],
            ["ls-files", "-m"],
        ):
            git(repo, *words, hardened=True)
        assert not marker.exists()
    else:
        assert key != "core.hooksPath"


def test_unasked_git_does_not_touch_the_index(repo: Path) -> None:
    index = repo / ".git" / "index"
    os.utime(repo / "a.txt", (1, 1))
    before = (index.read_bytes(), index.stat().st_mtime_ns, index.stat().st_ino)
    for words in (["status"], ["diff"], ["diff", "HEAD"], ["diff", "--stat"], ["grep", "o"]):
        git(repo, *words, hardened=True)
    assert (index.read_bytes(), index.stat().st_mtime_ns, index.stat().st_ino) == before


def test_hardened_git_still_answers(repo: Path) -> None:
    (repo / "a.txt").write_text("two\n")
    assert "-one" in git(repo, "diff", hardened=True)
    assert "first" in git(repo, "log", "--oneline", hardened=True)


def test_the_parser_agrees_with_git(tmp_path: Path) -> None:
    text = (
        '[a]\n\tb = c\n\td = "x # y" ; z\n[A "S\\"ub"] Key = v\\tw \n[e.F]\n'
        " g\n h = a\\\n  b\n; c\n# d\n[a]\nb =  two words  \n i = \n"
        'j = " q "  # c\nk = x \\\n\nl = \\\n  y\nm = z ""\nn = "" o\np = u\\t\n'
        '[remote "o"] url = git@h:x;y\n'
    )
    path = tmp_path / "config"
    path.write_text(text)
    shown = subprocess.run(
        ["git", "config", "-f", str(path), "-z", "--list"], capture_output=True, text=True, timeout=30, check=True
    ).stdout
    expected = [tuple(entry.partition("\n")[::2]) for entry in shown.split("\0") if entry]
    ours = [(key, value) for key, value in parse_config(text)]
    assert [key for key, _ in ours] == [key for key, _ in expected]
    assert [value for key, value in ours if key != "e.f.g"] == [value for key, value in expected if key != "e.f.g"]


def test_a_broken_configuration_is_an_error() -> None:
    with pytest.raises(ConfigUnreadableError):
        list(parse_config("[a\nb=c"))


def test_what_runs_unasked_reads_its_options_as_the_tables_do() -> None:
    """With POSIXLY_CORRECT `uniq a -c` would write the file `-c`."""
    changes = unasked_environment(["POSIXLY_CORRECT", "PATH", "GIT_TRACE"])
    assert changes["POSIXLY_CORRECT"] is None
    assert changes["GIT_TRACE"] is None
    assert "PATH" not in changes
