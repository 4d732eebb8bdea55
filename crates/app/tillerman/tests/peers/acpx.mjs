// acpx, the command line client of the npm registry, drives the agent as a custom command. One line per check: `ok NAME` or
// `FAIL NAME: why`; exit code 1 when one failed. Runs under the Node that acpx needs.
//
//   PEER_PACKAGE  directory of the installed acpx
//   PEER_AGENT    the program under test
//   PEER_LOGS     directory for the frames of every agent
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const { PEER_PACKAGE, PEER_AGENT, PEER_LOGS } = process.env;
assert.ok(PEER_PACKAGE && PEER_AGENT && PEER_LOGS, "PEER_PACKAGE, PEER_AGENT or PEER_LOGS is not set");
const cli = path.join(PEER_PACKAGE, "dist/cli.js");
const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "peer-")));
const workspace = path.join(home, "work");
fs.mkdirSync(workspace);
fs.writeFileSync(path.join(workspace, "a.txt"), "alpha beta\n");
const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, TILLERMAN_HOME: path.join(home, "tillerman"), LANG: "C.UTF-8", NO_COLOR: "1" };
/** How long the keeper of a session outlives the last command: longer than a busy machine needs for the next one. */
const TTL_S = "10";
const PATIENCE_MS = 30_000;
const log = path.join(PEER_LOGS, `acpx-${process.pid}.log`);
const agent = `${PEER_AGENT} acp --model tour --log-frames ${log}`;

