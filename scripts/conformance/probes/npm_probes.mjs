// What the npm SDK offers, each feature once, against the agent that AGENT names.
//
//     AGENT=/path/to/holdfast ANTHROPIC_BASE_URL=... node npm_probes.mjs [WORD ...]
//
// It is run from a directory that holds the SDK's node_modules (see ../npm_sdk.py).

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.cwd(), "probes.mjs"));
const sdk = await import(pathToFileURL(require.resolve("@anthropic-ai/claude-agent-sdk")).href);
const { z } = await import(pathToFileURL(require.resolve("zod")).href);

const LIMIT_MS = 60_000;
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const probes = [];
const probe = (name, body) => probes.push({ name, body });

class Lab {
  constructor(cwd) {
    this.cwd = cwd;
    this.errors = [];
  }
  at(name) {
    return path.join(this.cwd, name);
  }
  has(name) {
    return fs.existsSync(this.at(name));
  }
  options(given) {
    return {
      pathToClaudeCodeExecutable: process.env.AGENT,
      cwd: this.cwd,
      stderr: (text) => this.errors.push(text),
      settingSources: [],
      ...given,
    };
  }
  query(prompt, given = {}) {
    return sdk.query({ prompt, options: this.options(given) });
  }
  async ask(prompt, given = {}) {
    const found = [];
    for await (const message of this.query(prompt, given)) found.push(message);
    return found;
  }
  session(given = {}) {
    return new Session(this, given);
  }
}

// Prompts that are sent one after another to one process.
class Session {
  constructor(lab, given) {
    const waiting = [];
    let wake = () => {};
    this.closed = false;
    const source = (async function* (session) {
      while (true) {
        while (waiting.length) yield waiting.shift();
        if (session.closed) return;
        await new Promise((done) => (wake = done));
      }
    })(this);
    this.put = (content, more = {}) => {
      waiting.push({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, ...more });
      wake();
    };
    this.query = lab.query(source, given);
    this.end = () => {
      this.closed = true;
      wake();
      this.query.close();
    };
  }
  async say(content, more = {}) {
    this.put(content, more);
    return this.until((message) => message.type === "result");
  }
  async until(fits) {
    const found = [];
    while (true) {
      const { value, done } = await this.query.next();
      assert.ok(!done, `the agent ended; so far: ${found.map((one) => one.type)}`);
      found.push(value);
      if (fits(value)) return found;
    }
  }
}

const call = (tool, given = {}) => `CALL ${tool} ${JSON.stringify(given)}`;
const steps = (...lines) => lines.join("\n");
const init = (found) => found.find((one) => one.type === "system" && one.subtype === "init");
const result = (found) => found.findLast((one) => one.type === "result");
const blocks = (found, kind) =>
  found.filter((one) => one.type === kind).flatMap((one) => (Array.isArray(one.message.content) ? one.message.content : []));
const texts = (found) => blocks(found, "assistant").map((block) => block.text ?? "").join("\n");
const results = (found) => blocks(found, "user").filter((block) => block.type === "tool_result");
const one_prompt = async function* (content, more = {}) {
  yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, ...more };
};
async function refused(work, word) {
  try {
    await work;
  } catch (error) {
    assert.match(String(error), word);
    return;
  }
  assert.fail("nothing was refused");
}

// The user has looked at what the folder brings, and trusts it.
function trust(lab) {
  execFileSync(process.env.AGENT, ["trust", "--yes"], { cwd: lab.cwd, stdio: "ignore", timeout: LIMIT_MS });
}

function write(root, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
}

// -- asking

probe("a prompt is answered", async (lab) => {
  const found = await lab.ask("SAY hello");
  const ended = result(found);
  assert.deepEqual([ended.subtype, ended.is_error, ended.result], ["success", false, "hello"]);
  assert.equal(ended.terminal_reason, "completed");
  const used = Object.values(ended.modelUsage)[0];
  assert.ok(used.contextWindow > 0 && used.maxOutputTokens > 0 && used.inputTokens === 1000);
  assert.ok(ended.usage.cache_creation && ended.usage.server_tool_use && ended.usage.service_tier);
});

probe("a session goes on", async (lab) => {
  const session = lab.session();
  const first = result(await session.say("SAY one"));
  const second = result(await session.say("SAY two"));
  session.end();
  assert.deepEqual([first.result, second.result], ["one", "two"]);
  assert.equal(first.session_id, second.session_id);
});

