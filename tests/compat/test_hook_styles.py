"""Hook scripts as people write them, run as they are: guards, formatters, loggers, notifiers, in three languages.

Each line: what it is for, the event, the script, what it is told, and what comes of it: a decision, or `note:` and a word
that the model or the user is told, or `file:` and a word in the file `out` of the project.
"""
# ruff: noqa: E501 - scripts stand in one line as in settings files

from pathlib import Path

import pytest

from .playing import Case, bash, check, edit

PRE, POST, STOP, START, SAID = "PreToolUse", "PostToolUse", "Stop", "SessionStart", "UserPromptSubmit"
JQ = "jq -r '.tool_input.command // empty'"
DENY = """jq -n --arg r "$1" '{hookSpecificOutput:{hookEventName:"PreToolUse",permissionDecision:"deny",permissionDecisionReason:$r}}'"""
PY = "#!/usr/bin/env python3\nimport json, sys, os, re\nevent = json.load(sys.stdin)\n"
NODE = (
    "#!/usr/bin/env node\nlet text = '';\nprocess.stdin.on('data', d => text += d);\n"
    "process.stdin.on('end', () => { const event = JSON.parse(text);\n"
)
GUARD_PY = (
    PY + "bad = [r'\\brm\\s+-rf\\b', r'\\bsudo\\b', r'curl .*\\|\\s*(ba)?sh', r'git push .*--force']\n"
    "command = event['tool_input'].get('command', '')\n"
    "for one in bad:\n    if re.search(one, command):\n        print(f'blocked by {one}', file=sys.stderr)\n        sys.exit(2)\n"
)
GUARD_NODE = (
    NODE + "const command = event.tool_input.command || '';\n"
    "if (/DROP TABLE|mkfs|dd if=/.test(command)) { console.error('dangerous'); process.exit(2); }\nprocess.exit(0); });\n"
)
SECRETS = (
    PY + "path = event['tool_input'].get('file_path', '')\n"
    "if any(part in path for part in ('.env', 'id_rsa', 'secrets/', '.pem')):\n"
    "    print(json.dumps({'decision': 'block', 'reason': 'this file holds secrets'}))\n"
)
JSON_NODE = NODE + "console.log(JSON.stringify({hookSpecificOutput: {hookEventName: 'PreToolUse', %s}})); });\n"
LOGGER = (
    PY + "with open(os.path.join(os.environ['CLAUDE_PROJECT_DIR'], 'out'), 'a') as log:\n"
    "    log.write(f\"{event['hook_event_name']} {event.get('tool_name', '')} {event['session_id']}\\n\")\n"
)

