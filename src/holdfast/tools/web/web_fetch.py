"""Fetch a page of the public web. The text the model reads is in web_fetch.md, beside this file."""

from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from holdfast.contract import (
    Args,
    ArgumentsInvalid,
    Content,
    Effects,
    RuleSubject,
    Tool,
    ToolContext,
    ToolFailed,
    ToolResult,
)
from holdfast.permissions.web import WebRefusal, WebTarget, check_url
from holdfast.tools.web._cache import Page, PageCache
from holdfast.tools.web._reply import (
    WebFetchOutput,
    elsewhere,
    for_model,
    for_people,
    output_of,
    question_about,
    with_media,
)

if TYPE_CHECKING:
    from holdfast.tools.web._client import Fetched, WebClient

__all__ = ["FetchChoices", "WebFetch", "WebFetchArgs", "WebFetchOutput"]

Summarise = Callable[[str], Awaitable[str]]
ShowMedia = Callable[[bytes, str, str], Awaitable[Content]]


class FetchChoices(NamedTuple):
    """What the user's settings say about fetching."""

    summarise: Summarise | None = None
    """Asks a small model; none: the page's own text is the answer."""
    summarise_above_chars: int = 20_000
    obeys_robots: bool = False
    proxy: str | None = None
    show_media: ShowMedia | None = None
    """Shows the bytes of a picture or a PDF of that type from that address."""


class WebFetchArgs(Args):
    """What to fetch, and what to look for."""

    url: str = Field(min_length=1, description="The complete address, starting with https:// or http://.")
    prompt: str = Field(description="What you want to know from the page.")


class WebFetch(Tool[WebFetchArgs, WebFetchOutput]):
    """Gets one page, as markdown."""

    name, args_type = "WebFetch", WebFetchArgs
    output_type = WebFetchOutput
    search_hint = "open a web page, read a URL or online documentation"
    max_result_chars = 100_000
    read_only = concurrency_safe = True
    interrupt_behavior = "cancel"
    should_defer = True
    folds_into = "read"

    def __init__(
        self,
        choices: FetchChoices | None = None,
        *,
        client: "Callable[[], WebClient] | None" = None,
    ) -> None:
        self._choices = choices or FetchChoices()
        self._make_client = client
        self._client: WebClient | None = None
        self._via = _place_of(self._choices.proxy)
        self._cache = PageCache()
        self._robots: dict[str, Any] = {}

    def effects(self, args: WebFetchArgs, ctx: ToolContext) -> Effects:
        """It reaches one host."""
        del ctx
        target = check_url(args.url)
        return Effects(network=(target.host,) if isinstance(target, WebTarget) else ())

    def permission_matcher(self, args: WebFetchArgs, ctx: ToolContext) -> RuleSubject:
        """Rules are about hosts."""
        del ctx
        return RuleSubject("domain", args.url)

    def classifier_input(self, args: WebFetchArgs) -> str:
        """The address; what is asked of the page stays out."""
        return args.url

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """The host first: it is what a person must know."""
        url = str(raw.get("url", ""))
        target = check_url(url)
        host = f"{target.host}, " if isinstance(target, WebTarget) else ""
        return f"{self.name}({host}{url[:100]})"

    async def validate(self, args: WebFetchArgs, ctx: ToolContext) -> None:
        """Addresses that are never fetched are told before anybody is asked."""
        del ctx
        target = check_url(args.url)
        if isinstance(target, WebRefusal):
            raise ArgumentsInvalid(f"{target.reason}. Give a complete address of the public web", error_code=1)

    async def call(self, args: WebFetchArgs, ctx: ToolContext) -> ToolResult[WebFetchOutput]:
        """From the cache, or from the web."""
        from holdfast.tools.web._client import Redirected, secured  # noqa: PLC0415 - with the first request
        from holdfast.tools.web._read import read_page, unread  # noqa: PLC0415 - as above

        began = perf_counter()
        target = check_url(args.url)
        if isinstance(target, WebRefusal):
            raise ToolFailed(target.reason)
        target = secured(target)
        page = self._cache.get(target.url)
        if page is None:
            ctx.progress(f"Fetching from {target.host}" + (f" through the proxy {self._via}" if self._via else ""))
            before = self._ask_robots if self._choices.obeys_robots else None
            found = await self._open().fetch(target, before=before)
            if isinstance(found, Redirected):
                return elsewhere(found, args.prompt, began)
            shown = await self._as_media(found)
            if shown is not None:
                return with_media(unread(found), shown, began, self._via)
            page = await read_page(found)
            if page.status < 400:
                self._keep(target, page)
        result, note = await self._answer(page, args.prompt)
        return ToolResult(
            output_of(page, result, began),
            for_model(page, result, self._via) + note,
            is_error=page.status >= 400,
            display=for_people(page, result, self._via),
        )

    def _open(self) -> "WebClient":
        if self._client is None:
            from holdfast.tools.web._client import WebClient  # noqa: PLC0415 - as above

            self._client = WebClient(proxy=self._choices.proxy) if self._make_client is None else self._make_client()
        return self._client

    def _keep(self, target: WebTarget, page: Page) -> None:
        for url in {target.url, page.url}:
            self._cache.put(url, page)

    async def _ask_robots(self, target: WebTarget) -> None:
        try:
            from holdfast.tools.web._robots import may_fetch  # noqa: PLC0415 - by setting only
        except ModuleNotFoundError as error:
            raise ToolFailed(
                "the setting web.robots needs the package protego: install holdfast[robots], or switch it off"
            ) from error

        if not await may_fetch(self._open(), target, self._robots):
            raise ToolFailed(
                f"{target.host} asks programs not to fetch this address (robots.txt), and a setting obeys it"
            )

    async def _as_media(self, found: "Fetched") -> Content | None:
        """A picture or a PDF, as Read shows it; none for anything else."""
        kind, show = found.media_type, self._choices.show_media
        if kind != "application/pdf" and (not kind.startswith("image/") or kind == "image/svg+xml"):
            return None
        if found.is_cut or show is None:
            why = f"has more than {len(found.body):,} bytes" if found.is_cut else "cannot be shown here"
            raise ToolFailed(f"the {kind} file at {found.url} {why}; download it with Bash if the user wants it")
        return await show(found.body, kind, found.url)

    async def _answer(self, page: Page, prompt: str) -> tuple[str, str]:
        """What the page says, or what a small model says about it; and a note where that could not be asked."""
        ask = self._choices.summarise
        if ask is None or page.status >= 400 or len(page.text) <= self._choices.summarise_above_chars:
            return page.text, ""
        try:
            answer = await ask(question_about(page, prompt))
        except ToolFailed as error:
            return page.text, f"\n[This is the page itself: {error}]"
        return (answer, "") if answer.strip() else (page.text, "\n[This is the page itself: the model said nothing.]")


def _place_of(proxy: str | None) -> str:
    """Host and port of the proxy, without its password."""
    return "" if proxy is None else urlsplit(proxy).netloc.rpartition("@")[2] or "of the settings"
