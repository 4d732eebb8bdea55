// Messages on their way: each has a key by which the gateway knows it again, and is kept in the browser until a run has it. So a
// message that was sent into a dead connection, or before a reload, arrives, and arrives once. Each is kept under a name of its own,
// so that no tab writes over another one's; a tab holds the lock of what it sends, and what a closed one leaves another takes over.

import { redraw } from "../../lib/dom.js";
import { freshName } from "../../../../sdk/typescript/dist/socket.js";
import { gateway, lacks, link, onConnected } from "../../lib/link.js";
import { forget, namesUnder, onRemembered, remember, remembered } from "../../lib/remember.js";
import { writeBehind, writingOf } from "./memory.js";

const UNDER = "outbox.";
// On their way at a time, and all of them with those that failed or came back: beyond that the oldest of these goes.
const OUT_MAX = 50;
const ITEMS_MAX = 200;
// Characters of one that is kept over a reload: browsers keep five million of everything, and drafts want some.
const KEPT_CHARS_MAX = 3_000_000;
// The gateway knows a key for a day. What waited in a lane before that is the gateway's alone.
const KEY_MS = 20 * 3_600_000;
// As much of a message as the gateway shows of one that waits.
const QUEUED_CHARS = 2000;
const READY_MS = 3000;
// Tabs learn a little later what another one has forgotten.
const RELEASE_MS = 1000;

// { key, sessionId, text, attachments, at, state, why, isKept }, oldest first. `state`: "sending" | "waiting" (in the lane) |
// "failed" | "back" (it was taken out of the lane).
const items = [];
// Told when a slash command was carried out.
let listener;
// Those that this page has sent.
const out = new WeakSet();

export function outboxOf(sessionId) {
  return items.filter((item) => item.sessionId === sessionId);
}
// `run(sessionId, text, result)` when a slash command was carried out.
export function onCommand(run) {
  listener = run;
}
// How it stands, in words.
export function wordsOf({ state, why, isKept }) {
  const isOnline = link.state === "live" || link.state === "behind";
  if (state === "waiting") return "Waits in the queue";
  if (state === "sending" && isOnline) return "Sending…";
  const words = state === "failed" ? `Not sent: ${why}` : state === "back" ? "Taken back" : "Kept; it goes out when the gateway is back";
  return isKept ? words : `${words} (only while this page is open: this browser has no room for it)`;
}
// Whether something would be gone with the page.
export function isAnyUnkept() {
  return items.some((item) => !item.isKept && item.state !== "waiting");
}

function keep(item) {
  const chars = item.attachments.reduce((sum, it) => sum + it.data.length, item.text.length);
  item.isKept = chars <= KEPT_CHARS_MAX && remember(UNDER + item.key, { ...item, isKept: true });
  redraw();
}

// Holds the lock of a message until it is dropped; `begin` is called when it is ours. Without a secure origin there are no locks: then
// only the gateway, which knows the key, keeps a message from arriving twice.
function hold(key, begin) {
  const run = () => {
    const item = begin();
    return item && new Promise((release) => (item.release = release));
  };
  if (navigator.locks) navigator.locks.request(UNDER + key, run);
  else run();
}

const isOut = ({ state }) => state === "sending" || state === "waiting";

// Another tab hears of it with the first keeping: the lock has to be ours by then.
function add(item) {
  if (items.length >= ITEMS_MAX) drop(items.find((it) => !isOut(it)));
  items.push(item);
  hold(item.key, () => {
    if (!items.includes(item)) return undefined;
    keep(item);
    return item;
  });
  redraw();
  return item;
}

// One that another page has left, or leaves some day.
const wanted = new Set();
function want(key) {
  if (wanted.has(key) || items.some((item) => item.key === key)) return;
  wanted.add(key);
  hold(key, () => {
    wanted.delete(key);
    const item = remembered(UNDER + key);
    if (item?.key !== key || items.length >= ITEMS_MAX) return undefined;
    if (item.state === "waiting" && Date.now() - item.at > KEY_MS) return void forget(UNDER + key);
    items.push(item);
    items.sort((one, two) => one.at - two.at);
    if (isResumed) resume();
    redraw();
    return item;
  });
}

// `ready`: what it waits for, but not for long.
export function send(sessionId, text, attachments, ready) {
  if (items.filter(isOut).length >= OUT_MAX) throw new Error("Too many messages are on their way. Wait for the gateway, or take some back.");
  const item = add({ key: freshName(), sessionId, text, attachments, at: Date.now(), state: "sending", why: "", isKept: true });
  out.add(item);
  const late = new Promise((later) => setTimeout(later, READY_MS));
  Promise.race([ready.catch(() => {}), late]).then(() => items.includes(item) && submit(item));
}

