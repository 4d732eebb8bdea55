// An agent in `--mode rpc` as a bare process: lines in, frames out, nothing interpreted.
import { spawn } from "node:child_process";

/** Longer than any single step here takes; a silent agent fails instead of stopping the run. */
const PATIENCE_MS = 20_000;

export class RawAgent {
  frames = [];
  bad = [];
  stderr = "";
  #waiting = [];

  /** `command` is the program and its first arguments, e.g. ["node", "cli.js"]. */
  constructor(command, args, { cwd, env }) {
    const [program, ...first] = command;
    this.process = spawn(program, [...first, "--mode", "rpc", ...args], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    this.exit = new Promise((resolve) => this.process.once("exit", (code, signal) => resolve({ code, signal })));
    this.closed = new Promise((resolve) => this.process.once("close", resolve));
    this.process.stdin.on("error", () => {});
    this.process.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
    let rest = "";
    this.process.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) this.#line(line);
    });
  }

  #line(line) {
    let frame;
    try {
      frame = JSON.parse(line);
    } catch {
      this.bad.push(line);
      return;
    }
    this.frames.push(frame);
    this.#waiting = this.#waiting.filter((wait) => !wait(frame));
  }

  send(frame) {
    this.process.stdin.write(typeof frame === "string" ? `${frame}\n` : `${JSON.stringify(frame)}\n`);
  }

  /** The first frame for which `wanted` holds, from `since` (an index into `frames`) on. */
  async wait(wanted, { since = 0, what = String(wanted), patience = PATIENCE_MS } = {}) {
    const past = this.frames.slice(since).find(wanted);
    if (past) return past;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        clearTimeout(late);
        const seen = this.frames.slice(since).map((frame) => frame.type).join(" ").slice(-400);
        reject(new Error(`waited in vain for ${what}; seen: ${seen}; stderr: ${this.stderr.slice(-400)}`));
      };
      const late = setTimeout(giveUp, patience);
      // "close" comes when all of stdout was read, so that the last frames are not missed.
      this.closed.then(giveUp);
      this.#waiting.push((frame) => {
        if (!wanted(frame)) return false;
        clearTimeout(late);
        resolve(frame);
        return true;
      });
    });
  }

  /** Sends a command and waits for the response that carries its id. */
  async ask(frame) {
    const since = this.frames.length;
    this.send(frame);
    return this.wait((it) => it.type === "response" && it.id === frame.id, { since, what: `response to ${frame.type}` });
  }

  /** Closes stdin and waits for the end. */
  async end() {
    this.process.stdin.end();
    const late = setTimeout(() => this.process.kill("SIGKILL"), PATIENCE_MS);
    const exit = await this.exit;
    clearTimeout(late);
    return exit;
  }
}
