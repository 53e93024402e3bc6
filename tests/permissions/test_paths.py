import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.permissions import paths
from holdfast.permissions.context import PermissionContext
from holdfast.permissions.decision import decide
from holdfast.permissions.matching import denies_read
from holdfast.permissions.paths import LiveDisk, NoDisk, PathFacts, is_inside, probe_folding
from holdfast.permissions.rules.grammar import Behavior, Rule, RuleSource
from holdfast.permissions.tool_facts import facts_from_input


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "proj"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a")
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "secret").write_text("s")
    return root


def context(project: Path, *rules: tuple[Behavior, str], mode: str = "default", **options: Any) -> PermissionContext:
    source = RuleSource("user", root=str(project))
    made = [Rule.parse(behavior, text, source) for behavior, text in rules]
    defaults: dict[str, Any] = {"working_directories": (str(project),), "home": "/home/u", **options}
    return PermissionContext(mode, made, **defaults)


def verdict(tool: str, path: object, where: PermissionContext, cwd: Path) -> str:
    return decide(facts_from_input(tool, {"file_path": str(path)}, str(cwd)), where).behavior


def look(path: object, cwd: object = "/") -> PathFacts:
    return LiveDisk().look(str(path), str(cwd), home="/home/u")


class PatchedOs:
    """The module `os` with some functions replaced."""

    def __init__(self, **replaced: Any) -> None:
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def stat_in_lower_case(path: str) -> os.stat_result:
    return os.stat(path.replace("PROJ", "proj"))


def stat_of_a_deleted_file(_handle: int) -> os.stat_result:
    return os.stat_result((0o100644, 1, 1, 0, 0, 0, 0, 0, 0, 0))


def fails(*_: object, **__: object) -> Any:
    raise OSError


def test_a_plain_file_is_its_own_target(project: Path) -> None:
    file = str(project / "src" / "a.py")
    assert look("src/../src/./a.py", project) == PathFacts(file, file, (file,), is_dir=False)
    assert look(project / "src").is_dir is True
    assert look(project / "src" / "new").is_dir is None


def test_links_are_followed_before_dots(project: Path) -> None:
    (project / "link").symlink_to(project.parent / "outside")
    facts = look("link/../outside/secret", project)
    assert facts.given == str(project / "outside" / "secret")
    assert facts.target == str(project.parent / "outside" / "secret")


def test_every_name_on_the_way_is_known(project: Path) -> None:
    (project / "c").symlink_to("b")
    (project / "b").symlink_to("src")
    facts = look("c/a.py", project)
    assert facts.target == str(project / "src" / "a.py")
    assert set(facts.names) == {str(project / name / "a.py") for name in ("c", "b", "src")}


def test_a_deny_on_a_link_in_the_middle_holds_for_what_lies_deep_below_it(project: Path) -> None:
    (project / "src" / "deep").mkdir()
    (project / "src" / "deep" / "x").write_text("x")
    (project / "b").symlink_to("./src/.")
    (project / "c").symlink_to("b")
    facts = look("c/./deep/x", project)
    assert facts.target == str(project / "src" / "deep" / "x")
    assert set(facts.names) == {str(project / name / "deep" / "x") for name in ("c", "b", "src")}
    assert verdict("Read", "c/deep/x", context(project, ("deny", "Read(b/deep/x)")), project) == "deny"


def test_a_dangling_link_is_judged_by_what_it_would_create(project: Path) -> None:
    (project / "d").symlink_to(project.parent / "outside" / "new")
    assert look("d", project).target == str(project.parent / "outside" / "new")
    assert verdict("Write", "d", context(project, mode="acceptEdits"), project) == "ask"


def test_a_new_file_below_a_linked_directory_is_judged_by_its_real_place(project: Path) -> None:
    (project / "linked").symlink_to(project.parent / "outside")
    accept = context(project, mode="acceptEdits")
    assert verdict("Write", "linked/new", accept, project) == "ask"
    assert verdict("Write", "src/new", accept, project) == "allow"
    assert verdict("Read", "linked/secret", accept, project) == "ask"


def test_a_loop_of_links_is_refused(project: Path) -> None:
    (project / "x").symlink_to("y")
    (project / "y").symlink_to("x")
    assert "links" in look("x", project).refusal
    assert verdict("Read", "x", context(project, mode="bypassPermissions"), project) == "deny"
    folding = context(project, mode="bypassPermissions", disk=LiveDisk(lambda _: True))
    assert verdict("Read", "x", folding, project) == "deny"


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/proc/self/root/etc/passwd", "/sys/kernel", "/dev/sda", "/dev"]
)
def test_the_kernels_own_files_are_refused(project: Path, path: str) -> None:
    (project / "hidden").symlink_to(path)
    anything = context(project, ("allow", "Read"), mode="bypassPermissions")
    assert verdict("Read", path, anything, project) == "deny"
    assert verdict("Read", "hidden", anything, project) == "deny"


