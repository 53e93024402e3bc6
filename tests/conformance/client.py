"""Our client for the conformance suite of the protocol's authors: `python client.py URL`, the scenario in a variable.

It is the client of a session: a hub, an executor with its tools, forms that a person would fill in. The person accepts
every form with its defaults, and logs in wherever a server wants it.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from holdfast.contract import FormAnswer
from holdfast.engine import Executor
from holdfast.events import CallFinished
from holdfast.host.http import HttpClient, Request
from holdfast.mcp.auth.badge import AskPerson
from holdfast.mcp.config import parse_server
from holdfast.mcp.elicitation import form_of, result_of
from holdfast.mcp.hub import Hub, HubChoices
from holdfast.mcp.records import Records
from holdfast.mcp.server import Server
from holdfast.mcp.wire import McpError
from holdfast.settings.mcp_servers import ServerEntry

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
OF_TYPE: dict[str, Any] = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}
OLDER_ONLY = ("json-schema-ref-no-deref",)  # the suite's own server speaks the older protocol there, in both revisions


def say(what: object) -> None:
    sys.stderr.write(f"{what}\n")


def asker(server: str) -> AskPerson:
    del server
    return log_in


async def accept(server: str, params: Any) -> dict[str, Any]:
    form = form_of(server, params)
    return result_of(form, FormAnswer("accept"))


async def log_in(url: str, give: Callable[[str], bool]) -> None:
    """What a browser and its user would do: open the page, and be sent back."""
    client = HttpClient({})
    try:
        async with client.exchange(Request("GET", url)) as response:
            give(response.headers.get("location", ""))
    finally:
        await client.close()


async def entry(url: str) -> ServerEntry:
    config: dict[str, Any] = {"type": "http", "url": url, "oauth": await oauth(url)}
    if VERSION < "2026" or SCENARIO in OLDER_ONLY:
        config["protocol"] = "2025-11-25"
    return ServerEntry("conformance", config, "user")


async def oauth(url: str) -> dict[str, Any]:
    found: dict[str, Any] = {"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}
    if "client_id" in CONTEXT:
        found |= {"clientId": CONTEXT["client_id"], "clientSecret": CONTEXT.get("client_secret")}
    if SCENARIO.startswith("auth/client-credentials"):
        found["grant"] = "client_credentials"
        if "private_key_pem" in CONTEXT:
            found |= {"privateKey": CONTEXT["private_key_pem"], "signingAlgorithm": CONTEXT["signing_algorithm"]}
    if SCENARIO == "auth/enterprise-managed-authorization":
        found |= {"grant": "enterprise", "idToken": CONTEXT["idp_id_token"], "idpClientId": CONTEXT["idp_client_id"]}
        found |= {"idpTokenEndpoint": CONTEXT["idp_token_endpoint"], "issuer": await issuer(url)}
    return found


async def issuer(url: str) -> str:
    """A user would write it into the configuration; the suite does not tell it, but its server does."""
    parts = urlsplit(url)
    client = HttpClient({})
    place = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    try:
        async with client.exchange(Request("GET", place)) as response:
            return json.loads(await response.read_all(100_000))["authorization_servers"][0]
    finally:
        await client.close()


async def call(executor: Executor, tool: Any, arguments: dict[str, Any]) -> None:
    executor.add({"type": "tool_use", "id": "1", "name": tool.name, "input": arguments})
    async for event in executor.results():
        if isinstance(event, CallFinished):
            say(event.content)
    executor.end_turn()


async def act(server: Server) -> None:
    """What the scenario wants of a client, beyond a connection and a list of tools."""
    tools = {tool.listed.name: tool for tool in server.tools}
    executor = Executor(list(tools.values()), permission_mode="bypassPermissions", resources=())
    if SCENARIO == "json-schema-2020-12-preservation":
        focal = tools["json_schema_2020_12_tool"]
        await call(executor, tools["json_schema_echo"], {"schema": focal.listed.input_schema})
    elif SCENARIO == "http-custom-headers":
        for wanted in CONTEXT["toolCalls"]:
            await call(executor, tools[wanted["name"]], wanted["arguments"])
    else:
        for tool in tools.values():
            schema = tool.listed.input_schema
            named = {"add_numbers": {"a": 5, "b": 3}}.get(tool.listed.name)
            await call(executor, tool, named or _stub(schema))


async def use_skills(server: Server) -> None:
    """List them, and use each with its files, where the scenario is not about doing no more than that."""
    async with asyncio.timeout(60):
        await server.offers_listed.wait()
    if SCENARIO == "sep-2640-client-no-prefetch":
        return
    for name, skill in server.skills:
        try:
            say(await server.skills.fetch(name, ""))
            form = {"uri": skill.uri.replace("SKILL.md", "references/FORMS.md")}
            server.skills.check_read(form["uri"], (await server.request("resources/read", form))["contents"])
        except McpError as error:
            say(error)


def _stub(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: OF_TYPE.get(properties.get(name, {}).get("type"), "x") for name in schema.get("required", [])}


async def main(url: str) -> int:
    config = parse_server(await entry(url))
    with tempfile.TemporaryDirectory() as place:
        # The suite starts all clients at once; how long a start may take is not what it asks.
        choices = HubChoices(place, place, startup_s=170, elicit=accept, ask_login=asker, pins=False)
        hub = Hub([(config, "key")], choices, Records(None), on_notice=say)
        server = hub.servers["conformance"]
        try:
            if SCENARIO.startswith("auth/"):
                await server.sign_in(log_in)
            else:
                await server.ensure()
            if SCENARIO.startswith("sep-2640-client-"):
                await use_skills(server)
            elif SCENARIO != "initialize":
                await act(server)
        except McpError as error:
            say(error)
            return 1
        finally:
            await hub.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
