// What every page looks at: what the gateway is, what its lanes do, which questions are open. Kept by news; asked for whole with
// each new connection, because news has no cursor.

import { redraw } from "./dom.js";
import { gateway, link, onConnected, rpc } from "./link.js";

const SCOPES = ["chat", "tools", "admin"];

export const live = {
  // `system.info` and `system.capabilities`
  info: null,
  can: null,
  // By session id: rows of `lanes.list`.
  lanes: new Map(),
  // By ask id: rows of `asks.list`.
  asks: new Map(),
  // Those that we have answered and that are not settled yet: askId -> decision.
  answered: new Map(),
  // Counts news of sessions, so that lists know when they are old.
  sessionsVersion: 0,
  fault: "",
};

const listeners = { session: new Set(), node: new Set(), lane: new Set(), ask: new Set(), connected: new Set() };

// `run(data)` for each piece of news of a kind: session, lane, ask, node, and that there is a connection again. Gives a function
// that ends it.
export function onNews(kind, run) {
  listeners[kind].add(run);
  return () => listeners[kind].delete(run);
}

// All of them, the oldest first.
export function openAsks() {
  return [...live.asks.values()].sort((one, two) => one.openedAt - two.openedAt);
}

// Allows or denies; the question goes when the gateway says that it is settled.
export async function answer(ask, decision, reason) {
  live.answered.set(ask.askId, decision);
  redraw();
  try {
    const { sessionId, callId, askId } = ask;
    const result = await rpc("agent.confirmTool", { sessionId, callId, askId, decision, ...(reason ? { reason } : {}) });
    // Somebody else was faster, or it ran out.
    if (!result.accepted) live.asks.delete(askId);
    return result.accepted;
  } finally {
    live.answered.delete(ask.askId);
    redraw();
  }
}

function hear(event) {
  const { event: name, data } = event;
  if (name === "lane") live.lanes.set(data.sessionId, data);
  if (name === "ask") live.asks.set(data.askId, data);
  if (name === "ask_done") live.asks.delete(data.askId);
  if (name === "session") {
    live.sessionsVersion += 1;
    // Lanes are those in memory; what was unloaded must not pile up here.
    if (!data.live) live.lanes.delete(data.sessionId);
  }
  for (const run of listeners[name === "ask_done" ? "ask" : name] ?? []) run(data, name);
  redraw();
}

async function refresh() {
  try {
    live.info = await rpc("system.info");
    live.can = await rpc("system.capabilities");
    link.lacks = new Set(SCOPES.filter((it) => !live.can.scopes.includes(it)));
    const { lanes } = await rpc("lanes.list", { limit: 1000 });
    live.lanes = new Map(lanes.map((lane) => [lane.sessionId, lane]));
    const { asks } = await rpc("asks.list");
    live.asks = new Map(asks.map((ask) => [ask.askId, ask]));
    live.sessionsVersion += 1;
    live.fault = "";
    for (const run of listeners.connected) run();
  } catch (why) {
    if (link.state !== "login") live.fault = why.message;
  }
  redraw();
}

async function hearAll(news) {
  for await (const event of news) hear(event);
}

export function startLive() {
  // Before the lists are asked for, on every connection: what happens while they are read is told.
  hearAll(gateway.listen(["lanes", "sessions", "nodes", "asks"])).catch((why) => {
    if (why?.code !== -4 && why?.code !== -5) live.fault = why.message;
    redraw();
  });
  onConnected(refresh);
}
