// Runs of the past as lanes: which there are, where each begins and ends on a line of time, and where the ticks stand.

import { live } from "../../lib/live.js";

const MINUTE = 60_000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360].map((minutes) => minutes * MINUTE);
// Pixels between ticks, at least.
const TICK_PX = 80;

// What history knows, and the runs that have begun since it was asked for. The end of one that is over is told by the next answer.
function allRuns(history) {
  const runs = history.runs.slice();
  const told = new Set(runs.map((run) => `${run.sessionId} ${run.runId}`));
  for (const lane of live.lanes.values()) {
    if (!lane.runId || !lane.since || told.has(`${lane.sessionId} ${lane.runId}`)) continue;
    runs.push({ sessionId: lane.sessionId, title: lane.title, runId: lane.runId, startedAt: lane.since, state: "running" });
  }
  return runs;
}

// One lane per session, that with the newest run first; runs in their order.
export function lanesOf(history, from, now) {
  const lanes = new Map();
  for (const run of allRuns(history)) {
    const end = run.endedAt ?? (run.state === "running" ? now : run.startedAt);
    if (end < from || run.startedAt > now) continue;
    if (!lanes.has(run.sessionId)) lanes.set(run.sessionId, { sessionId: run.sessionId, title: undefined, runs: [], newest: 0 });
    const lane = lanes.get(run.sessionId);
    lane.title = live.lanes.get(run.sessionId)?.title ?? lane.title ?? run.title;
    lane.newest = Math.max(lane.newest, run.startedAt);
    lane.runs.push({ ...run, end });
  }
  for (const lane of lanes.values()) lane.runs.sort((one, two) => one.startedAt - two.startedAt);
  return [...lanes.values()].sort((one, two) => two.newest - one.newest || (one.sessionId < two.sessionId ? -1 : 1));
}

// On whole minutes and hours of the clock on the wall.
export function ticksOf(from, now, width) {
  const most = Math.max(2, Math.floor(width / TICK_PX));
  const step = STEPS.find((it) => (now - from) / it <= most) ?? STEPS.at(-1);
  const shift = new Date(now).getTimezoneOffset() * MINUTE;
  const ticks = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= now; at += step) ticks.push(at);
  return ticks;
}

// The place of a run in pixels. One that is too short to be seen is shown as wide as `leastPx`.
export function placeOf(run, { from, now, width }, leastPx) {
  const x = (at) => ((Math.max(at, from) - from) / (now - from)) * width;
  const left = x(run.startedAt);
  const wide = Math.max(leastPx, x(run.end) - left);
  return { left: Math.min(left, width - leastPx), wide, waitFrom: run.queuedAt !== undefined && run.queuedAt < run.startedAt ? x(run.queuedAt) : undefined };
}

// The run of another lane that is nearest in time.
export function nearest(lane, at) {
  return lane.runs.reduce((best, run) => (Math.abs(run.startedAt - at) < Math.abs(best.startedAt - at) ? run : best));
}
