// Swim lanes: what each session did when. A picture, a line of words for the run that one points at, and a table behind it.

import { serverNow } from "../../lib/clock.js";
import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { clock, count, duration, moment, sessionName } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { remember, remembered } from "../../lib/remember.js";
import { go, href } from "../../lib/router.js";
import { timeTicks } from "../../lib/scale.js";
import { Awaited } from "../../ui/awaited.js";
import { Fold } from "../../ui/fold.js";
import { Rows } from "../../ui/listed.js";
import { Card, Choice, Empty } from "../../ui/parts.js";
import { ChatLink, Small } from "../../ui/small.js";
import { lanesOf, nearest, placeAt, placeOf } from "./runs.js";

const WINDOWS = [[15, "15 min"], [60, "1 h"], [360, "6 h"], [1440, "24 h"]];
const RUNS_MAX = 2000;
const LANES_SHOWN = 12;
const LANES_MAX = 100;
const TABLE_ROWS_MAX = 200;
const LANE_PX = 24;
const BAR_PX = 12;
const BAR_LEAST_PX = 4;
const STATES = { running: "runs", complete: "finished", cancelled: "stopped", error: "failed" };

// Times that are named: how far apart at least, and how many.
const TICK_PX = 80;
const TICKS_MAX = 15;

const past = new Fetched(() => rpc("lanes.history", { windowMinutes: plot.minutes, limit: RUNS_MAX }));
const plot = { minutes: remembered("now.window", 60), width: 0, isAll: false, isTable: false };

export const refreshHistory = () => past.again();

function choose(minutes) {
  plot.minutes = minutes;
  remember("now.window", minutes);
  refreshHistory();
}

function told(run) {
  const waited = run.queuedAt !== undefined ? run.startedAt - run.queuedAt : 0;
  const end = run.state === "running" ? "now" : run.endedAt ? clock(run.endedAt) : "an end that nobody wrote down";
  return [STATES[run.state], `${clock(run.startedAt)} to ${end}`, duration(run.end - run.startedAt), waited > 0 ? `waited ${duration(waited)} before` : "", run.tools ? `${run.tools} tool call${run.tools === 1 ? "" : "s"}` : ""].filter(Boolean).join(", ");
}

const keyOf = (run) => `bar-${run.sessionId}-${run.runId}`;

function point(run) {
  plot.pointed = run;
  redraw();
}

function focusBar(run) {
  point(run);
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(keyOf(run))?.focus()));
}

// Left and right are the runs of a lane, up and down its neighbours.
function walk(event, lanes, lane, run) {
  const at = lane.runs.indexOf(run);
  const row = lanes.indexOf(lane);
  const to = {
    ArrowLeft: () => lane.runs[at - 1],
    ArrowRight: () => lane.runs[at + 1],
    Home: () => lane.runs[0],
    End: () => lane.runs.at(-1),
    ArrowUp: () => lanes[row - 1] && nearest(lanes[row - 1], run.startedAt),
    ArrowDown: () => lanes[row + 1] && nearest(lanes[row + 1], run.startedAt),
  }[event.key];
  if (event.key === "Enter") return go("chat", run.sessionId);
  if (!to) return;
  event.preventDefault();
  const next = to();
  if (next) focusBar(next);
}

