// pi-acp, an agent of the Agent Client Protocol for editors, with our program as the engine behind it: everything that its
// client is told here went through the rpc dialect. Runner: see runner.mjs.
//
//   PEER_PACKAGE  directory of the installed pi-acp
//   PEER_AGENT    the program under test
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Side, close, complaints, home, load, workspace } from "./acp_side.mjs";
import { refused, runChecks } from "./runner.mjs";

const { PEER_PACKAGE, PEER_AGENT } = process.env;
const sdk = await load(path.join(PEER_PACKAGE, "../@agentclientprotocol/sdk/dist/acp.js"));
const bridge = path.join(PEER_PACKAGE, "dist/index.js");

/** pi-acp starts one word, without arguments of its own. */
function engine(name, ...args) {
  const file = path.join(home, name);
  fs.writeFileSync(file, `#!/bin/sh\nexec '${PEER_AGENT}' "$@" --model tour ${args.join(" ")}\n`, { mode: 0o755 });
  return file;
}
const free = engine("engine");
const asking = engine("asking", "--permission-mode", "prompt");
const inside = (name) => path.join(workspace, name);

async function begin(command = free) {
  const side = new Side(sdk, [process.execPath, bridge], { PI_ACP_PI_COMMAND: command });
  await side.initialize();
  return side;
}
let side = await begin();
/** What the model said, without the lines that pi-acp writes itself. */
const answer = (id, from) => side.updates.slice(from).filter((it) => it.sessionId === id && it.update.sessionUpdate === "agent_message_chunk").map((it) => it.update.content.text).join("");
async function prompted(id, text) {
  const from = side.updates.length;
  const { stopReason } = await side.prompt(id, text);
  return [stopReason, answer(id, from)];
}
let id;

