"""A page as markdown against the library alone: what the odd links and the charset cost."""

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

from holdfast.tools.web._body import decode_text
from holdfast.tools.web._page import to_markdown
from measure import Row, interleaved, row

URL = "https://docs.example.com/reference/index.html"
SECTION = """
<h2 id="s{0}">Section {0}</h2>
<p>Some words about <a href="/reference/part{0}.html">part {0}</a>, with <code>a_name_{0}</code> and <em>stress</em>,
see also <a href="https://www.example.org/{0}">elsewhere</a> and <a href="#s{0}">here</a>.</p>
<pre><code class="language-python">def function_{0}(argument):
    return argument + {0}
</code></pre>
<table><tr><th>name</th><th>meaning</th></tr><tr><td>a{0}</td><td>the first of {0}</td></tr></table>
<ul><li>one</li><li>two <b>bold</b></li></ul>
"""
PAGE = (
    f"<!doctype html><html><head><title>T</title></head><body>{''.join(map(SECTION.format, range(800)))}</body></html>"
)
BYTES = PAGE.encode()


def ours() -> None:
    to_markdown(decode_text(BYTES, "text/html; charset=utf-8"), URL)


def alone() -> None:
    options = ConversionOptions(
        extract_metadata=False,
        skip_images=True,
        base_url=URL,
        max_depth=300,
        preprocessing=PreprocessingOptions(preset="aggressive"),
    )
    convert(BYTES.decode(), options)


def rows() -> list[Row]:
    mine, reference = interleaved(ours, alone, rounds=15)
    return [row("a page to markdown", mine * 1e3, reference * 1e3, unit="ms", limit=1.2, against="the library alone")]