function begin(...words) {
  const child = spawn(process.execPath, [cli, "--agent", agent, "--ttl", TTL_S, ...words], { cwd: workspace, env });
  const it = { child, out: "", err: "" };
  child.stdout.on("data", (data) => (it.out += data));
  child.stderr.on("data", (data) => (it.err += data));
  const late = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  it.ended = new Promise((resolve) => {
    child.once("close", (code, signal) => {
      clearTimeout(late);
      resolve({ code: code ?? signal, out: it.out, err: it.err });
    });
  });
  return it;
}
async function acpx(...words) {
  const end = await begin(...words).ended;
  assert.equal(end.code, 0, `${words.join(" ")}: ${end.code}: ${end.out.slice(-300)} ${end.err.slice(-300)}`);
  return end.out;
}
async function until(what, test) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!test()) {
    assert.ok(Date.now() < deadline, `${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
const frames = () => fs.readFileSync(log, "utf8").trim().split("\n").map((line) => ({ in: line.includes(" > "), ...JSON.parse(line.slice(line.indexOf("{"))) }));
const count = (method) => frames().filter((it) => it.in && it.method === method).length;

const checks = {
  async "a prompt in a session of its own"() {
    const out = await acpx("exec", 'say "hello from the agent"');
    assert.ok(out.includes("hello from the agent") && out.includes("end_turn"), out);
  },
  async "the frames come through as they are"() {
    const lines = (await acpx("--format", "json", "exec", 'think "let me see" say done')).trim().split("\n").map((line) => JSON.parse(line));
    const updates = lines.map((it) => it.params?.update).filter(Boolean);
    const said = (tag) => updates.filter((it) => it.sessionUpdate === tag).map((it) => it.content.text).join("");
    assert.equal(said("agent_thought_chunk"), "let me see");
    assert.equal(said("agent_message_chunk"), "done");
    assert.equal(lines.at(-1).result.stopReason, "end_turn");
  },
  async "a tool call is shown with title and output"() {
    const out = await acpx("exec", 'call read_file {"path":"a.txt"} then say done');
    assert.ok(out.includes("Read a.txt") && out.includes("alpha beta") && out.includes("completed"), out);
  },
  async "what is approved is done"() {
    const own = 'call write_file {"path":"own.txt","content":"x"} then call bash {"command":"touch made"} then say done';
    await acpx("--no-fs", "--no-terminal", "--approve-all", "exec", own);
    const [files, terminals] = ["fs/write_text_file", "terminal/create"].map((method) => () => frames().filter((it) => it.method === method).length);
    assert.deepEqual([files(), terminals()], [0, 0]);
    // With files and terminals of its own, acpx does the work.
    await acpx("--approve-all", "exec", own.replace("own.txt", "its.txt").replace("made", "made-there"));
    assert.deepEqual([files(), terminals()], [1, 1]);
    for (const name of ["own.txt", "its.txt"]) assert.equal(fs.readFileSync(path.join(workspace, name), "utf8"), "x");
    assert.ok(fs.existsSync(path.join(workspace, "made")) && fs.existsSync(path.join(workspace, "made-there")));
  },
  async "what is denied is not done"() {
    // acpx itself ends with a code of its own when everything was denied.
    const { out } = await begin("--no-fs", "--deny-all", "exec", 'call write_file {"path":"no.txt","content":"x"} then say done').ended;
    assert.ok(out.includes("failed") && out.includes("done"), out);
    assert.ok(!fs.existsSync(path.join(workspace, "no.txt")));
  },
  async "a session is kept over several prompts"() {
    await acpx("sessions", "new");
    const news = count("session/new");
    await acpx("prompt", "say one");
    assert.ok((await acpx("prompt", "say two")).includes("two"));
    assert.ok(count("session/new") <= news + 1);
    const prompts = frames().filter((it) => it.in && it.method === "session/prompt").slice(-2);
    assert.equal(prompts[0].params.sessionId, prompts[1].params.sessionId);
  },
  async "mode and model are set"() {
    await acpx("set-mode", "plan");
    assert.ok((await acpx("set", "model", "tour-mini")).includes("tour-mini"));
    const status = await acpx("status");
    assert.ok(/mode:\s+plan/.test(status) && /model:\s+tour-mini/.test(status), status);
  },
  async "cancel ends a prompt that runs"() {
    const running = begin("prompt", "say wait hold");
    await until("text", () => running.out.includes("wait"));
    await acpx("cancel");
    const end = await running.ended;
    assert.ok(end.out.includes("cancelled"), `${end.code} ${end.out}`);
  },
  async "a prompt behind another one waits for it"() {
    const first = begin("prompt", "slow 5 say 40 words");
    await until("text", () => first.out.includes("w1"));
    assert.ok((await acpx("prompt", "say second")).includes("second"));
    assert.equal((await first.ended).code, 0);
  },
  async "another process takes the session up again"() {
    const before = frames().filter((it) => it.in && it.method === "session/prompt").at(-1).params.sessionId;
    const starts = count("initialize");
    // The agent dies between two prompts.
    const pid = Number(/pid:\s+(\d+)/.exec(statusNow())[1]);
    process.kill(pid, "SIGKILL");
    await until("its end", () => !new RegExp(`pid:\\s+${pid}$`, "m").test(statusNow()));
    const [news, again] = [count("session/new"), count("session/resume") + count("session/load")];
    assert.ok((await acpx("prompt", "say three")).includes("three"));
    assert.ok(count("initialize") > starts, "a new process");
    assert.equal(count("session/new"), news, "not a new session");
    assert.equal(count("session/resume") + count("session/load"), again + 1);
    assert.equal(frames().filter((it) => it.in && it.method === "session/prompt").at(-1).params.sessionId, before);
  },
  async "the agent's own list has the sessions of this directory"() {
    const out = await acpx("sessions", "list");
    assert.ok(out.split("\n").filter((line) => line.includes(workspace)).length >= 5, out);
  },
  async "a session is closed"() {
    await acpx("sessions", "close");
    assert.ok(!/status:\s+running/.test(statusNow()));
  },
};

function statusNow() {
  const { stdout } = spawnSync(process.execPath, [cli, "--agent", agent, "status"], { cwd: workspace, env, encoding: "utf8" });
  return stdout;
}

const wanted = process.argv.slice(2);
let failed = 0;
for (const [name, work] of Object.entries(checks)) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (why) {
    failed++;
    console.log(`FAIL ${name}: ${String(why?.message ?? why).replaceAll("\n", " | ")}`);
  }
}
fs.rmSync(home, { recursive: true, force: true });
process.exit(failed === 0 ? 0 : 1);
