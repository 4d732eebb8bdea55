// The client half of the official npm SDK drives the agent. One line per check: `ok NAME` or `FAIL NAME: why`; exit code 1
// when one failed. Arguments are parts of names; without any, all checks run. Settings: see acp_world.mjs.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ALL, EOF_MS, Peer, close, complaints, refused, start, strict, workspace } from "./acp_world.mjs";

const GUARD = fileURLToPath(new URL("../../../../../examples/extensions/guard.py", import.meta.url));
/** A session that was never there. */
const NOBODY = "00000000-0000-7000-8000-000000000000";

const plain = await start();
const full = await start(ALL);

const checks = {
  async "initialize tells version, capabilities and who it is"() {
    const peer = new Peer({});
    const answer = await peer.initialize();
    assert.equal(answer.protocolVersion, 1);
    assert.equal(answer.agentInfo.name, "tillerman");
    const can = answer.agentCapabilities;
    assert.equal(can.loadSession, true);
    assert.equal(can.promptCapabilities.embeddedContext, true);
    assert.deepEqual(can.mcpCapabilities, { http: true, sse: false });
    for (const name of ["list", "resume", "close", "delete"]) assert.ok(can.sessionCapabilities[name], name);
    assert.equal(Boolean(can.sessionCapabilities.fork), !strict, "fork is not in the published protocol");
    assert.ok(answer.authMethods.length > 0);
    assert.ok(answer.authMethods.every((it) => it.type !== "terminal"), "terminal sign-in was not offered by the client");
    await peer.stop();
  },
  async "initialize answers version 1 to whatever is asked for, again and again"() {
    const peer = new Peer({});
    for (const protocolVersion of [99, 0, 1]) assert.equal((await peer.initialize({ protocolVersion })).protocolVersion, 1);
    const terminal = await peer.initialize({ clientCapabilities: { auth: { terminal: true } } });
    assert.ok(terminal.authMethods.some((it) => it.type === "terminal"));
    await peer.stop();
  },
  async "a new session has modes and options, and its commands come behind the answer"() {
    const answer = await plain.ask("session/new", { cwd: workspace, mcpServers: [] });
    assert.equal(answer.modes.currentModeId, "prompt");
    const options = Object.fromEntries(answer.configOptions.map((it) => [it.id, it]));
    assert.equal(options.mode.currentValue, "prompt");
    assert.equal(options.model.currentValue, "tour");
    await plain.until("commands", () => plain.of(answer.sessionId, "available_commands_update").length === 1);
    const [{ availableCommands }] = plain.of(answer.sessionId, "available_commands_update");
    assert.ok(availableCommands.length > 0 && availableCommands.every((it) => !it.name.startsWith("/") && it.description));
    await plain.until("usage", () => plain.of(answer.sessionId, "usage_update").length === 1);
  },
  async "a relative directory is refused"() {
    assert.equal((await refused(plain.ask("session/new", { cwd: "work", mcpServers: [] }))).code, -32602);
  },
  async "text streams in order under one message, before the answer"() {
    const id = await plain.open();
    const answer = await plain.prompt(id, "say 30 words");
    assert.equal(answer.stopReason, "end_turn");
    const chunks = plain.of(id, "agent_message_chunk");
    assert.equal(chunks.length, 30);
    assert.equal(plain.said(id), Array.from({ length: 30 }, (_, i) => `w${i + 1}`).join(" "));
    assert.equal(new Set(chunks.map((it) => it.messageId)).size, 1);
    if (strict) assert.equal(answer.usage, undefined);
    else assert.ok(Number.isInteger(answer.usage.inputTokens) && answer.usage.totalTokens >= answer.usage.outputTokens);
  },
  async "thoughts come before the text and apart from it"() {
    const id = await plain.open();
    await plain.prompt(id, 'think "let me see" say done');
    assert.equal(plain.said(id, "agent_thought_chunk"), "let me see");
    assert.equal(plain.said(id), "done");
    const [thought] = plain.of(id, "agent_thought_chunk");
    const [text] = plain.of(id, "agent_message_chunk");
    assert.ok(plain.updates.findIndex((it) => it.update === thought) < plain.updates.findIndex((it) => it.update === text));
  },
  async "mentions of the user reach the model with their content"() {
    const id = await plain.open();
    const resource = { uri: "file:///x/notes.md", text: "# Heading", mimeType: "text/markdown" };
    const prompt = [{ type: "text", text: 'say "ok"' }, { type: "resource", resource }, { type: "resource_link", uri: "file:///x/b.md", name: "b.md" }];
    assert.equal((await plain.ask("session/prompt", { sessionId: id, prompt })).stopReason, "end_turn");
    await plain.ask("session/close", { sessionId: id });
    const from = plain.updates.length;
    await plain.ask("session/load", { sessionId: id, cwd: workspace, mcpServers: [] });
    const said = plain.updates.slice(from).filter((it) => it.update.sessionUpdate === "user_message_chunk").map((it) => it.update.content.text).join("");
    assert.ok(said.includes("# Heading") && said.includes("file:///x/b.md"), said);
  },
  async "a call that reads: announced with kind, place and input, then its output"() {
    const id = await plain.open();
    await plain.prompt(id, 'call read_file {"path":"a.txt"} then say done');
    const [call] = plain.of(id, "tool_call");
    assert.equal(call.kind, "read");
    assert.equal(call.title, "Read a.txt");
    assert.deepEqual(call.locations, [{ path: path.join(workspace, "a.txt") }]);
    assert.deepEqual(call.rawInput, { path: "a.txt" });
    const updates = plain.of(id, "tool_call_update");
    assert.ok(updates.every((it) => it.toolCallId === call.toolCallId && it.status));
    assert.equal(updates.at(-1).status, "completed");
    assert.ok(updates.at(-1).content[0].content.text.includes("alpha beta"));
    assert.ok(updates.at(-1).rawOutput.output.includes("alpha beta"));
    assert.equal(plain.asked.length, 0, "reading is not asked for");
  },
  async "an edit that is allowed: a question with options, then a diff"() {
    const id = await plain.open();
    fs.writeFileSync(path.join(workspace, "edit.txt"), "one\ntwo\n");
    plain.permit = () => "allow_once";
    await plain.prompt(id, 'call edit_file {"path":"edit.txt","old_string":"two","new_string":"three"} then say done');
    const { params } = plain.asked.pop();
    assert.deepEqual(params.options.map((it) => it.kind), ["allow_once", "allow_always", "reject_once"]);
    const [call] = plain.of(id, "tool_call");
    assert.equal(params.toolCall.toolCallId, call.toolCallId);
    assert.equal(call.kind, "edit");
    const end = plain.of(id, "tool_call_update").at(-1);
    assert.equal(end.status, "completed");
    const diff = end.content.find((it) => it.type === "diff");
    assert.deepEqual([diff.path, diff.oldText, diff.newText], [path.join(workspace, "edit.txt"), "one\ntwo\n", "one\nthree\n"]);
    assert.equal(fs.readFileSync(path.join(workspace, "edit.txt"), "utf8"), "one\nthree\n");
  },
  async "a new file has a diff without an old text"() {
    const id = await plain.open();
    await plain.prompt(id, 'call write_file {"path":"new.txt","content":"fresh"} then say done');
    plain.asked.pop();
    const diff = plain.of(id, "tool_call_update").at(-1).content.find((it) => it.type === "diff");
    assert.deepEqual([diff.oldText ?? null, diff.newText], [null, "fresh"]);
  },
  async "a call that is denied fails, and the turn goes on"() {
    const id = await plain.open();
    plain.permit = () => "deny";
    const answer = await plain.prompt(id, 'call write_file {"path":"denied.txt","content":"x"} then say "as you like"');
    assert.equal(answer.stopReason, "end_turn");
    assert.equal(plain.of(id, "tool_call_update").at(-1).status, "failed");
    assert.equal(plain.said(id), "as you like");
    assert.ok(!fs.existsSync(path.join(workspace, "denied.txt")));
    plain.asked.pop();
  },
  async "a question that the client cancels is a no"() {
    const id = await plain.open();
    plain.permit = () => "cancelled";
    await plain.prompt(id, 'call write_file {"path":"cancelled.txt","content":"x"} then say done');
    assert.equal(plain.of(id, "tool_call_update").at(-1).status, "failed");
    assert.ok(!fs.existsSync(path.join(workspace, "cancelled.txt")));
    plain.asked.pop();
  },
  async "what is allowed for the session is not asked again"() {
    const id = await plain.open();
    plain.permit = () => "allow_session";
    await plain.prompt(id, 'call bash {"command":"touch once"} then call bash {"command":"touch once"} then say done');
    assert.equal(plain.asked.length, 1);
    plain.asked.pop();
  },
  async "a client that fails to answer has said no"() {
    const id = await plain.open();
    plain.permit = () => {
      throw new Error("broken dialog");
    };
    const answer = await plain.prompt(id, 'call write_file {"path":"broken.txt","content":"x"} then say done');
    assert.equal(answer.stopReason, "end_turn");
    assert.ok(!fs.existsSync(path.join(workspace, "broken.txt")));
    plain.asked.pop();
  },
  async "cancel in the middle of a text ends the turn as cancelled"() {
    const id = await plain.open();
    const turn = plain.prompt(id, "slow 20 say 500 words");
    await plain.until("text", () => plain.said(id).length > 0);
    await plain.cancel(id);
    assert.equal((await turn).stopReason, "cancelled");
    const told = plain.updates.length;
    assert.equal((await plain.prompt(id, "say again")).stopReason, "end_turn");
    assert.ok(plain.updates.slice(told).filter((it) => it.update.content).every((it) => it.update.content.text === "again"), "nothing of the old turn comes late");
  },
  async "cancel during a question ends the turn as cancelled, and the question is taken back"() {
    const id = await plain.open();
    let taken = false;
    plain.permit = (_, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve((taken = true) && "cancelled")));
    const turn = plain.prompt(id, 'call write_file {"path":"late.txt","content":"x"} then say done');
    await plain.until("question", () => plain.asked.length === 1);
    await plain.cancel(id);
    assert.equal((await turn).stopReason, "cancelled");
    await plain.until("the end of the question", () => taken);
    assert.equal(plain.of(id, "tool_call_update").at(-1).status, "failed");
    assert.ok(!fs.existsSync(path.join(workspace, "late.txt")));
    plain.asked.pop();
  },
  async "cancel of a running command ends it"() {
    const id = await plain.open();
    plain.permit = () => "allow_once";
    const turn = plain.prompt(id, 'call bash {"command":"echo begun; sleep 60"} then say done');
    await plain.until("the command", () => plain.of(id, "tool_call_update").some((it) => it.status === "in_progress"));
    await plain.cancel(id);
    assert.equal((await turn).stopReason, "cancelled");
    assert.equal(plain.of(id, "tool_call_update").at(-1).status, "failed");
    plain.asked.pop();
  },
  async "cancel without a turn is passed over"() {
    const id = await plain.open();
    await plain.cancel(id);
    await plain.cancel(NOBODY);
    assert.equal((await plain.prompt(id, "say hi")).stopReason, "end_turn");
  },
  async "a prompt can be cancelled by its request"() {
    const id = await plain.open();
    const stop = new AbortController();
    const turn = plain.prompt(id, "say wait hold", { cancellationSignal: stop.signal });
    await plain.until("text", () => plain.said(id) === "wait");
    stop.abort();
    assert.equal((await turn).stopReason, "cancelled");
  },
  async "a second prompt waits for the first and is answered by itself"() {
    const id = await plain.open();
    const ended = [];
    const first = plain.prompt(id, "slow 5 say 20 words").then((it) => ended.push(["first", it.stopReason]));
    const second = plain.prompt(id, "say second").then((it) => ended.push(["second", it.stopReason]));
    await Promise.all([first, second]);
    assert.deepEqual(ended, [["first", "end_turn"], ["second", "end_turn"]]);
    assert.ok(plain.said(id).endsWith("w20second"));
  },
  async "a cancel answers what waits as well"() {
    const id = await plain.open();
    const turns = [plain.prompt(id, "say wait hold"), plain.prompt(id, "say never")];
    await plain.until("text", () => plain.said(id) === "wait");
    await plain.cancel(id);
    assert.deepEqual((await Promise.all(turns)).map((it) => it.stopReason), ["cancelled", "cancelled"]);
    assert.equal(plain.said(id), "wait");
  },
  async "a failing model is an error of the prompt, with its words"() {
    const id = await plain.open();
    const error = await refused(plain.prompt(id, "fail 400"));
    assert.equal(error.code, -32602);
    assert.ok(error.message.length > "Internal error".length, error.message);
    assert.equal((await plain.prompt(id, "say well")).stopReason, "end_turn");
  },
  async "out of tokens and refusal are reasons to stop"() {
    const id = await plain.open();
    assert.equal((await plain.prompt(id, 'say "and so" length')).stopReason, "max_tokens");
    assert.equal((await plain.prompt(id, "refuse")).stopReason, "refusal");
  },
  async "set_mode changes all views"() {
    const id = await plain.open();
    await plain.ask("session/set_mode", { sessionId: id, modeId: "read-only" });
    assert.equal(plain.of(id, "current_mode_update").at(-1).currentModeId, "read-only");
    const { configOptions } = plain.of(id, "config_option_update").at(-1);
    assert.equal(configOptions.find((it) => it.id === "mode").currentValue, "read-only");
    assert.equal((await refused(plain.ask("session/set_mode", { sessionId: id, modeId: "no-such" }))).code, -32602);
  },
  async "set_config_option answers with the complete list"() {
    const id = await plain.open();
    const answer = await plain.ask("session/set_config_option", { sessionId: id, configId: "mode", value: "workspace-write" });
    assert.equal(answer.configOptions.find((it) => it.id === "mode").currentValue, "workspace-write");
    assert.ok(answer.configOptions.some((it) => it.id === "model"));
    const model = await plain.ask("session/set_config_option", { sessionId: id, configId: "model", value: "tour-mini" });
    assert.equal(model.configOptions.find((it) => it.id === "model").currentValue, "tour-mini");
    for (const [configId, value] of [["no-such", "x"], ["mode", "x"], ["model", "no such model at all"]]) {
      assert.equal((await refused(plain.ask("session/set_config_option", { sessionId: id, configId, value }))).code, -32602, configId);
    }
  },
  async "the older set_model is understood"() {
    const id = await plain.open();
    await plain.ask("session/set_model", { sessionId: id, modelId: "tour-mini" });
    const { configOptions } = plain.of(id, "config_option_update").at(-1);
    assert.equal(configOptions.find((it) => it.id === "model").currentValue, "tour-mini");
  },
  async "thinking is an option"() {
    const id = await plain.open();
    const answer = await plain.ask("session/set_config_option", { sessionId: id, configId: "thought_level", value: "high" });
    assert.equal(answer.configOptions.find((it) => it.id === "thought_level").currentValue, "high");
    for (const value of ["enormous", ""]) {
      assert.equal((await refused(plain.ask("session/set_config_option", { sessionId: id, configId: "thought_level", value }))).code, -32602);
    }
    assert.equal((await refused(plain.ask("session/set_config_option", { sessionId: id, configId: "mode", type: "boolean", value: true }))).code, -32602);
  },
  async "ways to sign in are answered, whatever they lead to"() {
    assert.equal((await refused(plain.ask("authenticate", { methodId: "no-such" }))).code, -32602);
    assert.deepEqual(await plain.ask("authenticate", { methodId: "environment" }), {}, "a model was asked for");
    assert.deepEqual(await plain.ask("logout"), {});
  },
  async "what cannot be a prompt is refused, and what is not known in one is left out"() {
    const id = await plain.open();
    const ask = (prompt) => plain.ask("session/prompt", { sessionId: id, prompt });
    assert.equal((await refused(ask([]))).code, -32602);
    assert.equal((await refused(ask([{ type: "audio", data: "AAAA", mimeType: "audio/wav" }]))).code, -32602);
    const odd = [{ type: "hologram" }, { type: "text", text: "say fine" }];
    assert.equal((await ask(odd)).stopReason, "end_turn");
    assert.equal(plain.said(id), "fine");
  },
  async "a picture comes with a prompt, and again with its replay"() {
    const id = await plain.open();
    const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const prompt = [{ type: "text", text: "say seen" }, { type: "image", data, mimeType: "image/png" }];
    assert.equal((await plain.ask("session/prompt", { sessionId: id, prompt })).stopReason, "end_turn");
    await plain.ask("session/load", { sessionId: id, cwd: workspace, mcpServers: [] });
    const [, image] = plain.of(id, "user_message_chunk");
    assert.deepEqual([image.content.type, image.content.mimeType], ["image", "image/png"]);
  },
  async "a long prompt is one line"() {
    const id = await plain.open();
    const text = `delta "${"y".repeat(900_000)}"`;
    assert.equal((await plain.prompt(id, text)).stopReason, "end_turn");
    assert.equal(plain.said(id).length, 900_000);
  },
  async "questions of several sessions are open at once"() {
    const ids = await Promise.all([plain.open(), plain.open()]);
    const answers = new Map();
    plain.permit = ({ sessionId }) => new Promise((resolve) => answers.set(sessionId, resolve));
    const turns = ids.map((id, i) => plain.prompt(id, `call write_file {"path":"both${i}.txt","content":"x"} then say done`));
    await plain.until("both questions", () => answers.size === 2);
    answers.get(ids[1])("allow_once");
    await turns[1];
    assert.ok(!fs.existsSync(path.join(workspace, "both0.txt")) && fs.existsSync(path.join(workspace, "both1.txt")));
    answers.get(ids[0])("deny");
    await turns[0];
    assert.ok(!fs.existsSync(path.join(workspace, "both0.txt")));
  },
  async "several calls of one reply are told apart"() {
    const id = await plain.open();
    await plain.prompt(id, 'call read_file {"path":"a.txt"} and call glob {"pattern":"*.txt"} and call read_file {"path":"none.txt"} then call read_file {"path":"a.txt"} then say done');
    const calls = plain.of(id, "tool_call");
    assert.deepEqual(calls.map((it) => it.kind), ["read", "search", "read", "read"]);
    assert.equal(new Set(calls.map((it) => it.toolCallId)).size, 4);
    const ends = calls.map((call) => plain.of(id, "tool_call_update").filter((it) => it.toolCallId === call.toolCallId).at(-1).status);
    assert.deepEqual(ends, ["completed", "completed", "failed", "completed"]);
  },
  async "a call with broken or unknown words is told and fails"() {
    const id = await plain.open();
    const answer = await plain.prompt(id, 'call read_file badjson {"path": then call no_such_tool {"a":1} then say done');
    assert.equal(answer.stopReason, "end_turn");
    const ends = plain.of(id, "tool_call_update").filter((it) => it.status === "failed");
    assert.equal(ends.length, 2, JSON.stringify(plain.of(id, "tool_call", "tool_call_update")));
    const told = new Set(plain.of(id, "tool_call").map((it) => it.toolCallId));
    assert.ok(ends.every((it) => told.has(it.toolCallId)), "announced before it ends");
  },
  async "a queued prompt can be taken back by its request"() {
    const id = await plain.open();
    const first = plain.prompt(id, "say wait hold");
    await plain.until("text", () => plain.said(id) === "wait");
    const stop = new AbortController();
    const second = plain.prompt(id, "say never", { cancellationSignal: stop.signal });
    await plain.ask("$/ping");
    stop.abort();
    assert.equal((await second).stopReason, "cancelled");
    await plain.cancel(id);
    assert.equal((await first).stopReason, "cancelled");
  },
  async "a queued prompt is taken back in the same breath"() {
    const id = await plain.open();
    const stop = new AbortController();
    const turn = plain.prompt(id, "say wait hold", { cancellationSignal: stop.signal });
    stop.abort();
    assert.equal((await turn).stopReason, "cancelled");
    const both = plain.prompt(id, "say wait hold");
    await plain.cancel(id);
    assert.equal((await both).stopReason, "cancelled", "and so is one by its session");
  },
  async "a directory that is not there is refused in words"() {
    const error = await refused(plain.ask("session/new", { cwd: path.join(workspace, "no/such/place"), mcpServers: [] }));
    assert.equal(error.code, -32602, error.message);
    assert.ok(error.message.includes("no/such/place"), error.message);
    const id = await plain.open();
    await plain.prompt(id, "say hi");
    await plain.ask("session/close", { sessionId: id });
    for (const method of ["session/load", "session/resume", "session/fork"]) {
      const other = await refused(plain.ask(method, { sessionId: id, cwd: path.join(workspace, "no/such/place"), mcpServers: [] }));
      assert.deepEqual([other.code, other.message.includes("no/such/place")], [-32602, true], `${method}: ${other.message}`);
    }
  },
  async "a server of tools that does not start does not keep a session from starting"() {
    const mcpServers = [{ name: "broken", command: "/no/such/program", args: [], env: [] }];
    const { sessionId } = await plain.ask("session/new", { cwd: workspace, mcpServers });
    assert.equal((await plain.prompt(sessionId, "say well")).stopReason, "end_turn");
  },
  async "commands change what is shown"() {
    const id = await plain.open();
    await plain.prompt(id, "say hi");
    await plain.prompt(id, "/rename A fine title");
    await plain.prompt(id, "/mode plan");
    assert.equal(plain.of(id, "session_info_update").at(-1).title, "A fine title");
    assert.equal(plain.of(id, "current_mode_update").at(-1).currentModeId, "plan");
    const { sessions } = await plain.ask("session/list", { cwd: workspace });
    assert.equal(sessions.find((it) => it.sessionId === id).title, "A fine title");
  },
  async "a slash command is obeyed"() {
    const id = await plain.open();
    assert.equal((await plain.prompt(id, "/help")).stopReason, "end_turn");
    assert.ok(plain.said(id).includes("/"));
  },
  async "the list of what is to do is a plan"() {
    const id = await plain.open();
    const todos = [{ content: "look", status: "completed" }, { content: "think", status: "in_progress" }, { content: "never", status: "abandoned" }, { content: "write", status: "pending" }];
    await plain.prompt(id, `call todo ${JSON.stringify({ todos })} then say done`);
    const { entries } = plain.of(id, "plan").at(-1);
    assert.deepEqual(entries.map((it) => [it.content, it.status]), [["look", "completed"], ["think", "in_progress"], ["write", "pending"]]);
  },
  async "notices and compactions come to clients that know them, and only to them"() {
    for (const peer of [full, plain]) {
      const id = await peer.open();
      const long = `delta "${"x".repeat(120_000)}"`;
      for (const text of ["fail 500 1 say one", long, long]) await peer.prompt(id, text);
      await peer.prompt(id, "/compact");
      assert.ok(peer.said(id).startsWith("one"));
      const tags = new Set(peer.of(id).map((it) => it.sessionUpdate));
      assert.equal(tags.has("notice"), peer === full, "notice");
      assert.equal(tags.has("compaction_update"), peer === full, "compaction");
      if (peer === full) assert.deepEqual(peer.of(id, "compaction_update").map((it) => it.status), ["in_progress", "completed"]);
    }
  },
  async "the list comes in pages, newest first, and knows directories"() {
    const many = path.join(workspace, "many");
    fs.mkdirSync(many);
    const ids = [];
    for (let i = 0; i < 53; i++) {
      const id = await plain.open(many);
      await plain.prompt(id, `say n${i}`);
      await plain.ask("session/close", { sessionId: id });
      ids.push(id);
    }
    const first = await plain.ask("session/list", { cwd: many });
    assert.equal(first.sessions.length, 50);
    assert.ok(first.nextCursor);
    const second = await plain.ask("session/list", { cwd: many, cursor: first.nextCursor });
    assert.equal(second.sessions.length, 3);
    assert.ok(second.nextCursor === undefined || second.nextCursor === null);
    const all = [...first.sessions, ...second.sessions];
    assert.deepEqual(all.map((it) => it.sessionId).sort(), [...ids].sort());
    assert.ok(all.every((it) => it.cwd === many && !Number.isNaN(Date.parse(it.updatedAt))));
    const times = all.map((it) => Date.parse(it.updatedAt));
    assert.deepEqual(times, [...times].sort((a, b) => b - a));
    assert.equal((await refused(plain.ask("session/list", { cursor: "no such page" }))).code, -32602);
    assert.deepEqual((await plain.ask("session/list", { cwd: "/nowhere/at/all" })).sessions, []);
  },
  async "load tells everything again before its answer, in another process too"() {
    const id = await plain.open();
    plain.permit = () => "allow_once";
    await plain.prompt(id, 'think "hm" say "I look." call write_file {"path":"loaded.txt","content":"x"} then say done');
    plain.asked.pop();
    await plain.ask("session/close", { sessionId: id });
    const other = await start();
    let told = 0;
    await other.ask("session/load", { sessionId: id, cwd: workspace, mcpServers: [] }).then(() => (told = other.of(id).length));
    const tags = other.of(id).slice(0, told).map((it) => it.sessionUpdate);
    const expected = ["user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"];
    assert.deepEqual(tags.filter((it) => expected.includes(it)), expected);
    assert.equal(other.said(id, "user_message_chunk").startsWith('think "hm"'), true);
    assert.equal(other.of(id, "tool_call_update").at(-1).status, "completed");
    assert.equal(other.of(id, "tool_call")[0].toolCallId, other.of(id, "tool_call_update")[0].toolCallId);
    assert.equal((await other.prompt(id, "say more")).stopReason, "end_turn");
    await other.stop();
  },
  async "resume tells nothing again and goes on"() {
    const id = await plain.open();
    await plain.prompt(id, "say one");
    await plain.ask("session/close", { sessionId: id });
    const from = plain.updates.length;
    await plain.ask("session/resume", { sessionId: id, cwd: workspace });
    assert.equal((await plain.prompt(id, "say two")).stopReason, "end_turn");
    const said = plain.updates.slice(from).filter((it) => it.update.content).map((it) => it.update.content.text);
    assert.deepEqual(said, ["two"]);
  },
  async "fork goes on apart from the session it came from"() {
    const id = await plain.open();
    await plain.prompt(id, "say root");
    const fork = await plain.ask("session/fork", { sessionId: id, cwd: workspace });
    assert.ok(fork.sessionId && fork.sessionId !== id);
    await plain.prompt(fork.sessionId, "say branch");
    assert.equal(plain.said(fork.sessionId), "branch");
    assert.equal(plain.said(id), "root");
    await plain.ask("session/close", { sessionId: id });
    const again = await plain.ask("session/fork", { sessionId: id, cwd: workspace });
    assert.notEqual(again.sessionId, fork.sessionId, "one that is closed can be forked");
  },
  async "close stops what runs and answers its prompt"() {
    const id = await plain.open();
    const turn = plain.prompt(id, "say wait hold");
    await plain.until("text", () => plain.said(id) === "wait");
    await plain.ask("session/close", { sessionId: id });
    assert.equal((await turn).stopReason, "cancelled");
    assert.equal((await refused(plain.prompt(id, "say hi"))).code, -32002);
  },
  async "close in the same breath as a prompt answers both"() {
    const id = await plain.open();
    const answers = await Promise.all([plain.prompt(id, "say wait hold"), plain.ask("session/close", { sessionId: id }), plain.ask("session/close", { sessionId: id }).catch((error) => error.code)]);
    assert.equal(answers[0].stopReason, "cancelled");
  },
  async "delete is done twice as well as once, and takes it off the list"() {
    const dir = path.join(workspace, "deleted");
    fs.mkdirSync(dir);
    const id = await plain.open(dir);
    await plain.prompt(id, "say gone");
    assert.equal((await plain.ask("session/list", { cwd: dir })).sessions.length, 1);
    await plain.ask("session/delete", { sessionId: id });
    assert.equal((await plain.ask("session/list", { cwd: dir })).sessions.length, 0);
    await plain.ask("session/delete", { sessionId: id });
    assert.equal((await refused(plain.ask("session/load", { sessionId: id, cwd: dir, mcpServers: [] }))).code, -32002);
  },
  async "an unknown session is -32002 and named, everywhere"() {
    const where = { sessionId: NOBODY, cwd: workspace, mcpServers: [] };
    const asks = [
      ["session/prompt", { sessionId: NOBODY, prompt: [{ type: "text", text: "hi" }] }],
      ["session/load", where],
      ["session/resume", where],
      ["session/fork", where],
      ["session/set_mode", { sessionId: NOBODY, modeId: "plan" }],
      ["session/set_config_option", { sessionId: NOBODY, configId: "mode", value: "plan" }],
    ];
    for (const [method, params] of asks) {
      const error = await refused(plain.ask(method, params));
      assert.deepEqual([error.code, error.data?.sessionId], [-32002, NOBODY], method);
    }
  },
  async "pings and extension methods do no harm"() {
    await plain.agent.notify("$/ping");
    await plain.agent.notify("_example/note", { any: 1 });
    await plain.agent.notify("no/such/thing", {});
    assert.deepEqual(await plain.ask("$/ping"), {});
    for (const method of ["_example/ask", "no/such/thing"]) {
      const error = await refused(plain.ask(method, { any: 1 }));
      assert.deepEqual([error.code, error.data?.method], [-32601, method]);
    }
  },
  async "many sessions run side by side"() {
    const ids = await Promise.all([1, 2, 3, 4].map(() => plain.open()));
    assert.equal(new Set(ids).size, 4);
    const held = plain.prompt(ids[0], "say held hold");
    await plain.until("text", () => plain.said(ids[0]) === "held");
    await Promise.all(ids.slice(1).map((id, i) => plain.prompt(id, `slow 2 say 10 words then say s${i}`)));
    for (const id of ids.slice(1)) assert.equal(plain.of(id, "agent_message_chunk").length, 10);
    await plain.ask("session/list", {});
    await plain.cancel(ids[0]);
    assert.equal((await held).stopReason, "cancelled");
  },
  async "a question of an extension is a form of the client"() {
    const peer = await start({ elicitation: { form: {} } }, { args: ["--mode", "danger-full-access", "-e", GUARD] });
    const id = await peer.open();
    fs.mkdirSync(path.join(workspace, "build"));
    const run = 'call bash {"command":"rm -rf build"} then say done';
    peer.fill = () => ({ action: "decline" });
    await peer.prompt(id, run);
    assert.ok(fs.existsSync(path.join(workspace, "build")), "declined is no");
    const [{ method, params }] = peer.asked;
    assert.equal(method, "elicitation/create");
    assert.equal(params.mode, "form");
    assert.equal(params.sessionId, id);
    assert.equal(params.requestedSchema.properties.value.type, "boolean");
    peer.fill = () => ({ action: "accept", content: { value: true } });
    await peer.prompt(id, run);
    assert.ok(!fs.existsSync(path.join(workspace, "build")), "accepted is yes");
    await peer.stop();
  },
  async "a client without forms is not asked, and nobody said yes"() {
    const peer = await start({ elicitation: {} }, { args: ["--mode", "danger-full-access", "-e", GUARD] });
    const id = await peer.open();
    fs.mkdirSync(path.join(workspace, "kept"));
    await peer.prompt(id, 'call bash {"command":"rm -rf kept"} then say done');
    assert.deepEqual(peer.asked, []);
    assert.ok(fs.existsSync(path.join(workspace, "kept")));
    await peer.stop();
  },
  async "files and terminals of a client that offers none are left alone"() {
    const id = await plain.open();
    plain.permit = () => "allow_session";
    await plain.prompt(id, 'call read_file {"path":"a.txt"} then call write_file {"path":"own.txt","content":"x"} then call bash {"command":"echo hi"} then say done');
    assert.ok(plain.methods().every((it) => it === "session/request_permission"), plain.methods().join(" "));
    assert.equal(fs.readFileSync(path.join(workspace, "own.txt"), "utf8"), "x");
    plain.asked.length = 0;
  },
  async "the end of the input ends the process at once, whatever runs"() {
    const peer = await start();
    const id = await peer.open();
    peer.permit = () => "allow_once";
    const turn = peer.prompt(id, 'call bash {"command":"sleep 60"} then say done').catch(() => {});
    await peer.until("the command", () => peer.asked.length === 1);
    const { code, ms } = await peer.stop();
    await turn;
    assert.equal(code, 0);
    assert.ok(ms < EOF_MS, `${ms} ms`);
  },
  async "what is not saved yet reaches the model through the client"() {
    const id = await full.open();
    const file = path.join(workspace, "a.txt");
    full.buffers.set(file, "# Unsaved words\n");
    await full.prompt(id, "read a.txt");
    assert.ok(full.methods().includes("fs/read_text_file"));
    assert.ok(full.said(id).includes("Unsaved words"), full.said(id));
    full.asked.length = 0;
  },
  async "an edit lands in the client, not behind its back"() {
    const id = await full.open();
    const file = path.join(workspace, "buffer.txt");
    fs.writeFileSync(file, "on disk\n");
    full.buffers.set(file, "in the editor\n");
    await full.prompt(id, 'call edit_file {"path":"buffer.txt","old_string":"editor","new_string":"client"} then say done');
    assert.equal(full.buffers.get(file), "in the client\n");
    assert.equal(fs.readFileSync(file, "utf8"), "on disk\n");
    const diff = full.of(id, "tool_call_update").at(-1).content.find((it) => it.type === "diff");
    assert.deepEqual([diff.oldText, diff.newText], ["in the editor\n", "in the client\n"]);
    full.asked.length = 0;
  },
  async "a new file is written by the client"() {
    const id = await full.open();
    await full.prompt(id, 'call write_file {"path":"made.txt","content":"made"} then say done');
    assert.equal(full.buffers.get(path.join(workspace, "made.txt")), "made");
    assert.ok(!fs.existsSync(path.join(workspace, "made.txt")));
    full.asked.length = 0;
  },
  async "a command runs in a terminal of the client, which is shown and released"() {
    const id = await full.open();
    await full.prompt(id, 'call bash {"command":"echo from the terminal; exit 3"} then say done');
    assert.equal(full.asked.find((it) => it.method === "terminal/create").params.cwd, workspace);
    // The SDK takes requests up in their order, but not before a response that came behind them.
    await full.until("the release", () => full.methods().includes("terminal/release"));
    const methods = full.methods().filter((it) => it.startsWith("terminal/"));
    assert.deepEqual(methods, ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]);
    const updates = full.of(id, "tool_call_update");
    assert.ok(updates.some((it) => it.content?.some((part) => part.type === "terminal")));
    assert.ok(updates.at(-1).rawOutput.output.includes("from the terminal"));
    // The SDK's word for how it ended is in both answers, and may be left out of the second.
    full.terminal_output = ({ terminalId }) => ({ output: full.terminals.get(terminalId).output, truncated: false });
    await full.prompt(id, 'call bash {"command":"echo again; exit 3"} then say done');
    delete full.terminal_output;
    const { output, details } = full.of(id, "tool_call_update").at(-1).rawOutput;
    assert.ok(output.includes("exit code 3") && details.exitCode === 3, output);
  },
  async "cancel ends a command in a terminal of the client"() {
    const id = await full.open();
    const turn = full.prompt(id, 'call bash {"command":"sleep 60"} then say done');
    await full.until("the terminal", () => full.methods().includes("terminal/wait_for_exit"));
    await full.cancel(id);
    assert.equal((await turn).stopReason, "cancelled");
    await full.until("the release", () => full.methods().includes("terminal/release"));
    full.asked.length = 0;
  },
};

