from holdfast.contract.render import Rendering


class Named(Rendering):
    name = "Named"


SHOW = Named()


def test_a_call_is_shown_on_one_bounded_line_also_with_partial_input():
    assert SHOW.render_use({}) == "Named()"
    assert SHOW.render_use({"a": "x\ny", "n": [1, "ü"], "o": object}).startswith('Named(a=x⏎y, n=[1, "ü"], o="<class')
    assert len(SHOW.render_use({"a": "x" * 500})) == 107
    assert SHOW.render_queued({"a": 1}) == "Named(a=1) · waiting"
    assert SHOW.render_rejected({"a": 1}, "no") == "Named(a=1) · refused: no"


def test_progress_results_and_errors_are_shown_short():
    assert SHOW.render_progress("half") == "half"
    assert SHOW.render_progress({"done": 1}) == '{"done": 1}'
    assert SHOW.render_error("broken\npipe") == "Named failed: broken⏎pipe"
    text = "\n".join("abcdef")
    assert SHOW.render_result(text) == "a\nb\nc\n… 3 more lines"
    assert SHOW.render_result(text, condensed=False) == text
    assert SHOW.render_result("a\nb\nc") == "a\nb\nc"


def test_a_tool_may_name_what_of_its_input_is_shown() -> None:
    class Other(Rendering):
        name = "Other"
        shown_arguments = ("path", "limit")

    assert Other().render_use({"content": "x" * 500, "limit": 3, "path": "a.py"}) == "Other(a.py, limit=3)"
    assert Other().render_use({"content": "half of it"}) == "Other()"
