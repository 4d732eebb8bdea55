// The client half of the official npm SDK over HTTP and over WebSocket. One line per check: `ok NAME` or `FAIL NAME: why`.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = process.env.PEER_MODULES;
const load = (path) => import(pathToFileURL(`${modules}/@agentclientprotocol/sdk/dist/${path}`).href);
const acp = await load("v1/unstable/acp.js");
const { createHttpStream } = await load("transports/http-stream.js");
const { createWebSocketStream } = await load("transports/ws-stream.js");
const WebSocket = createRequire(modules + "/")("ws");
const [address, token, cwd] = [process.env.PEER_ADDRESS, process.env.PEER_TOKEN, process.env.PEER_CWD];
const headers = { Authorization: `Bearer ${token}` };
const NOBODY = "00000000-0000-7000-8000-000000000000";

const over = {
  http: (at = address) => createHttpStream(`http://${at}/acp`, { headers }),
  ws: (at = address) => createWebSocketStream(`ws://${at}/acp`, { headers, WebSocket }),
};

class Peer {
  constructor(stream) {
    this.updates = [];
    this.asked = [];
    this.decide = () => "allow_once";
    const app = acp.client({ name: "checks" });
    app.onNotification(acp.methods.client.session.update, ({ params }) => void this.updates.push(params));
    app.onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
      this.asked.push(params);
      signal?.addEventListener("abort", () => { this.withdrawn += 1; });
      return { outcome: { outcome: "selected", optionId: await this.decide(params) } };
    });
    this.withdrawn = 0;
    this.agent = app.connect(stream).agent;
  }
  ask(method, params) { return this.agent.request(method, params); }
  initialize() { return this.ask("initialize", { protocolVersion: 1, clientCapabilities: {} }); }
  static async over(how, at) {
    const peer = new Peer(over[how](at));
    peer.hello = await peer.initialize();
    return peer;
  }
  async session(mode) {
    const made = await this.ask("session/new", { cwd, mcpServers: [] });
    if (mode) await this.ask("session/set_mode", { sessionId: made.sessionId, modeId: mode });
    return made.sessionId;
  }
  prompt(sessionId, text) { return this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] }); }
  load(sessionId) { return this.ask("session/load", { sessionId, cwd, mcpServers: [] }); }
  of(sessionId, kind) {
    return this.updates.filter((it) => it.sessionId === sessionId && it.update.sessionUpdate === kind).map((it) => it.update);
  }
  text(sessionId, kind = "agent_message_chunk") { return this.of(sessionId, kind).map((it) => it.content.text).join(""); }
  states(sessionId) { return this.of(sessionId, "session_info_update").map((it) => it._meta?.tillerman?.state).filter(Boolean); }
  async until(what, test) {
    for (let wait = 0; wait < 800; wait += 1) {
      if (test()) return;
      await new Promise((next) => setTimeout(next, 10));
    }
    throw new Error(`never: ${what}`);
  }
}
const words = (count) => Array.from({ length: count }, (_, at) => `w${at + 1}`).join(" ");
const refused = (promise) => promise.then(() => null, (error) => error);

