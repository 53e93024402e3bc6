"""What programs read of the file tools: the fields of their results."""

from typing import Any, Literal, NotRequired, TypedDict

__all__ = ["EditOutput", "NotebookEditOutput", "ReadOutput", "WriteOutput"]


class ReadOutput(TypedDict):
    """What was read, by its kind; `file` holds the path and what belongs to the kind."""

    type: Literal["text", "image", "notebook", "parts", "file_unchanged"]
    file: NotRequired[dict[str, Any]]
    filePath: NotRequired[str]
    content: NotRequired[str]
    truncatedByTokenCap: NotRequired[bool]


class _Changed(TypedDict):
    filePath: str
    structuredPatch: list[dict[str, Any]]
    originalFile: str | None
    userModified: bool
    gitDiff: str
    encoding: str


class WriteOutput(_Changed):
    """A file that was made or replaced."""

    type: Literal["create", "update"]
    content: str


class EditOutput(_Changed):
    """A change inside a file."""

    oldString: str
    newString: str
    replaceAll: bool


class NotebookEditOutput(TypedDict):
    """A changed cell."""

    new_source: str
    cell_id: str
    cell_type: str
    language: str
    edit_mode: Literal["replace", "insert", "delete"]
    notebook_path: str
    original_file: str
    updated_file: str
    structuredPatch: list[dict[str, Any]]
