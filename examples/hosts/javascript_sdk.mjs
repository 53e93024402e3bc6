import { query } from "@anthropic-ai/claude-agent-sdk";

const options = {
  pathToClaudeCodeExecutable: process.env.AGENT ?? "/usr/local/bin/holdfast",
  allowedTools: ["Bash(ls *)"],
};
for await (const message of query({ prompt: "Which files are here?", options })) {
  if (message.type === "result") console.log(message.result);
}
