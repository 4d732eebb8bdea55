// What this browser remembers of sessions: drafts, and how far each was read. Bounded: the sessions that were touched longest ago go.

import { remember, remembered } from "../../lib/remember.js";

const DRAFTS = "drafts";
const READ = "read";
const DRAFTS_MAX = 100;
const DRAFT_CHARS_MAX = 100_000;
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
  remember(name, [...map].slice(-most));
}

export function draftOf(session) {
  const text = load(DRAFTS).get(session);
  return typeof text === "string" ? text : "";
}
export function keepDraft(session, text) {
  put(DRAFTS, DRAFTS_MAX, session, text ? text.slice(0, DRAFT_CHARS_MAX) : undefined);
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

// `run(session, text)` when another tab has changed a draft.
export function onDrafts(run) {
  addEventListener("storage", (event) => {
    if (event.key?.endsWith(READ)) read = load(READ);
    if (event.key?.endsWith(DRAFTS)) run();
  });
}
