// The runs behind a sum, dearest first, each with a way to where it was said.

import { h } from "../../lib/dom.js";
import { clock, count, duration, moment, money, short } from "../../lib/format.js";
import { Fetched } from "../../lib/fetching.js";
import { rpc } from "../../lib/link.js";
import { dayText } from "../../lib/scale.js";
import { Badge, Card, Loading } from "../../ui/parts.js";
import { Awaited } from "../../ui/awaited.js";
import { ChatLink, Small, column, numbers } from "../../ui/small.js";
import { SortTable } from "../../ui/sorted.js";
import { personOf } from "../chat/notices.js";
import { costHint, tokensOf } from "./sums.js";

const RUNS_MAX = 100;
const runs = new Fetched();
const table = {};
// How a run stands, in a tone and in a word.
const STATES = { start: ["info", "running"], complete: ["good", "complete"], error: ["bad", "failed"], cancel_requested: ["warn", "stopping"], cancelled: ["warn", "cancelled"] };

function State({ state }) {
  const [tone, word] = STATES[state] ?? ["none", state ?? "unknown"];
  return Badge({ tone }, [word]);
}

function columnsOf(isOneDay, nameOf) {
  const cost = ({ usage }) => costHint({ usd: usage.costUsd, unpriced: usage.costUsd === undefined ? tokensOf(usage) : 0 });
  return [
    column("at", "When", (run) => run.at, ({ at }) => h("time", { datetime: new Date(at).toISOString(), title: moment(at) }, isOneDay ? clock(at) : moment(at))),
    column("session", "Session", (run) => run.title || run.sessionId, (run) => ChatLink(run.sessionId, run.title || nameOf(run.sessionId), run.seq)),
    column("model", "Model", (run) => run.model, (run) => run.model ?? "–"),
    column("state", "State", (run) => run.state, State),
    numbers("length", "Length", (run) => run.durationMs, (run) => duration(run.durationMs)),
    numbers("tools", "Tool calls", (run) => run.tools ?? 0),
    numbers("tokens", "Tokens", (run) => tokensOf(run.usage), (run) => h("span", { title: count(tokensOf(run.usage)) }, short(tokensOf(run.usage)))),
    numbers("cost", "Cost", (run) => run.usage.costUsd, (run) => h("span", { title: cost(run) }, money(run.usage.costUsd))),
    column("by", "For", (run) => run.by, (run) => h("span", { dir: "auto", title: run.by }, personOf(run.by) || "–")),
  ];
}

// `wish`: { from, to, sessionId?, model? }.
export function Runs({ wish, nameOf, onclose }) {
  runs.want(JSON.stringify(wish), () => rpc("usage.runs", { ...wish, limit: RUNS_MAX }));
  const isOneDay = wish.from === wish.to;
  const span = isOneDay ? dayText(wish.from) : `${dayText(wish.from)} to ${dayText(wish.to)}`;
  const title = `Runs of ${span}${wish.sessionId ? ` in ${nameOf(wish.sessionId)}` : ""}${wish.model ? ` with ${wish.model}` : ""}`;
  // An answer that belongs to another question is not shown for this one.
  const shown = (value) => runs.isLoading ? h(Loading) : [
    h(SortTable, { state: table, columns: columnsOf(isOneDay, nameOf), rows: value.runs, keyOf: (run) => `${run.sessionId} ${run.runId}`, caption: "Runs, the dearest first", empty: "Nothing ran then" }),
    value.truncated ? h("p.dim", `The ${value.runs.length} dearest; there are more, or not everything was looked through.`) : null,
    value.runs.length ? null : h("p.dim", "Sums stay when a session is deleted; its runs do not."),
  ];
  return h(Card, { title, id: "usage-runs", actions: Small("Close", onclose) }, Awaited(runs, shown));
}