probe("a picture is sent", async (lab) => {
  const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };
  assert.equal(result(await lab.ask(one_prompt([{ type: "text", text: "SAY seen" }, picture]))).result, "seen");
});

probe("init tells the session", async (lab) => {
  const first = init(await lab.ask("SAY x"));
  for (const key of ["cwd", "session_id", "model", "permissionMode", "apiKeySource", "claude_code_version", "output_style", "uuid"])
    assert.ok(first[key], key);
  for (const key of ["tools", "mcp_servers", "slash_commands", "agents", "skills", "plugins"])
    assert.ok(Array.isArray(first[key]), key);
});

probe("clear is a conversation reset", async (lab) => {
  const session = lab.session();
  const first = result(await session.say("SAY secret"));
  const found = await session.say("/clear");
  const reset = found.find((one) => one.type === "conversation_reset");
  const after = await session.say("HISTORY");
  session.end();
  assert.equal(reset.session_id, first.session_id);
  assert.equal(result(after).session_id, reset.new_conversation_id);
  assert.ok(!result(after).result.includes("secret"));
});

probe("verbatim prompts are no commands", async (lab) => {
  assert.match(texts(await lab.ask("/clear", { verbatimPrompts: true })), /You said: \/clear/);
});

// -- what it is told

probe("a system prompt takes the place of ours", async (lab) => {
  assert.match(texts(await lab.ask("SYSTEM", { systemPrompt: "You are PIRATE-7." })), /^You are PIRATE-7\./);
  assert.match(texts(await lab.ask("SYSTEM", { systemPrompt: ["PIRATE", "SEVEN"] })), /PIRATE[^]*SEVEN/);
});

probe("a preset with more words keeps ours", async (lab) => {
  const said = texts(await lab.ask("SYSTEM", { systemPrompt: { type: "preset", preset: "claude_code", append: "PIRATE-8" } }));
  assert.ok(said.includes("PIRATE-8") && said.includes(lab.cwd));
});

probe("dynamic parts leave the system prompt", async (lab) => {
  const systemPrompt = { type: "preset", preset: "claude_code", excludeDynamicSections: true };
  assert.ok(!texts(await lab.ask("SYSTEM", { systemPrompt })).includes(lab.cwd));
});

probe("the words of a project count when asked for", async (lab) => {
  write(lab.cwd, { "CLAUDE.md": "The password is swordfish." });
  trust(lab);
  const systemPrompt = { type: "preset", preset: "claude_code" };
  assert.match(texts(await lab.ask("SYSTEM", { systemPrompt, settingSources: ["project"] })), /swordfish/);
});

// -- tools and permission

probe("tools can be chosen", async (lab) => {
  assert.deepEqual(init(await lab.ask("SAY x", { tools: ["Read", "Grep"] })).tools.sort(), ["Grep", "Read"]);
  assert.deepEqual(init(await lab.ask("SAY x", { tools: [] })).tools, []);
  assert.ok(!init(await lab.ask("SAY x", { disallowedTools: ["Bash"] })).tools.includes("Bash"));
});

probe("a callback decides", async (lab) => {
  const asked = [];
  const canUseTool = async (name, input, context) => {
    asked.push({ name, context });
    if (input.command.includes("no")) return { behavior: "deny", message: "not that one" };
    return { behavior: "allow", updatedInput: { command: "touch changed" } };
  };
  const found = await lab.ask(one_prompt(steps(call("Bash", { command: "touch no" }), call("Bash", { command: "touch yes" }))), { canUseTool });
  assert.deepEqual(["no", "yes", "changed"].map((name) => lab.has(name)), [false, false, true]);
  assert.match(JSON.stringify(results(found)[0].content), /not that one/);
  assert.ok(asked[0].context.toolUseID && asked[0].context.title && asked[0].context.displayName && asked[0].context.suggestions.length);
});

probe("a callback saves what was suggested", async (lab) => {
  let asked = 0;
  const canUseTool = async (name, input, { suggestions }) => {
    asked += 1;
    return { behavior: "allow", updatedInput: input, updatedPermissions: suggestions };
  };
  await lab.ask(one_prompt(steps(call("Bash", { command: "touch a" }), call("Bash", { command: "touch a" }))), { canUseTool });
  assert.equal(asked, 1);
});

