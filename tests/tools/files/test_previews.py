"""Before a person says yes to a change, they see the diff that it makes."""

import asyncio
from pathlib import Path
from typing import Any

from holdfast.contract import ToolContext
from holdfast.host.targets import Targets
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.files.workbench import Workbench
from holdfast.tools.files.write import Write

BENCH = Workbench(Targets())


def preview(session: Any, tool: Any, **raw: Any) -> str | None:
    async def run() -> str | None:
        ctx = ToolContext(session.cwd, tool_use_id="t", file_reads=session.reads, rights=session.rights)
        args = tool.arguments.parse(raw)
        tool.effects(args, ctx)
        found = await tool.preview(args, ctx)
        assert found is None or not found.internal  # it binds the call to nothing
        return None if found is None else found.diff

    return asyncio.run(run())


def test_the_diff_of_a_change_is_the_one_it_makes(session: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\nbeta\n", encoding="utf-8")
    session.call(Read(BENCH.targets), file_path="a.txt")
    given = {"file_path": "a.txt", "old_string": "beta", "new_string": "better"}
    shown = preview(session, Edit(BENCH), **given)
    assert (tmp_path / "a.txt").read_text("utf-8") == "alpha\nbeta\n"
    assert session.call(Edit(BENCH), **given).display == shown
    shown = preview(session, Write(BENCH), file_path="a.txt", content="gamma\n")
    assert session.call(Write(BENCH), file_path="a.txt", content="gamma\n").display == shown


def test_a_new_file_is_all_additions(session: Any) -> None:
    for tool, raw in (
        (Write(BENCH), {"file_path": "new.txt", "content": "one\n"}),
        (Edit(BENCH), {"file_path": "new.txt", "old_string": "", "new_string": "one\n"}),
    ):
        shown = preview(session, tool, **raw)
        assert shown is not None
        assert "new file mode" in shown
        assert "\n+one\n" in shown


def test_what_no_diff_could_show_whole_has_none(session: Any, tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("x\n\n\n\n\n\n\n\n" * 300, encoding="utf-8")
    session.call(Read(BENCH.targets), file_path="many.txt")
    many = {"file_path": "many.txt", "old_string": "x", "new_string": "y", "replace_all": True}
    assert preview(session, Edit(BENCH), **many) is None
    assert preview(session, Write(BENCH), file_path="long.txt", content="word\n" * 100_000) is None
    assert preview(session, Edit(BENCH), file_path="many.txt", old_string="not there", new_string="y") is None
