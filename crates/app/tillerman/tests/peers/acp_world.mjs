// What the checks of acp_sdk.mjs stand on: a fresh home, a workspace, and the agent under test driven by the client half of
// the official SDK. The model is the built-in `tour`: a prompt is a script of what it does.
//
//   PEER_PACKAGE     directory of the installed SDK
//   PEER_AGENT       the program under test
//   PEER_AGENT_ARGS  extra arguments for `acp`, separated by blanks
//   PEER_LOGS        directory for the frames of every agent
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { PEER_PACKAGE, PEER_AGENT, PEER_LOGS } = process.env;
assert.ok(PEER_PACKAGE && PEER_AGENT && PEER_LOGS, "PEER_PACKAGE, PEER_AGENT or PEER_LOGS is not set");
const extraArgs = (process.env.PEER_AGENT_ARGS ?? "").split(" ").filter(Boolean);
/** Whether the agent leaves out what only some clients know. */
export const strict = extraArgs.includes("--strict");
const sdk = await import(pathToFileURL(path.join(PEER_PACKAGE, "dist/v1/unstable/acp.js")).href);

/** Longer than any single step takes on a busy machine. */
const PATIENCE_MS = 15_000;
/** How long a stopped agent may take. */
export const EOF_MS = 1_000;

export const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "peer-")));
export const workspace = path.join(home, "work");
fs.mkdirSync(workspace);
fs.writeFileSync(path.join(workspace, "a.txt"), "alpha beta\n");

/** Everything a client can offer. */
export const ALL = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  session: { notices: {}, compaction: {} },
  elicitation: { form: {}, url: {} },
};

// The SDK says what it cannot read on the console: that is a fault of the agent.
export const complaints = [];
console.error = (...words) => complaints.push(words.map((word) => (typeof word === "string" ? word : JSON.stringify(word))).join(" "));
console.warn = console.error;

const running = new Set();
let started = 0;

export class Peer {
  updates = [];
  /** Requests of the agent, by method, in the order they came. */
  asked = [];
  /** Files as an editor has them, saved or not. */
  buffers = new Map();
  terminals = new Map();
  /** What permission requests are answered with; a function may wait. */
  permit = () => "allow_once";
  fill = () => ({ action: "decline" });

