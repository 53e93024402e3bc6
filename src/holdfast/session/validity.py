"""The rules every provider has for a conversation, as one list of what breaks them. Ask before each request."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ID", "NAME", "message_problems"]

ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
NAME = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
_ROLES = ("user", "assistant")


def message_problems(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Everything a provider would refuse, in words; empty when the conversation can be sent."""
    problems: list[str] = []
    seen: set[str] = set()
    owed: list[str] = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        place = f"message {index}"
        if role != _ROLES[index % 2]:
            problems.append(f"{place} is from {role!r}, expected {_ROLES[index % 2]!r}")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])
        if not blocks:
            problems.append(f"{place} is empty")
        problems += [f"{place}: {problem}" for block in blocks for problem in _block_problems(block, role)]
        answered = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
        if answered != owed:
            problems.append(f"{place} answers {answered}, expected {owed}")
        owed = [block.get("id", "") for block in blocks if block.get("type") == "tool_use"]
        problems += [f"{place} uses the id {id_!r} again" for id_ in owed if id_ in seen]
        seen.update(owed)
        if role == "assistant" and blocks and blocks[-1].get("type") in {"thinking", "redacted_thinking"}:
            problems.append(f"{place} ends in thinking")
    if owed:
        problems.append(f"the calls {owed} have no results")
    return problems


def _block_problems(block: Mapping[str, Any], role: Any) -> list[str]:
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return [] if isinstance(text, str) and text.strip() else ["a text without words"]
    if kind == "tool_result":
        return [] if role == "user" else ["a result that is not the user's"]
    if kind != "tool_use":
        return []
    problems = [] if role == "assistant" else ["a call that is not the assistant's"]
    if not ID.match(str(block.get("id", ""))):
        problems.append(f"the id {block.get('id')!r} is not allowed")
    if not NAME.match(str(block.get("name", ""))):
        problems.append(f"the name {block.get('name')!r} is not allowed")
    if not isinstance(block.get("input"), dict):
        problems.append("the input is no object")
    return problems
