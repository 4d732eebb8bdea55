// The runs behind a sum, dearest first, each with a way to where it was said.

import { h } from "../../lib/dom.js";
import { clock, count, duration, money, short } from "../../lib/format.js";
import { Fetched } from "../../lib/fetching.js";
import { rpc } from "../../lib/link.js";
import { has } from "../../lib/live.js";
import { href } from "../../lib/router.js";
import { dayText } from "../../lib/scale.js";
import { Badge, Button, Card, Empty, ErrorNote, Loading } from "../../ui/parts.js";
import { SortTable } from "../../ui/sorted.js";
import { costHint, costOf, costText, tokensOf } from "./sums.js";

const RUNS_MAX = 100;
const runs = new Fetched();
const table = { by: "", isUp: false, isAll: false };
// How a run stands, in a tone and in a word.
const STATES = { start: ["info", "running"], complete: ["good", "complete"], error: ["bad", "failed"], cancel_requested: ["warn", "stopping"], cancelled: ["warn", "cancelled"] };
const stateOf = (run) => STATES[run.state] ?? ["none", run.state ?? "unknown"];

function askFor({ from, to, sessionId, model }) {
  if (has("usage.runs")) return rpc("usage.runs", { from, to, limit: RUNS_MAX, ...(sessionId ? { sessionId } : {}), ...(model ? { model } : {}) });
  return rpc("usage.report", { from, to, groupBy: "session", ...(sessionId ? { sessionId } : {}) });
}

function sessionLink(it, nameOf) {
  const name = it.title || nameOf(it.sessionId);
  return h("a", { href: href("chat", it.sessionId, it.seq ? { at: it.seq } : undefined), dir: "auto", title: it.sessionId }, name);
}

function runColumns(isOneDay, nameOf) {
  const cost = (run) => ({ usd: run.usage.costUsd, unpriced: run.usage.costUsd === undefined ? tokensOf(run.usage) : 0 });
  return [
    { name: "at", head: "When", cell: (run) => h("time", { datetime: new Date(run.at).toISOString(), title: new Date(run.at).toLocaleString() }, isOneDay ? clock(run.at) : new Date(run.at).toLocaleString()), value: (run) => run.at },
    { name: "session", head: "Session", cell: (run) => sessionLink(run, nameOf), value: (run) => run.title || run.sessionId },
    { name: "model", head: "Model", cell: (run) => run.model ?? "–", value: (run) => run.model },
    { name: "state", head: "State", cell: (run) => Badge({ tone: stateOf(run)[0] }, [stateOf(run)[1]]), value: (run) => run.state },
    { name: "length", head: "Length", cell: (run) => duration(run.durationMs), value: (run) => run.durationMs, numeric: true },
    { name: "tools", head: "Tool calls", cell: (run) => count(run.tools ?? 0), value: (run) => run.tools ?? 0, numeric: true },
    { name: "tokens", head: "Tokens", cell: (run) => h("span", { title: count(tokensOf(run.usage)) }, short(tokensOf(run.usage))), value: (run) => tokensOf(run.usage), numeric: true },
    { name: "cost", head: "Cost", cell: (run) => h("span", { title: costHint(cost(run)) }, money(run.usage.costUsd)), value: (run) => run.usage.costUsd, numeric: true },
    { name: "by", head: "For", cell: (run) => h("span", { dir: "auto" }, run.by ?? "–"), value: (run) => run.by },
  ];
}

// What a gateway without `usage.runs` knows: sums by session.
function sumColumns(nameOf) {
  return [
    { name: "session", head: "Session", cell: (row) => sessionLink({ sessionId: row.key }, nameOf), value: (row) => nameOf(row.key) },
    { name: "calls", head: "Calls", cell: (row) => count(row.calls), value: (row) => row.calls, numeric: true },
    { name: "tokens", head: "Tokens", cell: (row) => h("span", { title: count(tokensOf(row.usage)) }, short(tokensOf(row.usage))), value: (row) => tokensOf(row.usage), numeric: true },
    { name: "cost", head: "Cost", cell: (row) => h("span", { title: costHint(costOf(row)) }, costText(costOf(row))), value: (row) => costOf(row).usd, numeric: true },
  ];
}

// `wish`: { from, to, sessionId?, model? }.
export function Runs({ wish, nameOf, onclose }) {
  const ask = () => askFor(wish);
  const { value, fault, isLoading } = runs.want(JSON.stringify([wish, has("usage.runs")]), ask);
  const isOneDay = wish.from === wish.to;
  const span = isOneDay ? dayText(wish.from) : `${dayText(wish.from)} to ${dayText(wish.to)}`;
  const title = `Runs of ${span}${wish.sessionId ? ` in ${nameOf(wish.sessionId)}` : ""}${wish.model ? ` with ${wish.model}` : ""}`;
  const shown = () => {
    if (fault) return h(ErrorNote, { why: fault, again: () => runs.again(ask) });
    // An answer that belongs to another question is not shown for this one.
    if (isLoading || !value) return h(Loading);
    if (value.runs) return h(SortTable, { state: table, columns: runColumns(isOneDay, nameOf), rows: value.runs, keyOf: (run) => `${run.sessionId} ${run.runId}`, caption: "Runs, the dearest first", empty: "Nothing ran then" });
    return [h("p.dim", "This gateway knows sums by session, not single runs."), h(SortTable, { state: table, columns: sumColumns(nameOf), rows: value.rows, keyOf: (row) => row.key, caption: "Sums by session", empty: "Nothing was used then" })];
  };
  return h(Card, { title, id: "usage-runs", actions: Button({ kind: "small", onclick: onclose }, ["Close"]) },
    shown(),
    value?.truncated ? h("p.dim", `The ${value.runs.length} dearest that were found; there are more, or not everything was looked through.`) : null,
    value?.runs?.length === 0 ? h(Empty, { title: "" }, "Sums stay when a session is deleted; its runs do not.") : null,
  );
}
