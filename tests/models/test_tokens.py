from typing import Any

import pytest

from holdfast.models import ModelRequest, SystemBlock
from holdfast.models.tokens import estimate_message_tokens, estimate_request_tokens

# Counted with a public vocabulary of 200,000 entries.
LISTING = "-rw-r--r-- 1 root root  1234 Nov 16 00:40 /usr/lib/x86_64-linux-gnu/libc.so.6\n"
SAMPLES = [
    ("The quick brown fox jumps over the lazy dog. " * 20, 201),
    ("def add(first: int, second: int) -> int:\n    return first + second\n\n\n" * 20, 380),
    ('{"name": "Read", "arguments": {"file_path": "/src/main.py", "limit": 10}}\n' * 20, 480),
    ("Die Würde des Menschen ist unantastbar. " * 20, 221),
    ("人人生而自由在尊严和权利上一律平等" * 20, 280),
    (LISTING * 20, 740),
]


@pytest.mark.parametrize(("text", "tokens"), SAMPLES)
def test_an_estimate_is_near_what_is_counted_and_seldom_too_low(text: str, tokens: int) -> None:
    estimate = estimate_message_tokens([{"role": "user", "content": text}])
    assert 0.8 * tokens <= estimate <= 1.4 * tokens


def test_a_long_text_is_estimated_from_samples() -> None:
    text = (LISTING + "The quick brown fox jumps over the lazy dog.\n") * 40
    whole = estimate_message_tokens([{"role": "user", "content": text}] * 50)
    assert estimate_message_tokens([{"role": "user", "content": text * 50}]) == pytest.approx(whole, rel=0.1)


def test_every_part_of_a_request_counts() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}}
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "A" * 24_000}}
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "x" * 400},
        {"type": "tool_result", "tool_use_id": "t", "content": "x" * 400},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x" * 400}, picture]},
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"a": "x" * 400, "b": [1, None, {"c": True}]}},
        {"type": "thinking", "thinking": "x" * 400, "signature": "s" * 100},
        {"type": "document", "source": {"type": "text", "data": "x" * 400}},
        pdf,
        picture,
    ]
    sizes = [estimate_message_tokens([{"role": "user", "content": [part]}]) for part in parts]
    assert all(size >= 96 for size in sizes)
    assert sizes[-1] < 2_000, "a picture costs by its size on the screen, not by its bytes"
    assert 1_500 < sizes[-2] < 3_000
    request = ModelRequest(messages=[], system=(SystemBlock("x" * 400),), tools=b"[" + b"x" * 700 + b"]")
    assert 250 < estimate_request_tokens(request) < 320
