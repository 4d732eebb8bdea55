// Who did what: lines that nobody can change without it being seen, the newest first.

import { h, redraw } from "../../lib/dom.js";
import { Fetched, busy, debounced } from "../../lib/fetching.js";
import { clock, count, moment } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { Listed } from "../../ui/listed.js";
import { Button, Card, ErrorNote, Search } from "../../ui/parts.js";
import { ChatLink, Small } from "../../ui/small.js";

const PAGE = 100;
const LINES_MAX = 2000;
const FILTER_CHARS_MAX = 200;

const lines = new Fetched(() => load());
const audit = { isWhole: false, sessionId: "", by: "", verdict: null, isBusy: false };

function filters() {
  return { sessionId: audit.sessionId.trim() || undefined, by: audit.by.trim() || undefined };
}

// Why the first page did not come; the page shows other things to who may not see this.
export const auditFault = () => lines.fault;
export const refreshAudit = () => lines.again(() => load());
const lookSoon = debounced(300, refreshAudit);

async function load(before) {
  const { lines: more } = await rpc("audit.query", { limit: PAGE, ...filters(), before });
  audit.isWhole = more.length < PAGE;
  return before ? lines.value.concat(more).slice(0, LINES_MAX) : more;
}

async function verify() {
  const verdict = await busy(audit, () => rpc("audit.query", { limit: 1, verify: true }, { timeoutMs: 120_000 })).catch((fault) => ({ fault }));
  audit.verdict = { ...verdict, at: Date.now() };
  redraw();
}

function Verdict() {
  const { verdict } = audit;
  if (!verdict) return h("p.dim", "Each line carries the digest of all before it. “Verify” says whether one was changed or taken out.");
  if (verdict.fault) return h(ErrorNote, { why: verdict.fault, again: verify });
  if (!verdict.whole) return h("p.note.note-bad", { role: "alert" }, h("span", h("strong", "The chain is broken. "), verdict.broken ?? "", ` Verified at ${clock(verdict.at)}.`));
  const head = verdict.head ? [" It ends in ", h("code", verdict.head), "."] : null;
  return h("p.note.note-good", { role: "status" }, h("span", h("strong", "The chain is whole: "), `no line was changed. Verified at ${clock(verdict.at)}.`, head));
}

const COLUMNS = [
  ["No.", (row) => count(row.number), true],
  ["When", (row) => h("time", { datetime: new Date(row.at).toISOString() }, moment(row.at))],
  ["Who", (row) => h("span", { dir: "auto" }, row.by)],
  ["What", (row) => row.action],
  ["Session", (row) => (row.sessionId ? ChatLink(row.sessionId, row.sessionId, row.seq) : "–")],
  ["Detail", (row) => h("span", { dir: "auto" }, row.detail ?? "–")],
];

export function Audit() {
  const { value: rows = [], isLoading } = lines;
  const filter = (name, label) => Search({ label, value: audit[name], oninput: (text) => ((audit[name] = text.slice(0, FILTER_CHARS_MAX)), lookSoon(), redraw()) });
  const isFull = rows.length >= LINES_MAX;
  return Card({ title: "Audit", key: "audit", actions: Small(audit.isBusy ? "Verifying…" : "Verify", verify, { busy: audit.isBusy }) }, [
    h(Verdict),
    h("div.toolbar.access-filters", filter("by", "Who (whole name)"), filter("sessionId", "Session (whole id)"), Small("Load again", refreshAudit, { busy: isLoading })),
    Listed({ fetched: lines, rows, columns: COLUMNS, keyOf: (row) => row.number, caption: "Who did what, the newest first", empty: audit.by || audit.sessionId ? "No line fits" : "Nothing was done yet", hint: "Lines come when somebody writes, allows, denies or changes something." }),
    rows.length && !audit.isWhole && !isFull ? Button({ busy: isLoading, onclick: () => lines.again(() => load(rows.at(-1).number)) }, ["Older"]) : null,
    isFull ? h("p.dim", `The newest ${count(LINES_MAX)} that fit. `, h("code", "tillerman audit"), " shows all.") : null,
  ]);
}
