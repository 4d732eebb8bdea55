import assert from "node:assert/strict";
import { test } from "node:test";
import { find, neverDraw, textOf } from "./tree.mjs";

neverDraw();
globalThis.location = { protocol: "http:", host: "gateway.test" };
globalThis.WebSocket ??= class {};
const { h } = await import("../src/lib/dom.js");
const { live } = await import("../src/lib/live.js");
const { lanesOf, nearest, placeOf } = await import("../src/pages/now/runs.js");
const { SessionRow, forgetGone, heldLanes, isAtWork } = await import("../src/pages/now/row.js");
const { allStanding } = await import("../src/pages/now/standing.js");

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 0, 2, 12, 0, 30);
const run = (sessionId, runId, startedAt, endedAt, more) => ({ sessionId, runId, startedAt, endedAt, state: endedAt ? "complete" : "running", ...more });

test("lanes: one per session, the newest first, with what has begun since history was asked for", () => {
  live.lanes = new Map([["b", { sessionId: "b", title: "Bee", state: "running", runId: "r9", since: NOW - 1000 }], ["c", { sessionId: "c", state: "idle", depth: 0 }]]);
  const history = { since: 0, runs: [run("a", "r2", NOW - 5 * MINUTE, NOW - 4 * MINUTE), run("a", "r1", NOW - 9 * MINUTE, NOW - 8 * MINUTE), run("a", "r0", NOW - 50 * MINUTE, NOW - 40 * MINUTE)] };
  const lanes = lanesOf(history, NOW - 15 * MINUTE, NOW);
  assert.deepEqual(lanes.map((lane) => [lane.sessionId, lane.title, lane.runs.map((it) => it.runId)]), [["b", "Bee", ["r9"]], ["a", undefined, ["r1", "r2"]]]);
  // A run that history knows is not there twice.
  const again = lanesOf({ since: 0, runs: [run("b", "r9", NOW - 1000)] }, NOW - 15 * MINUTE, NOW);
  assert.equal(again[0].runs.length, 1);
  assert.equal(again[0].runs[0].end, NOW, "what runs goes to the edge");
  assert.equal(nearest(lanes[1], NOW - 8 * MINUTE).runId, "r1");
});

test("a run whose end nobody wrote down has no length, and does not go on for ever", () => {
  live.lanes = new Map();
  const [lane] = lanesOf({ since: 0, runs: [run("a", "r", NOW - MINUTE, undefined, { state: "error" })] }, NOW - 5 * MINUTE, NOW);
  assert.equal(lane.runs[0].end, NOW - MINUTE);
});

test("places are within the picture, and short runs can be seen", () => {
  const span = { from: NOW - 10 * MINUTE, now: NOW, width: 1000 };
  const place = (it) => placeOf({ end: it.endedAt, ...it }, span, 4);
  assert.deepEqual(place(run("a", "r", NOW - 5 * MINUTE, NOW)), { left: 500, wide: 500, waitFrom: undefined });
  assert.deepEqual(place(run("a", "r", NOW - 20 * MINUTE, NOW - 5 * MINUTE)), { left: 0, wide: 500, waitFrom: undefined });
  assert.deepEqual(place(run("a", "r", NOW - 1, NOW)), { left: 996, wide: 4, waitFrom: undefined });
  assert.equal(place(run("a", "r", NOW - 5 * MINUTE, NOW, { queuedAt: NOW - 6 * MINUTE })).waitFrom, 400);
});

test("what is stuck is first, then what asks, runs, waits; the idle ones are last with the newest first", () => {
  const now = Date.now();
  const lane = (sessionId, state, more) => [sessionId, { sessionId, state, depth: 0, movedAt: now, ...more }];
  live.lanes = new Map([
    lane("idle-old", "idle", { movedAt: now - 9000 }), lane("idle-new", "idle"), lane("waits", "waiting", { depth: 1 }), lane("runs-new", "running", { runId: "1", since: now - 10 }),
    lane("runs-old", "running", { runId: "2", since: now - 5000 }), lane("asks", "asking", { runId: "3", since: now, movedAt: now - 600_000 }), lane("stuck", "running", { runId: "4", since: now - 90_000, movedAt: now - 61_000 }),
  ]);
  const rows = allStanding();
  assert.deepEqual(rows.map((row) => row.lane.sessionId), ["stuck", "asks", "runs-old", "runs-new", "waits", "idle-new", "idle-old"]);
  assert.equal(rows[0].state, "stalled");
  assert.equal(rows[1].state, "asking", "a question waits as long as it likes");
});

test("a session that asks and is not in memory has a row", () => {
  const now = Date.now();
  live.lanes = new Map([["here", { sessionId: "here", state: "asking", depth: 0, movedAt: now, runId: "1", since: now }]]);
  const ask = (askId, sessionId) => [askId, { askId, sessionId, title: `Title of ${sessionId}`, cwd: "/srv", tool: "shell.exec", openedAt: now - 5000 }];
  live.asks = new Map([ask("1", "here"), ask("2", "away"), ask("3", "away")]);
  const rows = allStanding();
  assert.deepEqual(rows.map((row) => [row.lane.sessionId, row.state, row.asks.length]), [["away", "asking", 2], ["here", "asking", 1]]);
  assert.equal(rows[0].lane.title, "Title of away");
  live.asks = new Map();
});

test("who writes in a row keeps it, whatever becomes of the session's memory, its run or the gateway", () => {
  const now = Date.now();
  const lane = (sessionId, more) => [sessionId, { sessionId, state: "idle", depth: 0, movedAt: now, peers: 1, ...more }];
  const box = (sessionId) => find(page(), (it) => it.tag === "textarea" && it.attrs["aria-label"] === `Message for ${sessionId}`);
  const button = (label) => find(page(), (it) => it.tag === "button" && it.attrs["aria-label"] === label).attrs;
  const rows = () => {
    const all = allStanding(heldLanes());
    forgetGone(all);
    return [all.filter(isAtWork), all.filter((row) => !isAtWork(row))];
  };
  const names = () => rows().map((list) => list.map(({ lane }) => lane.sessionId));
  const page = () => h("div", rows().flat().map((row) => h(SessionRow, { row })));
  live.lanes = new Map([lane("idle"), lane("runs", { state: "running", runId: "1", since: now, tool: "shell.exec" })]);
  for (const name of ["idle", "runs"]) button(`Message for ${name}`).onclick();
  // A gateway that stops tells of every session that it is not in memory any more, if it still can.
  live.lanes = new Map();
  assert.ok(box("idle") && box("runs"), "both are written in");
  assert.deepEqual(names(), [["runs"], ["idle"]], "and stand where they stood, not all among what is folded away");
  assert.equal(textOf(page()).includes("shell.exec"), false, "nothing runs any more");
  // The gateway is back, and knows one of them.
  live.lanes = new Map([lane("runs")]);
  assert.deepEqual(names(), [["runs"], ["idle"]], "each once, where it was");
  button("Close the message for idle").onclick();
  assert.deepEqual(names(), [["runs"], []], "nobody writes there any more");
  button("Close the message for runs").onclick();
  assert.deepEqual(names(), [[], ["runs"]], "it is as idle as any other");
});
