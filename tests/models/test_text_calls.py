import json

import pytest

from holdfast.models.text_calls import TextCall, TextCalls

NAMES = ("Read", "Bash")
READ = '{"name": "Read", "arguments": {"file_path": "/a"}}'
QWEN = """<tool_call>
<function=Bash>
<parameter=command>
ls -l
</parameter>
<parameter=timeout>
5
</parameter>
</function>
</tool_call>"""
CALL = TextCall("Read", {"file_path": "/a"})


def taken(text: str, *, size: int | None = None) -> tuple[str, list[TextCall]]:
    calls = TextCalls(NAMES)
    step = size or len(text) or 1
    shown = "".join(calls.feed(text[at : at + step]) for at in range(0, len(text), step))
    rest, found = calls.finish()
    return shown + rest, found


CALLS: list[tuple[str, str, list[TextCall]]] = [
    (f"I will read it.\n```json\n{READ}\n```\n", "I will read it.\n", [CALL]),
    (f"```\n{READ}\n```", "", [CALL]),
    (f"Both:\n```json\n{READ}\n```\n\n```json\n{READ}\n```", "Both:\n", [CALL, CALL]),
    (f"```json\n[{READ}, {READ}]\n```", "", [CALL, CALL]),
    (f"Without an end:\n```json\n{READ}\n", "Without an end:\n", [CALL]),
    (f"<tool_call>\n{READ}\n</tool_call>", "", [CALL]),
    (f"Text\n<tool_call>{READ}</tool_call>\nand more", "Text\n\nand more", [CALL]),
    ('<function=Read>{"file_path": "/a"}</function>', "", [CALL]),
    ("<function=Bash></function>", "", [TextCall("Bash", {})]),
    (
        QWEN,
        "",
        [TextCall("Bash", {"command": "ls -l", "timeout": 5})],
    ),
    (READ, "", [CALL]),
    (f" [{READ},{READ}] ", "", [CALL, CALL]),
    ('{"name": "Read", "parameters": {"file_path": "/a"}}', "", [CALL]),
    ('{"type": "function", "function": {"name": "Read", "arguments": "{\\"file_path\\": \\"/a\\"}"}}', "", [CALL]),
]
PROSE = [
    "No call at all.",
    f"For example:\n```json\n{READ}\n```\nThat is how a call looks.",
    f"```python\nprint({READ})\n```",
    f"```python\nx = '''\n<tool_call>{READ}</tool_call>\n'''\n```",
    f"The form is `<tool_call>{READ}</tool_call>` in one line.",
    f"{READ} is what I would send.",
    '```json\n{"name": "Unknown", "arguments": {}}\n```',
    '```json\n{"name": "Read", "version": 2, "arguments": {}}\n```',
    '```json\n{"name": "Read", "arguments": "nothing"}\n```',
    '```json\n{"name": "Read", "parameters": {"type": "object", "properties": {}}}\n```',
    '```json\n{"name": "Read"}\n```',
    '```json\n{"name": "Read", "arguments": {"file_path": "/a"\n```',
    f'```json\n[{READ}, {{"name": "x"}}]\n```',
    "<tool_call>not json</tool_call>",
    "<tool_call>never closed",
    "<function=Unknown>{}</function>",
    "a < b, `x`, ``, ```\n``` and\n<too",
    "{ not json at all",
    "[1, 2, 3]",
    "",
    "```",
    "line\n``",
]


@pytest.mark.parametrize(("text", "shown", "calls"), CALLS)
def test_calls_in_text_are_found_whatever_the_pieces(text: str, shown: str, calls: list[TextCall]) -> None:
    for size in (None, 1, 2, 3, 5, 7, 11):
        assert taken(text, size=size) == (shown, calls)


@pytest.mark.parametrize("text", PROSE)
def test_prose_stays_prose_to_the_last_character(text: str) -> None:
    for size in (None, 1, 2, 3, 5, 7, 11):
        assert taken(text, size=size) == (text, [])


def test_ordinary_text_is_not_held_back() -> None:
    calls = TextCalls(NAMES)
    assert calls.feed("Hello, this ") == "Hello, this "
    assert calls.feed("is\n```python\nx = 1\n") == "is\n```python\nx = 1"
    assert calls.feed("y = 2\n```\nend") == "\ny = 2\n```\nend"


def test_what_is_held_comes_back_when_the_answer_has_calls_of_its_own() -> None:
    calls = TextCalls(NAMES)
    text = f"See\n```json\n{READ}\n```\n\n<tool_ca"
    shown = calls.feed(text)
    assert shown + calls.release() == text
    assert calls.finish() == ("", [])


def test_a_block_without_end_is_held_only_up_to_a_bound() -> None:
    calls = TextCalls(NAMES)
    text = "```json\n{" + json.dumps("x" * 200_000)
    assert calls.feed(text) + calls.finish()[0] == text