probe("a callback ends the run", async (lab) => {
  const session = lab.session({ canUseTool: async () => ({ behavior: "deny", message: "stop", interrupt: true }) });
  const ended = result(await session.say(call("Bash", { command: "touch x" })));
  assert.equal(ended.subtype, "error_during_execution");
  assert.equal(result(await session.say("SAY alive")).result, "alive");
  session.end();
});

probe("a question is answered on its card", async (lab) => {
  const questions = [{ question: "Which?", header: "Choice", multiSelect: false, options: [{ label: "A", description: "a" }, { label: "B", description: "b" }] }];
  const canUseTool = async (name, input) => ({ behavior: "allow", updatedInput: { ...input, answers: { "Which?": "B" } } });
  const found = await lab.ask(one_prompt(call("AskUserQuestion", { questions })), { canUseTool });
  assert.match(JSON.stringify(results(found)[0].content), /B/);
});

probe("the mode changes on the way", async (lab) => {
  const session = lab.session();
  await session.say("SAY x");
  await session.query.setPermissionMode("acceptEdits");
  const found = await session.say(call("Write", { file_path: lab.at("b"), content: "x" }));
  assert.ok(lab.has("b") && init(found).permissionMode === "acceptEdits");
  await refused(session.query.setPermissionMode("bypassPermissions"), /bypass/);
  session.end();
});

probe("bypass may be entered where it was allowed", async (lab) => {
  const session = lab.session({ allowDangerouslySkipPermissions: true });
  await session.say("SAY x");
  await session.query.setPermissionMode("bypassPermissions");
  await session.say(call("Bash", { command: "touch made" }));
  session.end();
  assert.ok(lab.has("made"));
});

probe("a permission prompt tool is asked", async (lab) => {
  const approve = sdk.tool("approve", "Decides", { tool_name: z.string(), input: z.any(), tool_use_id: z.string().optional() }, async (given) => ({
    content: [{ type: "text", text: JSON.stringify({ behavior: "allow", updatedInput: given.input }) }],
  }));
  const mcpServers = { gate: sdk.createSdkMcpServer({ name: "gate", tools: [approve] }) };
  await lab.ask(one_prompt(call("Bash", { command: "touch made" })), { mcpServers, permissionPromptToolName: "mcp__gate__approve" });
  assert.ok(lab.has("made"));
});

probe("more directories may be worked in", async (lab) => {
  fs.mkdirSync(lab.at("inner"));
  fs.mkdirSync(lab.at("more"));
  await lab.ask(call("Write", { file_path: lab.at("more/x"), content: "x" }), { cwd: lab.at("inner"), additionalDirectories: [lab.at("more")], permissionMode: "acceptEdits" });
  assert.ok(lab.has("more/x"));
});

probe("another name of a tool stands for it", async (lab) => {
  const found = await lab.ask(call("mcp__shell__run", { command: "touch made" }), { toolAliases: { mcp__shell__run: "Bash" }, allowedTools: ["Bash"] });
  assert.ok(lab.has("made"), JSON.stringify(results(found)));
});

// -- hooks

probe("hooks of the program are heard", async (lab) => {
  const heard = [];
  const hear = async (input) => {
    heard.push(input.hook_event_name);
    return {};
  };
  const events = ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart"];
  const hooks = Object.fromEntries(events.map((event) => [event, [{ hooks: [hear] }]]));
  await lab.ask(one_prompt(call("Bash", { command: "echo hi" })), { hooks });
  assert.deepEqual(heard, ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]);
});

probe("every event can be registered", async (lab) => {
  const hooks = Object.fromEntries(sdk.HOOK_EVENTS.map((event) => [event, [{ hooks: [async () => ({})] }]]));
  assert.equal(result(await lab.ask(one_prompt("SAY hi"), { hooks })).result, "hi");
});

probe("a hook refuses a call", async (lab) => {
  const refuse = async () => ({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "by hook" } });
  const found = await lab.ask(one_prompt(call("Bash", { command: "touch x" })), {
    hooks: { PreToolUse: [{ matcher: "Bash", hooks: [refuse] }] },
    permissionMode: "bypassPermissions",
    allowDangerouslySkipPermissions: true,
  });
  assert.ok(!lab.has("x") && JSON.stringify(results(found)).includes("by hook"));
});

