"""A page as markdown: what links keep, and code to the byte."""

import itertools

import pytest
from markdown_it import MarkdownIt

from holdfast.tools.web._page import to_markdown

ODD = [
    *("javascript:alert(1)", " javascript:x", "java\tscript:x", "java&#10;script:x", "JaVaScRiPt:x"),
    *("&#106;avascript:x", "javascript&colon;x", "vbscript:x", "data:text/html,x", "ftp://x.example/", "tel:+1"),
    *("file:///etc/passwd", "\x01javascript:x", "custom+x.y:z", "javascript://%0aalert(1)", "intent:x", "blob:x"),
]
AROUND = [
    "<a href='{0}'>one</a>",
    "<p>b <a href='{0}' title='t'>tw\no</a></p>",
    "<a href='{0}'>{0}</a>",
    "<a href='{0}'><h2>x</h2></a>",
    "<table><tr><td><a href='{0}'>c</a></td></tr></table>",
    "<ul><li><pre>code</pre><a href='{0}'>behind code</a></li></ul>",
    "<ol><li><ul><li><pre>code</pre></li></ul><a href='{0}'>behind code</a></li></ol>",
    "<blockquote><pre>```</pre><a href='{0}'>behind code</a></blockquote>",
    "<p>```</p><a href='{0}'>behind a mark that is no code</a>",
    "<p>[x](\n{0})</p><p>[y]: {0}</p><p>[y]</p>",
]


def _every(url: str) -> bool:
    del url
    return True


def links(markdown: str) -> list[str]:
    """What a renderer would make a link of."""
    reader = MarkdownIt("commonmark")
    reader.validateLink = _every  # every link counts here, also what renderers refuse
    tokens = [child for token in reader.parse(markdown) for child in token.children or ()]
    return [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("target", ODD)
def test_only_web_addresses_stay_links(target: str, around: str) -> None:
    page = f"<html><body>{around.format(target)}</body></html>"
    for link in links(to_markdown(page, "https://docs.example.com/a/")):
        assert link.startswith(("https:", "http:", "mailto:", "#not-a-web-link:")), link


def test_links_to_the_web_stay_as_they_are_and_become_complete() -> None:
    targets = ("/b", "HTTPS://x.example/", "mailto:a@x.example", "?q=a:b")
    page = " ".join(f"<a href='{target}'>words</a>" for target in targets)
    assert links(to_markdown(page, "https://docs.example.com/a/")) == [
        "https://docs.example.com/b",
        "HTTPS://x.example/",
        "mailto:a@x.example",
        "https://docs.example.com/a/?q=a:b",
    ]


@pytest.mark.parametrize(
    "around",
    ["{}", "<ul><li>{}</li></ul>", "<blockquote>{}</blockquote>", "<ol><li><blockquote>{}</blockquote></li></ol>"],
)
def test_code_comes_through_to_the_byte_wherever_it_stands(around: str) -> None:
    code = "a](javascript:b)\n\n\tx = {\"y\": '~~~'}   \n    ```js\n<data:text> [r]: ftp:x\n- ```\n> quoted\n"
    written = code.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    page = around.format(f"<p>See <a href='javascript:c'>this</a></p><pre><code>{written}</code></pre><p>end</p>")
    markdown = to_markdown(page, "https://docs.example.com/")
    blocks = [token.content for token in MarkdownIt("commonmark").parse(markdown) if token.type == "fence"]
    assert blocks == [code]
    assert "](javascript:c" not in markdown


def test_text_that_looks_like_a_bare_link_is_left_alone() -> None:
    page = "<p>Use std&lt;std::string&gt;, T&lt;Key: Value&gt; and &lt;https://x.example/&gt;.</p>"
    assert "<std::string>" in to_markdown(page, "https://docs.example.com/").replace("\\", "")


def test_tables_and_headings_keep_their_cells_and_levels() -> None:
    page = (
        "<h2>Part</h2><table><tr><th>name</th><th>value</th></tr><tr><td>a|b</td><td><code>1</code></td></tr></table>"
    )
    tokens = MarkdownIt("commonmark").enable("table").parse(to_markdown(page, "https://docs.example.com/"))
    cells = [
        token.content
        for before, token in itertools.pairwise(tokens)
        if before.type in ("th_open", "td_open", "heading_open")
    ]
    assert cells == ["Part", "name", "value", "a|b", "`1`"]