def test_the_null_device_is_free(project: Path) -> None:
    assert verdict("Read", "/dev/null", context(project), project) == "allow"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000, "é" * 3_000, "./" * 5_000 + "a"])
def test_what_no_file_can_be_named_is_refused(project: Path, path: str) -> None:
    for disk in (LiveDisk(), NoDisk()):
        facts = disk.look(path, str(project), home="/home/u")
        assert facts.refusal or (isinstance(disk, NoDisk) and path.endswith("a"))


def test_deny_holds_for_the_link_and_for_the_target(project: Path) -> None:
    (project / "alias").symlink_to("src/a.py")
    (project / "via").symlink_to("alias")
    for denied in ("Read(alias)", "Read(src/a.py)", "Read(/src/**)"):
        for path in ("alias", "via"):
            assert verdict("Read", path, context(project, ("deny", denied)), project) == "deny", (denied, path)
            assert verdict("Edit", path, context(project, ("deny", denied)), project) == "deny"
    assert verdict("Read", "src/a.py", context(project, ("deny", "Read(alias)")), project) == "allow"


def test_allow_needs_the_link_and_the_target(project: Path) -> None:
    (project / "out").symlink_to(project.parent / "outside" / "secret")
    target = str(project.parent / "outside" / "secret")
    assert verdict("Read", "out", context(project, ("allow", "Read(out)")), project) == "ask"
    assert verdict("Read", "out", context(project, ("allow", f"Read(/{target})")), project) == "ask"
    both = context(project, ("allow", "Read(out)"), ("allow", f"Read(/{target})"))
    assert verdict("Read", "out", both, project) == "allow"


def test_a_project_reached_through_a_link_is_still_inside(project: Path) -> None:
    linked = project.parent / "linked-project"
    linked.symlink_to(project)
    where = context(linked, ("allow", "Edit(src/**)"), ("allow", "Edit(/new)"))
    assert verdict("Read", "src/a.py", where, linked) == "allow"
    assert verdict("Edit", "src/a.py", where, linked) == "allow"
    assert verdict("Write", linked / "new", where, linked) == "allow"
    assert verdict("Edit", "other", where, linked) == "ask"


def test_hard_links_are_asked_about(project: Path) -> None:
    os.link(project.parent / "outside" / "secret", project / "twin")
    assert verdict("Edit", "twin", context(project, ("allow", "Edit"), mode="acceptEdits"), project) == "ask"
    assert verdict("Edit", "twin", context(project, mode="bypassPermissions"), project) == "allow"
    assert verdict("Read", "twin", context(project), project) == "allow"
    assert verdict("Read", "twin", context(project, ("deny", "Read(secret)")), project) == "ask"


def test_sibling_names_are_outside() -> None:
    assert is_inside("/proj/a", ("/proj",))
    assert is_inside("/proj", ("/proj",))
    assert is_inside("/anything", ("/",))
    assert not is_inside("/proj-evil/a", ("/proj",))
    assert not is_inside("/pro", ("/proj",))


def test_case_folds_for_deny_on_a_disk_that_folds(project: Path) -> None:
    folding = context(project, ("deny", "Read(.env)"), ("deny", "Read([[:upper:]]x)"), disk=LiveDisk(lambda _: True))
    plain = context(project, ("deny", "Read(.env)"), disk=LiveDisk(lambda _: False))
    assert verdict("Read", ".ENV", folding, project) == "deny"
    assert verdict("Read", "ax", folding, project) == "deny"
    assert verdict("Read", ".ENV", plain, project) == "allow"
    allow = context(project, ("allow", "Edit(readme)"), disk=LiveDisk(lambda _: True))
    assert verdict("Edit", "README", allow, project) == "ask"