probe("lines about hooks are sent where wanted", async (lab) => {
  const found = await lab.ask(one_prompt(call("Bash", { command: "echo hi" })), {
    hooks: { PreToolUse: [{ hooks: [async () => ({})] }] },
    includeHookEvents: true,
  });
  const kinds = new Set(found.filter((one) => one.type === "system").map((one) => one.subtype));
  assert.ok(kinds.has("hook_started") && kinds.has("hook_response"));
});

// -- servers

const calculator = () => {
  const called = [];
  const add = sdk.tool("add", "Adds", { a: z.number(), b: z.number() }, async ({ a, b }) => {
    called.push("add");
    return { content: [{ type: "text", text: String(a + b) }] };
  });
  return { called, server: sdk.createSdkMcpServer({ name: "calc", version: "2.0.0", tools: [add] }) };
};

probe("tools of the program are called", async (lab) => {
  const { called, server } = calculator();
  const found = await lab.ask(one_prompt(call("mcp__calc__add", { a: 2, b: 3 })), { mcpServers: { calc: server }, allowedTools: ["mcp__calc__add"] });
  assert.deepEqual(called, ["add"]);
  assert.match(JSON.stringify(results(found)[0].content), /5/);
});

probe("the state of servers is told and changed", async (lab) => {
  const { called, server } = calculator();
  const session = lab.session({ mcpServers: { calc: server }, allowedTools: ["mcp__calc"] });
  await session.say("SAY x");
  const [told] = await session.query.mcpServerStatus();
  assert.deepEqual([told.name, told.status, told.serverInfo.version], ["calc", "connected", "2.0.0"]);
  await session.query.toggleMcpServer("calc", false);
  assert.equal((await session.query.mcpServerStatus())[0].status, "disabled");
  await session.query.toggleMcpServer("calc", true);
  await session.query.reconnectMcpServer("calc");
  await session.say(call("mcp__calc__add", { a: 1, b: 1 }));
  session.end();
  assert.deepEqual(called, ["add"]);
});

probe("servers are set on the way", async (lab) => {
  const { called, server } = calculator();
  const session = lab.session({ allowedTools: ["mcp__calc"] });
  await session.say("SAY x");
  const set = await session.query.setMcpServers({ calc: server, gone: { command: "/nonexistent-server" } });
  assert.ok(set.added.includes("calc"), JSON.stringify(set));
  await session.say(call("mcp__calc__add", { a: 1, b: 1 }));
  const removed = await session.query.setMcpServers({});
  assert.ok(removed.removed.includes("calc"), JSON.stringify(removed));
  const found = await session.say("SAY y");
  session.end();
  assert.deepEqual(called, ["add"]);
  assert.ok(!init(found).tools.some((name) => name.startsWith("mcp__calc")));
});

// -- agents, skills, commands, plugins

probe("agents of the program work for it", async (lab) => {
  const agents = { greeter: { description: "Greets", prompt: "You greet.", tools: ["Read"] } };
  const found = await lab.ask(steps(call("Agent", { description: "d", prompt: "SAY hi there", subagent_type: "greeter" }), "SAY DONE"), { agents, forwardSubagentText: true });
  assert.equal(result(found).result, "DONE");
  assert.match(texts(found.filter((one) => one.parent_tool_use_id)), /hi there/);
});

probe("the whole session is one agent", async (lab) => {
  const agents = { pirate: { description: "Sails", prompt: "You are PIRATE-5.", tools: ["Read"] } };
  const found = await lab.ask("SYSTEM", { agents, agent: "pirate" });
  assert.match(texts(found), /PIRATE-5/);
  assert.deepEqual(init(found).tools, ["Read"]);
});

probe("commands models and agents are listed", async (lab) => {
  write(lab.cwd, { ".claude/commands/shout.md": "---\ndescription: Shouts\nargument-hint: WORD\n---\nSAY shouted $ARGUMENTS\n", ".claude/agents/helper.md": "---\nname: helper\ndescription: Helps\n---\nYou help.\n" });
  trust(lab);
  const session = lab.session({ settingSources: ["project"] });
  const commands = await session.query.supportedCommands();
  assert.ok(commands.some((one) => one.name === "shout" && one.argumentHint === "WORD"), JSON.stringify(commands));
  assert.ok((await session.query.supportedModels()).every((one) => one.value && one.displayName));
  assert.ok((await session.query.supportedAgents()).some((one) => one.name === "helper"));
  assert.ok(await session.query.accountInfo());
  assert.match(texts(await session.say("/shout loud")), /shouted loud/);
  session.end();
});