const checks = {
  async "a session is opened, with models and levels"() {
    const session = await side.ask("newSession", { cwd: workspace, mcpServers: [] });
    id = session.sessionId;
    const options = Object.fromEntries(session.configOptions.map((it) => [it.category ?? it.id, it]));
    const levels = options.thought_level.options.map((it) => it.value);
    assert.ok(levels.includes("off") && levels.includes(options.thought_level.currentValue), JSON.stringify(options.thought_level));
    const models = options.model.options.map((it) => it.value);
    assert.ok(models.some((it) => it.endsWith("tour")) && models.some((it) => it.endsWith("tour-mini")), models.join(" "));
    assert.ok(options.model.currentValue.endsWith("tour"));
  },
  async "its commands are told"() {
    await side.until("commands", () => side.of(id, "available_commands_update").length > 0);
    const names = side.of(id, "available_commands_update").at(-1).availableCommands.map((it) => it.name);
    for (const name of ["compact", "session", "name"]) assert.ok(names.includes(name), names.join(" "));
  },
  async "a prompt is answered"() {
    const [reason, text] = await prompted(id, "say 12 words");
    assert.equal(reason, "end_turn");
    assert.ok(text.endsWith("w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12"), text);
    await side.until("usage", () => side.of(id, "usage_update").length > 0);
  },
  async "thoughts are told apart"() {
    await prompted(id, 'think "let me see" say done');
    assert.equal(side.said(id, "agent_thought_chunk"), "let me see");
  },
  async "a file is read"() {
    const [, text] = await prompted(id, 'call read {"path":"a.txt"} then say "it was read"');
    assert.ok(text.endsWith("it was read"), text);
    const end = side.ends(id).at(-1);
    assert.equal(end.status, "completed");
    assert.match(JSON.stringify(end.content), /alpha beta/);
    assert.deepEqual(side.of(id, "tool_call").at(-1).locations?.[0]?.path ?? inside("a.txt"), inside("a.txt"));
  },
  async "a file is written, and edited with a diff"() {
    await prompted(id, 'call write {"path":"w.txt","content":"one\\ntwo\\n"} then say done');
    assert.equal(fs.readFileSync(inside("w.txt"), "utf8"), "one\ntwo\n");
    assert.equal(side.ends(id).at(-1).status, "completed");
    await prompted(id, 'call edit {"path":"w.txt","old_string":"two","new_string":"2"} then say done');
    assert.equal(fs.readFileSync(inside("w.txt"), "utf8"), "one\n2\n");
    // The bridge compares the file with what it was when it heard of the call. Where it comes too late, it shows our diff.
    const [shown] = side.ends(id).at(-1).content;
    if (shown.type === "diff") assert.deepEqual([path.resolve(workspace, shown.path), shown.newText], [inside("w.txt"), "one\n2\n"]);
    else assert.match(shown.content.text, /^-\s*2 two\n\+\s*2 2$/m);
  },
  async "a command runs, and one that fails is told as failed"() {
    const told = () => side.of(id, "tool_call", "tool_call_update").filter((it) => it.toolCallId === side.of(id, "tool_call").at(-1).toolCallId);
    await prompted(id, 'call bash {"command":"echo ran"} then say done');
    assert.match(JSON.stringify(told()), /ran/);
    assert.equal(side.ends(id).at(-1).status, "completed");
    await prompted(id, 'call bash {"command":"echo no; exit 3"} then say done');
    assert.equal(side.ends(id).at(-1).status, "failed");
  },
  async "cancel ends a text and a command"() {
    const from = side.updates.length;
    const text = side.prompt(id, "slow 20 say 500 words");
    await side.until("text", () => answer(id, from).includes("w3"));
    await side.agent.cancel({ sessionId: id });
    assert.equal((await text).stopReason, "cancelled");
    const marker = inside("begun");
    const command = side.prompt(id, `call bash {"command":"touch ${marker}; sleep 60"} then say never`);
    await side.until("the command", () => fs.existsSync(marker));
    await side.agent.cancel({ sessionId: id });
    assert.equal((await command).stopReason, "cancelled");
    assert.equal(side.ends(id).at(-1).status, "failed");
    assert.deepEqual(await prompted(id, "say on").then(([reason, said]) => [reason, said.endsWith("on")]), ["end_turn", true]);
  },
  async "a second prompt waits for the first"() {
    const from = side.updates.length;
    const first = side.prompt(id, "slow 10 say 40 words");
    await side.until("text", () => answer(id, from).includes("w3"));
    assert.equal((await side.prompt(id, "say second")).stopReason, "end_turn");
    assert.equal((await first).stopReason, "end_turn");
    assert.match(answer(id, from), /w40.*second$/s);
  },
  async "model and level are set"() {
    const session = await side.ask("newSession", { cwd: workspace, mcpServers: [] });
    id = session.sessionId;
    const option = (list, kind) => list.find((it) => (it.category ?? it.id) === kind);
    const model = option(session.configOptions, "model");
    const mini = model.options.find((it) => it.value.endsWith("tour-mini")).value;
    const set = await side.ask("setSessionConfigOption", { sessionId: id, configId: model.id, value: mini });
    assert.equal(option(set.configOptions, "model").currentValue, mini);
    const level = option(set.configOptions, "thought_level");
    for (const value of ["high", "off"]) {
      const changed = await side.ask("setSessionConfigOption", { sessionId: id, configId: level.id, value });
      assert.equal(option(changed.configOptions, "thought_level").currentValue, value);
    }
    assert.ok((await refused(side.ask("setSessionConfigOption", { sessionId: id, configId: model.id, value: "nope/none" }))).code < 0);
  },
  async "a command that fails is answered at once"() {
    // Nothing was said in this session yet.
    const error = await refused(side.prompt(id, "/compact"));
    assert.match(JSON.stringify([error.message, error.data]), /Nothing to compact/);
  },
  async "slash commands are done"() {
    await prompted(id, "say before");
    assert.match((await prompted(id, "/name a fine talk"))[1], /a fine talk/);
    assert.match((await prompted(id, "/session"))[1], /Session: .*\n[^]*Messages: 2/);
    assert.match((await prompted(id, "/autocompact off"))[1], /off|disabled/i);
    assert.match((await prompted(id, "/steering all"))[1], /all/);
    await prompted(id, "/export");
    const page = side.of(id, "agent_message_chunk").findLast((it) => it.content.type === "resource_link");
    assert.match(fs.readFileSync(new URL(page.content.uri), "utf8"), /say before/);
  },
  async "a failing model ends the turn, and the session goes on"() {
    // The bridge itself shows no errors of models.
    assert.equal((await prompted(id, "fail 400"))[0], "end_turn");
    assert.deepEqual(await prompted(id, "say well"), ["end_turn", "well"]);
  },
  async "another process loads the session and tells it again"() {
    assert.equal(await side.stop(), 0);
    side = await begin();
    await side.ask("loadSession", { sessionId: id, cwd: workspace, mcpServers: [] });
    await side.until("the history", () => side.said(id, "user_message_chunk").includes("say before"));
    await side.until("the answers", () => side.said(id).includes("before"));
    assert.equal((await prompted(id, "say more"))[0], "end_turn");
    assert.match((await prompted(id, "/session"))[1], /Messages: (?!2$)\d+/m);
  },
  async "an unknown session is refused"() {
    assert.ok((await refused(side.ask("loadSession", { sessionId: "00000000-0000-7000-8000-000000000000", cwd: workspace, mcpServers: [] }))).code < 0);
  },
  async "what would change something is asked for where the engine asks"() {
    assert.equal(await side.stop(), 0);
    side = await begin(asking);
    id = await side.open();
    side.permit = () => "reject_once";
    await prompted(id, 'call write {"path":"no.txt","content":"x"} then say done');
    assert.ok(!fs.existsSync(inside("no.txt")));
    side.permit = () => "allow_once";
    await prompted(id, 'call write {"path":"yes.txt","content":"x"} then say done');
    assert.equal(fs.readFileSync(inside("yes.txt"), "utf8"), "x");
    assert.equal(side.asked.filter((it) => it.method === "session/request_permission").length, 2);
  },
  async "the bridge and the SDK complained about nothing"() {
    assert.equal(await side.stop(), 0);
    assert.deepEqual(complaints, []);
  },
};

await runChecks(checks, close);
