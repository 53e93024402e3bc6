"""How a server tells of one skill: its address, its front matter, and each of its files with size and digest."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from holdfast.lib.front_matter import read_front_matter
from holdfast.mcp.records import SkillListed
from holdfast.mcp.wire import McpError

__all__ = ["Entry", "File", "file_name", "read_entry", "same_fields"]

_MAX_FILES = 512
_MAX_BYTES = 16 << 20
_MAX_URI_CHARS = 2_000
_NAME = re.compile(r"(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_END = "/SKILL.md"
_YES = ("true", "yes", "on")


class File(NamedTuple):
    """What a file must be."""

    digest: str
    size: int


class Entry(NamedTuple):
    """One skill, as its server tells of it."""

    listed: SkillListed
    fields: Mapping[str, Any]
    files: Mapping[str, File] | None
    """By address; None: the server makes them anew each time, so nothing can be held against them."""
    problem: str = ""
    """Why it cannot be used."""

    @property
    def uri(self) -> str:
        """Where its SKILL.md is."""
        return self.listed.uri

    @property
    def root(self) -> str:
        """The folder that it is."""
        return self.uri.removesuffix(_END)


def read_entry(raw: object) -> Entry | None:
    """Read an entry; None where it names no skill at all."""
    given = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    uri, fields = given.get("uri"), given.get("frontmatter")
    if not isinstance(uri, str) or not isinstance(fields, dict) or len(uri) > _MAX_URI_CHARS:
        return None
    fields = cast("dict[str, Any]", fields)
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not isinstance(description, str):
        return None
    hidden = str(fields.get("disable-model-invocation", "")).lower() in _YES
    entry = Entry(SkillListed(uri, name, description[:2048], for_model=not hidden), fields, None)
    if not _NAME.fullmatch(name):
        return entry._replace(problem="its name is none of a skill (small letters, digits and single hyphens)")
    if "://" not in uri or not uri.endswith(f"/{name}{_END}"):
        return entry._replace(problem="its address does not end in its name and SKILL.md")
    return _with_files(entry, given.get("resources"))


def _with_files(entry: Entry, given: object) -> Entry:
    if given == "dynamic":
        return entry
    if not isinstance(given, list):
        return entry._replace(problem="it does not say which files it has")
    listed = cast("list[Any]", given)
    if len(listed) > _MAX_FILES:
        return entry._replace(problem=f"it has {len(listed)} files, and {_MAX_FILES} are the most")
    files: dict[str, File] = {}
    for one in listed:
        file = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        uri, digest, size = file.get("uri"), file.get("digest"), file.get("size")
        is_inside = isinstance(uri, str) and uri.startswith(f"{entry.root}/") and uri not in files
        is_size = isinstance(size, int) and not isinstance(size, bool) and size >= 0
        if not is_inside or not is_size or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            return entry._replace(problem="its list of files is broken")
        files[cast("str", uri)] = File(digest, cast("int", size))
    if entry.uri not in files:
        return entry._replace(problem="its list of files lacks its SKILL.md")
    if sum(file.size for file in files.values()) > _MAX_BYTES:
        return entry._replace(problem=f"its files have more than {_MAX_BYTES >> 20} MiB together")
    return entry._replace(files=files)


def file_name(entry: Entry, uri: str) -> str:
    """A file as the skill's text names it."""
    return uri.removeprefix(f"{entry.root}/")


def same_fields(entry: Entry, text: str) -> str:
    """The body of a SKILL.md whose front matter is what the entry says.

    Raises:
        McpError: It is not: whoever agreed to the entry has agreed to something else.
    """
    found = read_front_matter(text)
    try:
        is_same = _plain(found.fields) == _plain(entry.fields)
    except RecursionError:
        is_same = False
    if not is_same:
        raise McpError(f"the front matter of the skill {entry.listed.name} is not what the server listed")
    return found.body


def _plain(value: Any) -> Any:
    """A value of JSON and one of a front matter, whose single values stay text, in one form."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in cast("list[Any]", value)]
    if value is None or (isinstance(value, str) and value.strip() in ("~", "null", "Null", "NULL")):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        return float(text)
    except ValueError:
        return text
