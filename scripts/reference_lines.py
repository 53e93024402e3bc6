"""The lines of stream-json: which kinds the code makes, and their fields. `reference_words.py` has meanings."""

import ast
from collections.abc import Iterator
from pathlib import Path

CLI = Path(__file__).parent.parent / "src" / "holdfast" / "cli"
FILES = ("stream_json.py", "state_lines.py", "task_lines.py", "result_line.py")
_MAKERS = ("_line", "_make", "make")
_EVERYWHERE = frozenset({"type", "subtype", "session_id", "uuid", "user_message_uuid", "user_message_uuids"})
Fields = dict[str, None]


def lines_made() -> dict[str, list[str]]:
    """Each kind, as `type` or `system/subtype`, with the fields that it has besides those of every line."""
    found: dict[str, Fields] = {}
    for name in FILES:
        tree = ast.parse((CLI / name).read_text("utf-8"))
        returned = {node.name: _returned(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for kind, fields in _in_function(function, returned):
                found.setdefault(kind, {}).update(fields)
    return {kind: [field for field in fields if field not in _EVERYWHERE] for kind, fields in sorted(found.items())}


def _in_function(function: ast.FunctionDef, returned: dict[str, Fields]) -> Iterator[tuple[str, Fields]]:
    named = _named_dicts(function, returned)
    if function.name == "result":
        yield "result", named.get("found", {})
    for node in ast.walk(function):
        if isinstance(node, ast.Dict):
            kind = _constant(dict(_items(node)).get("type"))
            if kind in ("system", "result", "transcript_mirror"):
                own = _fields_of(node, named, returned)
                if function.name == "result_object":
                    own |= named.get("found", {})
                yield _kind(kind, _constant(dict(_items(node)).get("subtype"))), own
        elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func).rpartition(".")[2] in _MAKERS:
            kind, keywords = _constant(node.args[0]), node.keywords
            subtype = next((_constant(one.value) for one in keywords if one.arg == "subtype"), "")
            fields: Fields = {}
            for one in keywords:
                fields |= _spread(one.value, named, returned) if one.arg is None else {one.arg: None}
            if kind:
                yield _kind(kind, subtype), fields


def _kind(kind: str, subtype: str) -> str:
    return f"{kind}/{subtype}" if kind == "system" and subtype else kind


def _constant(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _items(node: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    yield from ((_constant(key), value) for key, value in zip(node.keys, node.values, strict=True) if key is not None)


def _fields_of(node: ast.Dict, named: dict[str, Fields], returned: dict[str, Fields]) -> Fields:
    fields: Fields = {}
    for key, value in zip(node.keys, node.values, strict=True):
        fields |= _spread(value, named, returned) if key is None else {_constant(key): None}
    return {field: None for field in fields if field}


def _spread(node: ast.expr, named: dict[str, Fields], returned: dict[str, Fields]) -> Fields:
    """What `**node` adds, as far as it stands in the same file."""
    if isinstance(node, ast.Dict):
        return _fields_of(node, named, returned)
    if isinstance(node, ast.IfExp):
        return _spread(node.body, named, returned) | _spread(node.orelse, named, returned)
    if isinstance(node, ast.Name):
        return named.get(node.id, {})
    if isinstance(node, ast.Call | ast.Attribute):
        return returned.get(ast.unparse(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2], {})
    if isinstance(node, ast.DictComp):  # a part of another
        inner = node.generators[0].iter
        return (
            _spread(inner.func.value, named, returned)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
            else {}
        )
    return {}


def _named_dicts(function: ast.FunctionDef, returned: dict[str, Fields]) -> dict[str, Fields]:
    """What each local dict holds, with what is added to it later."""
    found: dict[str, Fields] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Subscript):
                found[ast.unparse(target.value)] = found.get(ast.unparse(target.value), {}) | {
                    _constant(target.slice): None
                }
            elif fields := _spread(node.value, {}, returned):
                found[ast.unparse(target)] = found.get(ast.unparse(target), {}) | fields
    return found


def _returned(function: ast.FunctionDef) -> Fields:
    found: Fields = {}
    named = _named_dicts(function, {})
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            found |= _spread(node.value, named, {})
    return found
