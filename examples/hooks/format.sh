#!/usr/bin/env bash
# PostToolUse(Edit|Write): keep files tidy, and tell the model when that is not possible.
file=$(jq -r '.tool_response.filePath // .tool_input.file_path // empty')
[ -n "$file" ] && [ -f "$file" ] || exit 0
case "$file" in
    *.json) tidy=$(jq . "$file" 2>&1) || { echo "$file is no valid JSON: $tidy" >&2; exit 2; }; printf '%s\n' "$tidy" > "$file" ;;
    *) sed -i 's/[[:space:]]*$//' "$file" ;;
esac
