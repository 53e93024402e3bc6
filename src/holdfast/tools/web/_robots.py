"""What a site's robots.txt says, for users whose setting obeys it."""

from typing import Any
from urllib.parse import urlsplit

from protego import Protego

from holdfast.contract import ToolFailed
from holdfast.permissions.web import WebRefusal, WebTarget, check_url
from holdfast.tools.web._body import decode_text
from holdfast.tools.web._client import Fetched, WebClient

__all__ = ["may_fetch"]

_AGENT = "holdfast"


async def may_fetch(client: WebClient, target: WebTarget, known: dict[str, Any]) -> bool:
    """Whether the site lets programs fetch this address; a site without rules lets them.

    Raises:
        ToolFailed: The rules cannot be read now, which forbids everything until they can (RFC 9309).
    """
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(target.url))
    if origin not in known:
        known[origin] = await _rules(client, f"{origin}/robots.txt")
    rules: Protego | None = known[origin]
    return rules is None or bool(rules.can_fetch(target.url, _AGENT))


async def _rules(client: WebClient, url: str) -> Protego | None:
    place = check_url(url)
    if isinstance(place, WebRefusal):
        return None
    try:
        found = await client.fetch(place)
    except ToolFailed as error:
        raise ToolFailed(f"a setting obeys robots.txt, and it cannot be read: {error}") from error
    if isinstance(found, Fetched) and found.status >= 500:
        raise ToolFailed(f"a setting obeys robots.txt, and {url} answered {found.status} {found.reason}; try later")
    if not isinstance(found, Fetched) or found.status != 200:
        return None
    return Protego.parse(decode_text(found.body, found.headers.get("content-type", "")))
