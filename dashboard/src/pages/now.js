// What is it doing? What is stuck or asks is on top; what is idle is folded away.

import { h, redraw } from "../lib/dom.js";
import { Fetched, every } from "../lib/fetching.js";
import { count, duration, money, short, utcDay } from "../lib/format.js";
import { onConnected, rpc } from "../lib/link.js";
import { has, live, onNews } from "../lib/live.js";
import { href } from "../lib/router.js";
import { soon } from "../lib/soon.js";
import { Fold } from "../ui/fold.js";
import { NotifyButton } from "../ui/notify.js";
import { Empty, ErrorNote, Figure, Loading } from "../ui/parts.js";
import { Away, startAway } from "./now/away.js";
import { SwimLanes, refreshHistory } from "./now/lanes.js";
import { LogTail, stopLog } from "./now/logs.js";
import { SessionRow, forgetGone } from "./now/row.js";
import { allStanding, refreshLanes } from "./now/standing.js";

const LANES_MS = 5_000;
const FIGURES_MS = 30_000;
// News of lanes come in heaps; history is asked for once behind each.
const HISTORY_MS = 4_000;
const ROWS_MAX = 200;
const IDLE_MAX = 100;

const now = { ends: null, metrics: new Fetched(), usage: new Fetched(), lanesFault: null, isIdleOpen: false };

async function askLanes() {
  try {
    await refreshLanes();
    now.lanesFault = null;
  } catch (why) {
    now.lanesFault = why;
  }
  redraw();
}

function askFigures() {
  now.metrics.again(() => rpc("system.metrics"));
  const day = utcDay();
  if (has("usage.report")) now.usage.again(() => rpc("usage.report", { from: day, to: day, groupBy: "day" }));
}

const askHistorySoon = soon(HISTORY_MS, () => {
  if (!now.ends) return;
  refreshHistory();
  askFigures();
});

const isBusy = () => [...live.lanes.values()].some((lane) => lane.state !== "idle");

function arrive() {
  const ticking = setInterval(() => isBusy() && redraw(), 1000);
  now.ends = [
    () => clearInterval(ticking),
    every(LANES_MS, () => isBusy() && askLanes()),
    every(FIGURES_MS, askFigures),
    every(FIGURES_MS, refreshHistory),
    onNews("lane", askHistorySoon),
    startAway(),
    stopLog,
  ];
}

// After a restart the past is another one.
let isFollowing = false;
function followConnections() {
  if (isFollowing) return;
  isFollowing = true;
  onConnected(() => now.ends && askHistorySoon());
}

function Figures({ rows }) {
  const of = (...states) => rows.filter((row) => states.includes(row.state)).length;
  const waiting = rows.reduce((sum, row) => sum + row.lane.depth, 0);
  const metrics = now.metrics.value;
  const today = now.usage.value?.rows[0];
  const cost = !now.usage.value ? "–" : !today ? "$0" : today.unpriced && today.usage.costUsd !== undefined ? `${money(today.usage.costUsd)} +` : money(today.usage.costUsd);
  const priced = today?.unpriced ? `; the price of ${short(today.unpriced)} tokens is not known and not in it` : "";
  const stalled = of("stalled");
  const up = live.info ? `since the start, ${duration((metrics?.uptime ?? live.info.uptime) * 1000)} ago` : "since the start";
  return h("div.figures.now-figures",
    h(Figure, { label: stalled ? `running, ${stalled} stalled` : "running", value: count(of("running", "stalled")), tone: stalled ? "bad" : undefined }),
    h(Figure, { label: "asking", value: count(of("asking")), tone: of("asking") ? "warn" : undefined, hint: "Sessions that wait for an answer of yours" }),
    h(Figure, { label: "messages waiting", value: count(waiting) }),
    h(Figure, { label: "errors since start", value: count(metrics?.errors), hint: `Runs that failed ${up}`, tone: metrics?.errors ? "bad" : undefined }),
    h(Figure, { label: "messages since start", value: count(metrics?.messagesProcessed), hint: `Messages taken ${up}` }),
    has("usage.report") ? h(Figure, { label: "cost today (UTC)", value: cost, hint: `What models cost today, by the prices that are known${priced}` }) : null,
  );
}

function Idle({ rows }) {
  if (rows.length === 0) return null;
  const shown = () => h("div",
    h("ul.now-rows", rows.slice(0, IDLE_MAX).map((row) => h(SessionRow, { row }))),
    rows.length > IDLE_MAX ? h("p.dim", `${count(rows.length - IDLE_MAX)} more are on the page `, h("a", { href: href("sessions") }, "Sessions"), ".") : null,
  );
  return Fold({ open: now.isIdleOpen, onchange: (isOpen) => (now.isIdleOpen = isOpen), title: `${count(rows.length)} idle session${rows.length === 1 ? "" : "s"} in memory`, class: "card", key: "idle", body: shown });
}

function Work({ rows }) {
  if (!live.can) return h(Loading);
  if (rows.length === 0) return h("div.card", { key: "work" }, h(Empty, { title: "Nothing runs, asks or waits" }, "What begins appears here by itself. ", h("a", { href: href("chat") }, "Write to it"), "."));
  const more = rows.length - ROWS_MAX;
  return h("div.card.now-card", { key: "work" },
    h("ul.now-rows", rows.slice(0, ROWS_MAX).map((row) => h(SessionRow, { row }))),
    more > 0 ? h("p.dim", `${count(more)} more work; they are on the page `, h("a", { href: href("sessions") }, "Sessions"), ".") : null,
  );
}

export const nowPage = {
  name: "now",
  title: "Now",
  needs: ["lanes.list"],
  view() {
    if (!now.ends && live.can) arrive();
    followConnections();
    forgetGone(live.lanes);
    const rows = allStanding();
    const work = rows.filter((row) => row.state !== "idle");
    return h("div",
      h("header.page-head", h("h1", "Now"), live.asks.size === 0 ? NotifyButton() : null),
      h(Figures, { rows }),
      h(Away),
      now.lanesFault ? h("div", { key: "fault" }, h(ErrorNote, { why: now.lanesFault, again: askLanes })) : null,
      h("h2.unseen", "Sessions at work"),
      h(Work, { rows: work }),
      h(Idle, { rows: rows.filter((row) => row.state === "idle") }),
      h(SwimLanes),
      h(LogTail),
    );
  },
  leave() {
    for (const end of now.ends ?? []) end();
    now.ends = null;
  },
};
