// The RpcClient of oh-my-pi, under bun, drives the agent. Runner: see runner.mjs.
//
//   PEER_PACKAGE  directory of the package; its client is imported as it is, in TypeScript
//   PEER_AGENT    the program under test
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { plugin } from "bun";
import { refused, runChecks, until, within } from "./runner.mjs";

const { PEER_PACKAGE, PEER_AGENT } = process.env;
// 350 MB of machine code that the client starts its own agent with. It is given a process that runs already, so nothing
// of it is ever called; a call would be an error.
const natives = () => ({ exports: { Process: class {}, ProcessStatus: {}, FileLock: class {} }, loader: "object" });
plugin({ name: "natives", setup: (build) => void build.module("@oh-my-pi/pi-natives", natives) });
const { RpcClient, defineRpcClientTool } = await import(path.join(PEER_PACKAGE, "src/modes/rpc/rpc-client.ts"));

const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "peer-")));
const workspace = path.join(home, "work");
fs.mkdirSync(workspace);
fs.writeFileSync(path.join(workspace, "a.txt"), "alpha beta\n");
const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, TILLERMAN_HOME: path.join(home, "tillerman"), LANG: "C.UTF-8" };
/** Far below the 30 s after which the client itself gives up, far above what a busy machine needs. */
const AT_ONCE_MS = 10_000;

/** The agent as the process that the client asks for. */
function started(args) {
  const child = spawn(PEER_AGENT, args, { cwd: workspace, env });
  let stderr = "";
  child.stderr.on("data", (data) => (stderr += data));
  child.stdin.on("error", () => {});
  const exited = new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
  const stdin = { write: (data) => child.stdin.write(data) };
  return { stdin, stdout: Readable.toWeb(child.stdout), peekStderr: () => stderr, kill: () => child.kill("SIGTERM"), exited };
}
const clients = [];
async function begin(args = [], more = {}) {
  const client = new RpcClient({ spawn: started, model: "tour", args, ...more });
  client.events = [];
  client.onSessionEvent((event) => client.events.push(event));
  clients.push(client);
  await client.start();
  return client;
}
/** The error of a request that must fail, and fail by an answer. */
async function refusedAtOnce(asking) {
  const asked = Date.now();
  const error = await refused(asking);
  assert.ok(Date.now() - asked < AT_ONCE_MS, `nothing was answered: ${error.message}`);
  return error;
}
const textOf = (message) => (typeof message.content === "string" ? message.content : message.content.filter((it) => it.type === "text").map((it) => it.text).join(""));
const end = (events) => events.findLast((event) => event.type === "agent_end").messages;

