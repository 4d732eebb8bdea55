// Messages on their way: each has a key by which the gateway knows it again, and is kept in the browser until the gateway has it. So
// a message that was sent into a dead connection, or before a reload, arrives, and arrives once.

import { redraw } from "../../lib/dom.js";
import { freshName } from "../../../../sdk/typescript/dist/socket.js";
import { gateway, lacks, onConnected } from "../../lib/link.js";
import { remember, remembered } from "../../lib/remember.js";

const NAME = "outbox";
const ITEMS_MAX = 50;
// Characters that are kept over a reload; what has larger attachments is only kept as long as the page.
const KEPT_CHARS_MAX = 1_500_000;
// As much of a message as the gateway shows of one that waits.
const QUEUED_CHARS = 2000;
const READY_MS = 3000;

// { key, sessionId, text, attachments, at, state, why }, oldest first. `state`: "sending" | "waiting" (in the lane) | "failed".
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

function keep() {
  let room = KEPT_CHARS_MAX;
  const kept = [];
  for (const item of items) {
    if (item.state === "waiting") continue;
    room -= item.text.length + item.attachments.reduce((sum, it) => sum + it.data.length, 0);
    if (room < 0) break;
    kept.push(item);
  }
  // A browser that is full or keeps nothing: then it lives as long as the page.
  remember(NAME, kept.length ? kept : undefined);
  redraw();
}

function load() {
  for (const it of [remembered(NAME, [])].flat().slice(0, ITEMS_MAX)) if (it?.key && it.text !== undefined) items.push({ attachments: [], ...it });
}

// `ready`: what it waits for, but not for long.
export function send(sessionId, text, attachments, ready) {
  if (items.length >= ITEMS_MAX) throw new Error("Too many messages are on their way. Wait for the gateway, or take some back.");
  const item = { key: freshName(), sessionId, text, attachments, at: Date.now(), state: "sending", why: "" };
  items.push(item);
  out.add(item);
  keep();
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
  // Somebody took it back, or the page goes.
  if (why.reason === "cancelled_before_start") return drop(item);
  if (why.name === "ClientClosedError") return;
  item.state = "failed";
  item.why = why.message;
  // The gateway has settled this key: another try is another message.
  if (why.code !== undefined) item.isSettled = true;
  keep();
}

export function drop(item) {
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
  keep();
}
export function retry(item) {
  if (item.isSettled) item.key = freshName();
  Object.assign(item, { state: "sending", why: "", isSettled: false });
  keep();
  submit(item);
}

// What a subscription tells of a session: a message of ours that waits in its lane has arrived.
export function sawEvent(sessionId, event) {
  if (event.event !== "queued") return;
  const { text } = event.data;
  const item = items.find((it) => it.sessionId === sessionId && it.state === "sending" && (text === undefined || it.text.slice(0, QUEUED_CHARS).startsWith(text.slice(0, QUEUED_CHARS - 1))));
  if (!item) return;
  item.state = "waiting";
  keep();
}

// Whatever was under way when the page was left goes out again with its key.
export function startOutbox() {
  load();
  onConnected(resume);
}
let isResumed = false;
function resume() {
  if (isResumed) return;
  isResumed = true;
  for (const item of items) if (item.state === "sending" && !out.has(item)) submit(item);
}
