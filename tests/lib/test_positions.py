import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lib.positions import MAX_BYTES, Array, Json, JsonTextError, Node, Object, Scalar, decode, located, parse

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


def _same(left: object, right: object) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@given(JSON, st.sampled_from([None, 1, 4]), st.booleans())
def test_it_reads_what_the_standard_library_writes(value: object, indent: int | None, ascii_only: bool) -> None:
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        text.encode()
    except UnicodeEncodeError:
        return
    if "\\ud" in text:
        return
    assert _same(parse(text).plain(), value)


@given(st.text(alphabet='{}[],:"\\ \n\t0123456789.eE+-truefalsn/u', max_size=40))
def test_it_accepts_no_text_that_the_standard_library_refuses_and_fails_only_in_its_own_way(text: str) -> None:
    try:
        ours = parse(text).plain()
    except JsonTextError as error:
        places = (error.line, error.column)
    else:
        places = (1, 1)
        assert _same(ours, json.loads(text))
    assert min(places) >= 1


@given(st.binary(max_size=60))
def test_any_bytes_end_in_a_value_or_in_its_own_error(data: bytes) -> None:
    with suppress(JsonTextError):
        parse(decode(data))


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("", 1, 1, "empty"),
        ("\ufeff", 1, 2, "empty"),
        ("{} x", 1, 4, "end of the text"),
        ('{"a": 1,\n}', 1, 8, "comma"),
        ("[1,\n2,\n]", 2, 2, "comma"),
        ("[1 2]", 1, 4, "comma or ]"),
        ('{"a" 1}', 1, 6, "colon"),
        ("{a: 1}", 1, 2, "name in double quotes"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ("{\n// x\n}", 2, 1, "comments"),
        ("[/* x */]", 1, 2, "comments"),
        ("# x", 1, 1, "comments"),
        ('["a\nb"]', 1, 4, "control character"),
        ('["a', 1, 2, "no closing quote"),
        (r'["\x"]', 1, 3, "escape"),
        (r'["\u12"]', 1, 3, "escape"),
        (r'["\ud800"]', 1, 2, "surrogate"),
        ("[01]", 1, 2, "number"),
        ("[1.]", 1, 2, "number"),
        ("[-]", 1, 2, "number"),
        ("[1e999]", 1, 2, "too large"),
        ("[NaN]", 1, 2, "a value"),
        ("[Infinity]", 1, 2, "a value"),
        ("[truex]", 1, 2, "a value"),
        ("[" + "1" * 401 + "]", 1, 2, "more than"),
        ("[\udc80]", 1, 1, "Unicode"),
        ("[", 1, 2, "ends"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, line: int, column: int, word: str) -> None:
    with pytest.raises(JsonTextError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert word in caught.value.reason


def test_escaped_surrogate_pairs_become_one_character() -> None:
    assert parse(r'"\ud83d\ude00\u0041\n\/"').plain() == "\U0001f600A\n/"
    for text in (r'"\ude00\ud83d"', r'"\ud83d x"', r'"\ud83d\ud83d\ude00"'):
        with pytest.raises(JsonTextError, match="surrogate"):
            parse(text)


def test_every_value_knows_its_line_and_offsets() -> None:
    text = '{\n  "a": [\n    "x",\n    {"b": 2}\n  ]\n}'
    root = parse(text)
    assert isinstance(root, Object)
    array = root.members["a"]
    assert isinstance(array, Array)
    assert [(node.line, text[node.start : node.end]) for node in array.items] == [(3, '"x"'), (4, '{"b": 2}')]
    assert root.key_lines == {"a": 2}
    assert text[array.start : array.end].startswith("[")


def test_a_repeated_key_keeps_the_last_value_and_remembers_the_others() -> None:
    root = parse('{"a": 1, "b": 2, "a": 3}')
    assert isinstance(root, Object)
    assert root.plain() == {"b": 2, "a": 3}
    assert [(name, node.plain()) for name, node in root.shadowed] == [("a", 1)]


def test_a_byte_order_mark_is_accepted_and_other_encodings_are_refused_with_a_line() -> None:
    assert parse(decode(b"\xef\xbb\xbf[1]")).plain() == [1]
    for data, line in ((b"\xff\xfe[\x00", 1), (b"[\n\xff]", 2)):
        with pytest.raises(JsonTextError) as caught:
            decode(data)
        assert caught.value.line == line


def test_depth_and_size_are_bounded() -> None:
    assert parse("[" * 64 + "]" * 64)
    for deep in ("[" * 65 + "]" * 65, "[" * 1_000_000, '{"a":' * 100_000):
        with pytest.raises(JsonTextError, match="deeper"):
            parse(deep)
    with pytest.raises(JsonTextError, match="limit"):
        decode(b" " * (MAX_BYTES + 1))
    with pytest.raises(JsonTextError, match="more than"):
        parse(" " * (MAX_BYTES + 1))


@pytest.mark.parametrize(
    "hostile",
    [
        '["' + "\\" * 400_001,
        '["' + "a" * 400_000,
        '["' + '\\"' * 200_000,
        "[" + " " * 400_000,
        "[1" + "0" * 400_000,
        '["' + "a" * 400_000 + "\n",
    ],
)
def test_hostile_text_costs_linear_time(hostile: str) -> None:
    def cost(text: str) -> float:
        start = time.process_time()
        with pytest.raises(JsonTextError):
            parse(text)
        return time.process_time() - start

    small = max(min(cost(hostile[: len(hostile) // 8]) for _ in range(3)), 0.002)
    # Eight times the text: a quadratic scanner would need sixty-four times the time.
    assert min(cost(hostile) for _ in range(3)) < small * 32


def test_plain_data_can_be_wrapped_and_unwrapped() -> None:
    value: Json = {"a": [1, "x", None, True, {"b": 1.5}]}
    node: Node = located(value)
    assert node.plain() == value
    assert node.line == 0
    assert isinstance(located("x"), Scalar)