def test_the_probe_compares_a_directory_with_its_other_case(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe_folding(str(project / "missing" / "deeper")) is False
    assert probe_folding("/") is False
    digits = project / "123"
    digits.mkdir()
    assert probe_folding(str(digits)) is False
    monkeypatch.setattr(paths, "os", PatchedOs(stat=stat_in_lower_case))
    assert probe_folding(str(project)) is True


def test_the_answer_of_the_probe_is_remembered(project: Path) -> None:
    asked: list[str] = []
    disk = LiveDisk(lambda directory: bool(asked.append(directory)))
    for number in range(3):
        disk.look(f"src/{number}", str(project), home="/")
    assert asked == [str(project / "src")]
    disk._folds.update({str(number): False for number in range(10_001)})
    disk.look("other", str(project), home="/")
    assert len(disk._folds) == 1


def test_a_file_that_vanishes_while_it_is_looked_at_is_walked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(project / "src" / "a.py")
    monkeypatch.setattr(paths, "os", PatchedOs(fstat=fails))
    assert look(file) == PathFacts(file, file, (file,), is_dir=False)
    monkeypatch.setattr(paths, "os", PatchedOs(fstat=fails, lstat=fails))
    assert look(file) == PathFacts(file, file, (file,))
    monkeypatch.setattr(paths, "os", PatchedOs(fstat=stat_of_a_deleted_file))
    assert look(file) == PathFacts(file, file, (file,), is_dir=False)


def test_an_unreadable_parent_counts_as_plain_names(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if path.endswith("new"):
            raise PermissionError
        return real(path)

    monkeypatch.setattr(paths, "os", PatchedOs(lstat=lstat))
    file = str(project / "src" / "new")
    assert look(file) == PathFacts(file, file, (file,))


def test_a_path_below_a_file_is_only_a_name(project: Path) -> None:
    assert look("src/a.py/x", project).is_dir is None


def test_home_is_where_the_context_says() -> None:
    assert NoDisk().look("~/x", "/proj", home="/home/u").given == "/home/u/x"
    assert NoDisk().look("~", "/proj", home="/home/u").given == "/home/u"
    assert NoDisk().look("", "/proj", home="/home/u").given == "/proj"
    assert NoDisk().look("//a//b", "/proj", home="/home/u").given == "/a/b"


def test_a_search_can_ask_which_files_to_leave_out(project: Path) -> None:
    where = context(project, ("deny", "Read(*.key)")).child("default")
    (project / "k").symlink_to(project / "a.key")
    assert denies_read("a.key", where, cwd=str(project)) is not None
    assert denies_read("k", where, cwd=str(project)) is not None
    assert denies_read("src/a.py", where, cwd=str(project)) is None


def test_the_limits_of_a_path_are_exact() -> None:
    disk = NoDisk()
    assert disk.look("/" + "a" * 4_095, "/", home="/").refusal == ""
    assert "longer" in disk.look("/" + "a" * 4_096, "/", home="/").refusal
    assert disk.look("/a" + "é" * 2_047, "/", home="/").refusal == ""
    assert "longer" in disk.look("/" + "é" * 2_048, "/", home="/").refusal
    assert (disk.look("/a/", "/", home="/").is_dir, disk.look("/a", "/", home="/").is_dir) == (True, None)


def test_the_length_counts_as_the_kernel_reads_it_dots_and_all(tmp_path: Path) -> None:
    dots = "/" + "./" * 2_047
    assert look(f"{dots}a").refusal == ""
    assert "longer than 4096 bytes" in look(f"{dots}ab").refusal
    assert look("", tmp_path) == look(tmp_path)


def test_the_kernels_own_files_are_refused_without_a_disk_too() -> None:
    assert "belongs to the kernel" in NoDisk().look("/proc/1/mem", "/", home="/").refusal
    assert NoDisk().look("/process", "/", home="/").refusal == ""


def test_forty_links_can_be_followed_and_no_more(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / "file").write_text("x", encoding="utf-8")
    previous = root / "file"
    for number in range(1, 42):
        link = root / f"link{number}"
        link.symlink_to(previous)
        previous = link
    disk = LiveDisk()
    facts = disk.look(str(root / "link40"), "/", home="/")
    assert (facts.refusal, facts.target) == ("", str(root / "file"))
    assert "too many links" in disk.look(str(root / "link41"), "/", home="/").refusal


def test_links_may_only_make_a_path_twice_as_long_as_one_can_be(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / "directory").mkdir()
    (root / "link1").symlink_to("link2/" + "./" * 2_000)
    (root / "link2").symlink_to("link3/" + "./" * 2_000)
    (root / "link3").symlink_to("directory")
    assert look(root / "link1").target == str(root / "directory")
    assert "too many links" in look(f"{root}/link1/{'./' * 150}").refusal


def test_a_new_file_behind_a_link_and_back_lies_where_the_kernel_puts_it(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / "far" / "inner").mkdir(parents=True)
    (root / "near").mkdir()
    (root / "near" / "link").symlink_to(root / "far" / "inner")
    facts = LiveDisk().look(str(root / "near" / "link" / ".." / "new"), "/", home="/")
    assert (facts.given, facts.target) == (str(root / "near" / "new"), str(root / "far" / "new"))


def test_whether_names_fold_is_asked_of_the_nearest_directory_that_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"/a/Abc/123": None, "/a/Abc": True, "/a": False}
    monkeypatch.setattr("holdfast.permissions.paths._same_in_other_case", told.__getitem__)
    assert probe_folding("/a/Abc/123") is True
    assert probe_folding("/a") is False
    assert probe_folding("/") is False
