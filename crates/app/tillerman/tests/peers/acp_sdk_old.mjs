// The official npm SDK of an older line drives the agent. It validates every message strictly and drops what does not fit,
// so what it hands over is compared with what the agent wrote. Runner: see runner.mjs.
//
//   PEER_PACKAGE  directory of the installed SDK
//   PEER_AGENT    the program under test
//   PEER_LOGS     directory for the frames of every agent
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Side, close, complaints, load, workspace } from "./acp_side.mjs";
import { refused, runChecks } from "./runner.mjs";

const { PEER_PACKAGE, PEER_AGENT, PEER_LOGS } = process.env;
const sdk = await load(path.join(PEER_PACKAGE, "dist/acp.js"));
/** The updates this line of the SDK knows; others are younger than it, and no loss to its clients. */
const KNOWN = ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "available_commands_update", "current_mode_update"];
const FILES = { fs: { readTextFile: true, writeTextFile: true } };

let started = 0;
const agent = (...args) => [PEER_AGENT, "acp", "--model", "tour", "--log-frames", path.join(PEER_LOGS, `old-${process.pid}-${++started}.log`), ...args];
async function begin(capabilities = {}) {
  const side = new Side(sdk, agent());
  await side.initialize(capabilities);
  return side;
}
/** Nothing that this line knows was lost on the way. */
async function complete(side) {
  const wrote = () => side.written.filter((it) => KNOWN.includes(it.update.sessionUpdate));
  await side.until("the arrival of all updates", () => side.updates.length === wrote().length).catch((why) => {
    // The SDK leaves out members that it does not know.
    const sign = ({ update: it }) => JSON.stringify([it.sessionUpdate, it.toolCallId, it.status, it.content?.text]);
    const lost = wrote().find((it) => !side.updates.some((got) => sign(got) === sign(it)));
    throw new Error(`${why.message.slice(0, 60)}; lost: ${JSON.stringify(lost ?? "an order").slice(0, 400)}`);
  });
}

const plain = await begin();
const inside = (name) => path.join(workspace, name);

