// How full are the contexts?

import { h, redraw } from "../lib/dom.js";
import { Fetched, every } from "../lib/fetching.js";
import { count, moment, sessionName, short } from "../lib/format.js";
import { rpc } from "../lib/link.js";
import { has, live } from "../lib/live.js";
import { href, replaceQuery, route } from "../lib/router.js";
import { Badge, Button, Card, Empty, ErrorNote, Figure, Loading, Search, Table, When, toast } from "../ui/parts.js";
import { LinePlot, Meter } from "../ui/plot.js";

const REFRESH_MS = 10_000;
const ROWS_SHOWN = 50;

const rows = new Fetched();
const one = new Fetched();
const state = { find: "", isAll: false, busy: new Set() };
let stop = null;

const askRows = () => rpc("system.contextUsage");
const askOne = () => rpc("system.contextUsage", { sessionId: route.arg || route.query.get("session") });

function pickedId() {
  return route.arg || route.query.get("session") || "";
}

function refresh() {
  rows.again(askRows);
  if (pickedId()) one.again(askOne);
}

function nameOf(row) {
  return row.title || live.lanes.get(row.sessionId)?.title || sessionName(row);
}

// In words what the bar shows, and its tone.
function verdict(budget) {
  if (!budget.contextWindow) return ["none", "window not known"];
  if (budget.shouldCompact) return ["bad", "due to be compacted"];
  const left = budget.thresholdTokens - budget.estimatedTokens;
  return left < budget.contextWindow * 0.1 ? ["warn", "nearly full"] : ["good", "room"];
}

function toGo(budget) {
  if (!budget.contextWindow) return "";
  if (budget.shouldCompact) return `Over ${budget.thresholdPct} % (${count(budget.thresholdTokens)}): older messages are summarised before the next answer.`;
  return `${short(budget.thresholdTokens - budget.estimatedTokens)} tokens until it is compacted at ${budget.thresholdPct} %.`;
}

async function compact(row) {
  const id = row.sessionId;
  state.busy.add(id);
  redraw();
  try {
    const result = await rpc("agent.send", { sessionId: id, message: "/compact" }, { timeoutMs: 300_000 });
    const isDone = result.command?.ok !== false;
    toast(`${nameOf(row)}: ${result.content || (isDone ? "compacted." : "not compacted.")}`, { tone: isDone ? "good" : "bad" });
  } catch (why) {
    toast(`${nameOf(row)} was not compacted: ${why.message}`, { tone: "bad" });
  }
  state.busy.delete(id);
  refresh();
}

function Row({ row }) {
  const { budget } = row;
  const [tone, word] = verdict(budget);
  const isBusy = live.lanes.get(row.sessionId)?.state === "running";
  const isPicked = pickedId() === row.sessionId;
  const shown = `${count(budget.estimatedTokens)} of ${count(budget.contextWindow)} tokens`;
  return h(
    "li",
    { key: row.sessionId, class: isPicked ? "context-row context-picked" : "context-row" },
    h("div.context-head",
      h("a", { href: href("chat", row.sessionId), dir: "auto", title: row.sessionId, class: "context-name" }, nameOf(row)),
      row.model ? h("span.dim", row.model) : null,
      isBusy ? Badge({ tone: "info" }, ["working"]) : null,
      Badge({ tone }, [word]),
      h("strong.context-pct", budget.contextWindow ? `${budget.usagePct} %` : "–"),
    ),
    h(Meter, { value: budget.estimatedTokens, max: budget.contextWindow, mark: budget.thresholdTokens, markLabel: `Compacted at ${budget.thresholdPct} %`, label: `Context of ${nameOf(row)}`, text: `${shown}, ${word}`, tone: tone === "bad" ? "bad" : tone === "warn" ? "warn" : "info" }),
    h("div.context-foot",
      h("span.dim", `About ${shown}. ${toGo(budget)}`),
      h("span.card-actions",
        Button({ kind: "small", busy: state.busy.has(row.sessionId), label: `${state.busy.has(row.sessionId) ? "Compacting…" : "Compact now"}: ${nameOf(row)}`, title: isBusy ? "It is done when the run is over" : "Older messages become a summary; the whole history stays stored", onclick: () => compact(row) }, [state.busy.has(row.sessionId) ? "Compacting…" : "Compact now"]),
        Button({ kind: "small", label: `${isPicked ? "Hide history" : "History"}: ${nameOf(row)}`, "aria-expanded": isPicked, onclick: () => replaceQuery(isPicked ? {} : { session: row.sessionId }) }, [isPicked ? "Hide history" : "History"]),
      ),
    ),
    isPicked ? h(History) : null,
  );
}

