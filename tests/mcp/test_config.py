"""Entries of servers, read: variables, kinds, limits, and what cannot be a server."""

from typing import Any, cast

import pytest

from holdfast.mcp.config import BadServerError, ServerConfig, parse_server
from holdfast.settings.mcp_servers import ServerEntry

ENVIRON = {"SET": "value", "EMPTY": "", "ANTHROPIC_API_KEY": "sk-secret"}


def read(config: dict[str, Any], scope: str = "user", name: str = "s") -> ServerConfig:
    return parse_server(ServerEntry(name, config, scope), ENVIRON)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${SET}", "value"),
        ("a${SET}b${SET}", "avaluebvalue"),
        ("${SET:-other}", "value"),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${MISSING:-other}", "other"),
        ("${MISSING:-}", ""),
        ("${MISSING}", "${MISSING}"),
        ("$SET", "$SET"),
        ("${}", "${}"),
    ],
)
def test_variables_are_filled_in_everywhere(text: str, filled: str) -> None:
    program = read({"command": f"x{text}", "args": [text], "env": {"A": text}})
    assert (program.command, program.env) == ((f"x{filled}", filled), {"A": filled})
    place = read({"url": f"https://x/{text}", "headers": {"A": text}, "oauth": {"clientSecret": text}})
    assert (place.url, place.headers, place.oauth) == (f"https://x/{filled}", {"A": filled}, {"clientSecret": filled})
    assert bool(program.warnings) == (text == "${MISSING}")


def test_a_folders_server_gets_no_key_of_a_model_provider() -> None:
    config = {"command": "x", "args": ["${ANTHROPIC_API_KEY}", "${ANTHROPIC_API_KEY:-none}"]}
    assert read(config).command == ("x", "sk-secret", "sk-secret")
    folders = read(config, scope="project")
    assert folders.command == ("x", "${ANTHROPIC_API_KEY}", "${ANTHROPIC_API_KEY:-none}")
    assert "credential" in folders.warnings[0]


@pytest.mark.parametrize(
    ("config", "why"),
    cast(
        "list[tuple[dict[str, Any], str]]",
        [
            ({"type": "ws", "url": "wss://x"}, "WebSocket"),
            ({"type": "carrier-pigeon", "command": "x"}, "not known"),
            ({"type": "stdio"}, "`command` is missing"),
            ({"command": "  "}, "`command` is missing"),
            ({"command": "x", "args": "y"}, "`args` must be a list"),
            ({"command": "x", "args": [{}]}, "`args` must be a list"),
            ({"command": "x", "env": ["A=1"]}, "`env` must be an object"),
            ({"command": "x", "env": {"A\nB": "1"}}, "`env` must be an object"),
            ({"type": "http"}, "`url` is missing"),
            ({"url": "ftp://x"}, "must start with https:// or http://"),
            ({"url": "${MISSING}"}, "must start with https:// or http://"),
            ({"type": "sdk"}, "no file can bring it"),
        ],
    ),
)
def test_what_cannot_be_a_server_is_said_by_name_and_reason(config: dict[str, Any], why: str) -> None:
    with pytest.raises(BadServerError, match="'my server'") as caught:
        read(config, name="my server")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("given", "total_s", "idle_s"),
    [
        (None, 600, 300),
        (1500, 1.5, 1.5),
        (True, 600, 300),
        (0, 600, 300),
        (-1, 600, 300),
        ("5", 600, 300),
        (1e12, 600, 300),
    ],
)
def test_a_timeout_sets_both_limits_of_a_call(given: object, total_s: float, idle_s: float) -> None:
    found = read({"command": "x", "timeout": given})
    assert (found.timeout_s, found.idle_s) == (total_s, idle_s)


@pytest.mark.parametrize(
    ("given", "kind"),
    [({"type": "streamable-http"}, "http"), ({"type": "sse"}, "sse"), ({}, "http"), ({"transport": "sse"}, "sse")],
)
def test_every_spelling_of_a_kind_is_known(given: dict[str, Any], kind: str) -> None:
    assert read({**given, "url": "https://x"}).kind == kind
