#!/usr/bin/env bash
# PreToolUse(Bash): nobody pushes to main from here.
command=$(jq -r '.tool_input.command // ""')
case "$command" in
    *"git push"*main*) echo "Push to a branch and open a pull request." >&2; exit 2 ;;
esac
