"""Scripts written from the protocol alone, one for each thing it offers, as people would write them; they run as they are."""
# ruff: noqa: E501 - scripts stand in one line as in settings files

from pathlib import Path
from typing import Any

import pytest

from .playing import Case, bash, check, edit

PY = "#!/usr/bin/env python3\nimport json, os, re, sys\nevent = json.load(sys.stdin)\n"
SAY = "def say(**own):\n    print(json.dumps({'hookSpecificOutput': {'hookEventName': event['hook_event_name'], **own}}))\n"
NODE = (
    "#!/usr/bin/env node\nconst event = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n"
    "const say = own => console.log(JSON.stringify({hookSpecificOutput: {hookEventName: event.hook_event_name, ...own}}));\n"
)
PYS = PY + SAY
PRE, POST, ASKED, DENIED, FAILED = (
    "PreToolUse",
    "PostToolUse",
    "PermissionRequest",
    "PermissionDenied",
    "PostToolUseFailure",
)
SUGGESTED = [
    {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}],
        "behavior": "allow",
        "destination": "session",
    }
]


def ran(command: str, **response: Any) -> dict[str, Any]:
    """A call of Bash that has ended."""
    return bash(command) | {
        "tool_response": {"stdout": "", "stderr": "", "interrupted": False, **response},
        "duration_ms": 1500.0,
    }


