from holdfast.contract import Document, Image, Text, ToolReference, content_to_wire, text_of


def test_each_block_has_its_wire_form():
    assert content_to_wire((Text("a"), ToolReference("Bash"))) == [
        {"type": "text", "text": "a"},
        {"type": "tool_reference", "tool_name": "Bash"},
    ]
    source = {"type": "base64", "media_type": "image/png", "data": "/w=="}
    assert Image(b"\xff", "image/png").to_wire() == {"type": "image", "source": source}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "eA=="}
    assert Document(b"x").to_wire() == {"type": "document", "source": pdf}
    assert Document(b"x", title="t").to_wire() == {"type": "document", "source": pdf, "title": "t"}


def test_plain_text_stays_plain():
    assert content_to_wire("a") == "a"
    assert text_of("a") == "a"
    assert text_of((Text("a"), Image(b"", "image/png"), Text("b"))) == "a\nb"