let client;
const checks = {
  async "it starts, and its state is told"() {
    client = await begin();
    const state = await client.getState();
    assert.deepEqual([state.model.id, state.isStreaming, state.messageCount], ["tour", false, 0]);
    assert.equal(state.thinkingLevel, "off");
    assert.deepEqual([state.fastModeEnabled, state.fastModeActive], [false, false]);
  },
  async "a prompt is answered"() {
    const events = await client.promptAndWait("say 12 words");
    assert.equal(textOf(end(events).at(-1)), Array.from({ length: 12 }, (_, i) => `w${i + 1}`).join(" "));
    assert.equal(await client.getLastAssistantText(), textOf(end(events).at(-1)));
  },
  async "tools run and are told"() {
    const events = await client.promptAndWait('call read {"path":"a.txt"} then call bash {"command":"exit 3"} then say done');
    const ends = events.filter((event) => event.type === "tool_execution_end");
    assert.deepEqual(ends.map((event) => [event.toolName, event.isError]), [["read", false], ["bash", true]]);
    assert.match(textOf(ends[0].result), /alpha beta/);
  },
  async "messages come whole and in pages"() {
    const all = await client.getMessages();
    const page = await client.getMessagesPage();
    assert.equal(page.totalMessages, all.length);
    assert.deepEqual(page.messages, all);
    const parts = [];
    for (let cursor; ; ) {
      const part = await client.getMessagesPage({ cursor, limit: 2 });
      assert.equal(part.totalMessages, all.length);
      assert.ok(part.messages.length <= 2);
      parts.push(...part.messages);
      cursor = part.nextCursor;
      if (!cursor) break;
    }
    assert.deepEqual(parts, all);
  },
  async "steering and follow-ups join the run"() {
    const since = client.events.length;
    const events = client.collectEvents();
    await client.prompt("slow 20 say 60 words");
    await until(() => client.events.slice(since).some((event) => event.type === "message_update"), "text");
    await client.followUp("say followed");
    await client.steer("say steered");
    const users = end(await events).filter((message) => message.role === "user").map(textOf);
    assert.deepEqual(users, ["slow 20 say 60 words", "say steered", "say followed"]);
  },
  async "abort ends a run, and another prompt can take its place"() {
    const since = client.events.length;
    const of = (type) => client.events.slice(since).filter((event) => event.type === type);
    await client.prompt("say wait hold");
    await until(() => of("message_update").length > 0, "text");
    await client.abort();
    await until(() => of("agent_end").length === 1, "the end");
    await client.prompt("say wait hold");
    await until(() => of("agent_start").length === 2 && client.events.at(-1).type === "message_update", "text again");
    await client.abortAndPrompt("say instead");
    await until(() => of("agent_end").length === 3, "the end of the other");
    assert.equal(textOf(end(client.events).at(-1)), "instead");
  },
  async "subscriptions to sub-agents are confirmed"() {
    for (const level of ["progress", "events", "off"]) assert.equal(await client.setSubagentSubscription(level), level);
    assert.deepEqual(await client.getSubagents(), []);
    await refusedAtOnce(client.getSubagentMessages({ subagentId: "nobody" }));
  },
  async "fast mode is set with its state, or refused"() {
    for (const enabled of [true, false]) {
      const answer = await client.setFastMode(enabled).then((set) => ({ set }), (refusal) => ({ refusal }));
      if (answer.refusal) assert.equal(answer.refusal.name, "RpcCommandError", answer.refusal.message);
      else assert.deepEqual([typeof answer.set?.enabled, typeof answer.set?.active], ["boolean", "boolean"]);
    }
  },
  async "models and levels are set"() {
    const models = await client.getAvailableModels();
    assert.deepEqual(models.map((model) => model.id).sort(), ["tour", "tour-mini"]);
    assert.equal((await client.setModel("tour", "tour-mini")).id, "tour-mini");
    assert.equal((await client.cycleModel()).model.id, "tour");
    await client.setThinkingLevel("high");
    assert.equal((await client.getState()).thinkingLevel, "high");
    await client.setThinkingLevel("off");
    assert.equal((await client.getState()).thinkingLevel, "off");
    assert.equal(typeof (await client.cycleThinkingLevel()).level, "string");
    await client.setThinkingLevel("off");
  },
  async "switches are set"() {
    for (const mode of ["all", "one-at-a-time"]) {
      await client.setSteeringMode(mode);
      await client.setFollowUpMode(mode);
      const state = await client.getState();
      assert.deepEqual([state.steeringMode, state.followUpMode], [mode, mode]);
    }
    for (const enabled of [false, true]) {
      await client.setAutoCompaction(enabled);
      await client.setAutoRetry(enabled);
      assert.equal((await client.getState()).autoCompactionEnabled, enabled);
    }
    await client.abortRetry();
  },
  async "errors are answers"() {
    assert.equal((await refusedAtOnce(client.setModel("nope", "x"))).message, "Model not found: nope/x");
    assert.match((await refusedAtOnce(client.branch("nope"))).message, /^Invalid entry ID/);
    assert.match((await refusedAtOnce(client.login("nobody"))).message, /./);
    const fresh = await begin();
    assert.match((await refusedAtOnce(fresh.compact())).message, /^Nothing to compact/);
    assert.match((await refusedAtOnce(fresh.exportHtml())).message, /./);
    await fresh.stop();
    assert.equal((await client.getState()).model.id, "tour");
  },
  async "bash runs, and is aborted"() {
    const result = await client.bash("echo by hand; exit 2");
    assert.deepEqual([result.output, result.exitCode, result.cancelled], ["by hand\n", 2, false]);
    const marker = path.join(workspace, "begun");
    const running = client.bash(`touch ${marker}; sleep 60`);
    await until(() => fs.existsSync(marker), "the command");
    await client.abortBash();
    assert.equal((await running).cancelled, true);
  },
  async "tools of the host are called, updated and can fail"() {
    const updates = [];
    const dial = defineRpcClientTool({
      name: "dial",
      label: "Dial",
      description: "Dials a number",
      parameters: { type: "object", properties: { number: { type: "string" } } },
      execute({ number }, { sendUpdate }) {
        if (number === "0") throw new Error("nobody there");
        sendUpdate("ringing");
        updates.push(number);
        return `answered ${number}`;
      },
    });
    assert.deepEqual(await client.setCustomTools([dial]), ["dial"]);
    const events = await client.promptAndWait('call dial {"number":"12"} then call dial {"number":"0"} then say done');
    const ends = events.filter((event) => event.type === "tool_execution_end");
    assert.deepEqual(ends.map((event) => [textOf(event.result), event.isError]), [["answered 12", false], ["nobody there", true]]);
    assert.deepEqual(updates, ["12"]);
    assert.ok(events.some((event) => event.type === "tool_execution_update" && textOf(event.partialResult) === "ringing"));
  },
  async "a call of the host's tool is cancelled with its run"() {
    let stopped = false;
    const wait = defineRpcClientTool({
      name: "wait",
      label: "Wait",
      description: "Waits",
      parameters: { type: "object", properties: {} },
      execute: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(String((stopped = true))))),
    });
    await client.setCustomTools([wait]);
    const since = client.events.length;
    await client.prompt("call wait {} then say never");
    await until(() => client.events.slice(since).some((event) => event.type === "tool_execution_start"), "the call");
    await client.abort();
    await until(() => stopped, "the cancellation");
    await client.setCustomTools([]);
  },
  async "a long output comes through"() {
    const other = await begin();
    const events = await other.promptAndWait(`delta "${"y".repeat(1_000_000)}"`);
    assert.equal(textOf(end(events).at(-1)).length, 1_000_000);
    await other.stop();
  },
  async "commands, statistics and a page are told"() {
    assert.ok(Array.isArray(await client.getAvailableCommands()));
    const stats = await client.getSessionStats();
    assert.ok(stats.userMessages > 5, JSON.stringify(stats));
    const page = path.join(workspace, "page.html");
    assert.equal((await client.exportHtml(page)).path, page);
    assert.match(fs.readFileSync(page, "utf8"), /followed/);
    assert.ok(Array.isArray(await client.getLoginProviders()));
  },
  async "sessions are begun, switched and branched"() {
    const old = await client.getState();
    assert.deepEqual(await client.newSession(), { cancelled: false });
    assert.equal((await client.getState()).messageCount, 0);
    assert.deepEqual(await client.switchSession(old.sessionFile), { cancelled: false });
    assert.equal((await client.getState()).messageCount, old.messageCount);
    const [first, second] = await client.getBranchMessages();
    assert.equal(first.text, "say 12 words");
    assert.deepEqual(await client.branch(second.entryId), { text: second.text, cancelled: false });
    assert.equal((await client.getState()).messageCount, 2);
  },
  async "a handoff goes on with a summary"() {
    for (let i = 0; i < 3; i++) await client.promptAndWait(`delta "${"lorem ipsum ".repeat(4_000)}"`);
    const before = await client.getState();
    assert.ok((await client.handoff("mind the gap")) !== undefined);
    const after = await client.getState();
    assert.notEqual(after.sessionId, before.sessionId);
    await client.promptAndWait("say onwards");
    assert.equal(await client.getLastAssistantText(), "onwards");
  },
  async "a failing model is told in the events"() {
    const events = await client.promptAndWait("fail 400");
    assert.match(end(events).at(-1).errorMessage, /400/);
    await client.promptAndWait("say well");
    assert.equal(await client.getLastAssistantText(), "well");
  },
  async "it stops, and an agent that dies is noticed"() {
    await within(client.stop(), "it does not stop");
    let process;
    const other = await begin([], { spawn: (args) => (process = started(args)) });
    const asked = other.bash("sleep 60");
    asked.catch(() => {});
    process.kill();
    await within(process.exited, "it does not end");
    await until(async () => (await refused(other.getState().then(() => Promise.reject(new Error("alive")))).then((why) => why.message)) !== "alive", "the notice");
  },
};

await runChecks(checks, async () => {
  for (const it of clients) await it.stop().catch(() => {});
  fs.rmSync(home, { recursive: true, force: true });
});