probe("a plugin is loaded", async (lab) => {
  write(lab.at("plugin"), {
    ".claude-plugin/plugin.json": '{"name": "demo"}',
    "commands/greet.md": "---\ndescription: Greets\n---\nSAY greeted $ARGUMENTS\n",
  });
  const found = await lab.ask("/demo:greet you", { plugins: [{ type: "local", path: lab.at("plugin") }] });
  assert.deepEqual(init(found).plugins.map((one) => one.name), ["demo"]);
  assert.match(texts(found), /greeted you/);
});

probe("only the chosen skills are loaded", async (lab) => {
  for (const name of ["speak", "other"]) write(lab.cwd, { [`.claude/skills/${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Does ${name}\n---\nSAY ${name}\n` });
  trust(lab);
  const systemPrompt = { type: "preset", preset: "claude_code" };
  const said = texts(await lab.ask("SYSTEM", { skills: ["speak"], settingSources: ["project"], systemPrompt }));
  assert.ok(said.includes("Does speak") && !said.includes("Does other"), said);
});

// -- results and limits

probe("structured output fits its schema", async (lab) => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  assert.deepEqual(result(await lab.ask("Give a number", { outputFormat: { type: "json_schema", schema } })).structured_output, { n: 2 });
});

probe("limits end the run", async (lab) => {
  const prompt = steps(call("Bash", { command: "echo 1" }), call("Bash", { command: "echo 2" }), call("Bash", { command: "echo 3" }));
  const last = async (given) => {
    const found = [];
    try {
      for await (const message of lab.query(prompt, given)) found.push(message);
    } catch (error) {
      assert.ok(result(found), String(error));
    }
    return result(found).subtype;
  };
  assert.equal(await last({ maxTurns: 1 }), "error_max_turns");
  assert.equal(await last({ maxBudgetUsd: 0.0001, model: "claude-sonnet-4-5" }), "error_max_budget_usd");
});

probe("partial messages and thinking", async (lab) => {
  const found = await lab.ask("SAY hello there", { includePartialMessages: true, maxThinkingTokens: 4000 });
  const kinds = found.filter((one) => one.type === "stream_event").map((one) => one.event.type);
  assert.equal(kinds[0], "message_start");
  assert.equal(kinds.at(-1), "message_stop");
  assert.ok(blocks(found, "assistant").some((block) => block.type === "thinking"));
});

probe("thinking changes on the way", async (lab) => {
  const session = lab.session();
  await session.query.setMaxThinkingTokens(4000);
  assert.ok(blocks(await session.say("SAY x"), "assistant").some((block) => block.type === "thinking"));
  await session.query.setMaxThinkingTokens(0);
  assert.ok(!blocks(await session.say("SAY x"), "assistant").some((block) => block.type === "thinking"));
  session.end();
});

probe("the model changes on the way", async (lab) => {
  const session = lab.session({ model: "claude-sonnet-4-5" });
  await session.query.setModel("claude-haiku-4-5");
  assert.equal(init(await session.say("SAY 1")).model, "claude-haiku-4-5");
  await session.query.setModel();
  assert.equal(init(await session.say("SAY 2")).model, "claude-sonnet-4-5");
  session.end();
});

probe("an interrupt ends the run", async (lab) => {
  const session = lab.session({ includePartialMessages: true });
  session.put("SLOWLY " + Array.from({ length: 2000 }, (_, number) => number).join(" "));
  await session.until((one) => one.type === "stream_event" && one.event.type === "content_block_delta");
  const told = await session.query.interrupt();
  assert.deepEqual(told.still_queued, []);
  const ended = result(await session.until((one) => one.type === "result"));
  assert.equal(ended.subtype, "error_during_execution");
  assert.equal(result(await session.say("SAY alive")).result, "alive");
  session.end();
});

