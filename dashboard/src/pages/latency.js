// Is it getting slow?

import { h } from "../lib/dom.js";
import { Fetched } from "../lib/fetching.js";
import { ago, clock, count, duration, moment } from "../lib/format.js";
import { link, rpc } from "../lib/link.js";
import { replaceQuery, route } from "../lib/router.js";
import { valueText } from "../lib/scale.js";
import { Awaited } from "../ui/awaited.js";
import { Badge, Card, Choice, Empty, Loading } from "../ui/parts.js";
import { Rows } from "../ui/listed.js";
import { BarPlot, Histogram, LinePlot } from "../ui/plot.js";
import { column, numbers, figure } from "../ui/small.js";
import { SortTable } from "../ui/sorted.js";
import { WINDOWS, errorPct, steps } from "./latency/numbers.js";

const REFRESH_MS = 15_000;
// Above this part of the calls somebody should look.
const ERROR_PCT_BAD = 5;

const table = { by: "calls" };
// How long our last question took, until the connection has measured by itself.
let tripMs;

function chosenWindow() {
  const wished = Number(route.query.get("minutes"));
  return WINDOWS.find(([minutes]) => minutes === wished) ?? WINDOWS[0];
}

const latency = new Fetched(async () => {
  const [windowMinutes, bucketSeconds] = chosenWindow();
  const began = performance.now();
  const value = await rpc("system.latency", { windowMinutes, bucketSeconds });
  tripMs = performance.now() - began;
  return value;
});

function Figures({ total, cancel }) {
  const failed = errorPct(total);
  const answered = total.calls > total.errors ? total : {};
  return h("div.figures",
    figure("half of the answers are done within", duration(answered.p50), "p50"),
    figure("95 of 100 within", duration(answered.p95), "p95"),
    figure("the first word comes within (half of them)", duration(total.firstTokenP50), "p50 of the time to the first token"),
    figure(`failed, ${count(total.errors)} of ${count(total.calls)} calls`, failed === undefined ? "–" : valueText(failed, "%"), undefined, failed >= ERROR_PCT_BAD ? "bad" : failed > 0 ? "warn" : ""),
    figure("a run stops after the word within", duration(cancel.p95), "p95 from a cancel to the end of the run"),
    figure("from this page to the gateway and back", duration(link.tripMs ?? tripMs), "Asked every ten seconds"),
  );
}

const PERCENTS = [50, 95, 99];

function seriesOf(all, fieldOf) {
  const known = all.filter((it) => it.bucket?.calls);
  return PERCENTS.map((pct) => ({ name: `p${pct}`, points: known.map(({ ts, bucket }) => ({ x: ts, y: bucket.calls > bucket.errors ? bucket[fieldOf(pct)] : undefined })) }));
}

function Plots({ value }) {
  const all = steps(value);
  const empty = "No model was called in this time.";
  const shared = { unit: "ms", xKind: "time", gapMs: value.bucketSeconds * 1500, from: all[0].ts, to: all.at(-1).ts, empty };
  const bars = all.map(({ ts, bucket }) => ({
    key: String(ts), label: moment(ts), short: clock(ts).replace(/(\d\d:\d\d):\d\d/, "$1"), hint: bucket?.errors ? `${valueText(errorPct(bucket), "%")} failed` : undefined,
    parts: bucket ? [{ name: "answered", value: bucket.calls - bucket.errors }, { name: "failed", value: bucket.errors }] : null,
  }));
  return h("div.plots",
    h(Card, h(LinePlot, { id: "latency-all", title: "Time to the whole answer", series: seriesOf(all, (pct) => `p${pct}`), ...shared })),
    h(Card, h(LinePlot, { id: "latency-first", title: "Time to the first word", series: seriesOf(all, (pct) => `firstTokenP${pct}`), ...shared })),
    h(Card, h(BarPlot, { id: "latency-calls", title: `Calls in steps of ${value.bucketSeconds / 60} min`, unit: "", head: "Time", isWhole: true, bars: value.total.calls ? bars : [], empty })),
    h(Card, h(Histogram, { id: "latency-cancel", title: "From a cancel to the end of the run", unit: "ms", samples: value.cancel.samples, empty: "Nothing was cancelled since the gateway began." })),
  );
}

function Models({ rows }) {
  const ms = (name, head) => numbers(name, head, (row) => row[name], (row) => duration(row[name]));
  const columns = [
    column("model", "Model", (row) => row.model),
    numbers("calls", "Calls", (row) => row.calls, (row) => count(row.calls)),
    numbers("errors", "Failed", errorPct, (row) => (row.errors ? `${count(row.errors)} (${valueText(errorPct(row), "%")})` : "0")),
    ...PERCENTS.map((pct) => ms(`p${pct}`, `p${pct}`)),
    ...PERCENTS.map((pct) => ms(`firstTokenP${pct}`, `First word p${pct}`)),
  ];
  return h(Card, { title: "By model" }, h(SortTable, { state: table, columns, rows, keyOf: (row) => row.model, caption: "Latency by model", empty: "No model was called in this time" }));
}

const OVERLOADED = "the server is overloaded";
const WORDS = { 401: "the key is wrong", 403: "not allowed", 404: "no such model", 408: "took too long", 429: "too many requests", 503: OVERLOADED, 529: OVERLOADED, network: "no connection" };

function Errors({ rows, calls }) {
  if (rows.length === 0) return h(Card, { title: "Errors" }, h(Empty, { title: calls ? "No call failed in this time" : "No model was called in this time" }));
  const columns = [
    ["Status", (row) => Badge({ tone: "bad" }, [row.status])],
    ["Mostly means", (row) => WORDS[row.status] ?? (row.status >= 500 ? "the server failed" : "–")],
    ["How often", (row) => count(row.count), true],
    ["Of all calls", (row) => valueText((row.count / Math.max(1, calls)) * 100, "%"), true],
  ];
  return h(Card, { title: "Errors by status" }, Rows({ columns, rows, keyOf: (row) => row.status, caption: "How often each status came" }));
}

export const latencyPage = {
  name: "latency",
  title: "Latency",
  view() {
    const [minutes] = chosenWindow();
    const { value, at } = latency.want(minutes);
    const inside = () => (value.windowMinutes !== minutes ? h(Loading) : [h(Figures, value), h(Plots, { value }), h("div.latency-tables", h(Models, { rows: value.byModel }), h(Errors, { rows: value.errorsByStatus, calls: value.total.calls }))]);
    return h("div",
      h("h1", "Latency"),
      h("div.toolbar",
        h(Choice, { label: "Window", value: minutes, options: [[60, "1 hour"], [360, "6 hours"], [1440, "24 hours"]], onchange: (it) => replaceQuery(it === 60 ? {} : { minutes: it }) }),
        value ? h("span.dim", `Counted since ${moment(value.since)} (${ago(value.since)}); as of ${clock(at)}.`) : null,
      ),
      Awaited(latency, inside),
    );
  },
  arrive: () => [latency.keep(REFRESH_MS)],
};
