"""Search without a key, by the package `ddgs`: best effort, it reads the pages of public search engines."""

import asyncio
from collections.abc import Sequence
from typing import Any

from holdfast.contract import ToolFailed
from holdfast.tools.web._search import Found, Query, found_in, with_sites

__all__ = ["DdgsSearch"]


class DdgsSearch:
    """Asks several engines; works while they let it."""

    name = "ddgs"

    def __init__(self, proxy: str | None = None) -> None:
        self._proxy = proxy

    async def search(self, query: Query) -> Sequence[Found]:
        """Ask in a thread: the package waits."""
        try:
            from ddgs import DDGS  # noqa: PLC0415  # pyright: ignore[reportMissingImports, reportUnknownVariableType] - an extra
        except ModuleNotFoundError as error:
            raise ToolFailed("searching with ddgs needs the package: install holdfast[search]") from error

        def ask() -> list[dict[str, Any]]:
            return list(DDGS(proxy=self._proxy).text(with_sites(query), max_results=10))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]

        try:
            rows = await asyncio.to_thread(ask)
        except Exception as error:
            raise ToolFailed(f"ddgs found nothing: {error}; try again later or configure a search service") from error
        return [found for found in map(found_in, rows) if found is not None]
