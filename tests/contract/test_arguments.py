import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from holdfast.contract import Args, ArgumentsInvalid, PromptFacts, SchemaArguments, UsageError, conditional, internal
from holdfast.contract.arguments import ModelArguments, arguments_of

OFF = PromptFacts(background=False)


class Inner(Args):
    x: int = 0


class Sample(Args):
    count: int
    ratio: float = 0.5
    flag: bool = False
    mode: Literal["a", "b"] = "a"
    after: int | None = Field(default=None, alias="-A", description="Lines after.")
    inner: Inner | None = None
    background: bool = conditional(default=False, when="background", description="Run behind.")
    preview: str | None = internal(description="Set on approval.")


SAMPLE = arguments_of(Sample)


def problems(raw: dict[str, Any], facts: PromptFacts | None = None) -> tuple[str, ...]:
    with pytest.raises(ArgumentsInvalid) as caught:
        SAMPLE.parse(raw, facts or PromptFacts())
    assert all(problem in str(caught.value) for problem in caught.value.problems[:8])
    return caught.value.problems


def test_words_that_mean_numbers_and_truth_are_taken_as_meant():
    args = SAMPLE.parse({"count": "5", "ratio": "0.25", "flag": "true", "-A": "3"})
    assert (args.count, args.ratio, args.flag, args.after) == (5, 0.25, True, 3)
    assert SAMPLE.parse({"count": 1, "flag": "false", "after": 2}).after == 2


def test_arguments_are_frozen():
    args = SAMPLE.parse({"count": 1})
    with pytest.raises(ValueError, match="frozen"):
        args.count = 2


def test_every_problem_is_named():
    assert problems({"flag": "maybe", "colour": 1, "size": 2}) == (
        "missing argument 'count'",
        "'flag': Input should be a valid boolean, unable to interpret input, got 'maybe'",
        "unknown argument 'colour' (known: count, ratio, flag, mode, -A, inner, background)",
        "unknown argument 'size' (known: count, ratio, flag, mode, -A, inner, background)",
    )


def test_an_unknown_key_inside_another_argument_is_named_by_its_place():
    assert problems({"count": 1, "inner": {"y": 1}}) == ("unknown argument 'inner.y'",)


def test_long_values_and_long_lists_of_problems_are_cut_in_the_message():
    (problem,) = problems({"count": "x" * 500})
    assert len(problem) < 250
    with pytest.raises(ArgumentsInvalid, match="and 12 more") as caught:
        SAMPLE.parse({"count": 1, **{f"k{number}": 0 for number in range(20)}})
    assert len(caught.value.problems) == 20


def test_an_internal_field_is_an_error_when_sent_and_set_only_on_a_copy():
    assert "unknown argument 'preview'" in problems({"count": 1, "preview": "x"})[0]
    args = SAMPLE.parse({"count": 1})
    approved = SAMPLE.with_internal(args, {"preview": "seen"})
    assert (args.preview, approved.preview) == (None, "seen")
    with pytest.raises(UsageError, match="'count'"):
        SAMPLE.with_internal(args, {"count": 2})


def test_a_conditional_field_comes_and_goes_with_its_fact():
    assert SAMPLE.parse({"count": 1, "background": True}).background is True
    (problem,) = problems({"count": 1, "background": True}, OFF)
    assert problem == "unknown argument 'background' (known: count, ratio, flag, mode, -A, inner)"
    assert "background" in SAMPLE.schema()["properties"]
    assert "background" not in SAMPLE.schema(OFF)["properties"]
    with pytest.raises(UsageError, match="weather"):
        conditional(default=0, when="weather")


def test_an_internal_field_with_an_alias_is_hidden_by_both_spellings():
    class Aliased(Args):
        secret: str | None = Field(default=None, alias="_secret", json_schema_extra={"x-holdfast-internal": True})

    arguments = ModelArguments(Aliased)
    for name in ("secret", "_secret"):
        with pytest.raises(ArgumentsInvalid, match="this tool takes none"):
            arguments.parse({name: "x"})


def test_the_offered_schema_has_no_titles_no_marks_and_no_internal_fields():
    schema = SAMPLE.schema()
    assert schema["required"] == ["count"]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["count", "ratio", "flag", "mode", "-A", "inner", "background"]
    assert schema["properties"]["count"] == {"type": "integer"}
    assert schema["properties"]["-A"]["description"] == "Lines after."
    text = str(schema)
    assert "x-holdfast" not in text
    assert "'title'" not in text
    assert "preview" not in text


def test_an_argument_called_title_keeps_its_name():
    class Titled(Args):
        title: str

    assert ModelArguments(Titled).schema()["properties"] == {"title": {"type": "string"}}


def test_the_type_of_an_internal_field_is_not_offered_either():
    class Secret(BaseModel):
        inside: int

    class Shown(Args):
        known: tuple[Inner, ...] = ()
        hidden: Secret | None = internal()

    assert "Inner" not in str(schema := ModelArguments(Shown).schema())
    assert set(schema["properties"]) == {"known"}

    class OnlyHidden(Args):
        hidden: Secret | None = internal()

    assert "$defs" not in ModelArguments(OnlyHidden).schema()


