#!/usr/bin/env python3
# PreToolUse(Bash): tests run with a limit. The whole input is replaced, and the rules judge the new one too.
import json
import sys

event = json.load(sys.stdin)
given = event["tool_input"]
if given.get("command", "").startswith("pytest") and "timeout" not in given:
    changed = {**given, "timeout": 300_000}
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}}))
