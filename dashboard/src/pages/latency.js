// Is it getting slow?

import { h } from "../lib/dom.js";
import { Fetched, every } from "../lib/fetching.js";
import { ago, clock, count, duration, moment } from "../lib/format.js";
import { link, rpc } from "../lib/link.js";
import { has, live } from "../lib/live.js";
import { replaceQuery, route } from "../lib/router.js";
import { valueText } from "../lib/scale.js";
import { Badge, Card, Choice, Empty, ErrorNote, Figure, Loading, Table } from "../ui/parts.js";
import { BarPlot, Histogram, LinePlot } from "../ui/plot.js";
import { SortTable } from "../ui/sorted.js";
import { WINDOWS, errorPct, fromMetrics, steps } from "./latency/numbers.js";

const REFRESH_MS = 15_000;
// Above this part of the calls somebody should look.
const ERROR_PCT_BAD = 5;

const numbers = new Fetched();
const table = { by: "calls", isUp: false, isAll: false };
let stop = null;
// How long our last question took, until the connection has measured by itself.
let tripMs;

function chosenWindow() {
  const wished = Number(route.query.get("minutes"));
  return WINDOWS.find(([minutes]) => minutes === wished) ?? WINDOWS[0];
}

async function ask() {
  const [windowMinutes, bucketSeconds] = chosenWindow();
  const began = performance.now();
  const value = has("system.latency") ? await rpc("system.latency", { windowMinutes, bucketSeconds }) : fromMetrics(await rpc("system.metrics"), windowMinutes, bucketSeconds);
  tripMs = performance.now() - began;
  return value;
}

function Figures({ total, cancel }) {
  const failed = errorPct(total);
  return h("div.figures",
    h(Figure, { label: "half of the answers are done within", value: duration(total.calls > total.errors ? total.p50 : undefined), hint: "p50" }),
    h(Figure, { label: "95 of 100 within", value: duration(total.calls > total.errors ? total.p95 : undefined), hint: "p95" }),
    h(Figure, { label: "the first word comes within (half of them)", value: duration(total.firstTokenP50), hint: "p50 of the time to the first token" }),
    h(Figure, { label: `failed, ${count(total.errors)} of ${count(total.calls)} calls`, value: failed === undefined ? "–" : valueText(failed, "%"), tone: failed >= ERROR_PCT_BAD ? "bad" : failed > 0 ? "warn" : "" }),
    h(Figure, { label: "a run stops after the word within", value: duration(cancel.p95), hint: "p95 from a cancel to the end of the run" }),
    h(Figure, { label: "from this page to the gateway and back", value: duration(link.tripMs ?? tripMs), hint: "Asked every ten seconds" }),
  );
}

function seriesOf(all, fields) {
  return fields.map(([name, field]) => ({ name, points: all.filter((it) => it.bucket?.calls).map((it) => ({ x: it.ts, y: it.bucket.calls > it.bucket.errors ? it.bucket[field] : undefined })) }));
}

function Plots({ value }) {
  const all = steps(value);
  const shared = { unit: "ms", xKind: "time", gapMs: value.bucketSeconds * 1500, from: all[0].ts, to: all[all.length - 1].ts };
  const none = "No model was called in this time.";
  const firsts = seriesOf(all, [["p50", "firstTokenP50"], ["p95", "firstTokenP95"], ["p99", "firstTokenP99"]]);
  const bars = all.map(({ ts, bucket }) => ({
    key: String(ts), label: moment(ts), short: clock(ts).replace(/(\d\d:\d\d):\d\d/, "$1"), hint: bucket?.errors ? `${valueText(errorPct(bucket), "%")} failed` : undefined,
    parts: bucket ? [{ name: "answered", value: bucket.calls - bucket.errors }, { name: "failed", value: bucket.errors }] : null,
  }));
  return h("div.plots",
    h(Card, h(LinePlot, { id: "latency-all", title: "Time to the whole answer", series: seriesOf(all, [["p50", "p50"], ["p95", "p95"], ["p99", "p99"]]), empty: none, ...shared })),
    h(Card, h(LinePlot, { id: "latency-first", title: "Time to the first word", series: firsts, empty: value.isRecentOnly ? "This gateway does not measure the first word." : none, ...shared })),
    h(Card, h(BarPlot, { id: "latency-calls", title: `Calls in steps of ${value.bucketSeconds / 60} min`, unit: "", head: "Time", isWhole: true, bars: value.total.calls ? bars : [], empty: none })),
    h(Card, h(Histogram, { id: "latency-cancel", title: "From a cancel to the end of the run", unit: "ms", samples: value.cancel.samples, empty: "Nothing was cancelled since the gateway began." })),
  );
}

