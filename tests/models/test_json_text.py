import pytest

from holdfast.models import TextDelta
from holdfast.models.anthropic_stream import AnthropicReader
from holdfast.models.openai_stream import ChatReader


def test_half_a_character_does_not_break_a_stream() -> None:
    reader = AnthropicReader()
    reader.feed(b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}')
    data = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}'
    assert reader.feed(data) == [TextDelta(0, "a\ufffd")]
    chunk = b'{"choices":[{"delta":{"content":"\\ude00b"}}]}'
    assert ChatReader().feed(chunk)[-1] == TextDelta(0, "\ufffdb")


@pytest.mark.parametrize("data", [b"{", b'{"type": "ping"', b"[" * 200_000, b"\xff"])
def test_what_is_no_json_is_still_refused(data: bytes) -> None:
    for reader in (AnthropicReader(), ChatReader()):
        with pytest.raises(ValueError, match=r"."):
            reader.feed(data)
