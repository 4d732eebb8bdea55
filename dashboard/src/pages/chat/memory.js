// What this browser remembers of sessions: what is being written, and how far each was read. Bounded: the sessions that were touched
// longest ago go.

import { redraw } from "../../lib/dom.js";
import { onRemembered, remember, remembered } from "../../lib/remember.js";

const DRAFTS = "drafts";
const READ = "read";
const DRAFTS_MAX = 100;
// More than the gateway takes as one message. A longer one is kept as long as the page.
const DRAFT_CHARS_MAX = 1_100_000;
const READ_MAX = 500;

function load(name) {
  try {
    return new Map(remembered(name, []));
  } catch {
    // Not ours.
    return new Map();
  }
}

function put(name, most, session, value) {
  // Another tab may have written meanwhile.
  const map = load(name);
  map.delete(session);
  if (value !== undefined) map.set(session, value);
  return remember(name, [...map].slice(-most));
}

function draftOf(session) {
  const text = load(DRAFTS).get(session);
  return typeof text === "string" ? text : "";
}

// By session, "" for one that is yet to begin: { text, attachments, saved }. `saved`: the text that the browser has.
const writing = new Map();

const isKept = (it) => it.text === it.saved && it.attachments.length === 0;

// The same object each time, whichever page shows it: what is typed or attached is lost by looking elsewhere on none.
export function writingOf(session) {
  let it = writing.get(session);
  if (!it) {
    const text = draftOf(session);
    it = { text, saved: text, attachments: [] };
  }
  writing.delete(session);
  writing.set(session, it);
  // Those of which the browser has everything come back from there.
  for (const [old, state] of writing) if (writing.size > DRAFTS_MAX && old !== session && isKept(state)) writing.delete(old);
  return it;
}

// Gives the drafts to the browser. False where it does not have everything.
export function keepWriting() {
  for (const [session, it] of writing) {
    if (it.text !== it.saved && it.text.length <= DRAFT_CHARS_MAX && put(DRAFTS, DRAFTS_MAX, session, it.text || undefined)) it.saved = it.text;
  }
  return [...writing.values()].every(isKept);
}

// Into what is being written, behind what is there.
export function writeBehind(session, text, attachments) {
  const it = writingOf(session);
  it.text = [it.text, text].filter(Boolean).join("\n\n");
  it.attachments.push(...attachments);
  keepWriting();
  redraw();
}

// { seq, at } of the newest that was read, or undefined where the session was never open here.
let read = load(READ);
export function readOf(session) {
  return read.get(session);
}
export function keepRead(session, seq, at) {
  const before = read.get(session);
  if (before && before.seq >= seq && before.at >= at) return;
  put(READ, READ_MAX, session, { seq, at });
  read = load(READ);
}

// Another tab has written: what nobody has changed here follows.
export function followOthers() {
  onRemembered(READ, () => (read = load(READ)));
  onRemembered(DRAFTS, () => {
    for (const [session, it] of writing) if (it.text === it.saved) it.text = it.saved = draftOf(session);
    redraw();
  });
}