// What the agent does not offer is not asked for.
if (strict) delete checks["fork goes on apart from the session it came from"];

/** The last one looks at what the SDK itself had to say. */
const closing = {
  async "the SDK understood every message"() {
    const { code, ms } = await plain.stop();
    assert.equal(code, 0);
    assert.ok(ms < EOF_MS, `${ms} ms`);
    assert.equal((await full.stop()).code, 0);
    const own = complaints.filter((it) => !it.includes("broken dialog"));
    assert.deepEqual(own, []);
  },
};

const CHECK_MS = 40_000;
const wanted = process.argv.slice(2);
let failed = 0;
process.on("unhandledRejection", () => {});

function limited(work) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`still running after ${CHECK_MS} ms`)), CHECK_MS);
    work().then(resolve, reject).finally(() => clearTimeout(late));
  });
}

for (const [name, work] of Object.entries({ ...checks, ...closing })) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  for (const peer of [plain, full]) {
    peer.asked.length = 0;
    peer.permit = () => "allow_once";
  }
  try {
    await limited(work);
    console.log(`ok ${name}`);
  } catch (why) {
    failed++;
    console.log(`FAIL ${name}: ${String(why?.message ?? why).replaceAll("\n", " | ")}`);
    if (process.env.PEER_STACK) console.log(why?.stack);
  }
}
close();
process.exit(failed === 0 ? 0 : 1);
