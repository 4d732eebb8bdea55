// The list of sessions, a page at a time as one scrolls, and kept by news without moving what somebody looks at.

import { redraw } from "../../lib/dom.js";
import { rpc } from "../../lib/link.js";
import { live } from "../../lib/live.js";

const PAGE = 500;
const HEAD = 50;
const ROWS_MAX = 50_000;

// And `fault`, `isAsked`, `isLoading`, `isWhole`.
export const list = {
  rows: [],
  total: 0,
  query: "",
  // Sessions that have changed above what is seen: they are put in their place when somebody wants it.
  newer: new Set(),
};
let asked = 0;

// What is hidden until it is deleted, and what was.
export const hidden = new Set();

function ask(offset, limit) {
  return rpc("sessions.list", { includePersisted: true, limit, offset, query: list.query || undefined });
}

export function shownRows() {
  return hidden.size === 0 ? list.rows : list.rows.filter((row) => !hidden.has(row.id));
}

export function reload() {
  Object.assign(list, { isAsked: true, isWhole: false });
  return load(0);
}

export function loadMore() {
  if (list.isLoading || list.isWhole || list.fault) return;
  load(list.rows.length);
}

async function load(offset) {
  const number = ++asked;
  list.isLoading = true;
  redraw();
  try {
    const answer = await ask(offset, PAGE);
    if (number !== asked) return;
    // Between two pages a session can have moved from one into the other.
    const before = offset === 0 ? [] : list.rows;
    const known = new Set(before.map((row) => row.id));
    list.rows = before.concat(answer.sessions.filter((row) => !known.has(row.id)));
    list.total = answer.total;
    list.isWhole = answer.sessions.length < PAGE || list.rows.length >= ROWS_MAX;
    list.fault = null;
    if (offset === 0) list.newer.clear();
  } catch (why) {
    if (number === asked) list.fault = why;
  }
  if (number === asked) list.isLoading = false;
  redraw();
}

// The newest of them, put in their places. `isStill`: somebody looks, so they are only written anew where they stand, and those
// that belong elsewhere are counted.
export async function refreshHead(isStill) {
  if (list.isLoading || !list.isAsked) return;
  const number = asked;
  const wanted = new Set(list.newer);
  // That all of it is old is not settled by its head.
  wanted.delete("");
  try {
    const answer = await ask(0, HEAD);
    if (number !== asked) return;
    const fresh = new Map(answer.sessions.map((row) => [row.id, row]));
    for (const id of wanted) list.newer.delete(id);
    if (isStill) answer.sessions.forEach((row, at) => wanted.has(row.id) && list.rows[at]?.id !== row.id && list.newer.add(row.id));
    list.rows = isStill ? list.rows.map((row) => fresh.get(row.id) ?? row) : answer.sessions.concat(list.rows.filter((row) => !fresh.has(row.id)));
    list.total = answer.total;
  } catch {
    // The next news asks again.
  }
  redraw();
}

// What news say of a row is written into it where it stands.
export function hearSession(news) {
  const row = list.rows.find((it) => it.id === news.sessionId);
  if (row && news.title !== undefined) row.title = news.title;
  if (!news.live && !news.lastSeq) return;
  list.newer.add(news.sessionId);
}

export function hearLane(lane) {
  const row = list.rows.find((it) => it.id === lane.sessionId);
  if (row) row.lane = { state: lane.state, depth: lane.depth, runId: lane.runId };
}

// The lane that is known now: news are newer than the list.
export function laneOf(row) {
  return live.lanes.get(row.id) ?? row.lane;
}

export function dropRow(id) {
  const { length } = list.rows;
  list.rows = list.rows.filter((row) => row.id !== id);
  list.newer.delete(id);
  if (list.rows.length < length) list.total -= 1;
}
