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
        blocks: list[Mapping[str, Any]] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])
        )
        found = [problem for block in blocks for problem in _block_problems(block, role)]
        found += _order_problems(blocks, owed, role=role, expected=_ROLES[index % 2])
        owed = [block.get("id", "") for block in blocks if block.get("type") == "tool_use"]
        for id_ in owed:
            if id_ in seen:
                found.append(f"uses the id {id_!r} again")
            seen.add(id_)
        problems += [f"message {index}: {problem}" for problem in found]
    if owed:
        problems.append(f"the calls {owed} have no results")
    return problems


def _order_problems(blocks: list[Mapping[str, Any]], owed: list[str], *, role: Any, expected: str) -> list[str]:
    problems = [] if role == expected else [f"is from {role!r}, expected {expected!r}"]
    if not blocks:
        problems.append("is empty")
    kinds = [block.get("type") for block in blocks]
    answered = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
    if answered != owed:
        problems.append(f"answers {answered}, expected {owed}")
    if "tool_result" in kinds[len(answered) :]:
        problems.append("has results behind other content")
    if role == "assistant" and kinds and kinds[-1] in {"thinking", "redacted_thinking"}:
        problems.append("ends in thinking")
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
        problems.append("the input is not an object")
    return problems
