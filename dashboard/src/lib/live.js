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
    if (!result.accepted) put("asks", askId);
    return result.accepted;
  } finally {
    live.answered.delete(ask.askId);
    redraw();
  }
}

// Lists that are on their way, each with what news has said of it since it was asked for: the gateway may have read it before.
const coming = new Set();

// Without a row it is gone.
function put(list, id, row) {
  for (const it of coming) if (it.list === list) it.news.set(id, row);
  if (row) live[list].set(id, row);
  else live[list].delete(id);
}

async function read(list, idName, params) {
  const mine = { list, news: new Map() };
  coming.add(mine);
  try {
    const rows = (await rpc(`${list}.list`, params))[list];
    live[list] = new Map(rows.map((row) => [row[idName], row]));
    for (const [id, row] of mine.news) put(list, id, row);
  } finally {
    coming.delete(mine);
  }
}

function hear(event) {
  const { event: name, data } = event;
  if (name === "lane") put("lanes", data.sessionId, data);
  if (name === "ask") put("asks", data.askId, data);
  if (name === "ask_done") put("asks", data.askId);
  if (name === "session") {
    live.sessionsVersion += 1;
    // Lanes are those in memory; what was unloaded must not pile up here.
    if (!data.live) put("lanes", data.sessionId);
  }
  for (const run of listeners[name === "ask_done" ? "ask" : name] ?? []) run(data, name);
  redraw();
}

// All of it anew: with each connection, and when somebody says so because it failed.
export async function refresh() {
  hearAll();
  try {
    const [info, can] = await Promise.all([rpc("system.info"), rpc("system.capabilities"), read("lanes", "sessionId", { limit: 1000 }), read("asks", "askId")]);
    Object.assign(live, { info, can });
    link.lacks = new Set(SCOPES.filter((it) => !can.scopes.includes(it)));
    live.sessionsVersion += 1;
    live.fault = "";
    for (const run of listeners.connected) run();
  } catch (why) {
    if (link.state !== "login") live.fault = why.message;
  }
  redraw();
}

let isHearing = false;

// Before the lists are asked for, on every connection: what happens while they are read is told.
async function hearAll() {
  if (isHearing) return;
  isHearing = true;
  try {
    for await (const event of gateway.listen(["lanes", "sessions", "nodes", "asks"])) hear(event);
  } catch (why) {
    if (why?.code !== -4 && why?.code !== -5) live.fault = why.message;
  }
  isHearing = false;
  redraw();
}

export function startLive() {
  hearAll();
  onConnected(refresh);
}
