import json
import multiprocessing
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from holdfast.settings.errors import SettingsError
from holdfast.settings.trust import FolderIdentity, TrustStore


def _trusted(world: Any, root: Path) -> bool:
    return TrustStore(world.roots.state, home=world.roots.home).view(FolderIdentity.of(str(root))).trusted


def test_trust_is_kept_in_a_private_file_with_a_version(world: Any) -> None:
    world.store.trust(str(world.project), items=["b", "a"])
    path = Path(world.store.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    record = json.loads(path.read_text())
    found = world.project.stat()
    assert record == {
        "version": 1,
        "folders": [
            {
                "path": str(world.project),
                "dev": found.st_dev,
                "ino": found.st_ino,
                "git": "plain",
                "approved": ["a", "b"],
            }
        ],
    }
    assert _trusted(world, world.project)
    assert world.store.view(FolderIdentity.of(str(world.project))).approved == {"a", "b"}


def test_approvals_add_up_and_revoking_forgets_all(world: Any) -> None:
    world.store.trust(str(world.project), items=["a"])
    world.store.approve(str(world.project), "b")
    world.store.trust(str(world.project), items=["c"])
    view = world.store.view(FolderIdentity.of(str(world.project)))
    assert view.approved == {"a", "b", "c"}
    world.store.revoke(str(world.project))
    assert not _trusted(world, world.project)
    with pytest.raises(SettingsError, match="trusted folder"):
        world.store.approve(str(world.project), "b")


@pytest.mark.parametrize("place", ["/", "home", "above home"])
def test_home_and_what_is_above_it_cannot_be_trusted(world: Any, place: str) -> None:
    root = {"/": "/", "home": str(world.home), "above home": str(world.home.parent)}[place]
    with pytest.raises(SettingsError, match="cannot be trusted"):
        world.store.trust(root)
    link = world.project / "link"
    link.symlink_to(root)
    with pytest.raises(SettingsError, match="cannot be trusted"):
        world.store.trust(str(link))
    assert not os.path.exists(world.store.path)


def test_a_directory_that_everybody_may_write_to_cannot_be_trusted(world: Any) -> None:
    world.project.chmod(0o777)
    with pytest.raises(SettingsError, match="every user"):
        world.store.trust(str(world.project))


def test_a_moved_or_replaced_folder_is_asked_about_again(world: Any) -> None:
    world.store.trust(str(world.project), items=["a"])
    moved = world.project.parent / "moved"
    world.project.rename(moved)
    assert not _trusted(world, moved)
    (world.project / ".git").mkdir(parents=True)
    assert not _trusted(world, world.project)
    moved.rename(world.project.parent / "again")
    (world.project / ".git").rmdir()
    world.project.rmdir()
    (world.project.parent / "again").rename(world.project)
    assert _trusted(world, world.project)


def test_a_link_to_a_trusted_folder_is_that_folder(world: Any, tmp_path: Path) -> None:
    world.store.trust(str(world.project))
    (tmp_path / "link").symlink_to(world.project)
    assert _trusted(world, tmp_path / "link")


def test_a_git_file_or_link_instead_of_a_directory_is_asked_about_again(world: Any) -> None:
    world.store.trust(str(world.project))
    marker = world.project / ".git"
    marker.rmdir()
    assert _trusted(world, world.project)
    marker.write_text("gitdir: /a/.git/worktrees/x\n")
    assert not _trusted(world, world.project)
    world.store.trust(str(world.project))
    assert _trusted(world, world.project)
    marker.write_text("gitdir: /b/.git/worktrees/x\n")
    assert not _trusted(world, world.project)
    marker.unlink()
    marker.symlink_to("/elsewhere")
    assert not _trusted(world, world.project)
    marker.unlink()
    os.mkfifo(marker)
    assert not _trusted(world, world.project)
    with pytest.raises(SettingsError, match="examined"):
        world.store.trust(str(world.project))


def test_the_trust_of_a_parent_does_not_reach_a_folder_with_its_own_root(world: Any) -> None:
    world.store.trust(str(world.project))
    world.write("src/x", "")
    world.write("vendor/.git/HEAD", "")
    world.write("sub/.git", "gitdir: ../.git/modules/sub\n")
    assert world.load(cwd=world.project / "src").trusted
    assert not world.load(cwd=world.project / "vendor").trusted
    assert not world.load(cwd=world.project / "sub").trusted


def test_without_git_only_the_very_folder_is_trusted(world: Any) -> None:
    plain = world.home / "plain"
    (plain / "inner").mkdir(parents=True)
    world.store.trust(str(plain))
    assert world.load(cwd=plain).trusted
    assert not world.load(cwd=plain / "inner").trusted


def test_a_git_directory_in_home_does_not_make_home_one_project(world: Any) -> None:
    (world.home / ".git").mkdir()
    plain = world.home / "plain"
    plain.mkdir()
    assert world.load(cwd=plain).root == str(plain)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"version": 2, "folders": []}',
        '{"version": 1, "folders": [{"path": 1}]}',
        "\xff",
        '{"version": 1',
        "[" * 5000,
    ],
)
def test_a_damaged_or_newer_record_trusts_nothing_says_so_and_is_not_overwritten(world: Any, content: str) -> None:
    world.store.trust(str(world.project))
    path = Path(world.store.path)
    path.write_bytes(content.encode("latin-1"))
    path.chmod(0o600)
    settings = world.load()
    assert not settings.trusted
    assert "trust record" in settings.problems[0].message
    with pytest.raises(SettingsError, match="trust record"):
        world.store.trust(str(world.project))
    assert path.read_bytes() == content.encode("latin-1")