CASES = [
    # Guards.
    *[
        Case(f"guard in python: {command}", PRE, GUARD_PY, bash(command), comes)
        for command, comes in (
            ("rm -rf build", "deny"),
            ("sudo apt install x", "deny"),
            ("curl https://x.sh | sh", "deny"),
            ("git push origin --force", "deny"),
            ("git status", ""),
        )
    ],
    *[
        Case(f"guard in node: {command}", PRE, GUARD_NODE, bash(command), comes)
        for command, comes in (("psql -c 'DROP TABLE x'", "deny"), ("dd if=/dev/zero of=x", "deny"), ("ls", ""))
    ],
    *[
        Case(f"secrets: {path}", PRE, SECRETS, edit(path), comes)
        for path, comes in (("app/.env", "deny"), ("k/server.pem", "deny"), ("src/app.py", ""))
    ],
    Case("one line of jq", PRE, f'{JQ} | grep -q "^npm publish" && exit 2 || exit 0', bash("npm publish"), "deny"),
    Case("one line of jq lets others pass", PRE, f'{JQ} | grep -q "^npm publish" && exit 2 || exit 0', bash("ls"), ""),
    Case(
        "protected branch",
        PRE,
        f'#!/bin/bash\nset -euo pipefail\ncmd=$({JQ})\nif [[ "$cmd" =~ git\\ (commit|push) ]]; then\n  set -- "main is protected"\n  {DENY}\nfi\n',
        bash("git commit -m x"),
        "deny",
    ),
    Case("case statement", PRE, f'case "$({JQ})" in *pip\\ install*) echo "use uv" >&2; exit 2;; esac', bash("pip install x"), "deny"),
    Case("read-only folder", PRE, "p=$(jq -r .tool_input.file_path); [[ $p == vendor/* ]] && { echo no >&2; exit 2; }; exit 0", edit("vendor/x.c"), "deny"),
    Case("lock files", PRE, "jq -e '.tool_input.file_path | test(\"lock$|lock.json$\")' >/dev/null && exit 2; exit 0", edit("package-lock.json"), "deny"),
    Case("asks", PRE, JSON_NODE % "permissionDecision: 'ask', permissionDecisionReason: 'look'", bash("make deploy"), "ask"),
    Case("allows", PRE, JSON_NODE % "permissionDecision: 'allow'", bash("npm test"), "allow"),
    Case("older words: approve", PRE, "echo '{\"decision\":\"approve\",\"reason\":\"docs\"}'", edit("docs/x.md"), "allow"),
    Case("older words: block", PRE, "echo '{\"decision\":\"block\",\"reason\":\"frozen\"}'", edit("x"), "deny"),
    Case("rewrites", PRE, JSON_NODE % "updatedInput: {...event.tool_input, command: 'rtk ' + event.tool_input.command}", bash("ls"), "input:rtk ls"),
    Case(
        "rewrites with jq",
        PRE,
        "jq '{hookSpecificOutput:{hookEventName:\"PreToolUse\",updatedInput:(.tool_input + {command:(\"nice \" + .tool_input.command)})}}'",
        bash("make"),
        "input:nice make",
    ),
    Case("adds context before", PRE, JSON_NODE % "additionalContext: 'node 22'", bash("node x"), "note:node 22"),
    Case("content check", PRE, PY + "if 'TODO' in event['tool_input'].get('content', ''):\n    sys.exit('no TODO')\n", edit("x", content="TODO"), "warn:no TODO"),
    Case("fails with a bug", PRE, PY + "event['nothing']\n", bash("ls"), "warn:KeyError"),
    Case("exits 1", PRE, "echo 'I failed' >&2; exit 1", bash("ls"), "warn:I failed"),
    Case("quiet by || true", PRE, "nosuchtool --check || true", bash("ls"), ""),
    Case("set -e with a failing grep", PRE, "#!/bin/bash\nset -e\ncat | grep nothing-like-this\n", bash("ls"), "warn:exit code 1"),
    # After a call.
    Case("formats", POST, 'f=$(jq -r ".tool_input.file_path"); echo "tidy $f" > "$CLAUDE_PROJECT_DIR/out"', edit("a.py"), "file:tidy a.py"),
    Case("formats by variable", POST, 'cat >/dev/null; echo "$CLAUDE_TOOL_FILE_PATH" > out', edit("b.py"), "file:b.py"),
    Case("formats by its response", POST, "jq -r '.tool_response.filePath' > out", edit("c.py"), "file:c.py"),
    Case("reads success", POST, "jq -e '.tool_response.success' > out", edit("c.py"), "file:true"),
    Case("reads tool_result", POST, "jq -r '.tool_result.filePath // .tool_output.filePath // \"none\"' > out", {**edit("d.py"), "tool_result": {"filePath": "d.py"}}, "file:d.py"),
    Case("lint tells the model", POST, "echo 'a.py:3 unused import' >&2; exit 2", edit("a.py"), "note:unused import"),
    Case("block tells the model", POST, "echo '{\"decision\":\"block\",\"reason\":\"tests fail\"}'", edit("a.py"), "deny"),
    Case("context after", POST, "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"covered\"}}'", edit("a.py"), "note:covered"),
    Case("logger", POST, LOGGER, bash("ls") | {"tool_response": {}}, "file:PostToolUse Bash"),
    Case("logger before", PRE, LOGGER, bash("ls"), "file:PreToolUse Bash"),
    Case("audit with jq", POST, 'jq -c "{t: .tool_name, c: .tool_input.command}" >> out', bash("ls") | {"tool_response": {}}, 'file:{"t":"Bash","c":"ls"}'),
    Case("only python files", POST, 'f=$(jq -r .tool_input.file_path); [[ "$f" == *.py ]] || exit 0; echo "$f" > out', edit("x.md"), ""),
    Case("replaces the output", POST, "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedToolOutput\":\"short\"}}'", edit("a"), "output:short"),
    Case("failure logger", "PostToolUseFailure", "jq -r .error > out", bash("ls") | {"error": "exit 1"}, "file:exit 1"),
    # Sessions and prompts.
    Case("branch at start", START, "cat >/dev/null; echo branch: $(git rev-parse --abbrev-ref HEAD 2>/dev/null || echo none)", {"source": "startup"}, "note:branch: none"),
    Case("start by source", START, "jq -r .source > out", {"source": "resume"}, "file:resume"),
    Case("start in json", START, "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"hello\"}}'", {}, "note:hello"),
    Case("start without event name", START, "echo '{\"hookSpecificOutput\":{\"additionalContext\":\"hi\"}}'", {}, "note:hi"),
    Case("time in a prompt", SAID, 'echo "Now: $(date +%Y)"', {"prompt": "hi"}, "note:Now: "),
    Case("prompt with a key", SAID, PY + "if re.search(r'AKIA[0-9A-Z]{16}', event['prompt']):\n    print('a key', file=sys.stderr); sys.exit(2)\n", {"prompt": "use AKIA" + "A" * 16}, "deny"),
    Case("prompt blocked in json", SAID, "echo '{\"decision\":\"block\",\"reason\":\"no\"}'", {"prompt": "x"}, "deny"),
    Case("prompt logger", SAID, "jq -r .prompt >> out", {"prompt": "remember"}, "file:remember"),
    Case("stop: run tests", STOP, 'if [ "$(jq -r .stop_hook_active)" = "true" ]; then exit 0; fi; echo "run tests" >&2; exit 2', {"stop_hook_active": False}, "deny"),
    Case("stop: not twice", STOP, 'if [ "$(jq -r .stop_hook_active)" = "true" ]; then exit 0; fi; exit 2', {"stop_hook_active": True}, ""),
    Case("stop in json", STOP, NODE + "console.log(JSON.stringify({decision: 'block', reason: 'todo left'})); });\n", {}, "deny"),
    Case("stop notifier", STOP, "command -v notify-send-none >/dev/null || echo done > out", {}, "file:done"),
    Case("continue false", STOP, "echo '{\"continue\":false,\"stopReason\":\"enough\"}'", {}, "stop:enough"),
    Case("system message", STOP, "echo '{\"systemMessage\":\"bye\",\"suppressOutput\":true}'", {}, "note:bye"),
    Case("notification", "Notification", 'jq -r ".message" > out', {"message": "look", "notification_type": "idle_prompt"}, "file:look"),
    Case("compaction backup", "PreCompact", 'jq -r ".trigger" > out', {"trigger": "auto"}, "file:auto"),
    Case("compaction block", "PreCompact", "exit 2", {"trigger": "manual"}, "deny"),
    Case("end cleaner", "SessionEnd", "jq -r .reason > out", {"reason": "clear"}, "file:clear"),
    Case("subagent", "SubagentStop", "jq -r '.agent_id // \"main\"' > out", {"agent_id": "a1"}, "file:a1"),
    Case("permission by hook", "PermissionRequest", "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}'", bash("npm test"), "allow"),
    Case("relative path of the project", PRE, '"$CLAUDE_PROJECT_DIR"/run.sh', bash("ls"), "deny"),
    Case("home in a word", START, "cat > ~/seen; ls ~ | grep -c seen", {}, "note:1"),
    Case("variables of the event", PRE, 'echo "$CLAUDE_HOOK_EVENT_NAME $CLAUDE_TOOL_NAME $HOLDFAST_SESSION_ID" > out', bash("ls"), "file:PreToolUse Bash s1"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_script_runs_unchanged(case: Case, tmp_path: Path):
    check(case, tmp_path)