// What was summarised before in the session that is looked at.
function History() {
  const id = pickedId();
  const { value, fault } = one.want(id, askOne);
  if (fault) return h(ErrorNote, { why: fault, again: () => one.again(askOne) });
  const row = value?.sessions.find((it) => it.sessionId === id);
  if (!row) return h(Loading);
  const { compactions } = value;
  if (!compactions) return h("p.dim", "This gateway does not tell when a session was compacted.");
  if (compactions.length === 0) return h(Empty, { title: "It was never compacted" }, `It is when its context is ${row.budget.thresholdPct} % full, or when you say so.`);
  const columns = [
    { head: "When", cell: (it) => [h(When, { at: it.at }), " ", h("span.dim", moment(it.at))] },
    { head: "Before", numeric: true, cell: (it) => count(it.tokensBefore) },
    { head: "After", numeric: true, cell: (it) => count(it.tokensAfter) },
    { head: "Freed", numeric: true, cell: (it) => (it.tokensAfter === undefined || !it.tokensBefore ? "–" : `${Math.round((1 - it.tokensAfter / it.tokensBefore) * 100)} %`) },
    { head: "Where", cell: (it) => h("a", { href: href("chat", id, { at: it.seq }) }, `message ${it.seq}`) },
  ];
  return h("div.context-history", compactions.length > 2 ? h(Sizes, { id, compactions }) : null, h(Table, { columns, rows: compactions, keyOf: (it) => it.seq, caption: "Compactions, newest first" }));
}

function Sizes({ id, compactions }) {
  const old = [...compactions].reverse();
  const series = [["before", "tokensBefore"], ["after", "tokensAfter"]].map(([name, field]) => ({ name, points: old.map((it) => ({ x: it.at, y: it[field] })) }));
  return h(LinePlot, { id: `context-${id}`, title: "Tokens at each compaction", unit: "tokens", xKind: "time", series });
}

function Rows({ all }) {
  const found = all.filter((row) => !state.find || `${nameOf(row)} ${row.sessionId} ${row.model ?? ""}`.toLowerCase().includes(state.find.toLowerCase()));
  // The fullest first; one that is looked at stays in the list.
  const sorted = [...found].sort((a, b) => b.budget.usagePct - a.budget.usagePct || a.sessionId.localeCompare(b.sessionId));
  const shown = state.isAll ? sorted : sorted.filter((row, at) => at < ROWS_SHOWN || row.sessionId === pickedId());
  if (found.length === 0) return h(Empty, { title: "No session is called so" });
  return h("div",
    h("ul.context-rows", shown.map((row) => h(Row, { row }))),
    shown.length < sorted.length ? Button({ onclick: () => ((state.isAll = true), redraw()) }, [`Show all ${sorted.length}`]) : null,
  );
}

export const contextPage = {
  name: "context",
  title: "Context",
  needs: ["system.contextUsage"],
  view() {
    rows.want("rows", askRows);
    stop ??= every(REFRESH_MS, () => rows.value && refresh());
    const all = rows.value?.sessions;
    const due = all?.filter((row) => row.budget.shouldCompact).length;
    const fullest = all?.reduce((most, row) => Math.max(most, row.budget.usagePct), 0);
    return h("div",
      h("h1", "Context"),
      rows.fault ? h(ErrorNote, { why: rows.fault, again: refresh }) : null,
      !all ? (rows.fault ? null : h(Loading)) : [
        h("div.figures",
          h(Figure, { label: "sessions in memory", value: count(all.length) }),
          h(Figure, { label: "due to be compacted", value: count(due), tone: due > 0 ? "warn" : "" }),
          h(Figure, { label: "the fullest", value: all.length ? `${fullest} %` : "–" }),
        ),
        all.length === 0
          ? h(Empty, { title: "No session is in memory" }, "A session is here from its first message until it was idle for a while. ", has("sessions.list") ? h("a", { href: href("sessions") }, "All sessions") : null)
          : h(Card, { title: "Sessions, the fullest first", actions: all.length > 8 ? h(Search, { label: "Find a session", value: state.find, oninput: (text) => ((state.find = text), redraw()) }) : null }, h(Rows, { all })),
        h("p.dim", "Only sessions that are in memory are listed; others take no room until they are opened. Sizes are what the model last reported, and an estimate of what came after."),
      ],
    );
  },
  leave() {
    stop?.();
    stop = null;
    rows.stale();
    one.stale();
  },
};