  constructor(capabilities, { args = [], cwd = workspace } = {}) {
    const log = path.join(PEER_LOGS, `sdk-${process.pid}-${++started}.log`);
    const words = ["acp", "--model", "tour", "--log-frames", log, ...extraArgs, ...args];
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, TILLERMAN_HOME: path.join(home, "tillerman"), LANG: "C.UTF-8" };
    this.child = spawn(PEER_AGENT, words, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    this.stderr = "";
    this.child.stderr.on("data", (data) => (this.stderr += data));
    this.exited = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve(code ?? signal)));
    running.add(this);
    this.capabilities = capabilities;
    const app = sdk.client({ name: "checks" });
    app.onNotification(sdk.methods.client.session.update, ({ params }) => void this.updates.push(params));
    app.onRequest(sdk.methods.client.session.requestPermission, async ({ params, signal }) => {
      this.asked.push({ method: "session/request_permission", params });
      const choice = await this.permit(params, signal);
      return { outcome: choice === "cancelled" ? { outcome: "cancelled" } : { outcome: "selected", optionId: choice } };
    });
    app.onRequest(sdk.methods.client.elicitation.create, async ({ params }) => {
      this.asked.push({ method: "elicitation/create", params });
      return this.fill(params);
    });
    app.onRequest(sdk.methods.client.fs.readTextFile, ({ params }) => {
      this.asked.push({ method: "fs/read_text_file", params });
      if (this.buffers.has(params.path)) return { content: this.buffers.get(params.path) };
      throw new sdk.RequestError(-32002, "no such file", { uri: params.path });
    });
    app.onRequest(sdk.methods.client.fs.writeTextFile, ({ params }) => {
      this.asked.push({ method: "fs/write_text_file", params });
      this.buffers.set(params.path, params.content);
      return {};
    });
    for (const [name, method] of Object.entries(sdk.methods.client.terminal)) {
      app.onRequest(method, ({ params }) => {
        this.asked.push({ method, params });
        return this[`terminal_${name}`](params);
      });
    }
    const stream = sdk.ndJsonStream(Writable.toWeb(this.child.stdin), Readable.toWeb(this.child.stdout));
    this.connection = app.connect(stream);
    this.agent = this.connection.agent;
  }

  // ---- a terminal of the client: a real process ----
  terminal_create({ command, args = [], cwd, env = [] }) {
    const id = `term-${this.terminals.size + 1}`;
    const more = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const child = spawn(command, args, { cwd, env: { ...process.env, ...more } });
    const it = { child, output: "", status: null };
    child.stdout.on("data", (data) => (it.output += data));
    child.stderr.on("data", (data) => (it.output += data));
    it.over = new Promise((resolve) => child.once("close", (exitCode, signal) => resolve((it.status = { exitCode, signal }))));
    this.terminals.set(id, it);
    return { terminalId: id };
  }
  terminal_output({ terminalId }) {
    const it = this.terminals.get(terminalId);
    return { output: it.output, truncated: false, ...(it.status && { exitStatus: it.status }) };
  }
  terminal_waitForExit({ terminalId }) {
    return this.terminals.get(terminalId).over;
  }
  terminal_kill({ terminalId }) {
    this.terminals.get(terminalId).child.kill("SIGKILL");
    return {};
  }
  terminal_release({ terminalId }) {
    const it = this.terminals.get(terminalId);
    it.released = true;
    it.child.kill("SIGKILL");
    return {};
  }

  ask(method, params = {}, options) {
    return within(this.agent.request(method, params, options), `no answer to ${method}; stderr: ${this.stderr.slice(-300)}`);
  }
  initialize(more = {}) {
    return this.ask("initialize", { protocolVersion: 1, clientCapabilities: this.capabilities, clientInfo: { name: "checks", version: "1" }, ...more });
  }
  async open(cwd = workspace) {
    return (await this.ask("session/new", { cwd, mcpServers: [] })).sessionId;
  }
  prompt(sessionId, text, options) {
    return this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] }, options);
  }
  cancel(sessionId) {
    return this.agent.notify("session/cancel", { sessionId });
  }
  of(sessionId, ...tags) {
    const mine = this.updates.filter((it) => it.sessionId === sessionId).map((it) => it.update);
    return tags.length > 0 ? mine.filter((it) => tags.includes(it.sessionUpdate)) : mine;
  }
  said(sessionId, tag = "agent_message_chunk") {
    return this.of(sessionId, tag).map((it) => it.content.text).join("");
  }
  until(what, test) {
    return until(test, () => `${what} did not happen; updates: ${JSON.stringify(this.updates.slice(-5))}`);
  }
  methods() {
    return this.asked.map((it) => it.method);
  }
  /** Ends the agent by the end of its input; gives its exit code and how long that took. */
  async stop() {
    running.delete(this);
    const begun = Date.now();
    this.child.stdin.end();
    const code = await within(this.exited, "the agent does not end");
    return { code, ms: Date.now() - begun };
  }
}

/** An agent that knows its client. */
export async function start(capabilities = {}, options) {
  const peer = new Peer(capabilities, options);
  await peer.initialize();
  return peer;
}

export function within(promise, why) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(why)), PATIENCE_MS);
    Promise.resolve(promise).then(resolve, reject).finally(() => clearTimeout(late));
  });
}

export async function until(test, why) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!test()) {
    if (Date.now() > deadline) throw new Error(why());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The error of a request that must fail. */
export async function refused(promise) {
  const answer = await promise.then((value) => ({ value }), (error) => ({ error }));
  assert.ok(answer.error, `it was accepted: ${JSON.stringify(answer.value)}`);
  return answer.error;
}

export function close() {
  for (const peer of running) peer.child.kill("SIGKILL");
  fs.rmSync(home, { recursive: true, force: true });
}
