"""A package that exports lazily gives the exported name, whatever was loaded before it."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import holdfast.permissions


def said_by(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


@pytest.mark.parametrize(
    ("package", "submodule", "name", "kind"),
    [
        ("contract", "tool", "tool", "function"),
        ("permissions", "decision", "decide", "function"),
        ("permissions", "rules.grammar", "Rule", "StructMeta"),
    ],
)
def test_a_submodule_never_hides_an_export_of_the_same_name(package: str, submodule: str, name: str, kind: str) -> None:
    loaded = f"import holdfast.{package}.{submodule}"
    used = f"from holdfast.{package} import {name}; print(type({name}).__name__)"
    for code in (f"{loaded}; {used}", f"{used}; {used}"):
        assert set(said_by(code).split()) == {kind}


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'holdfast\.permissions' has no attribute 'nothing'"):
        _ = holdfast.permissions.nothing  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]  # the point


def test_an_old_name_works_for_a_while_and_warns_with_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "renamed_once"
    package.mkdir()
    (package / "things.py").write_text("class New:\n    pass\n", encoding="utf-8")
    (package / "__init__.py").write_text(
        "from holdfast.lib.lazy import export_lazily\n"
        "export_lazily(__name__, {'things': ('New',)}, renamed={'Old': 'New'})\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    module = import_module("renamed_once")
    with pytest.warns(DeprecationWarning, match=r"renamed_once\.Old is called New now"):
        old = module.Old
    assert old is module.New
    with pytest.raises(AttributeError, match="Older"):
        _ = module.Older
