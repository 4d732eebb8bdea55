// How fast an agent tells a long answer: words per second, CPU seconds and memory, with a client that only reads.
//   PEER_COMMAND="node cli.js" node speed.mjs [WORDS]
// prints one line of JSON; exit code 1 when the agent died. The model runs in a process of its own, so that its work
// is not counted. PEER_PAUSE_MS lets it pause between two words, for an agent that dies of a faster one.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { modelsJson } from "./mock-model.mjs";

const words = Number(process.argv[2] ?? 20_000);
const pause = process.env.PEER_PAUSE_MS;
const command = process.env.PEER_COMMAND.split(" ");
/** Clock ticks of /proc, the same on every Linux. */
const TICKS_PER_SECOND = 100;

const model = spawn(process.execPath, [fileURLToPath(new URL("./mock-model.mjs", import.meta.url))], { stdio: ["pipe", "pipe", "inherit"] });
const baseUrl = String(await new Promise((resolve) => model.stdout.once("data", resolve))).trim();
const home = fs.mkdtempSync(path.join(os.tmpdir(), "speed-"));
fs.writeFileSync(path.join(home, "models.json"), JSON.stringify(modelsJson(baseUrl)));
const env = { PATH: process.env.PATH, HOME: home, TILLERMAN_HOME: path.join(home, "t"), PI_CODING_AGENT_DIR: home, PI_OFFLINE: "1" };

const begun = performance.now();
const agent = spawn(command[0], [...command.slice(1), "--mode", "rpc", "--provider", "mock", "--model", "mock-1"], { cwd: home, env, stdio: ["pipe", "pipe", "pipe"] });
let complaint = "";
agent.stderr.on("data", (text) => (complaint += text));
agent.stdin.on("error", () => {});
agent.on("exit", (code, signal) => {
  if (signal === "SIGKILL") return;
  console.log(JSON.stringify({ words, died: code ?? signal, megabytesOut: Math.round(bytes / 1e6), frames, seconds: Number(((performance.now() - begun) / 1000).toFixed(1)), stderr: /\w*Error: .*|FATAL.*/.exec(complaint)?.[0] ?? complaint.slice(-200) }));
  finish(1);
});
function finish(code) {
  model.stdin.end();
  fs.rmSync(home, { recursive: true, force: true });
  process.exit(code);
}
const cpu = () => {
  const fields = fs.readFileSync(`/proc/${agent.pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};
const memory = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(fs.readFileSync(`/proc/${agent.pid}/status`, "utf8"))[1]) / 1024;

let bytes = 0;
let frames = 0;
let line = [];
let onLine;
// Only the beginning of a line is looked at: parsing would measure the client.
agent.stdout.on("data", (chunk) => {
  bytes += chunk.length;
  let from = 0;
  for (let at; (at = chunk.indexOf(10, from)) !== -1; from = at + 1) {
    if (line.length < 200) line.push(...chunk.subarray(from, Math.min(at, from + 200)));
    frames++;
    onLine?.(Buffer.from(line).toString("latin1", 0, 200));
    line = [];
  }
  if (line.length < 200) line.push(...chunk.subarray(from, from + 200));
});
const until = (part) => new Promise((resolve) => (onLine = (start) => start.includes(part) && resolve()));
const say = (frame) => agent.stdin.write(`${JSON.stringify(frame)}\n`);

say({ id: "s", type: "get_state" });
await until('"command":"get_state"');
const startMs = performance.now() - begun;
const before = { cpu: cpu(), bytes, frames, rss: memory("VmRSS") };
const asked = performance.now();
say({ id: "p", type: "prompt", message: pause ? `SLOW:${words}:${pause}` : `WORDS:${words}` });
await until('"type":"agent_end"');
const seconds = (performance.now() - asked) / 1000;
const told = {
  words,
  wordsPerSecond: Math.round(words / seconds),
  seconds: Number(seconds.toFixed(3)),
  cpuSeconds: Number((cpu() - before.cpu).toFixed(2)),
  megabytesOut: Number(((bytes - before.bytes) / 1e6).toFixed(1)),
  frames: frames - before.frames,
  peakMiB: Math.round(memory("VmHWM")),
  idleMiB: Math.round(before.rss),
  startMs: Math.round(startMs),
  startCpuSeconds: before.cpu,
};
console.log(JSON.stringify(told));
agent.once("exit", () => finish(0));
agent.kill("SIGKILL");
