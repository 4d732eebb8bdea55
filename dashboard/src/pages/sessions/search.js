// Words in what was said: hits with what is around them, each a link to the message.

import { h, redraw } from "../../lib/dom.js";
import { rpc } from "../../lib/link.js";
import { Button, Empty, ErrorNote, When } from "../../ui/parts.js";
import { ChatLink } from "../../ui/small.js";

const LIMIT = 50;
const HITS_MAX = 500;
// The gateway looks through a piece at a time; so many pieces are asked for before somebody is asked whether to go on.
const PIECES_MAX = 20;
const ROLES = { user: "a person", assistant: "the model", tool: "a tool" };

const found = { query: "", hits: [], isComplete: true };
let asked = 0;

/** One sign that is no letter of ASCII's can be a word. */
const isEnough = (query) => query.length >= 2 || /[^\0-\x7f]/.test(query);

// What was found may be old: the same words are looked for again.
export function forgetHits() {
  found.query = "";
  found.hits = [];
}

// After a connection was lost.
export const lookAgain = () => found.fault && goOn();

export async function searchFor(query) {
  if (query === found.query) return;
  Object.assign(found, { query, hits: [], cursor: undefined, isComplete: false, fault: null });
  asked += 1;
  if (isEnough(query)) await goOn();
  else found.isLooking = false;
}

async function goOn() {
  const number = ++asked;
  const enough = Math.min(HITS_MAX, found.hits.length + LIMIT);
  Object.assign(found, { isLooking: true, fault: null });
  redraw();
  try {
    for (let piece = 0; piece < PIECES_MAX && !found.isComplete && found.hits.length < enough; piece += 1) {
      const answer = await rpc("sessions.search", { query: found.query, limit: LIMIT, cursor: found.cursor });
      if (number !== asked) return;
      found.hits.push(...answer.hits);
      found.cursor = answer.cursor;
      found.isComplete = answer.complete || answer.cursor === undefined;
      redraw();
    }
  } catch (why) {
    if (number === asked) found.fault = why;
  }
  if (number === asked) found.isLooking = false;
  redraw();
}

// The words that were looked for stand out.
function Snippet({ text }) {
  const parts = [];
  const [low, query] = [text.toLowerCase(), found.query.toLowerCase()];
  // Letters whose small form is longer would shift the places.
  if (low.length !== text.length) return h("p.hit-text", { dir: "auto" }, text);
  let from = 0;
  for (let at = low.indexOf(query); at >= 0; at = low.indexOf(query, from)) {
    parts.push(text.slice(from, at), h("mark", text.slice(at, at + query.length)));
    from = at + query.length;
  }
  return h("p.hit-text", { dir: "auto" }, parts, text.slice(from));
}

export function Hits() {
  if (!isEnough(found.query)) return h(Empty, { title: "Search in what was said" }, "Two letters or more; the newest sessions are looked through first.");
  const one = (hit) => h("li", { key: `${hit.sessionId} ${hit.seq}`, class: "rule hit" },
    ChatLink(hit.sessionId, hit.title || hit.sessionId, hit.seq),
    h("span.dim", ` ${ROLES[hit.role] ?? hit.role}, `, h(When, { at: hit.at })),
    h(Snippet, { text: hit.snippet }),
  );
  const isFull = found.hits.length >= HITS_MAX;
  const told = found.isLooking ? "Looking…" : found.isComplete ? `${found.hits.length} found; that is all.` : isFull ? `The newest ${found.hits.length}. A longer text finds fewer.` : `${found.hits.length} found so far.`;
  return h("div.hits", { key: "hits" },
    h(ErrorNote, { why: found.fault, again: goOn }),
    h("p.dim", { role: "status" }, told),
    h("ol.bare", found.hits.map(one)),
    !found.isComplete && !found.isLooking && !isFull && !found.fault ? Button({ onclick: goOn }, ["Look further"]) : null,
  );
}
