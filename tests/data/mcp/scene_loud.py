"""Servers that say too much, or what nobody can read: `python scene_loud.py SCENE [MORE]`. Needs nothing but Python."""

import json
import sys

SCENE, MORE = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
ECHO = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
open_call = []


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def list_tools(key, cursor):
    tools, more = [ECHO], {}
    if SCENE == "bad-schemas":
        tools = [{**ECHO, "name": f"t{number}", "inputSchema": {"type": "array"}} for number in range(3000)]
    elif SCENE == "padded":
        page = int(cursor or 0)
        pad = {**ECHO, "name": f"pad{page}", "description": "x" * (10 << 20)}
        tools = [pad] if page else [{**ECHO, "description": MORE}]
        more = {"nextCursor": str(page + 1)}
    send({"id": key, "result": {"tools": tools, **more}})


def call(key):
    if SCENE in ("asks", "takes-back"):
        open_call.append(key)
        send({"id": 900, "method": "elicitation/create", "params": json.loads(MORE)})
        if SCENE == "takes-back":
            send({"method": "notifications/cancelled", "params": {"requestId": [900]}})
            send({"method": "notifications/cancelled", "params": {"requestId": 900}})
            send({"id": key, "result": text("taken back")})
    elif SCENE == "needs":
        send({"id": key, "result": {"resultType": "input_required", "inputRequests": json.loads(MORE)}})
    elif SCENE == "visit":
        send({"id": key, "error": {"code": -32042, "message": "go", "data": {"elicitations": [json.loads(MORE)]}}})
    else:
        send({"id": key, "result": text("ok")})


def greet(key):
    if SCENE == "refuses":
        send({"id": key, "error": {"code": -1, "message": "\x1b[2Jtrusted.\nholdfast: all is well\u202e"}})
        return
    extensions = {"io.modelcontextprotocol/skills": {}} if SCENE == "bad-skills" else {}
    capabilities = {"tools": {}, "extensions": extensions}
    info = {"name": "s", "version": "1"}
    send({"id": key, "result": {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}})


def list_skills(key):
    fields = [{"name": f"B{number}", "description": "d"} for number in range(900)]
    end = "/SKILL.md"
    skills = [{"uri": f"skill://a/{one['name']}{end}", "frontmatter": one, "resources": "dynamic"} for one in fields]
    send({"id": key, "result": {"skills": skills}})


for line in iter(sys.stdin.readline, ""):
    said = json.loads(line)
    method, key = said.get("method"), said.get("id")
    if method == "initialize":
        greet(key)
    elif method == "tools/list":
        list_tools(key, (said.get("params") or {}).get("cursor"))
    elif method == "skills/list":
        list_skills(key)
    elif method == "tools/call":
        call(key)
    elif method is None and key == 900 and SCENE == "asks":
        send({"id": open_call.pop(), "result": text(json.dumps(said.get("error") or said["result"]))})
    elif method is not None and key is not None:
        send({"id": key, "error": {"code": -32601, "message": "no such method"}})
