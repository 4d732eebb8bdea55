// How lanes stand, in the order in which people want to know: what is stuck, what asks, what runs, what waits, and the rest.

import { serverNow } from "../../lib/clock.js";
import { live, openAsks } from "../../lib/live.js";
import { rpc } from "../../lib/link.js";

// A run that has said nothing for so long is told first.
const SILENT_MS = 60_000;
const LANES_MAX = 1000;

// What only `lanes.list` knows: after how long a silent run is ended, and since when messages wait.
const known = { stallMs: undefined, waitingSince: new Map() };

// Silence and waiting are not news, so the list is asked for again.
export async function refreshLanes() {
  const { lanes, total } = await rpc("lanes.list", { limit: LANES_MAX });
  const now = serverNow();
  known.waitingSince.clear();
  for (const lane of lanes) {
    if (lane.stallInMs > 0) known.stallMs = lane.stallInMs + Math.max(0, now - lane.movedAt);
    if (lane.oldestWaitMs !== undefined) known.waitingSince.set(lane.sessionId, now - lane.oldestWaitMs);
  }
  if (total <= LANES_MAX) live.lanes = new Map(lanes.map((lane) => [lane.sessionId, lane]));
  else for (const lane of lanes) live.lanes.set(lane.sessionId, lane);
}

// One lane with what can be said of it now: `state` is also "stalled".
export function standing(lane, asks) {
  const now = serverNow();
  const silentMs = lane.state === "running" ? Math.max(0, now - lane.movedAt) : 0;
  const isStalled = silentMs >= SILENT_MS;
  return {
    lane,
    state: isStalled ? "stalled" : lane.state,
    silentMs,
    // When it is given up, where that is known.
    stallInMs: isStalled && known.stallMs !== undefined ? Math.max(0, known.stallMs - silentMs) : undefined,
    elapsedMs: lane.since === undefined ? undefined : Math.max(0, now - lane.since),
    waitedMs: lane.depth > 0 && known.waitingSince.has(lane.sessionId) ? now - known.waitingSince.get(lane.sessionId) : undefined,
    asks: asks.filter((ask) => ask.sessionId === lane.sessionId),
  };
}

const RANKS = { stalled: 0, asking: 1, running: 2, waiting: 3, idle: 4 };

// The oldest of each kind first: an order that does not change while one looks at it. `held`: lanes that are shown though they are
// not in memory.
export function allStanding(held = []) {
  const asks = openAsks();
  // After a restart a session that asks is not in memory yet.
  const away = asks.filter(({ sessionId }) => !live.lanes.has(sessionId)).map(({ sessionId, title, cwd, openedAt }) => [sessionId, { sessionId, title, cwd, state: "asking", depth: 0, movedAt: openedAt }]);
  const others = new Map([...held.map((lane) => [lane.sessionId, lane]), ...away]);
  const rows = [...live.lanes.values(), ...others.values()].map((lane) => standing(lane, asks));
  const at = (row) => row.lane.since ?? row.lane.movedAt;
  const idleLast = (row) => (row.state === "idle" ? -at(row) : at(row));
  return rows.sort((one, two) => RANKS[one.state] - RANKS[two.state] || idleLast(one) - idleLast(two) || (one.lane.sessionId < two.lane.sessionId ? -1 : 1));
}