def test_a_planted_link_or_a_writable_record_trusts_nothing(world: Any, tmp_path: Path) -> None:
    world.store.trust(str(world.project))
    path = Path(world.store.path)
    path.chmod(0o622)
    assert not world.load().trusted
    path.chmod(0o600)
    assert world.load().trusted
    planted = tmp_path / "planted.json"
    path.rename(planted)
    path.symlink_to(planted)
    assert not world.load().trusted
    with pytest.raises(SettingsError):
        world.store.trust(str(world.project))


def test_a_state_directory_that_others_may_write_is_refused(world: Any) -> None:
    os.makedirs(world.roots.state)
    os.chmod(world.roots.state, 0o777)
    with pytest.raises(SettingsError, match="other users"):
        world.store.trust(str(world.project))


def test_names_that_are_no_text_keep_folders_apart(world: Any) -> None:
    odd = Path(os.fsdecode(bytes(world.home) + b"/\xff"))
    plain = world.home / "\\xff"
    odd.mkdir()
    plain.mkdir()
    world.store.trust(str(odd))
    assert _trusted(world, odd)
    assert FolderIdentity.of(str(odd)).path != FolderIdentity.of(str(plain)).path


def _trust_many(state: str, home: str, roots: list[str], barrier: Any) -> None:
    store = TrustStore(state, home=home)
    barrier.wait(30)
    for root in roots:
        store.trust(root, items=["x"])


def test_concurrent_answers_lose_nothing(world: Any) -> None:
    roots = [world.home / f"p{number}" for number in range(12)]
    for root in roots:
        root.mkdir()
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    groups = [[str(root) for root in roots[start::3]] for start in range(3)]
    arguments = [(world.roots.state, world.roots.home, group, barrier) for group in groups]
    workers = [context.Process(target=_trust_many, args=each) for each in arguments]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert all(_trusted(world, root) for root in roots)


def test_a_run_with_nobody_to_ask_never_writes_a_record(world: Any) -> None:
    world.write(".claude/settings.json", {"permissions": {"allow": ["A"]}})
    world.load()
    assert not os.path.exists(world.roots.state)


def test_a_writer_that_others_overtake_pauses_before_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    answers = iter([False] * 4)
    store = TrustStore(str(tmp_path / "state"), home=str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    real = TrustStore._write

    def write(store: TrustStore, *given: Any) -> bool:
        return next(answers, None) is None and real(store, *given)

    monkeypatch.setattr(TrustStore, "_write", write)
    monkeypatch.setattr("holdfast.settings.trust.time.sleep", pauses.append)
    store.trust(str(tmp_path / "project"))
    assert len(pauses) == 4
    assert 0 < pauses[0] < pauses[3] < 0.1