function submit(item) {
  out.add(item);
  const attachments = item.attachments.map(({ mimeType, data, filename }) => ({ mimeType, data, ...(filename ? { filename } : {}) }));
  const run = gateway.send(item.text, { sessionId: item.sessionId, idempotencyKey: item.key, ...(attachments.length ? { attachments } : {}), ...asked() });
  hear(item, run).catch(() => {});
  run.result.then((result) => answered(item, result), (why) => refused(item, why));
}

// Whoever sends a message, or looks at a session, can be asked: the questions are on every page, and are answered there. A
// credential that may not answer is told so once.
let mayAnswer = true;
export function asked() {
  return mayAnswer ? { confirm: () => undefined } : {};
}
// Whether this was why it failed: then it is to be tried again without. Who may only look is refused before that already, where the
// session is taken hold of.
export function isUnasked(why) {
  const isThat = mayAnswer && (lacks(why) || why.method === "agent.setToolUseCallback") && why.code !== undefined;
  if (isThat) mayAnswer = false;
  return isThat;
}

// The first event means that the gateway has it. The others are left: the subscription tells them.
async function hear(item, run) {
  for await (const event of run) {
    if (event.event !== "error") drop(item);
    return;
  }
}
function answered(item, result) {
  drop(item);
  if (result.command) listener?.(item.sessionId, item.text, result);
}
function refused(item, why) {
  // It was taken, and what came of it is in the transcript.
  if (!items.includes(item)) return;
  if (isUnasked(why)) return submit(item);
  // Somebody took it back.
  if (why.reason === "cancelled_before_start") return giveBack(item);
  // The page goes.
  if (why.name === "ClientClosedError") return;
  // Let go of, and not refused: the gateway may have it, and knows it by its key.
  const isLost = why.reason === "session_lost";
  if (isLost && !item.isLost) return (item.isLost = true), submit(item);
  // Else the gateway has settled this key: another try is another message.
  Object.assign(item, { state: "failed", why: why.message, isSettled: why.code !== undefined && !isLost });
  keep(item);
}

// Taken back: it is in the composer again, or beside it where something else is written there.
function giveBack(item) {
  const { text, attachments } = writingOf(item.sessionId);
  if (!text && attachments.length === 0) return putBack(item);
  Object.assign(item, { state: "back", isSettled: true });
  keep(item);
}
export function putBack(item) {
  writeBehind(item.sessionId, item.text, item.attachments);
  drop(item);
}
// The same for a message that somebody else has sent, as far as its text is known.
export function giveBackText(sessionId, text) {
  giveBack(add({ key: freshName(), sessionId, text, attachments: [], at: Date.now() }));
}

export function drop(item) {
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
  forget(UNDER + item.key);
  setTimeout(() => item.release?.(), RELEASE_MS);
  redraw();
}
export function retry(item) {
  const { sessionId, text, attachments } = item;
  if (!item.isSettled) {
    Object.assign(item, { state: "sending", why: "" });
    keep(item);
    return submit(item);
  }
  drop(item);
  send(sessionId, text, attachments, Promise.resolve());
}

// The message of ours in this state that the gateway shows as this text.
export function ours(sessionId, state, text) {
  return items.find((it) => it.sessionId === sessionId && it.state === state && (text === undefined || it.text.slice(0, QUEUED_CHARS).startsWith(text.slice(0, QUEUED_CHARS - 1))));
}

// What a subscription tells of a session: a message of ours that waits in its lane has arrived.
export function sawEvent(sessionId, event) {
  const item = event.event === "queued" && ours(sessionId, "sending", event.data.text);
  if (!item) return;
  item.state = "waiting";
  keep(item);
}

// Whatever was under way when a page was left goes out again with its key.
export function startOutbox() {
  for (const key of namesUnder(UNDER)) want(key);
  onRemembered(UNDER, (key, isThere) => {
    const item = items.find((it) => it.key === key);
    // Another tab has settled it.
    if (item && !isThere) drop(item);
    else if (isThere && navigator.locks) want(key);
  });
  onConnected(resume);
}
let isResumed = false;
function resume() {
  isResumed = true;
  for (const item of items) if (isOut(item) && !out.has(item)) submit(item);
}