def test_a_type_that_is_used_once_stands_where_it_is_used_and_a_shared_one_apart():
    class Leaf(Args):
        size: int = Field(default=1, description="How large.")
        note: str | None = None

    class Branch(Args):
        leaf: Leaf

    class Once(Args):
        branch: Branch = Field(description="The only one.")

    class Twice(Args):
        first: Branch
        second: Branch

    once, twice = ModelArguments(Once).schema(), ModelArguments(Twice).schema()
    assert "$defs" not in once
    assert once["properties"]["branch"]["description"] == "The only one."
    leaf = once["properties"]["branch"]["properties"]["leaf"]
    assert leaf["properties"] == {
        "size": {"type": "integer", "default": 1, "description": "How large."},
        "note": {"type": "string"},
    }
    assert set(twice["$defs"]) == {"Branch"}
    assert twice["properties"]["first"] == twice["properties"]["second"] == {"$ref": "#/$defs/Branch"}
    assert twice["$defs"]["Branch"]["properties"]["leaf"] == leaf


def test_types_that_refer_to_each_other_stay_in_the_schema():
    class Node(Args):
        children: tuple["Node", ...] = ()

    class Tree(Args):
        root: Node

    assert set(ModelArguments(Tree).schema()["$defs"]) == {"Node"}


# JSON Schema.

REMOTE = SchemaArguments(
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "b": {"type": "boolean"},
            "s": {"type": "string"},
            "maybe": {"type": ["integer", "null"]},
            "either": {"type": ["string", "integer"]},
            "any": True,
        },
        "required": ["n"],
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ({"n": 1, "s": "5"}, {"n": 1, "s": "5"}),
        ({"n": "5", "s": "5", "any": "5"}, {"n": 5, "s": "5", "any": "5"}),
        ({"n": "5", "x": "1.5", "b": "TRUE"}, {"n": 5, "x": 1.5, "b": True}),
        ({"n": 1, "b": "false"}, {"n": 1, "b": False}),
        ({"n": 1, "maybe": "7", "either": "7"}, {"n": 1, "maybe": 7, "either": "7"}),
        ({"n": "9007199254740993123"}, {"n": 9007199254740993123}),
    ],
)
def test_a_json_schema_takes_words_as_meant_where_it_wants_numbers_or_truth(raw: Any, meant: Any):
    assert REMOTE.parse(raw) == meant


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"n": "many"},
        {"n": "1.5"},
        {"n": "inf"},
        {"n": 1, "b": "maybe"},
        {"n": 1, "colour": 1},
        {"n": 1, "maybe": "x"},
    ],
)
def test_a_json_schema_refuses_what_does_not_fit(raw: Any):
    with pytest.raises(ArgumentsInvalid) as caught:
        REMOTE.parse(raw)
    assert caught.value.problems


def test_unknown_keys_of_a_json_schema_are_named():
    with pytest.raises(ArgumentsInvalid, match="colour"):
        REMOTE.parse({"n": 1, "colour": "red"})


def test_the_schema_of_a_remote_tool_is_offered_as_declared_and_always_an_object():
    assert SchemaArguments({}).schema() == {"type": "object", "properties": {}}
    assert REMOTE.schema()["required"] == ["n"]


def test_a_remote_tool_has_no_internal_fields():
    assert REMOTE.with_internal({"n": 1}, {}) == {"n": 1}
    with pytest.raises(UsageError):
        REMOTE.with_internal({"n": 1}, {"n": 2})


def test_a_schema_that_does_not_compile_is_a_usage_error():
    with pytest.raises(UsageError, match="does not compile"):
        SchemaArguments({"type": "nonsense"}).parse({})


def test_a_schema_cannot_make_us_fetch_urls_or_read_files(tmp_path: Path):
    asked: list[str] = []

    class Trap(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

    secret = tmp_path / "secret.json"
    secret.write_text('{"type": "string"}')
    with HTTPServer(("127.0.0.1", 0), Trap) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for uri in (f"http://127.0.0.1:{server.server_port}/x", secret.as_uri()):
                with pytest.raises(UsageError, match="not followed"):
                    SchemaArguments({"properties": {"a": {"$ref": uri}}}).parse({"a": "x"})
        finally:
            server.shutdown()
            thread.join(10)
    assert asked == []


def test_references_inside_a_schema_are_followed():
    arguments = SchemaArguments({"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}})
    assert arguments.parse({"a": 1}) == {"a": 1}
    with pytest.raises(ArgumentsInvalid):
        arguments.parse({"a": []})


def test_an_optional_field_is_offered_without_null_and_null_is_still_taken():
    class Search(Args):
        where: str | None = Field(default=None, description="A place.")
        often: bool = False
        most: int = 250
        either: int | str | None = None

    offered = arguments_of(Search).schema()["properties"]
    assert offered == {
        "where": {"type": "string", "description": "A place."},
        "often": {"type": "boolean"},
        "most": {"default": 250, "type": "integer"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    }
    assert arguments_of(Search).parse({"where": None}).where is None