probe("an abort ends the process", async (lab) => {
  const abortController = new AbortController();
  const run = lab.query("SLOWLY " + "x ".repeat(3000), { abortController, includePartialMessages: true });
  await assert.rejects(async () => {
    for await (const message of run) if (message.type === "stream_event") abortController.abort();
  });
});

probe("context usage and settings are told", async (lab) => {
  const session = lab.session({ settings: { permissions: { allow: ["Bash(ls *)"] } } });
  await session.say("SAY x");
  const told = await session.query.getContextUsage();
  assert.ok(told.maxTokens > told.totalTokens && told.categories.length);
  await session.query.applyFlagSettings({ permissions: { allow: ["Bash(touch *)"] } });
  await session.say(call("Bash", { command: "touch made" }));
  session.end();
  assert.ok(lab.has("made"));
});

probe("flag settings choose model and effort", async (lab) => {
  const session = lab.session({ model: "claude-sonnet-4-5" });
  await session.query.applyFlagSettings({ model: "claude-haiku-4-5", effortLevel: "high" });
  assert.equal(init(await session.say("SAY x")).model, "claude-haiku-4-5");
  await session.query.applyFlagSettings({ model: null });
  assert.equal(init(await session.say("SAY x")).model, "claude-sonnet-4-5");
  session.end();
});

// -- files and sessions

probe("files are rewound to a prompt", async (lab) => {
  fs.writeFileSync(lab.at("kept"), "before");
  const session = lab.session({ enableFileCheckpointing: true, permissionMode: "acceptEdits" });
  await session.say(call("Read", { file_path: lab.at("kept") }));
  const uuid = crypto.randomUUID();
  await session.say(steps(call("Write", { file_path: lab.at("kept"), content: "after" }), call("Write", { file_path: lab.at("new"), content: "n" })), { uuid });
  const dry = await session.query.rewindFiles(uuid, { dryRun: true });
  assert.ok(dry.canRewind && dry.filesChanged.length === 2, JSON.stringify(dry));
  assert.equal(fs.readFileSync(lab.at("kept"), "utf8"), "after");
  const done = await session.query.rewindFiles(uuid);
  assert.ok(done.canRewind);
  session.end();
  assert.ok(fs.readFileSync(lab.at("kept"), "utf8") === "before" && !lab.has("new"));
});

probe("what the host has seen counts as read", async (lab) => {
  fs.writeFileSync(lab.at("seen"), "old words\n");
  const session = lab.session({ permissionMode: "acceptEdits" });
  await session.say("SAY x");
  await session.query.seedReadState(lab.at("seen"), Math.floor(fs.statSync(lab.at("seen")).mtimeMs));
  const found = await session.say(call("Edit", { file_path: lab.at("seen"), old_string: "old", new_string: "new" }));
  session.end();
  assert.equal(fs.readFileSync(lab.at("seen"), "utf8"), "new words\n", JSON.stringify(results(found)));
});

probe("a session is resumed forked and continued", async (lab) => {
  const first = result(await lab.ask("SAY the word is blue"));
  const resumed = result(await lab.ask("HISTORY", { resume: first.session_id }));
  assert.ok(resumed.session_id === first.session_id && resumed.result.includes("blue"));
  const forked = result(await lab.ask("HISTORY", { resume: first.session_id, forkSession: true }));
  assert.ok(forked.session_id !== first.session_id && forked.result.includes("blue"));
  assert.match(result(await lab.ask("HISTORY", { continue: true })).result, /blue/);
});

probe("a session is resumed at a message", async (lab) => {
  const session = lab.session();
  const first = await session.say("SAY the word is blue");
  await session.say("SAY the word is red");
  session.end();
  const at = first.findLast((one) => one.type === "assistant").uuid;
  const said = result(await lab.ask("HISTORY", { resume: result(first).session_id, resumeSessionAt: at, forkSession: true })).result;
  assert.ok(said.includes("blue") && !said.includes("red"), said);
});

probe("a session has the id and title that were chosen", async (lab) => {
  const sessionId = crypto.randomUUID();
  assert.equal(result(await lab.ask("SAY x", { sessionId, title: "My title" })).session_id, sessionId);
});

probe("a session may leave no trace", async (lab) => {
  const first = result(await lab.ask("SAY x", { persistSession: false }));
  await refused(lab.ask("SAY y", { resume: first.session_id }), /session|exit/i);
});