const checks = {
  async "initialize, and a session with modes"() {
    const side = new Side(sdk, agent());
    const hello = await side.initialize(FILES);
    assert.deepEqual([hello.protocolVersion, hello.agentCapabilities.loadSession], [1, true]);
    const session = await side.ask("newSession", { cwd: workspace, mcpServers: [] });
    assert.ok(session.modes.availableModes.some((it) => it.id === session.modes.currentModeId));
    await side.until("commands", () => side.of(session.sessionId, "available_commands_update").length > 0);
    assert.equal(await side.stop(), 0);
  },
  async "text and thoughts stream"() {
    const id = await plain.open();
    assert.equal((await plain.prompt(id, 'think "let me see" say 20 words')).stopReason, "end_turn");
    assert.equal(plain.said(id, "agent_thought_chunk"), "let me see");
    assert.match(plain.said(id), /^w1 .* w20$/);
    await complete(plain);
  },
  async "the end of every call arrives, with its output"() {
    const id = await plain.open();
    const calls = ['read_file {"path":"a.txt"}', 'list_dir {}', 'grep {"pattern":"alpha"}', 'glob {"pattern":"*.txt"}', 'bash {"command":"echo ran; echo on >&2"}', 'read_file {"path":"none.txt"}', "no_such_tool {}"];
    assert.equal((await plain.prompt(id, `${calls.map((it) => `call ${it}`).join(" then ")} then say done`)).stopReason, "end_turn");
    const ends = plain.ends(id);
    assert.deepEqual(ends.map((it) => it?.status), ["completed", "completed", "completed", "completed", "completed", "failed", "failed"]);
    assert.ok(ends.every((it) => it.rawOutput === undefined || (typeof it.rawOutput === "object" && !Array.isArray(it.rawOutput))));
    assert.match(ends[0].content[0].content.text, /alpha beta/);
    assert.match(JSON.stringify(ends[0].rawOutput), /alpha beta/);
    assert.match(JSON.stringify(ends[4].content), /ran/);
    await complete(plain);
  },
  async "edits arrive as diffs: one, several, a new file, a patch"() {
    const id = await plain.open();
    fs.writeFileSync(inside("e.txt"), "one\ntwo\n");
    fs.writeFileSync(inside("p.txt"), "one\ntwo\n");
    const patch = "*** Begin Patch\\n*** Update File: p.txt\\n@@\\n one\\n-two\\n+zwei\\n*** End Patch";
    const calls = ['edit_file {"path":"e.txt","old_string":"two","new_string":"2"}', 'write_file {"path":"n.txt","content":"new"}', `apply_patch {"input":"${patch}"}`];
    await plain.prompt(id, `${calls.map((it) => `call ${it}`).join(" then ")} then say done`);
    const diffs = plain.ends(id).map((it) => it.content.find((part) => part.type === "diff"));
    assert.deepEqual(diffs.map((it) => [it?.path, it?.oldText ?? null, it?.newText]), [
      [inside("e.txt"), "one\ntwo\n", "one\n2\n"],
      [inside("n.txt"), null, "new"],
      [inside("p.txt"), "one\ntwo\n", "one\nzwei\n"],
    ]);
    await complete(plain);
  },
  async "the plan arrives"() {
    const id = await plain.open();
    await plain.prompt(id, 'call todo {"todos":[{"content":"first","status":"in_progress"},{"content":"second","status":"pending"}]} then say done');
    assert.deepEqual(plain.of(id, "plan").at(-1).entries.map((it) => [it.content, it.status]), [["first", "in_progress"], ["second", "pending"]]);
    await complete(plain);
  },
  async "a question shows the change, and a yes does it"() {
    const id = await plain.open();
    fs.writeFileSync(inside("q.txt"), "one\ntwo\n");
    plain.asked.length = 0;
    await plain.prompt(id, 'call edit_file {"path":"q.txt","old_string":"two","new_string":"2"} then say done');
    const { params } = plain.asked.find((it) => it.method === "session/request_permission");
    assert.equal(params.toolCall.toolCallId, plain.of(id, "tool_call")[0].toolCallId);
    const [diff] = params.toolCall.content;
    assert.deepEqual([diff.type, diff.path, diff.oldText, diff.newText], ["diff", inside("q.txt"), "one\ntwo\n", "one\n2\n"]);
    assert.equal(new Set(params.options.map((it) => it.kind)).size, params.options.length, "no two options of one kind");
    assert.equal(fs.readFileSync(inside("q.txt"), "utf8"), "one\n2\n");
  },
  async "a no leaves everything as it is, and the turn goes on"() {
    const id = await plain.open();
    plain.permit = () => "reject_once";
    assert.equal((await plain.prompt(id, 'call write_file {"path":"no.txt","content":"x"} then say "as you like"')).stopReason, "end_turn");
    plain.permit = () => "allow_once";
    assert.equal(plain.ends(id)[0]?.status, "failed");
    assert.equal(plain.said(id), "as you like");
    assert.ok(!fs.existsSync(inside("no.txt")));
    await complete(plain);
  },
  async "cancel ends a text, a question and a command"() {
    for (const [prompt, ready] of [
      ["slow 20 say 500 words", (id) => plain.said(id).length > 0],
      ['call write_file {"path":"late.txt","content":"x"} then say done', () => plain.asked.length > 0],
      ['call bash {"command":"echo begun; sleep 60"} then say done', (id) => plain.of(id, "tool_call_update").some((it) => it.status === "in_progress")],
    ]) {
      const id = await plain.open();
      plain.asked.length = 0;
      plain.permit = () => (prompt.includes("late.txt") ? new Promise(() => {}) : "allow_once");
      const turn = plain.prompt(id, prompt);
      await plain.until(prompt, () => ready(id));
      await plain.agent.cancel({ sessionId: id });
      assert.equal((await turn).stopReason, "cancelled", prompt);
      assert.ok(plain.ends(id).every((it) => it?.status === "failed"), prompt);
    }
    plain.permit = () => "allow_once";
    assert.ok(!fs.existsSync(inside("late.txt")));
  },
  async "modes are set"() {
    const id = await plain.open();
    await plain.ask("setSessionMode", { sessionId: id, modeId: "read-only" });
    await plain.until("the mode", () => plain.of(id, "current_mode_update").at(-1)?.currentModeId === "read-only");
    assert.equal((await refused(plain.ask("setSessionMode", { sessionId: id, modeId: "no-such" }))).code, -32602);
  },
  async "files are read and written by the client"() {
    const side = await begin(FILES);
    const id = await side.open();
    side.buffers.set(inside("a.txt"), "unsaved\n");
    await side.prompt(id, 'call read_file {"path":"a.txt"} then call write_file {"path":"w.txt","content":"kept"} then call edit_file {"path":"a.txt","old_string":"unsaved","new_string":"changed"} then say done');
    assert.deepEqual(side.ends(id).map((it) => it?.status), ["completed", "completed", "completed"]);
    assert.match(JSON.stringify(side.ends(id)[0].content), /unsaved/);
    assert.deepEqual([side.buffers.get(inside("w.txt")), side.buffers.get(inside("a.txt"))], ["kept", "changed\n"]);
    assert.ok(!fs.existsSync(inside("w.txt")));
    await complete(side);
    assert.equal(await side.stop(), 0);
  },
  async "commands run in terminals of the client, by bash"() {
    const side = await begin({ terminal: true });
    const id = await side.open();
    await side.prompt(id, 'call bash {"command":"echo {1..3}; [[ 1 == 1 ]] && echo yes"} then say done');
    const [{ output }] = [...side.terminals.values()];
    assert.equal(output.replaceAll("\r", ""), "1 2 3\nyes\n");
    const told = side.of(id, "tool_call", "tool_call_update").flatMap((it) => it.content ?? []);
    assert.ok(told.some((it) => it.type === "terminal" && it.terminalId === "term-1"));
    assert.equal(side.ends(id)[0]?.status, "completed");
    await complete(side);
    assert.equal(await side.stop(), 0);
  },
  async "a session is loaded and told again"() {
    const first = await begin();
    const id = await first.open();
    await first.prompt(id, 'call read_file {"path":"a.txt"} then say "first answer"');
    assert.equal(await first.stop(), 0);
    const second = await begin();
    await second.ask("loadSession", { sessionId: id, cwd: workspace, mcpServers: [] });
    await second.until("the answer", () => second.said(id) === "first answer");
    assert.match(second.said(id, "user_message_chunk"), /call read_file/);
    assert.equal(second.ends(id)[0]?.status, "completed");
    await complete(second);
    assert.equal((await second.prompt(id, "say more")).stopReason, "end_turn");
    const nobody = { sessionId: "00000000-0000-7000-8000-000000000000", cwd: workspace, mcpServers: [] };
    assert.ok((await refused(second.ask("loadSession", nobody))).code < 0);
    assert.equal(await second.stop(), 0);
  },
  async "an error of the model has its words and details"() {
    const id = await plain.open();
    const error = await refused(plain.prompt(id, "fail 400"));
    assert.ok(error.message.length > "Internal error".length, error.message);
    assert.ok(typeof error.data?.details === "string" && error.data.details.length > 0, JSON.stringify(error));
    assert.equal((await plain.prompt(id, "say well")).stopReason, "end_turn");
  },
  async "nothing that this line knows was refused by it"() {
    assert.equal(await plain.stop(), 0);
    assert.deepEqual(complaints.filter((it) => KNOWN.some((tag) => it.includes(`"sessionUpdate":"${tag}"`))), []);
    // A file that is not there yet is our own answer, and the SDK notes it.
    const own = complaints.filter((it) => !it.startsWith("Error handling notification") && !it.includes("no such file"));
    assert.deepEqual(own, []);
  },
};

await runChecks(checks, close);
