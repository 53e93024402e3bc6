"""Two thousand bad files: no hang, no traceback, no byte changed outside an edit."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from holdfast.contract import ToolFailed
from holdfast.host.ripgrep import Ripgrep
from holdfast.testing.zoo import MARKER, build_zoo
from holdfast.tools.files.edit import Edit
from holdfast.tools.files.read import Read
from holdfast.tools.search.glob import Glob
from holdfast.tools.search.grep import Grep

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.testing.zoo import Beast


async def meet(session: Any, read: Read, edit: Edit, beast: Beast) -> str:
    """Read a file, then edit it; whatever is refused must be refused in words and leave the file alone."""
    path = str(beast.path)
    refusal: ToolFailed | None = None
    try:
        async with asyncio.timeout(60):
            await session.run(read, {"file_path": path})
            await session.run(edit, {"file_path": path, "old_string": MARKER, "new_string": "X"})
    except ToolFailed as error:
        refusal = error
    if refusal is not None:
        assert str(refusal)
        assert beast.edited is None, f"{path!r} should have been edited: {refusal}"
        if beast.content is not None:
            assert beast.path.read_bytes() == beast.content
        return "refused"
    now = beast.path.read_bytes()
    if beast.edited is not None:
        assert now == beast.edited, path
    else:
        assert beast.content is not None
        # The marker, in whatever width it was stored, has gone; what is around it has stayed.
        codecs = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le")
        assert now in [beast.content.replace(MARKER.encode(codec), "X".encode(codec)) for codec in codecs], path
    return "edited"


@pytest.mark.slow
def test_every_beast_is_read_and_edited_or_refused_in_words(session: Any, tmp_path: Path) -> None:
    async def meet_all() -> Counter[str]:
        read, edit = Read(), Edit()
        return Counter([await meet(session, read, edit, beast) for beast in build_zoo(tmp_path)])

    outcomes = asyncio.run(meet_all())
    assert outcomes.total() >= 2000
    assert outcomes["edited"] > 700
    assert outcomes["refused"] > 700
    search = Ripgrep()
    for mode in ("content", "files_with_matches", "count"):
        found = session.call(Grep(search), pattern="MARK|X|end", output_mode=mode, head_limit=0)
        assert found.data["numFiles"] > 700
        msgspec.json.encode(found.data)
    names = session.call(Glob(search), pattern="**/*").data
    assert names["truncated"]
    assert all(name.isprintable() for name in names["filenames"])
