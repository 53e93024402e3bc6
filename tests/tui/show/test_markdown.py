"""Markdown is drawn, and nothing of its text gets lost or turns into something else on the way."""

import pytest

from holdfast.tui.show.markdown import MarkdownStream, Piece
from holdfast.tui.show.rich_text import render
from holdfast.tui.show.words import prose


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a &#x202e;b &lt;c&gt;", "a &#x202e;b &lt;c&gt;"),
        ("see <!-- hidden --> <b>x</b>", "see <!-- hidden --> <b>x</b>"),
        ("<!-- a whole block -->", "<!-- a whole block -->"),
        ("[text](http://x.example)", "text (http://x.example)"),
        ("<http://x.example/y>", "http://x.example/y"),
        ('[text](http://x.example "hidden")', '[text](http://x.example "hidden")'),
        ("![alt](http://x.example/pixel)", "!alt (http://x.example/pixel)"),
        ("[r]: http://x.example", "[r]: http://x.example"),
        ("|a|\n|-|\n|x|hidden|", "|a|\n|-|\n|x|hidden|"),
        ("**bold** and `code`", "bold and code"),
    ],
)
def test_a_piece_shows_all_that_it_says(text: str, shown: str) -> None:
    assert render(Piece(text), columns=70, theme=None).strip() == shown


def test_what_stands_behind_the_language_of_a_fence_is_shown() -> None:
    stream = MarkdownStream()
    assert stream.feed("```python title=x.py\nprint(1)\n```\n") == [
        Piece("title=x.py"),
        Piece("print(1)", "python", begins=True),
    ]
    assert stream.feed("```a-name-that-is-no-language-at-all\nx\n```\n") == [
        Piece("a-name-that-is-no-language-at-all "),
        Piece("x", "text", begins=True),
    ]
    assert stream.feed("```a``` is code in a line\n\nb") == []
    assert stream.end() == [Piece("```a``` is code in a line\n"), Piece("b")]


def test_joiners_stay_where_emoji_and_scripts_need_them() -> None:
    ordinary = "👩‍💻 ❤️ 1️⃣ می‌خواهم"
    assert prose(ordinary) == ordinary
    assert prose("r\u200dm \u200c\u200d") == "r<U+200D>m <U+200C><U+200D>"
    assert prose("👩\u200d\u200d\u200d") == "👩<U+200D><U+200D><U+200D>"
