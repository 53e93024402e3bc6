"""Our server for the conformance suite: its wire, with the tools, resources and prompts that the suite knows by name.

`python server.py` prints the address; `--stdio` serves pipes. What a session really offers (`holdfast mcp serve`) is
tested elsewhere; here it is the protocol of both eras that counts.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast.host.web_server import WebServer
from holdfast.mcp.serve.guard import Gate
from holdfast.mcp.serve.http import MAX_BODY_BYTES, HttpEndpoint
from holdfast.mcp.serve.peer import Exchange, Outgoing, Peer
from holdfast.mcp.serve.service import Changes, Service
from holdfast.mcp.wire import INVALID_PARAMS, McpError, RpcError, read_line

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
KEY = os.urandom(32)
MISSING_CAPABILITY = -32021
Result = dict[str, Any]
Params = dict[str, Any]

changes = Changes()


def text(value: str, **more: Any) -> Result:
    return {"content": [{"type": "text", "text": value}], **more}


def resource(uri: str, kind: str, value: str) -> Result:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": value}}


def picture() -> Result:
    return {"type": "image", "data": PICTURE, "mimeType": "image/png"}


# Questions to the client.


def form(message: str, properties: Params, *required: str) -> Params:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"mode": "form", "message": message, "requestedSchema": schema}


def name_form(message: str = "What is your name?") -> Params:
    return {"method": "elicitation/create", "params": form(message, {"name": {"type": "string"}}, "name")}


def confirm_form() -> Params:
    return {"method": "elicitation/create", "params": form("Please confirm", {"ok": {"type": "boolean"}}, "ok")}


def sample(words: str, tokens: int = 100) -> Params:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


def wanted(requests: Params, state: str | None = None) -> Result:
    found: Result = {"resultType": "input_required", "inputRequests": requests}
    return found if state is None else {**found, "requestState": signed(state)}


def signed(state: str) -> str:
    mark = hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()
    return f"{base64.urlsafe_b64encode(state.encode()).decode()}.{mark}"


def state_in(params: Params) -> str | None:
    found = params.get("requestState")
    if found is None:
        return None
    data, _, mark = str(found).partition(".")
    state = base64.urlsafe_b64decode(data)
    if not hmac.compare_digest(mark, hmac.new(KEY, state, hashlib.sha256).hexdigest()):
        raise RpcError(INVALID_PARAMS, "this requestState is not the one that was given")
    return state.decode()


def responses(params: Params) -> Params:
    found = params.get("inputResponses")
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


async def asked(exchange: Exchange, method: str, params: Params, told: Callable[[Params], str]) -> Result:
    try:
        return text(told(await exchange.ask(method, params)))
    except McpError as error:
        return text(f"It could not be asked: {error}")


# Tools.


async def logging_tool(exchange: Exchange, params: Params) -> Result:
    for words in ("started", "working", "done"):
        exchange.notify("notifications/message", {"level": "info", "data": f"The tool is {words}"})
        await asyncio.sleep(0.05)
    return text("The tool with logging is done.")


async def progress_tool(exchange: Exchange, params: Params) -> Result:
    for done in (0, 50, 100):
        exchange.progress(done, f"step {done}", 100)
        await asyncio.sleep(0.05)
    return text(str(params.get("_meta", {}).get("progressToken", "")))


async def sampling_tool(exchange: Exchange, params: Params) -> Result:
    request = sample(str(params["arguments"].get("prompt", "")))
    return await asked(
        exchange, request["method"], request["params"], lambda said: f"LLM response: {said['content']['text']}"
    )


def told_action(said: Params) -> str:
    return f"User response: action={said.get('action')}, content={json.dumps(said.get('content', {}))}"


async def elicitation_tool(exchange: Exchange, params: Params) -> Result:
    request = form(str(params["arguments"].get("message", "")), {"response": {"type": "string"}}, "response")
    return await asked(exchange, "elicitation/create", request, told_action)


async def defaults_tool(exchange: Exchange, params: Params) -> Result:
    properties: Params = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await asked(exchange, "elicitation/create", form("Please tell us about you", properties), told_action)


async def enums_tool(exchange: Exchange, params: Params) -> Result:
    def titled(*names: str) -> list[Params]:
        return [{"const": name, "title": name.title()} for name in names]

    properties: Params = {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled("value1", "value2", "value3")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("value1", "value2", "value3")}},
    }
    return await asked(exchange, "elicitation/create", form("Please choose", properties), told_action)


async def reconnection_tool(exchange: Exchange, params: Params) -> Result:
    exchange.notify("notifications/message", {"level": "info", "data": "before"})
    await asyncio.sleep(0.2)
    return text("The stream was read again.")


async def quiet_tool(exchange: Exchange, params: Params) -> Result:
    if "io.modelcontextprotocol/logLevel" in params.get("_meta", {}):
        exchange.notify("notifications/message", {"level": "info", "data": "asked for"})
    return text("done")


async def capability_tool(exchange: Exchange, params: Params) -> Result:
    if "sampling" not in exchange.client.capabilities:
        needed: Params = {"requiredCapabilities": {"sampling": {}}}
        raise RpcError(MISSING_CAPABILITY, "this tool needs a client that can sample", needed)
    return text("The client can sample.")


async def change_tools(exchange: Exchange, params: Params) -> Result:
    changes.tell("notifications/tools/list_changed")
    return text("changed")


async def change_prompts(exchange: Exchange, params: Params) -> Result:
    changes.tell("notifications/prompts/list_changed")
    return text("changed")


async def input_elicitation(exchange: Exchange, params: Params) -> Result:
    said: Any = responses(params).get("user_name")
    if isinstance(said, dict) and "content" in said:
        return text(f"Hello, {said['content']['name']}!")
    return wanted({"user_name": name_form()})


async def input_sampling(exchange: Exchange, params: Params) -> Result:
    if "capital_question" in responses(params):
        return text(f"The model said: {responses(params)['capital_question']['content']['text']}")
    return wanted({"capital_question": sample("What is the capital of France?")})


async def input_roots(exchange: Exchange, params: Params) -> Result:
    if "client_roots" in responses(params):
        return text(f"{len(responses(params)['client_roots'].get('roots', []))} roots")
    return wanted({"client_roots": {"method": "roots/list", "params": {}}})


async def input_state(exchange: Exchange, params: Params) -> Result:
    if state_in(params) == "nonce" and "confirm" in responses(params):
        return text("state-ok: confirmed")
    return wanted({"confirm": confirm_form()}, "nonce")


async def input_many(exchange: Exchange, params: Params) -> Result:
    if {"user_name", "greeting", "client_roots"} <= responses(params).keys():
        return text("All of them came.")
    requests: Params = {
        "user_name": name_form(),
        "greeting": sample("Say hello", 50),
        "client_roots": {"method": "roots/list", "params": {}},
    }
    return wanted(requests, "many")


async def input_rounds(exchange: Exchange, params: Params) -> Result:
    state, said = state_in(params), responses(params)
    if state == "first" and "step1" in said:
        color = form("Step 2: Which color?", {"color": {"type": "string"}}, "color")
        return wanted({"step2": {"method": "elicitation/create", "params": color}}, "second")
    if state == "second" and "step2" in said:
        return text("Both rounds are done.")
    return wanted({"step1": name_form("Step 1: What is your name?")}, "first")


async def input_tampered(exchange: Exchange, params: Params) -> Result:
    if state_in(params) is not None:
        return text("state-ok")
    return wanted({"confirm": confirm_form()}, "round-1")


async def input_capabilities(exchange: Exchange, params: Params) -> Result:
    can = exchange.client.capabilities
    requests = {"sample": sample("Say hello", 50)} if "sampling" in can else {}
    return wanted(requests | ({"ask": name_form()} if "elicitation" in can else {}), "gated")


def fixed(*blocks: Params, **more: Any) -> Callable[[Exchange, Params], Awaitable[Result]]:
    async def tool(exchange: Exchange, params: Params) -> Result:
        return {"content": list(blocks), **more}

    return tool


def words(value: str) -> Params:
    return {"type": "text", "text": value}


TOOLS: dict[str, Callable[[Exchange, Params], Awaitable[Result]]] = {
    "test_simple_text": fixed(words("This is a simple text response for testing.")),
    "test_image_content": fixed(picture()),
    "test_audio_content": fixed({"type": "audio", "data": SOUND, "mimeType": "audio/wav"}),
    "test_embedded_resource": fixed(resource("test://embedded-resource", "text/plain", "An embedded resource.")),
    "test_multiple_content_types": fixed(
        words("Several kinds:"), picture(), resource("test://mixed", "application/json", '{"test": "data"}')
    ),
    "test_error_handling": fixed(words("This tool intentionally returns an error for testing"), isError=True),
    "test_tool_with_logging": logging_tool,
    "test_tool_with_progress": progress_tool,
    "test_sampling": sampling_tool,
    "test_elicitation": elicitation_tool,
    "test_elicitation_sep1034_defaults": defaults_tool,
    "test_elicitation_sep1330_enums": enums_tool,
    "test_reconnection": reconnection_tool,
    "test_missing_capability": capability_tool,
    "test_logging_tool": quiet_tool,
    "test_streaming_elicitation": input_elicitation,
    "test_trigger_tool_change": change_tools,
    "test_trigger_prompt_change": change_prompts,
    "test_input_required_result_elicitation": input_elicitation,
    "test_input_required_result_sampling": input_sampling,
    "test_input_required_result_list_roots": input_roots,
    "test_input_required_result_request_state": input_state,
    "test_input_required_result_multiple_inputs": input_many,
    "test_input_required_result_multi_round": input_rounds,
    "test_input_required_result_tampered_state": input_tampered,
    "test_input_required_result_capabilities": input_capabilities,
    "test_x_mcp_header": fixed(words("ok")),
    "json_schema_2020_12_tool": fixed(words("ok")),
}
NEWER = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
SCHEMAS: dict[str, Params] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}},
    "test_x_mcp_header": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
    "json_schema_2020_12_tool": NEWER,
}


async def list_tools(exchange: Exchange, params: Params) -> Result:
    plain: Params = {"type": "object", "properties": {}}
    named = [{"name": name, "description": name, "inputSchema": SCHEMAS.get(name, plain)} for name in TOOLS]
    return {"tools": named}


async def call_tool(exchange: Exchange, params: Params) -> Result:
    tool = TOOLS.get(str(params.get("name")))
    if tool is None:
        raise RpcError(INVALID_PARAMS, "there is no such tool")
    params.setdefault("arguments", {})
    return await tool(exchange, params)


# Resources and prompts.

RESOURCES: dict[str, Params] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PICTURE},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}


async def list_resources(exchange: Exchange, params: Params) -> Result:
    listed = [{"uri": uri, "name": uri[7:], "mimeType": value["mimeType"]} for uri, value in RESOURCES.items()]
    return {"resources": listed}


async def list_templates(exchange: Exchange, params: Params) -> Result:
    return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template"}]}


async def read_resource(exchange: Exchange, params: Params) -> Result:
    uri = str(params.get("uri"))
    if uri.startswith("test://template/") and uri.endswith("/data"):
        value = {"id": uri.split("/")[3], "templateTest": True}
        found = {"mimeType": "application/json", "text": json.dumps(value)}
    else:
        found = RESOURCES.get(uri)
    if found is None:
        raise RpcError(INVALID_PARAMS, "there is no such resource", {"uri": uri})
    return {"contents": [{"uri": uri, **found}]}


async def nothing(exchange: Exchange, params: Params) -> Result:
    return {}


async def complete(exchange: Exchange, params: Params) -> Result:
    return {"completion": {"values": [], "total": 0, "hasMore": False}}


PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def list_prompts(exchange: Exchange, params: Params) -> Result:
    return {
        "prompts": [
            {
                "name": name,
                "description": name,
                "arguments": [{"name": argument, "required": True} for argument in arguments],
            }
            for name, arguments in PROMPTS.items()
        ]
    }


async def get_prompt(exchange: Exchange, params: Params) -> Result:
    name, given = params.get("name"), params.get("arguments", {})
    contents: list[Params] = [words("This is a simple prompt for testing.")]
    if name == "test_prompt_with_arguments":
        contents = [words(f"arg1='{given['arg1']}', arg2='{given['arg2']}'")]
    elif name == "test_prompt_with_embedded_resource":
        contents = [resource(given["resourceUri"], "text/plain", "Embedded."), words("Please look at it.")]
    elif name == "test_prompt_with_image":
        contents = [picture(), words("Please look at it.")]
    elif name == "test_input_required_result_prompt":
        if "user_context" not in responses(params):
            asked_for = form("Which context?", {"context": {"type": "string"}}, "context")
            return wanted({"user_context": {"method": "elicitation/create", "params": asked_for}})
    elif name not in PROMPTS:
        raise RpcError(INVALID_PARAMS, "there is no such prompt")
    return {"messages": [{"role": "user", "content": content} for content in contents]}


SERVICE = Service(
    {"name": "holdfast-conformance", "version": "1"},
    {
        "tools/list": list_tools,
        "tools/call": call_tool,
        "resources/list": list_resources,
        "resources/templates/list": list_templates,
        "resources/read": read_resource,
        "resources/subscribe": nothing,
        "resources/unsubscribe": nothing,
        "prompts/list": list_prompts,
        "prompts/get": get_prompt,
        "completion/complete": complete,
        "logging/setLevel": nothing,
    },
    {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    },
    changes,
    schema_of=SCHEMAS.get,
)


async def main() -> None:
    endpoint = HttpEndpoint(SERVICE, Gate(None))
    server = WebServer(endpoint.handle, max_body_bytes=MAX_BODY_BYTES)
    port = await server.start("127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until whoever started us ends it
    await endpoint.close()
    await server.close()


async def main_over_pipes() -> None:
    def send(out: Outgoing) -> None:
        os.write(1, out.data + b"\n")

    peer = Peer(SERVICE, send)
    reader = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        for message in read_line(line):
            peer.take(message)
    await peer.close()


if __name__ == "__main__":
    asyncio.run(main_over_pipes() if "--stdio" in sys.argv else main())
