import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.settings.edit_text import add_to_list, remove_from_list, set_list, set_value
from holdfast.settings.errors import SettingsError

PATH = ("permissions", "allow")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "permissions": {\n    "allow": [\n      "B"\n    ]\n  }\n}\n'),
        ("{}", '{\n  "permissions": {\n    "allow": [\n      "B"\n    ]\n  }\n}'),
        ("{}\n", '{\n  "permissions": {\n    "allow": [\n      "B"\n    ]\n  }\n}\n'),
        ("\ufeff{}\n", '\ufeff{\n  "permissions": {\n    "allow": [\n      "B"\n    ]\n  }\n}\n'),
        ('{"permissions": {"allow": ["A"]}}', '{"permissions": {"allow": ["A", "B"]}}'),
        ('{"permissions": {"allow": []}}', '{"permissions": {"allow": ["B"]}}'),
        ('{"permissions": {}}', '{"permissions": {"allow": ["B"]}}'),
        ('{"x": 1}', '{"x": 1, "permissions": {"allow": ["B"]}}'),
        (
            '{\n\t"permissions": {\n\t\t"allow": [\n\t\t\t"A"\n\t\t],\n\t\t"deny": []\n\t}\n}\n',
            '{\n\t"permissions": {\n\t\t"allow": [\n\t\t\t"A",\n\t\t\t"B"\n\t\t],\n\t\t"deny": []\n\t}\n}\n',
        ),
        (
            '{\r\n    "permissions": {\r\n        "allow": []\r\n    }\r\n}',
            '{\r\n    "permissions": {\r\n        "allow": [\r\n            "B"\r\n        ]\r\n    }\r\n}',
        ),
        (
            '{\n  "permissions": {\n    "deny": ["D"]\n  },\n  "model": "m"\n}\n',
            '{\n  "permissions": {\n    "deny": ["D"],\n    "allow": [\n      "B"\n    ]\n  },\n  "model": "m"\n}\n',
        ),
        (
            '{\n  "permissions": {"allow": ["A"]}\n}\n',
            '{\n  "permissions": {"allow": ["A", "B"]}\n}\n',
        ),
        (
            '{\n  "model": "m"\n}\n',
            '{\n  "model": "m",\n  "permissions": {\n    "allow": [\n      "B"\n    ]\n  }\n}\n',
        ),
        (
            '{"permissions": {"allow": [\n  "A"  ,\n  "C"\n]}}',
            '{"permissions": {"allow": [\n  "A"  ,\n  "C",\n  "B"\n]}}',
        ),
    ],
)
def test_a_rule_is_added_by_the_smallest_change(before: str, after: str) -> None:
    assert add_to_list(before, PATH, ["B"]) == after


def test_rules_that_are_there_are_not_written_twice() -> None:
    text = '{"permissions": {"allow": ["A", "B"]}}'
    assert add_to_list(text, PATH, ["B", "A"]) == text
    assert add_to_list(text, PATH, ["B", "C", "C"]) == '{"permissions": {"allow": ["A", "B", "C"]}}'


@pytest.mark.parametrize(
    ("text", "gone", "after"),
    [
        ('{"permissions": {"allow": ["A", "B", "C"]}}', ["B"], '{"permissions": {"allow": ["A", "C"]}}'),
        ('{"permissions": {"allow": ["A", "B"]}}', ["A"], '{"permissions": {"allow": ["B"]}}'),
        ('{"permissions": {"allow": [\n "A",\n "B"\n]}}', ["A"], '{"permissions": {"allow": [\n "B"\n]}}'),
        ('{"permissions": {"allow": [\n "A"\n]}}', ["A"], '{"permissions": {"allow": []}}'),
        ('{"permissions": {"allow": ["A", "A", "B"]}}', ["A", "B"], '{"permissions": {"allow": []}}'),
        ('{"permissions": {}}', ["A"], '{"permissions": {}}'),
    ],
)
def test_rules_are_removed_with_the_rest_untouched(text: str, gone: list[str], after: str) -> None:
    assert remove_from_list(text, PATH, gone) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "b": true\n  }\n}\n'),
        ("\ufeff", '\ufeff{\n  "a": {\n    "b": true\n  }\n}\n'),
        ('{"a": {"b": "old"}, "c": 1}', '{"a": {"b": true}, "c": 1}'),
        ('{"a": {"b": [1, 2]}}', '{"a": {"b": true}}'),
        ('{"a": {}}', '{"a": {"b": true}}'),
        ('{\n    "c": 1\n}', '{\n    "c": 1,\n    "a": {\n        "b": true\n    }\n}'),
    ],
)
def test_a_single_value_is_set_by_the_smallest_change(before: str, after: str) -> None:
    assert set_value(before, ("a", "b"), True) == after


def test_text_that_cannot_be_written_as_utf8_is_refused() -> None:
    with pytest.raises(SettingsError, match="cannot be saved"):
        add_to_list("{}", PATH, ["Read(\udc80)"])


RULES = st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), max_size=4)
OTHER = st.dictionaries(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.integers() | st.lists(st.integers())
)


@given(RULES, RULES, OTHER, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans(), st.booleans())
def test_adding_changes_nothing_but_the_list(
    old: list[str], new: list[str], other: dict[str, object], indent: int | str | None, crlf: bool, present: bool
) -> None:
    permissions = {"deny": ["D"], **({"allow": old} if present else {})}
    value = {**other, "permissions": permissions, "z": {}}
    text = json.dumps(value, indent=indent)
    text = text.replace("\n", "\r\n") if crlf else text
    changed = add_to_list(text, PATH, new)
    start = old if present else []
    expected = start + [rule for rule in dict.fromkeys(new) if rule not in start]
    if present or new:
        permissions["allow"] = expected
    assert json.loads(changed) == {**value, "permissions": permissions}
    assert changed.count("\r\n") == (changed.count("\n") if crlf else 0)
    assert json.loads(remove_from_list(changed, PATH, expected))["permissions"].get("allow", []) == []


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("", [], ""),
        ("", ["A"], '{\n  "permissions": {\n    "allow": [\n      "A"\n    ]\n  }\n}\n'),
        ('{"x": 1}', [], '{"x": 1}'),
        ('{"permissions": {"allow": ["A", 5, "B"]}}', ["B", "C"], '{"permissions": {"allow": ["B", "C"]}}'),
        ('{"permissions": {"allow": ["A"], "deny": ["A"]}}', [], '{"permissions": {"allow": [], "deny": ["A"]}}'),
    ],
)
def test_a_list_is_replaced_and_what_it_had_already_stays(before: str, values: list[str], after: str) -> None:
    assert set_list(before, PATH, values) == after


TEXTS = st.lists(st.sampled_from(["A", "B(x:*)", "C]", 'D"q', "E,", "F//", "", "G\n", "é", "Bash(curl:*)"]), max_size=5)


@given(
    st.dictionaries(st.sampled_from(["allow", "ask", "deny"]), TEXTS),
    TEXTS,
    st.sampled_from([None, 2, "\t"]),
    st.permutations(["allow", "ask", "deny"]),
)
def test_replacing_one_list_changes_nothing_else(
    lists: dict[str, list[str]], values: list[str], indent: int | str | None, order: list[str]
) -> None:
    permissions = {key: lists[key] for key in order if key in lists}
    text = json.dumps({"x": [1, {"allow": []}], "permissions": permissions, "y": "z"}, indent=indent)
    after = json.loads(set_list(text, PATH, values))
    assert set(after["permissions"].pop("allow", [])) == set(values)
    permissions.pop("allow", None)
    assert after == {"x": [1, {"allow": []}], "permissions": permissions, "y": "z"}
