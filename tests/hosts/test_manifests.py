"""A host sends what its own servers have said already, and is not asked for it again."""

from typing import Any

import pytest

from holdfast.cli.host_manifests import manifest_states

from .conftest import Host, Line, StartHost, call, first, results

GREETING: Line = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "calc"}}
TOOLS: Line = {"tools": [{"name": "add", "description": "adds", "inputSchema": {"type": "object"}}]}


def served(host: Host, **answers: Any) -> tuple[list[str], list[Line]]:
    """Answer what the servers of the host are asked, up to the result; the methods asked, and all lines."""
    methods: list[str] = []
    found: list[Line] = []
    while not found or found[-1]["type"] != "result":
        line = host.read()
        found.append(line)
        if line["type"] == "control_request" and line["request"]["subtype"] == "mcp_message":
            message = line["request"]["message"]
            methods.append(message["method"])
            said = {"result": answers[message["method"].replace("/", "_")]} if "id" in message else {}
            host.reply(line, mcp_response={"jsonrpc": "2.0", "id": message.get("id", 0), **said})
    return methods, found


def test_a_handshake_that_came_with_the_first_request_is_not_made_again(start: StartHost) -> None:
    host = start("--allowedTools", "mcp__calc")
    manifest = {"initializeResult": GREETING, "toolsListResult": TOOLS}
    told = host.control("initialize", sdkMcpServers=["calc"], sdkMcpServerManifests={"calc": manifest})
    assert told["sdk_mcp_manifests_parked"] == {"calc": "parked"}
    host.prompt(call("mcp__calc__add"), "SAY x")
    methods, found = served(host, tools_call={"content": [{"type": "text", "text": "5"}]})
    assert methods == ["tools/call"]
    assert "5" in str(results(found)[0]["content"])
    assert (first(found)["mcp_servers"][0]["status"], "mcp__calc__add" in first(found)["tools"]) == ("connected", True)


@pytest.mark.parametrize(
    ("manifest", "state"),
    [
        ({"initializeResult": GREETING}, "parked"),
        ({"initializeResult": {**GREETING, "protocolVersion": "2024-11-05"}}, "protocol_version_mismatch"),
        ({"initializeResult": "x"}, "malformed"),
        ({"initializeResult": GREETING, "toolsListResult": []}, "malformed"),
        ("x", "malformed"),
    ],
)
def test_each_manifest_is_told_what_became_of_it(manifest: Any, state: str) -> None:
    asked = {"sdkMcpServers": ["calc", "other"], "sdkMcpServerManifests": {"calc": manifest, "stranger": manifest}}
    assert manifest_states(asked) == {"calc": state}
    assert manifest_states({**asked, "sdkMcpServerManifests": manifest if manifest == "x" else 3}) == {
        "calc": "malformed",
        "other": "malformed",
    }
    assert manifest_states({"sdkMcpServers": ["calc"]}) is None


def test_only_what_was_sent_is_answered_from_it(start: StartHost) -> None:
    host = start()
    manifests = {"calc": {"initializeResult": GREETING}}
    asked = {"subtype": "initialize", "sdkMcpServers": ["calc"], "sdkMcpServerManifests": manifests}
    host.send({"type": "control_request", "request_id": "i", "request": asked})
    host.prompt("SAY x")
    methods, found = served(host, tools_list=TOOLS)
    assert (methods, "mcp__calc__add" in first(found)["tools"]) == (["tools/list"], True)
