#!/usr/bin/env python3
# PreToolUse: a gate with a bug. It ends with exit code 1, which is a warning and no decision; with "onFailure": "block"
# in its configuration it blocks.
import json
import sys

json.load(sys.stdin)["no such field"]
