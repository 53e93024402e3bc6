from holdfast.contract.render import Line, Rendering, ShownResult, lines_of, text_of


class Named(Rendering):
    name = "Named"


SHOW = Named()


def test_a_call_is_shown_on_one_bounded_line_also_with_partial_input():
    assert SHOW.render_use({}) == "Named()"
    shown = text_of(SHOW.render_use({"a": "x\ny", "n": [1, "ü"], "o": object}))
    assert shown.startswith('Named(a=x⏎y, n=[1, "ü"], o="<class')
    assert len(SHOW.render_use({"a": "x" * 500})) == 107
    assert SHOW.render_queued({"a": 1}) == "Named(a=1) · waiting"
    assert SHOW.render_rejected({"a": 1}, "no") == "Named(a=1) · refused: no"


def test_progress_results_and_errors_are_shown_short():
    assert SHOW.render_progress("half") == "half"
    assert SHOW.render_progress({"done": 1}) == '{"done": 1}'
    assert SHOW.render_progress({"done": 1, "message": "half"}) == "half"
    assert SHOW.render_error("broken\npipe") == "Named failed: broken⏎pipe"
    text = "\n".join("abcdef")
    assert SHOW.render_result(ShownResult(text=text)) == "a\nb\nc\n… 3 more lines"
    assert SHOW.render_result(ShownResult(text=text), condensed=False) == text
    assert SHOW.render_result(ShownResult(text="a\nb\nc")) == "a\nb\nc"
    assert SHOW.render_result(ShownResult(text="for the model", display="for people")) == "for people"


def test_lines_have_roles_and_plain_text_is_lines_without_any():
    lines: list[Line] = [[("ok", "done"), ("dim", ", 3 s")], [("", "more")]]
    assert lines_of(lines) == lines
    assert lines_of("a\nb") == [[("", "a")], [("", "b")]]
    assert (text_of(lines), text_of("a")) == ("done, 3 s\nmore", "a")


def test_a_tool_may_name_what_of_its_input_is_shown() -> None:
    class Other(Rendering):
        name = "Other"
        shown_arguments = ("path", "limit")

    assert Other().render_use({"content": "x" * 500, "limit": 3, "path": "a.py"}) == "Other(a.py, limit=3)"
    assert Other().render_use({"content": "half of it"}) == "Other()"
