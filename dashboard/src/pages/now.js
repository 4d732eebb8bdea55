// What is it doing? What is stuck or asks is on top; what is idle is folded away.

import { h, redraw } from "../lib/dom.js";
import { Fetched, every } from "../lib/fetching.js";
import { count, duration, money, short, utcDay } from "../lib/format.js";
import { rpc } from "../lib/link.js";
import { live, onNews } from "../lib/live.js";
import { href } from "../lib/router.js";
import { soon } from "../lib/soon.js";
import { Fold } from "../ui/fold.js";
import { NotifyButton } from "../ui/notify.js";
import { Empty, ErrorNote, Loading } from "../ui/parts.js";
import { figure } from "../ui/small.js";
import { Away, startAway } from "./now/away.js";
import { SwimLanes, refreshHistory } from "./now/lanes.js";
import { LogTail, stopLog } from "./now/logs.js";
import { SessionRow, forgetGone, heldLanes, isAtWork } from "./now/row.js";
import { allStanding, refreshLanes } from "./now/standing.js";

const LANES_MS = 5_000;
const FIGURES_MS = 30_000;
// News of lanes come in heaps; history is asked for once behind each.
const HISTORY_MS = 4_000;
const ROWS_MAX = 200;
const IDLE_MAX = 100;

const lanes = new Fetched(refreshLanes);
const metrics = new Fetched(() => rpc("system.metrics"));
const usage = new Fetched(() => rpc("usage.report", { from: utcDay(), to: utcDay(), groupBy: "day" }));
const now = { isHere: false, isIdleOpen: false };

function refresh() {
  refreshHistory();
  metrics.again();
  usage.again();
}

const refreshSoon = soon(HISTORY_MS, () => now.isHere && refresh());

const isBusy = () => [...live.lanes.values()].some((lane) => lane.state !== "idle");

function arrive() {
  now.isHere = true;
  return [
    every(1000, () => isBusy() && redraw()),
    every(LANES_MS, () => isBusy() && lanes.again()),
    every(FIGURES_MS, refresh),
    onNews("lane", refreshSoon),
    // After a restart the past is another one.
    onNews("connected", refreshSoon),
    startAway(),
    stopLog,
    () => (now.isHere = false),
  ];
}

function Figures({ rows }) {
  const of = (...states) => rows.filter((row) => states.includes(row.state)).length;
  const waiting = rows.reduce((sum, row) => sum + row.lane.depth, 0);
  const { errors, messagesProcessed, uptime } = metrics.value ?? {};
  const today = usage.value?.rows[0];
  const cost = !usage.value ? "–" : !today ? "$0" : today.unpriced && today.usage.costUsd !== undefined ? `${money(today.usage.costUsd)} +` : money(today.usage.costUsd);
  const priced = today?.unpriced ? `; the price of ${short(today.unpriced)} tokens is not known and not in it` : "";
  const stalled = of("stalled");
  const up = `since the start${uptime === undefined ? "" : `, ${duration(uptime * 1000)} ago`}`;
  return h("div.figures.now-figures",
    figure(stalled ? `running, ${stalled} stalled` : "running", count(of("running", "stalled")), undefined, stalled && "bad"),
    figure("asking", count(of("asking")), "Sessions that wait for an answer of yours", of("asking") && "warn"),
    figure("messages waiting", count(waiting)),
    figure("errors since start", count(errors), `Runs that failed ${up}`, errors && "bad"),
    figure("messages since start", count(messagesProcessed), `Messages taken ${up}`),
    figure("cost today (UTC)", cost, `What models cost today, by the prices that are known${priced}`),
  );
}

function list(rows, max) {
  return [
    h("ul.bare", rows.slice(0, max).map((row) => h(SessionRow, { row }))),
    rows.length > max ? h("p.dim", `${count(rows.length - max)} more are on the page `, h("a", { href: href("sessions") }, "Sessions"), ".") : null,
  ];
}

function Idle({ rows }) {
  if (rows.length === 0) return null;
  return Fold({ open: now.isIdleOpen, onchange: (isOpen) => (now.isIdleOpen = isOpen), title: `${count(rows.length)} idle session${rows.length === 1 ? "" : "s"} in memory`, class: "card", key: "idle", body: () => h("div", list(rows, IDLE_MAX)) });
}

function Work({ rows }) {
  if (!live.can) return h(Loading);
  if (rows.length === 0) return h("div.card", { key: "work" }, h(Empty, { title: "Nothing runs, asks or waits" }, "What begins appears here by itself. ", h("a", { href: href("chat") }, "Write to it"), "."));
  return h("div.card", { key: "work" }, list(rows, ROWS_MAX));
}

export const nowPage = {
  name: "now",
  title: "Now",
  arrive,
  view() {
    const rows = allStanding(heldLanes());
    forgetGone(rows);
    return h("div",
      h("header.page-head", h("h1", "Now"), live.asks.size === 0 ? NotifyButton() : null),
      h(Figures, { rows }),
      h(Away),
      lanes.fault ? h("div", { key: "fault" }, h(ErrorNote, { why: lanes.fault, again: () => lanes.again() })) : null,
      h("h2.unseen", "Sessions at work"),
      h(Work, { rows: rows.filter(isAtWork) }),
      h(Idle, { rows: rows.filter((row) => !isAtWork(row)) }),
      h(SwimLanes),
      h(LogTail),
    );
  },
};