const checks = {
  async initialize(how) {
    const peer = await Peer.over(how);
    assert.equal(peer.hello.protocolVersion, 1);
    assert.equal(peer.hello.agentCapabilities.loadSession, true);
  },
  async "a prompt, and every chunk has its message"(how) {
    const peer = await Peer.over(how);
    const session = await peer.session();
    assert.equal((await peer.prompt(session, "say 30 words")).stopReason, "end_turn");
    assert.equal(peer.text(session), words(30));
    const ids = new Set(peer.of(session, "agent_message_chunk").map((it) => it.messageId));
    assert.equal(ids.size, 1);
    assert.ok([...ids][0]);
  },
  async "two sessions at once"(how) {
    const peer = await Peer.over(how);
    const [one, two] = [await peer.session(), await peer.session()];
    await Promise.all([peer.prompt(one, "slow 5 say 20 words"), peer.prompt(two, "say 10 words")]);
    assert.equal(peer.text(one), words(20));
    assert.equal(peer.text(two), words(10));
  },
  async "allowed once, and denied"(how) {
    const peer = await Peer.over(how);
    const session = await peer.session("prompt");
    await peer.prompt(session, 'call bash {"command":"touch here; echo allowed-here"} then say done');
    assert.equal(peer.asked.length, 1);
    assert.ok(JSON.stringify(peer.of(session, "tool_call_update")).includes("allowed-here"));
    peer.decide = () => "deny";
    await peer.prompt(session, 'call bash {"command":"touch denied"} then say done');
    assert.ok(peer.of(session, "tool_call_update").some((it) => it.status === "failed"));
  },
  async cancel(how) {
    const peer = await Peer.over(how);
    const session = await peer.session();
    const running = peer.prompt(session, "stall 2 say 5 words");
    await peer.until("text", () => peer.text(session).length > 0);
    await peer.agent.notify("session/cancel", { sessionId: session });
    assert.equal((await running).stopReason, "cancelled");
  },
  async "another connection sees both sides, and nobody sees himself twice"(how) {
    const [one, two] = [await Peer.over(how), await Peer.over(how)];
    const session = await one.session();
    await one.prompt(session, "say 5 words");
    await two.load(session);
    assert.equal(two.text(session), words(5));
    two.updates.length = 0;
    one.updates.length = 0;
    await one.prompt(session, "say 7 words");
    await two.until("the end", () => two.states(session).includes("idle"));
    assert.equal(two.text(session), words(7));
    assert.equal(two.text(session, "user_message_chunk"), "say 7 words");
    assert.equal(one.text(session, "user_message_chunk"), "");
    const id = (peer) => peer.of(session, "agent_message_chunk")[0].messageId;
    assert.equal(id(one), id(two));
    assert.ok(two.of(session, "user_message_chunk")[0].messageId);
    one.updates.length = 0;
    await two.prompt(session, "say 2 words");
    await one.until("its text", () => one.text(session) === words(2));
    assert.equal(one.text(session, "user_message_chunk"), "say 2 words");
  },
  async "the first answer counts, and the others are withdrawn"(how) {
    const [one, two] = [await Peer.over(how), await Peer.over(how)];
    const session = await one.session("prompt");
    await one.prompt(session, "say 1 word");
    await two.load(session);
    one.decide = () => new Promise(() => {});
    two.decide = () => new Promise((answer) => { two.answer = answer; });
    const running = one.prompt(session, 'call bash {"command":"touch other; echo by-the-other"} then say done');
    await one.until("a question", () => one.asked.length === 1);
    await two.until("a question", () => two.asked.length === 1);
    assert.ok(two.states(session).includes("requires_action"));
    two.answer("allow_once");
    assert.equal((await running).stopReason, "end_turn");
    assert.ok(JSON.stringify(one.of(session, "tool_call_update")).includes("by-the-other"));
    await one.until("a withdrawal", () => one.withdrawn === 1);
  },
  async "a load in the middle of a turn has no gap and no repeat"(how) {
    const [one, two] = [await Peer.over(how), await Peer.over(how)];
    const session = await one.session();
    const running = one.prompt(session, "slow 10 say 60 words");
    await one.until("text", () => one.text(session).length > 40);
    await two.load(session);
    await running;
    await two.until("the end", () => two.text(session) === words(60));
  },
  async "a prompt waits, and a cancel settles all"(how) {
    const [one, two] = [await Peer.over(how), await Peer.over(how)];
    const session = await one.session();
    await one.prompt(session, "say 1 word");
    await two.load(session);
    const running = one.prompt(session, "stall 2 say 5 words");
    await two.until("text", () => two.text(session).includes("w2"));
    const waiting = two.prompt(session, "say 2 words");
    await new Promise((next) => setTimeout(next, 100));
    await two.agent.notify("session/cancel", { sessionId: session });
    assert.deepEqual([(await running).stopReason, (await waiting).stopReason], ["cancelled", "cancelled"]);
  },
  async "an unknown session is refused, and the connection lives"(how) {
    const peer = await Peer.over(how);
    assert.equal((await refused(peer.load(NOBODY)))?.code, -32002);
    const session = await peer.session();
    await peer.prompt(session, "say 1 word");
    const listed = await peer.ask("session/list", {});
    assert.ok(listed.sessions.some((it) => it.sessionId === session));
  },
  async "made on one transport, loaded on the other"(how) {
    const [one, two] = [await Peer.over(how), await Peer.over(how === "http" ? "ws" : "http")];
    const session = await one.session();
    await one.prompt(session, "say 6 words");
    await two.load(session);
    assert.equal(two.text(session), words(6));
  },
  async "a directory that is not there"(how) {
    const peer = await Peer.over(how);
    const refusal = await refused(peer.ask("session/new", { cwd: "/no/such/directory", mcpServers: [] }));
    assert.equal(refusal?.code, -32602, JSON.stringify(refusal));
  },
  async "without a token it says 401"(how) {
    const bare = how === "http" ? createHttpStream(`http://${address}/acp`) : createWebSocketStream(`ws://${address}/acp`, { WebSocket });
    const error = await refused(new Peer(bare).initialize());
    assert.ok(/401/.test(JSON.stringify(error?.data ?? "") + error), String(error));
  },
};

let failed = 0;
const wanted = process.argv.slice(2);
for (const how of ["http", "ws"]) {
  for (const [name, check] of Object.entries(checks)) {
    if (wanted.length && !wanted.some((part) => `${how}: ${name}`.includes(part))) continue;
    try {
      await Promise.race([check(how), new Promise((_, late) => setTimeout(() => late(new Error("too late")), 20_000))]);
      console.log(`ok ${how}: ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${how}: ${name}: ${error?.stack ?? error}`);
    }
  }
}
process.exit(failed ? 1 : 0);
