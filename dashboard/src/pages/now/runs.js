// Runs of the past as lanes: which there are, where each begins and ends on a line of time.

import { live } from "../../lib/live.js";

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

// Where a moment is on a line of so many pixels. What is older is at its begin.
export function placeAt(at, { from, now, width }) {
  return ((Math.max(at, from) - from) / (now - from)) * width;
}

// The place of a run in pixels. One that is too short to be seen is shown as wide as `leastPx`.
export function placeOf(run, span, leastPx) {
  const x = (at) => placeAt(at, span);
  const left = x(run.startedAt);
  const wide = Math.max(leastPx, x(run.end) - left);
  return { left: Math.min(left, span.width - leastPx), wide, waitFrom: run.queuedAt !== undefined && run.queuedAt < run.startedAt ? x(run.queuedAt) : undefined };
}

// The run of another lane that is nearest in time.
export function nearest(lane, at) {
  return lane.runs.reduce((best, run) => (Math.abs(run.startedAt - at) < Math.abs(best.startedAt - at) ? run : best));
}