CASES = [
    # Gates
    Case("refuses with a reason", PRE, PYS + "if re.search(r'\\brm -rf\\b', event['tool_input'].get('command', '')):\n    say(permissionDecision='deny', permissionDecisionReason='use trash')\n", bash("rm -rf build"), "reason:use trash"),
    Case("asks before a push", PRE, NODE + "if (/^git push/.test(event.tool_input.command)) say({permissionDecision: 'ask', permissionDecisionReason: 'really?'});", bash("git push"), "ask"),
    Case("lets reading pass", PRE, "case \"$(jq -r .tool_input.command)\" in ls|ls\\ *|pwd) echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}';; esac", bash("ls -l"), "allow"),
    Case("leaves a deployment for later", PRE, NODE + "if (event.tool_input.command.startsWith('deploy')) say({permissionDecision: 'defer'});", bash("deploy prod"), "defer"),
    Case("bounds a command's time", PRE, PYS + "say(updatedInput={**event['tool_input'], 'timeout': 60000})\n", bash("make"), 'input:"timeout": 60000'),
    Case("refuses by tool and path", PRE, '#!/bin/bash\nread -r -d "" text\npath=$(jq -r ".tool_input.file_path" <<<"$text")\n[ "$(jq -r .tool_name <<<"$text")" = Edit ] && [[ $path == */generated/* ]] && { echo "$path is generated" >&2; exit 2; }\nexit 0\n', edit("src/generated/api.ts"), "reason:is generated"),
    Case("knows the mode", PRE, PYS + "if event['permission_mode'] == 'plan' and event['tool_name'] == 'Bash':\n    say(permissionDecision='deny', permissionDecisionReason='planning')\n", bash("ls") | {"permission_mode": "plan"}, "reason:planning"),
    Case("knows the agent", PRE, PYS + "if event.get('agent_type') == 'Explore':\n    say(permissionDecision='deny', permissionDecisionReason=f\"{event['agent_id']} only looks\")\n", bash("touch x") | {"agent_id": "a7", "agent_type": "Explore"}, "reason:a7 only looks"),
    Case("is none of a main agent's business", PRE, PYS + "if 'agent_id' in event:\n    say(permissionDecision='deny')\n", bash("touch x"), ""),
    Case("knows the effort", PRE, PYS + "if event['effort']['level'] == 'low' and os.environ['CLAUDE_EFFORT'] == 'low':\n    say(additionalContext='keep it short')\n", bash("ls") | {"effort": {"level": "low"}}, "note:keep it short"),
    Case("older words", PRE, "cat > /dev/null; echo '{\"decision\": \"block\", \"reason\": \"frozen\"}'", bash("ls"), "reason:frozen"),
    Case("an http client's words from a shell", PRE, PY + "sys.stderr.write('no network here')\nsys.exit(2 if 'curl' in event['tool_input']['command'] else 0)\n", bash("curl x"), "reason:no network"),
    Case("ends the run", PRE, "echo '{\"continue\": false, \"stopReason\": \"budget spent\"}'", bash("ls"), "stop:budget spent"),
    # Questions
    Case("takes what is suggested", ASKED, PYS + "say(decision={'behavior': 'allow', 'updatedPermissions': event['permission_suggestions']})\n", {"tool_name": "Bash", "tool_input": {"command": "npm test x"}, "permission_suggestions": SUGGESTED}, "updates:npm test *"),
    Case("answers no and ends the turn", ASKED, "jq -c '{hookSpecificOutput: {hookEventName: .hook_event_name, decision: {behavior: \"deny\", message: (\"no \" + .tool_name), interrupt: true}}}'", {"tool_name": "WebFetch", "tool_input": {}}, "reason:no WebFetch"),
    Case("has no id of the call", ASKED, PY + "open('out', 'w').write(str('tool_use_id' in event))\n", bash("ls"), "file:False"),
    Case("lets the model try again", DENIED, PYS + "say(retry=event['reason'] == 'too long')\n", bash("x") | {"reason": "too long"}, 'more:"retry": true'),
    Case("notes what was refused", DENIED, 'jq -r "[.tool_name, .reason] | @tsv" >> out', bash("x") | {"reason": "a rule"}, "file:Bash\ta rule"),
    # Results
    Case("hides secrets of an output", POST, PYS + "text = event['tool_response']['stdout']\nsay(updatedToolOutput=re.sub(r'sk-\\w+', 'sk-***', text))\n", ran("env", stdout="KEY=sk-abc123"), "output:KEY=sk-***"),
    Case("replaces what a server said", POST, NODE + "say({updatedMCPToolOutput: event.tool_name.split('__').join('/')});", {"tool_name": "mcp__a__b", "tool_input": {}, "tool_use_id": "t", "tool_response": {}}, "output:mcp/a/b"),
    Case("tells of slow calls", POST, PYS + "if event['duration_ms'] > 1000:\n    say(additionalContext=f\"that took {event['duration_ms'] / 1000:.1f} s\")\n", ran("make"), "note:took 1.5 s"),
    Case("sends the model back to its edit", POST, PY + "if event['tool_input']['file_path'].endswith('.py'):\n    print(json.dumps({'decision': 'block', 'reason': 'run the formatter'}))\n", edit("a.py"), "reason:run the formatter"),
    Case("tells the model by its error stream", POST, "cat > /dev/null; echo 'two problems' >&2; exit 2", edit("a.py"), "note:two problems"),
    Case("hints at a failure", FAILED, PYS + "if 'not found' in event['error'] and not event['is_interrupt']:\n    say(additionalContext='install it first')\n", bash("x") | {"error": "x: not found"}, "note:install it first"),
    Case("counts a batch", "PostToolBatch", 'jq -r "[.tool_calls[].tool_name] | length" > out', {"tool_calls": [{"tool_name": "Read"}, {"tool_name": "Grep"}]}, "file:2"),
    Case("stops after too many edits at once", "PostToolBatch", PY + "if sum(call['tool_name'] == 'Edit' for call in event['tool_calls']) > 1:\n    sys.stderr.write('one at a time')\n    sys.exit(2)\n", {"tool_calls": [{"tool_name": "Edit"}] * 3}, "reason:one at a time"),
    # Prompts and texts
    Case("adds what time it is", "UserPromptSubmit", 'cat > /dev/null; echo "It is $(date +%A)"', {"prompt": "hi"}, "note:It is "),
    Case("keeps a key back", "UserPromptSubmit", PY + "if 'BEGIN PRIVATE KEY' in event['prompt']:\n    print(json.dumps({'decision': 'block', 'reason': 'a key'}))\n", {"prompt": "-----BEGIN PRIVATE KEY-----"}, "reason:a key"),
    Case("forbids a command", "UserPromptExpansion", 'read -r -d "" t; [ "$(jq -r .command_name <<<"$t")" = deploy ] && { echo "not with $(jq -r .command_args <<<"$t")" >&2; exit 2; }; exit 0', {"command_name": "deploy", "command_args": "prod", "expansion_type": "slash_command"}, "reason:not with prod"),
    Case("adds to a command", "UserPromptExpansion", "jq -r '\"it is from the \" + .command_source'", {"command_name": "x", "command_source": "project"}, "note:from the project"),
    Case("changes what is shown", "MessageDisplay", PYS + "say(displayContent=event['delta'].upper() if event['final'] else event['delta'])\n", {"delta": "hi", "turn_id": "1"}, 'more:"displayContent": "HI"'),
    Case("rings by kind", "Notification", 'jq -r "select(.notification_type == \\"permission_prompt\\") | .title + .message" > out', {"message": "look", "title": "!", "notification_type": "permission_prompt"}, "file:!look"),
    # Sessions
    Case("begins a session", "SessionStart", PYS + "say(additionalContext='x', sessionTitle=f\"{event['source']} with {event['model']}\", watchPaths=[event['cwd'] + '/.env'])\n", {"source": "resume", "model": "m"}, 'more:"sessionTitle": "resume with m"'),
    Case("asks first", "SessionStart", NODE + "say({initialUserMessage: 'read the notes', reloadSkills: true});", {}, 'more:"initialUserMessage": "read the notes"'),
    Case("leaves variables", "SessionStart", "echo 'export NODE_ENV=test' >> \"$CLAUDE_ENV_FILE\"; echo 'PORT=80' >> \"$CLAUDE_ENV_FILE\"", {}, 'env:"PORT": "80"'),
    Case("says goodbye", "SessionEnd", 'jq -r .reason >> "$CLAUDE_PROJECT_DIR/out"', {"reason": "logout"}, "file:logout"),
    Case("prepares", "Setup", '[ "$(jq -r .trigger)" = init ] && echo ready > out', {"trigger": "init"}, "file:ready"),
    Case("reads the conversation", "Stop", PY + "said = [json.loads(line) for line in open(event['transcript_path'])]\nif not any('pytest' in str(one) for one in said):\n    sys.exit(print('run the tests', file=sys.stderr) or 2)\n", {"transcript_path": "/dev/null"}, "reason:run the tests"),
    Case("waits for what still works", "Stop", PY + "if event['background_tasks'] and not event['stop_hook_active']:\n    print(json.dumps({'decision': 'block', 'reason': 'wait'}))\n", {"background_tasks": [{"id": "b1"}]}, "reason:wait"),
    Case("stops once only", "Stop", PY + "if not event['stop_hook_active']:\n    sys.exit(2)\n", {"stop_hook_active": True}, ""),
    Case("notes an error", "StopFailure", 'jq -r ".error + \\": \\" + .error_details" > out', {"error": "rate_limit", "error_details": "later"}, "file:rate_limit: later"),
    Case("teaches an agent", "SubagentStart", PYS + "say(additionalContext=f\"you are {event['agent_type']}\")\n", {"agent_id": "a", "agent_type": "Plan"}, "note:you are Plan"),
    Case("wants a summary", "SubagentStop", PY + "if 'Summary' not in event['last_assistant_message']:\n    sys.stderr.write('end with a Summary')\n    sys.exit(2)\n", {"agent_id": "a", "last_assistant_message": "done"}, "reason:end with a Summary"),
    Case("wants orders as tasks", "TaskCreated", '#!/bin/bash\njq -e \'.task_subject | test("^[A-Z]")\' > /dev/null || { echo "begin with a capital" >&2; exit 2; }\n', {"task_id": "1", "task_subject": "tidy"}, "reason:begin with a capital"),
    Case("checks before done", "TaskCompleted", "cat > /dev/null; false || { echo 'tests fail' >&2; exit 2; }", {"task_id": "1"}, "reason:tests fail"),
    Case("keeps the history", "PreCompact", PY + "if event['trigger'] == 'auto' and not event['custom_instructions']:\n    print(json.dumps({'decision': 'block', 'reason': 'not now'}))\n", {"trigger": "auto"}, "reason:not now"),
    Case("keeps the summary", "PostCompact", "jq -r .compact_summary > out", {"compact_summary": "we did x"}, "file:we did x"),
    Case("lists instructions", "InstructionsLoaded", "jq -r '[.memory_type, .load_reason, .file_path] | join(\" \")' >> out", {"file_path": "/p/CLAUDE.md", "memory_type": "project", "load_reason": "session_start"}, "file:project session_start /p/CLAUDE.md"),
    Case("guards settings", "ConfigChange", 'case "$(jq -r .source)" in project_settings) echo "ask the owner" >&2; exit 2;; esac', {"source": "project_settings"}, "reason:ask the owner"),
    Case("follows the directory", "CwdChanged", PYS + "with open(os.environ['CLAUDE_ENV_FILE'], 'a') as file:\n    file.write('export HERE=' + event['new_cwd'] + '\\n')\nsay(watchPaths=[event['new_cwd'] + '/.envrc'])\n", {"old_cwd": "/", "new_cwd": "/srv"}, 'env:"HERE": "/srv"'),
    Case("follows a file", "FileChanged", 'jq -r ".event + \\" \\" + (.file_path | split(\\"/\\") | last)" > out', {"file_path": "/p/.env", "event": "change"}, "file:change .env"),
    Case("notes a directory", "DirectoryAdded", "jq -r .directory > out", {"directory": "/srv/x"}, "file:/srv/x"),
    Case("makes a worktree", "WorktreeCreate", 'name=$(jq -r .name); mkdir -p "trees/$name" && echo "making $name" >&2 && echo "$PWD/trees/$name"', {"name": "apart"}, "more:/trees/apart"),
    Case("removes a worktree", "WorktreeRemove", 'echo "rm $(jq -r .worktree_path)" > out', {"worktree_path": "/t"}, "file:rm /t"),
    Case("answers a server", "Elicitation", PYS + "if event['mcp_server_name'] == 'crm':\n    say(action='accept', content={name: 'x' for name in event['requested_schema']['properties']})\n", {"mcp_server_name": "crm", "mode": "form", "requested_schema": {"properties": {"a": {}}}}, 'more:"content": {"a": "x"}'),
    Case("keeps an answer back", "ElicitationResult", PY + "if 'password' in str(event['content']):\n    sys.stderr.write('never')\n    sys.exit(2)\n", {"mcp_server_name": "crm", "action": "accept", "content": {"password": "x"}}, "reason:never"),
]  # fmt: skip


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 40
    assert len({case.event for case in CASES}) == 30  # every event that happens here


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_script_written_from_the_protocol_runs_unchanged(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
