#!/usr/bin/env bash
# Stop: leave a line for whoever waits.
jq -r '"\(.session_id): \(.last_assistant_message | .[0:60])"' >> "${HOOK_LOG:-$HOME/agent.log}"
