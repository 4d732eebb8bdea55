// What every check stands on: a fresh agent directory, a workspace, the mock model, and the agent under test
// driven by the real RpcClient of the installed npm package.
//
//   PEER_PACKAGE     directory of the installed package (its `dist/index.js` is imported)
//   PEER_CLIENT      the one file of it that is imported instead: there is a client then, and nothing else
//   PEER_AGENT       the program under test; unset: the package's own agent
//   PEER_AGENT_ARGS  extra arguments for it, separated by blanks
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { modelsJson, startMockModel } from "./mock-model.mjs";
import { RawAgent } from "./raw.mjs";

const pack = process.env.PEER_PACKAGE;
assert.ok(pack, "PEER_PACKAGE is not set");
const part = process.env.PEER_CLIENT ?? "dist/index.js";
export const { RpcClient, SessionManager } = await import(pathToFileURL(path.join(pack, part)).href);
/** Whether the package is newer than the one that the first checks were written for. */
export const isNewer = Boolean(process.env.PEER_CLIENT);

const program = process.env.PEER_AGENT;
/** Whether the package's own agent is tested: the checks were found right against it. */
export const isPi = !program;
const piCli = path.join(pack, "dist/cli.js");
const shim = fileURLToPath(new URL("./shim.mjs", import.meta.url));
const extraArgs = (process.env.PEER_AGENT_ARGS ?? "").split(" ").filter(Boolean);
const MODEL = { provider: "mock", model: "mock-1" };

/** Longer than any single step takes on a busy machine. */
const PATIENCE_MS = 15_000;
/** A short wait between retries, so that three of them are quick; agents read it from the settings file. */
export const RETRY_DELAY_MS = 30;
/** Events that newer agents add and that no order is promised for. */
const ADDITIVE = new Set(["ready", "queue_update", "agent_settled", "bash_execution_update", "entry_appended", "thinking_level_changed", "session_info_changed", "session_settled", "prompt_result", "response"]);

export const home = fs.mkdtempSync(path.join(os.tmpdir(), "peer-"));
export const agentDir = path.join(home, "agent");
export const workspace = path.join(home, "work");
export const mock = await startMockModel();

for (const dir of [agentDir, workspace]) fs.mkdirSync(dir);
fs.writeFileSync(path.join(agentDir, "models.json"), JSON.stringify(modelsJson(mock.baseUrl)));
fs.writeFileSync(path.join(agentDir, "settings.json"), JSON.stringify({ retry: { baseDelayMs: RETRY_DELAY_MS } }));
fs.writeFileSync(path.join(workspace, "a.txt"), "alpha beta\n");

// RpcClient hands our whole environment on; no key, session or setting of this machine may reach the agent.
const kept = { PATH: process.env.PATH, PEER_AGENT: program, PEER_STACK: process.env.PEER_STACK, LANG: "C.UTF-8" };
for (const name of Object.keys(process.env)) delete process.env[name];
const env = { HOME: home, TMPDIR: home, TILLERMAN_HOME: path.join(home, "tillerman"), PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1", NO_COLOR: "1" };
for (const [name, value] of Object.entries({ ...kept, ...env })) if (value !== undefined) process.env[name] = value;

const running = new Set();
/** stderr of every agent under test that was stopped. */
export const complaints = [];

/** A started client; `events` holds everything but the responses it asked for. */
export async function start(args = [], { pi = false, cwd = workspace, model = MODEL, env = {} } = {}) {
  const own = pi || isPi;
  const client = new RpcClient({ cliPath: own ? piCli : shim, cwd, env, ...model, args: own ? args : [...args, ...extraArgs] });
  // RpcClient copies the agent's stderr to ours; we keep it to look at instead.
  const write = process.stderr.write;
  client.events = [];
  client.onEvent((event) => client.events.push(event));
  process.stderr.write = () => true;
  try {
    await client.start();
  } finally {
    process.stderr.write = write;
  }
  failFast(client);
  client.process.stderr.removeAllListeners("data");
  client.process.stderr.on("data", (data) => (client.stderr += data));
  client.isUnderTest = !pi;
  running.add(client);
  return client;
}

/** RpcClient waits 30 s for an answer of a process that is gone, and 60 s for its idleness; nobody should here. */
function failFast(client) {
  const gone = new Promise((_, reject) => {
    client.process.once("exit", (code, signal) => {
      client.ended = new Error(`the agent has ended (${code ?? signal}): ${client.getStderr().slice(-300)}`);
      reject(client.ended);
    });
  });
  gone.catch(() => {});
  client.process.stdin.on("error", () => {});
  client.send = (command) => {
    if (client.ended) return Promise.reject(client.ended);
    return Promise.race([gone, RpcClient.prototype.send.call(client, command)]);
  };
  client.collectEvents = () => Promise.race([gone, RpcClient.prototype.collectEvents.call(client, PATIENCE_MS)]);
  client.waitForIdle = () => Promise.race([gone, RpcClient.prototype.waitForIdle.call(client, PATIENCE_MS)]);
}

export async function stop(client) {
  running.delete(client);
  await client.stop();
  if (client.isUnderTest) complaints.push(client.getStderr());
}

export async function withClient(args, work, options) {
  const client = await start(args, options);
  try {
    return await work(client);
  } finally {
    await stop(client);
  }
}

/** The agent under test without RpcClient and without the extra arguments. */
export function raw(args = ["--provider", "mock", "--model", "mock-1"]) {
  const agent = new RawAgent(isPi ? ["node", piCli] : [program], args, { cwd: workspace, env: process.env });
  running.add({ stop: () => agent.process.kill("SIGKILL") });
  return agent;
}

export async function close() {
  for (const client of running) await client.stop();
  await mock.close();
  fs.rmSync(home, { recursive: true, force: true });
}

/** Waits for an event from index `since` on. */
export async function eventually(client, wanted, since = 0, what = String(wanted)) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = client.events.slice(since).find(wanted);
    if (found) return found;
    if (client.ended) throw client.ended;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}; seen ${order(client.events.slice(since)).join(" ")}`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

/** Waits until `probe` gives something true. */
export async function until(probe, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The order of events in short: `message_end:assistant`, without updates and additive events. */
export function order(events) {
  const told = events.filter((event) => !ADDITIVE.has(event.type) && event.type !== "message_update" && event.type !== "tool_execution_update");
  return told.map((event) => (event.type.startsWith("message_") ? `${event.type}:${event.message.role}` : event.type));
}

export const updates = (events, kind) =>
  events.filter((event) => event.type === "message_update" && event.assistantMessageEvent.type === kind).map((event) => event.assistantMessageEvent);

export const textOf = (message) =>
  typeof message.content === "string" ? message.content : (message.content ?? []).filter((block) => block.type === "text").map((block) => block.text).join("");

export const roles = (messages) => messages.map((message) => message.role);

export const lines = (file) => fs.readFileSync(file, "utf8").split("\n").slice(0, -1).map((line) => JSON.parse(line));

/** The same messages, without what only one agent adds (`undefined` members, attribution, timing). */
export function plain(messages) {
  const extra = new Set(["attribution", "duration", "ttft", "meta"]);
  return JSON.parse(JSON.stringify(messages, (key, value) => (extra.has(key) ? undefined : value)));
}