probe("sessions are listed from their transcripts", async (lab) => {
  const config = lab.at("config");
  const env = { ...process.env, CLAUDE_CONFIG_DIR: config };
  const ended = result(await lab.ask("SAY listed", { env, settings: { transcripts: { mirror: true } } }));
  process.env.CLAUDE_CONFIG_DIR = config;
  try {
    const listed = await sdk.listSessions({ dir: lab.cwd });
    assert.deepEqual(listed.map((one) => one.sessionId), [ended.session_id]);
    const told = await sdk.getSessionMessages(ended.session_id, { dir: lab.cwd });
    assert.deepEqual(told.map((one) => one.type), ["user", "assistant"]);
  } finally {
    delete process.env.CLAUDE_CONFIG_DIR;
  }
});

probe("a store hears the session and gives it back", async (lab) => {
  const kept = new Map();
  const name = (key) => `${key.projectKey}/${key.sessionId}/${key.subpath ?? ""}`;
  const sessionStore = {
    append: async (key, entries) => void kept.set(name(key), [...(kept.get(name(key)) ?? []), ...entries]),
    load: async (key) => kept.get(name(key)) ?? null,
  };
  const env = { ...process.env, CLAUDE_CONFIG_DIR: lab.at("config") };
  const first = result(await lab.ask("SAY the word is green", { sessionStore, env }));
  assert.ok(kept.size >= 1, "nothing was mirrored");
  const again = result(await lab.ask("HISTORY", { sessionStore, env, resume: first.session_id }));
  assert.ok(again.session_id === first.session_id && again.result.includes("green"));
});

// -- surroundings

probe("a background task is told and stopped", async (lab) => {
  const session = lab.session({ allowedTools: ["Bash"] });
  const found = await session.say(call("Bash", { command: "sleep 300", run_in_background: true }));
  const started = found.find((one) => one.subtype === "task_started");
  await session.query.stopTask(started.task_id);
  const told = await session.until((one) => one.subtype === "task_notification");
  session.end();
  assert.deepEqual([told.at(-1).task_id, told.at(-1).status], [started.task_id, "stopped"]);
});

probe("a running command goes to the background", async (lab) => {
  const session = lab.session({ allowedTools: ["Bash"] });
  session.put(call("Bash", { command: "tail -f /dev/null" }));
  await session.until((one) => one.type === "assistant");
  let moved = false;
  for (let tries = 0; tries < 50 && !moved; tries += 1) {
    moved = await session.query.backgroundTasks();
    if (!moved) await new Promise((done) => setTimeout(done, 100));
  }
  assert.ok(moved);
  const found = await session.until((one) => one.type === "result");
  session.end();
  assert.match(JSON.stringify(results(found)), /background/);
});

probe("settings env and sandbox are taken", async (lab) => {
  const found = await lab.ask(call("Bash", { command: "echo v=$OF_THE_HOST" }), {
    env: { ...process.env, OF_THE_HOST: "yes" },
    settings: { permissions: { allow: ["Bash(echo *)"] } },
    sandbox: { enabled: false },
  });
  assert.match(JSON.stringify(results(found)), /v=yes/);
});

probe("extra arguments and debugging are taken", async (lab) => {
  const found = await lab.ask("SAY hi", { extraArgs: { "replay-user-messages": null }, debugFile: lab.at("debug.log") });
  assert.ok(found.some((one) => one.type === "user" && one.isReplay && one.uuid));
  assert.ok(lab.has("debug.log"));
});

probe("what must hold and cannot is refused", async (lab) => {
  await refused(lab.ask("SAY x", { managedSettings: { permissions: { deny: ["Bash"] } } }), /./);
});

const wanted = process.argv.slice(2);
for (const { name, body } of probes) {
  if (wanted.length && !wanted.some((word) => name.includes(word))) continue;
  const lab = new Lab(fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "probe-"))));
  let line = { case: name, ok: true };
  let timer;
  const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error("no end in sight")), LIMIT_MS)));
  try {
    await Promise.race([body(lab), late]);
  } catch (error) {
    line = { case: name, ok: false, detail: `${error?.stack ?? error}\nstderr: ${lab.errors.slice(-5).join("")}` };
  }
  clearTimeout(timer);
  console.log(JSON.stringify(line));
  fs.rmSync(lab.cwd, { recursive: true, force: true });
}
process.exit(0);