// A pattern cannot come from the style: the policy lets it bring nothing along, not even from the page itself.
const body = (state, place) => h("rect.bar-body", { fill: state === "error" ? "url(#hatch-failed)" : undefined, ...place });
const hatch = (id, size, ...drawn) => h("pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, drawn);

function Bar({ run, lane, lanes, span, isStop }) {
  const { left, wide, waitFrom } = placeOf(run, span, BAR_LEAST_PX);
  const y = (LANE_PX - BAR_PX) / 2;
  return h("g", {
    class: `bar bar-${run.state}`, key: keyOf(run), id: keyOf(run), role: "link", tabindex: isStop ? "0" : "-1", "aria-label": `${sessionName(lane)}: ${told(run)}`,
    onfocus: () => point(run), onpointerenter: () => point(run), onclick: () => go("chat", run.sessionId), onkeydown: (event) => walk(event, lanes, lane, run),
  },
    // As high as the lane, so that a pointer finds it.
    h("rect.bar-place", { x: left - 2, y: 0, width: wide + 4, height: LANE_PX }),
    waitFrom === undefined ? null : h("line.bar-wait", { x1: waitFrom, x2: left, y1: LANE_PX / 2, y2: LANE_PX / 2 }),
    body(run.state, { x: left, y, width: wide, height: BAR_PX, rx: run.state === "running" ? 0 : 2 }),
    run.state === "running" ? h("path.bar-open", { d: `M${left + wide} ${y - 3}v${BAR_PX + 6}` }) : null,
  );
}

function Lane({ lane, lanes, span, since, ticks, stop }) {
  const x = (at) => placeAt(at, span);
  const name = sessionName(lane);
  return h("div.lane", { key: lane.sessionId },
    h("a.clip.small.lane-name", { href: href("chat", lane.sessionId), dir: "auto", title: name, tabindex: "-1" }, name),
    h("svg.lane-plot", { width: span.width, height: LANE_PX, role: "group", "aria-label": `Runs of ${name}` },
      h("rect", { fill: "url(#hatch-unknown)", width: Math.min(span.width, x(since)), height: LANE_PX }),
      ticks.map((at) => h("line.lane-tick", { x1: x(at), x2: x(at), y1: 0, y2: LANE_PX, key: at })),
      h("line.lane-tick", { x2: span.width, y1: LANE_PX - 0.5, y2: LANE_PX - 0.5 }),
      lane.runs.map((run) => h(Bar, { run, lane, lanes, span, isStop: run === stop })),
    ),
  );
}

function Axis({ span, ticks, since }) {
  const label = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const known = since > span.from ? h("text", { x: 2, y: 30 }, `hatched: before ${clock(since)} nothing is known`) : null;
  return h("svg.plot-axis.lane-axis", { width: span.width, height: known ? 36 : 20, "aria-hidden": "true" },
    h("defs", hatch("hatch-unknown", 6, h("line.hatch-dim", { y2: 6 })), hatch("hatch-failed", 5, h("rect.hatch-ground", { width: 5, height: 5 }), h("line.hatch-bad", { y2: 5 }))),
    ticks.map((at) => {
      const x = placeAt(at, span);
      return h("text", { x, y: 13, "text-anchor": x > span.width - 22 ? "end" : x < 22 ? "start" : "middle", key: at }, label(at));
    }),
    known,
  );
}

const LOOKS = { running: "open end", complete: "full", cancelled: "hollow", error: "striped" };
function Legend() {
  const drawn = (state) => [body(state, { x: 1, y: 1, width: 22, height: 10 }), state === "running" ? h("path.bar-open", { d: "M23 0v12" }) : null];
  const row = (state, word, inside) => h("li", h("svg", { width: 26, height: 12, "aria-hidden": "true" }, h("g", { class: `bar bar-${state}` }, inside)), word);
  return h("ul.plot-legend.lane-legend", row("", "waited (dotted)", h("line.bar-wait", { x1: 1, x2: 25, y1: 6, y2: 6 })), Object.entries(LOOKS).map(([state, look]) => row(state, `${STATES[state]} (${look})`, drawn(state))));
}

function measure(element) {
  const width = Math.max(120, Math.floor(element.clientWidth));
  if (width === plot.width) return;
  plot.width = width;
  redraw();
}

// The picture is made anew only when it would look otherwise: a pixel of time has gone by, or something is new.
function picture(shown, span, since) {
  const pixelMs = (span.now - span.from) / span.width;
  const stop = shown.flatMap((lane) => lane.runs).find((run) => plot.pointed && keyOf(run) === keyOf(plot.pointed)) ?? shown[0]?.runs.at(-1);
  const runs = shown.map((lane) => `${lane.sessionId}${lane.title}${lane.runs.map((run) => `${run.runId}${run.state}`)}`);
  const key = `${Math.floor(span.now / Math.max(1000, pixelMs))} ${span.width} ${plot.minutes} ${stop && keyOf(stop)} ${runs}`;
  if (key === plot.keptFor) return plot.kept;
  plot.keptFor = key;
  const ticks = timeTicks(span.from, span.now, Math.min(TICKS_MAX, Math.max(2, span.width / TICK_PX)));
  plot.kept = h("div", shown.map((lane) => h(Lane, { lane, lanes: shown, span, since, ticks, stop })), h(Axis, { span, ticks, since }));
  return plot.kept;
}

function RunTable({ lanes }) {
  const rows = lanes.flatMap((lane) => lane.runs.map((run) => ({ ...run, title: lane.title }))).sort((one, two) => two.startedAt - one.startedAt);
  const columns = [
    ["Session", (run) => ChatLink(run.sessionId, sessionName(run))],
    ["State", (run) => STATES[run.state]],
    ["Began", (run) => moment(run.startedAt)],
    ["Waited", (run) => (run.queuedAt === undefined ? "–" : duration(run.startedAt - run.queuedAt)), true],
    ["Took", (run) => duration(run.end - run.startedAt), true],
    ["Tool calls", (run) => count(run.tools), true],
  ];
  const more = rows.length > TABLE_ROWS_MAX ? h("p.dim", `The newest ${TABLE_ROWS_MAX} of ${count(rows.length)}.`) : null;
  return h("div", Rows({ columns, rows: rows.slice(0, TABLE_ROWS_MAX), keyOf, caption: "Runs, the newest first" }), more);
}

function shownHistory(value) {
  const now = serverNow();
  const span = { from: now - plot.minutes * 60_000, now, width: plot.width };
  const lanes = lanesOf(value, span.from, now);
  const shown = lanes.slice(0, plot.isAll ? LANES_MAX : LANES_SHOWN);
  const name = WINDOWS.find(([minutes]) => minutes === plot.minutes)?.[1];
  const hidden = lanes.length - shown.length;
  if (lanes.length === 0) return h(Empty, { title: `Nothing ran in the last ${name}` }, value.since > span.from ? `Runs are known since ${moment(value.since)}. ` : "", "A message to any session begins a run.");
  const lane = plot.pointed && lanes.find((it) => it.sessionId === plot.pointed.sessionId);
  const pointed = lane?.runs.find((run) => run.runId === plot.pointed.runId);
  return h("div",
    h("div.lanes-box", h("div.lane-ruler", { created: measure, updated: measure }), plot.width ? picture(shown, span, value.since) : null),
    h("p.lane-told", { dir: "auto" }, pointed ? `${sessionName(lane)}: ${told(pointed)}` : "Point at a run, or walk with the arrow keys; Enter opens its session."),
    h(Legend),
    hidden > 0 || plot.isAll ? h("p", Small(plot.isAll ? `Only the newest ${LANES_SHOWN}` : `${hidden} more session${hidden === 1 ? "" : "s"}`, () => ((plot.isAll = !plot.isAll), redraw()))) : null,
    value.runs.length >= RUNS_MAX ? h("p.dim", `Only the newest ${count(RUNS_MAX)} runs are shown.`) : null,
    Fold({ open: plot.isTable, onchange: (isOpen) => (plot.isTable = isOpen), title: "As a table", body: () => h(RunTable, { lanes }) }),
  );
}

export function SwimLanes() {
  return Card({ title: "Over time", actions: Choice({ label: "How far back", value: plot.minutes, options: WINDOWS, onchange: choose }), class: "now-lanes", key: "lanes" }, Awaited(past, shownHistory));
}
