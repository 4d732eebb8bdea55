// Who did what: lines that nobody can change without it being seen, the newest first.

import { h, redraw } from "../../lib/dom.js";
import { debounced } from "../../lib/fetching.js";
import { clock, count, moment } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { href } from "../../lib/router.js";
import { Listed } from "../../ui/listed.js";
import { Button, Card, ErrorNote, Search, copyText } from "../../ui/parts.js";

const PAGE = 100;
const LINES_MAX = 2000;
const FILTER_CHARS_MAX = 200;

const audit = { lines: null, fault: null, isLoading: false, isWhole: false, session: "", by: "", verdict: null, isVerifying: false };
let asked = 0;

function filters() {
  const [session, by] = [audit.session.trim(), audit.by.trim()];
  return { ...(session ? { sessionId: session } : {}), ...(by ? { by } : {}) };
}

// Why the first page did not come; the page shows other things to who may not see this.
export function auditFault() {
  return audit.fault;
}

export async function refreshAudit() {
  await load(undefined);
}

async function load(before) {
  const number = ++asked;
  audit.isLoading = true;
  redraw();
  try {
    const { lines } = await rpc("audit.query", { limit: PAGE, ...filters(), ...(before ? { before } : {}) });
    if (number !== asked) return;
    audit.lines = before ? audit.lines.concat(lines).slice(0, LINES_MAX) : lines;
    audit.isWhole = lines.length < PAGE;
    audit.fault = null;
  } catch (why) {
    if (number === asked) audit.fault = why;
  }
  if (number === asked) audit.isLoading = false;
  redraw();
}

const lookSoon = debounced(300, () => load(undefined));

async function verify() {
  audit.isVerifying = true;
  redraw();
  try {
    const { whole, head, broken } = await rpc("audit.query", { limit: 1, verify: true }, { timeoutMs: 120_000 });
    audit.verdict = { whole, head, broken, at: Date.now() };
  } catch (why) {
    audit.verdict = { fault: why, at: Date.now() };
  }
  audit.isVerifying = false;
  redraw();
}

function Verdict() {
  const { verdict } = audit;
  if (!verdict) return h("p.dim", "Each line carries the digest of all before it. “Verify” reads the whole chain and says whether a line was changed or taken out.");
  if (verdict.fault) return h(ErrorNote, { why: verdict.fault, again: verify });
  if (!verdict.whole) return h("p.note.note-bad", { role: "alert" }, h("span", h("strong", "The chain is broken. "), verdict.broken ?? "", ` Verified at ${clock(verdict.at)}.`));
  const head = verdict.head ? [" It ends in ", h("code", { title: verdict.head }, `${verdict.head.slice(0, 16)}…`), " ", Button({ kind: "quiet", onclick: () => copyText(verdict.head, "The digest") }, ["Copy"])] : null;
  return h("p.note.note-good", { role: "status" }, h("span", h("strong", "The chain is whole: "), `no line was changed. Verified at ${clock(verdict.at)}.`, head));
}

const COLUMNS = [
  ["No.", (row) => count(row.number), true],
  ["When", (row) => h("time", { datetime: new Date(row.at).toISOString() }, moment(row.at))],
  ["Who", (row) => h("span", { dir: "auto" }, row.by)],
  ["What", (row) => row.action],
  ["Session", (row) => (row.sessionId ? h("a", { href: href("chat", row.sessionId, row.seq ? { at: row.seq } : undefined) }, row.sessionId) : "–")],
  ["Detail", (row) => h("span", { dir: "auto" }, row.detail ?? "–")],
];

export function Audit() {
  const { lines, fault } = audit;
  const filter = (name, label) => Search({ label, value: audit[name], oninput: (text) => ((audit[name] = text.slice(0, FILTER_CHARS_MAX)), lookSoon(), redraw()) });
  const isFull = lines?.length >= LINES_MAX;
  return Card({ title: "Audit", key: "audit", actions: Button({ kind: "small", busy: audit.isVerifying, onclick: verify }, [audit.isVerifying ? "Verifying…" : "Verify"]) }, [
    h(Verdict),
    h("div.toolbar.access-filters", filter("by", "Who (whole name)"), filter("session", "Session (whole id)"), Button({ kind: "small", busy: audit.isLoading, onclick: refreshAudit }, ["Load again"])),
    Listed({ fetched: { value: lines, fault }, again: refreshAudit, rows: lines ?? [], columns: COLUMNS, keyOf: (row) => row.number, caption: "Who did what, the newest first", empty: Object.keys(filters()).length ? "No line fits" : "Nothing was done yet", hint: "Lines come when somebody writes, allows, denies or changes something." }),
    lines?.length && !audit.isWhole && !isFull ? Button({ busy: audit.isLoading, onclick: () => load(lines.at(-1).number) }, ["Older"]) : null,
    isFull ? h("p.dim", `The newest ${count(LINES_MAX)} that fit. `, h("code", "tillerman audit"), " shows all.") : null,
  ]);
}
