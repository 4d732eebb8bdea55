// What this browser remembers of sessions: drafts, and how far each was read. Bounded: the sessions that were touched longest ago go.

const DRAFTS = "tillerman.drafts";
const READ = "tillerman.read";
const DRAFTS_MAX = 100;
const DRAFT_CHARS_MAX = 100_000;
const READ_MAX = 500;

// A browser may forbid to keep anything; then nothing is kept.
function load(name) {
  try {
    const kept = JSON.parse(localStorage.getItem(name) ?? "[]");
    return new Map(Array.isArray(kept) ? kept.filter((it) => Array.isArray(it) && it.length === 2) : []);
  } catch {
    return new Map();
  }
}
function save(name, map, most) {
  const kept = [...map].slice(-most);
  try {
    localStorage.setItem(name, JSON.stringify(kept));
  } catch {
    // Full, or forbidden.
  }
}

function put(name, most, session, value) {
  // Another tab may have written meanwhile.
  const map = load(name);
  map.delete(session);
  if (value !== undefined) map.set(session, value);
  save(name, map, most);
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
    if (event.key === READ) read = load(READ);
    if (event.key === DRAFTS) run();
  });
}
