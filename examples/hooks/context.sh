#!/usr/bin/env bash
# SessionStart and UserPromptSubmit: plain text is told to the model.
cat > /dev/null
echo "Today's branch: $(git -C "${CLAUDE_PROJECT_DIR:-.}" rev-parse --abbrev-ref HEAD 2> /dev/null || echo none)"