function Models({ rows }) {
  const ms = (name, head) => ({ name, head, numeric: true, value: (row) => row[name], cell: (row) => duration(row[name]) });
  const columns = [
    { name: "model", head: "Model", cell: (row) => row.model, value: (row) => row.model },
    { name: "calls", head: "Calls", numeric: true, cell: (row) => count(row.calls), value: (row) => row.calls },
    { name: "errors", head: "Failed", numeric: true, cell: (row) => (row.errors ? `${count(row.errors)} (${valueText(errorPct(row), "%")})` : "0"), value: errorPct },
    ms("p50", "p50"), ms("p95", "p95"), ms("p99", "p99"), ms("firstTokenP50", "First word p50"), ms("firstTokenP95", "First word p95"), ms("firstTokenP99", "First word p99"),
  ];
  return h(Card, { title: "By model" }, h(SortTable, { state: table, columns, rows, keyOf: (row) => row.model, caption: "Latency by model", empty: "No model was called in this time" }));
}

const WORDS = { 401: "the key is wrong", 403: "not allowed", 404: "no such model", 408: "took too long", 429: "too many requests", 500: "the server failed", 502: "the server failed", 503: "the server is overloaded", 529: "the server is overloaded", network: "no connection" };

function Errors({ rows, calls }) {
  if (rows.length === 0) return h(Card, { title: "Errors" }, h(Empty, { title: calls ? "No call failed in this time" : "No model was called in this time" }));
  const columns = [
    { head: "Status", cell: (row) => Badge({ tone: "bad" }, [row.status]) },
    { head: "Mostly means", cell: (row) => WORDS[row.status] ?? "–" },
    { head: "How often", numeric: true, cell: (row) => count(row.count) },
    { head: "Of all calls", numeric: true, cell: (row) => valueText((row.count / Math.max(1, calls)) * 100, "%") },
  ];
  return h(Card, { title: "Errors by status" }, h(Table, { columns, rows, keyOf: (row) => row.status, caption: "How often each status came" }));
}

export const latencyPage = {
  name: "latency",
  title: "Latency",
  needs: ["system.metrics"],
  view() {
    const [minutes] = chosenWindow();
    // What it can be asked is not known yet.
    if (!live.can) return h("div", h("h1", "Latency"), h(Loading));
    const { value, fault, at } = numbers.want(`${minutes} ${has("system.latency")}`, ask);
    stop ??= every(REFRESH_MS, () => numbers.value && numbers.again(ask));
    const isOld = value && value.windowMinutes !== minutes;
    return h("div",
      h("h1", "Latency"),
      h("div.toolbar",
        h(Choice, { label: "Window", value: minutes, options: [[60, "1 hour"], [360, "6 hours"], [1440, "24 hours"]], onchange: (it) => replaceQuery(it === 60 ? {} : { minutes: it }) }),
        value ? h("span.dim", `Counted since ${moment(value.since)} (${ago(value.since)}); as of ${clock(at)}.`) : null,
      ),
      value?.isRecentOnly ? h("p.note", "This gateway tells of its last 50 calls only; what is older is not in these numbers.") : null,
      fault ? h(ErrorNote, { why: fault, again: () => numbers.again(ask) }) : null,
      !value || isOld ? (fault ? null : h(Loading)) : [h(Figures, value), h(Plots, { value }), h("div.latency-tables", h(Models, { rows: value.byModel }), h(Errors, { rows: value.errorsByStatus, calls: value.total.calls }))],
    );
  },
  leave() {
    stop?.();
    stop = null;
    numbers.stale();
  },
};
