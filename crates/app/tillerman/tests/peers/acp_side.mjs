// A client of the Agent Client Protocol made with `ClientSideConnection`, as the SDK had it in its older versions, for any
// agent that is a program. What the agent really wrote is kept beside what the SDK handed over.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { until, within } from "./runner.mjs";

export const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "peer-")));
export const workspace = path.join(home, "work");
fs.mkdirSync(workspace);
fs.writeFileSync(path.join(workspace, "a.txt"), "alpha beta\n");
export const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, TILLERMAN_HOME: path.join(home, "tillerman"), LANG: "C.UTF-8" };

/** What the SDK could not read; it says so on the console and goes on. */
export const complaints = [];
console.error = (...words) => complaints.push(words.map((word) => (typeof word === "string" ? word : JSON.stringify(word))).join(" "));
console.warn = console.error;

const running = new Set();

export class Side {
  updates = [];
  /** Every `session/update` as the agent wrote it. */
  written = [];
  asked = [];
  buffers = new Map();
  terminals = new Map();
  /** The kind of the option that questions are answered with; a function may wait. */
  permit = () => "allow_once";
  stderr = "";

  constructor(sdk, [program, ...args], more = {}) {
    this.child = spawn(program, args, { cwd: workspace, env: { ...env, ...more } });
    this.child.stderr.on("data", (data) => (this.stderr += data));
    this.child.stdin.on("error", () => {});
    this.exited = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve(code ?? signal)));
    running.add(this);
    let rest = "";
    this.child.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      for (const line of lines) this.#wrote(JSON.parse(line));
    });
    const stream = sdk.ndJsonStream(Writable.toWeb(this.child.stdin), Readable.toWeb(this.child.stdout));
    this.agent = new sdk.ClientSideConnection(() => this.#client(sdk), stream);
  }

  #wrote(frame) {
    if (frame.method === "session/update") this.written.push(frame.params);
  }

  #client(sdk) {
    const note = (method, work) => async (params) => {
      this.asked.push({ method, params });
      return work(params);
    };
    return {
      sessionUpdate: async (params) => void this.updates.push(params),
      requestPermission: note("session/request_permission", async (params) => {
        const kind = await this.permit(params);
        const option = params.options.find((it) => it.kind === kind);
        return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
      }),
      readTextFile: note("fs/read_text_file", ({ path: file }) => {
        if (this.buffers.has(file)) return { content: this.buffers.get(file) };
        throw new sdk.RequestError(-32002, "no such file", { uri: file });
      }),
      writeTextFile: note("fs/write_text_file", ({ path: file, content }) => (this.buffers.set(file, content), {})),
      createTerminal: note("terminal/create", (params) => this.#terminal(params)),
      terminalOutput: note("terminal/output", ({ terminalId }) => {
        const { output, status } = this.terminals.get(terminalId);
        return { output, truncated: false, ...(status && { exitStatus: status }) };
      }),
      waitForTerminalExit: note("terminal/wait_for_exit", ({ terminalId }) => this.terminals.get(terminalId).over),
      killTerminal: note("terminal/kill", ({ terminalId }) => (this.terminals.get(terminalId).child.kill("SIGKILL"), {})),
      releaseTerminal: note("terminal/release", ({ terminalId }) => (this.terminals.get(terminalId).child.kill("SIGKILL"), {})),
    };
  }

  #terminal({ command, args = [], cwd, env: given = [] }) {
    const id = `term-${this.terminals.size + 1}`;
    const child = spawn(command, args, { cwd, env: { ...env, ...Object.fromEntries(given.map(({ name, value }) => [name, value])) } });
    const it = { child, output: "", status: null };
    child.stdout.on("data", (data) => (it.output += data));
    child.stderr.on("data", (data) => (it.output += data));
    it.over = new Promise((resolve) => child.once("close", (exitCode, signal) => resolve((it.status = { exitCode, signal }))));
    this.terminals.set(id, it);
    return { terminalId: id };
  }

  /** A request by the SDK's own method. */
  ask(method, params) {
    return within(this.agent[method](params), `no answer to ${method}; stderr: ${this.stderr.slice(-300)}`);
  }
  initialize(clientCapabilities = {}) {
    return this.ask("initialize", { protocolVersion: 1, clientCapabilities });
  }
  async open() {
    return (await this.ask("newSession", { cwd: workspace, mcpServers: [] })).sessionId;
  }
  prompt(sessionId, text) {
    return this.ask("prompt", { sessionId, prompt: [{ type: "text", text }] });
  }
  of(sessionId, ...tags) {
    return this.updates.filter((it) => it.sessionId === sessionId).map((it) => it.update).filter((it) => tags.includes(it.sessionUpdate));
  }
  said(sessionId, tag = "agent_message_chunk") {
    return this.of(sessionId, tag).map((it) => it.content.text).join("");
  }
  /** The last that was told of every call, in the order of the calls. */
  ends(sessionId) {
    return this.of(sessionId, "tool_call").map((call) => this.of(sessionId, "tool_call_update").findLast((it) => it.toolCallId === call.toolCallId));
  }
  until(what, test) {
    return until(test, () => `${what} did not happen; updates: ${JSON.stringify(this.updates.slice(-5))}`);
  }
  async stop() {
    running.delete(this);
    this.child.stdin.end();
    return within(this.exited, "the agent does not end");
  }
}

export const load = (file) => import(pathToFileURL(file).href);

export function close() {
  for (const side of running) side.child.kill("SIGKILL");
  fs.rmSync(home, { recursive: true, force: true });
}
