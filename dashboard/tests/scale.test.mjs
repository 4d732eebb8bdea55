// `node --test dashboard/tests/`

import assert from "node:assert/strict";
import { test } from "node:test";
import * as scale from "../src/lib/scale.js";

test("an axis begins at zero, has round steps and covers the highest value", () => {
  assert.deepEqual(scale.niceTicks(100, 4), [0, 50, 100]);
  assert.deepEqual(scale.niceTicks(101, 4), [0, 50, 100, 150]);
  assert.deepEqual(scale.niceTicks(0.3, 4), [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(scale.niceTicks(3, 4, true), [0, 1, 2, 3]);
  for (let at = 0; at < 2000; at += 1) {
    const max = 10 ** (Math.random() * 14 - 5);
    const ticks = scale.niceTicks(max, 4);
    assert.ok(ticks[ticks.length - 1] >= max * (1 - 1e-9) && ticks[ticks.length - 2] < max, `${max}: ${ticks}`);
    assert.ok(ticks.length >= 2 && ticks.length <= 9, `${max}: ${ticks}`);
  }
});

test("an axis of nothing is still one", () => {
  for (const nothing of [0, -5, NaN, undefined, Infinity]) assert.deepEqual(scale.niceTicks(nothing, 4), scale.niceTicks(1, 4), String(nothing));
});

test("times are named at whole steps of the clock", () => {
  const from = Date.parse("2026-01-31T10:07:30Z");
  const ticks = scale.timeTicks(from, from + 3_600_000, 6, 0).map((at) => new Date(at).toISOString().slice(11, 19));
  assert.deepEqual(ticks, ["10:10:00", "10:20:00", "10:30:00", "10:40:00", "10:50:00", "11:00:00"]);
  // Half an hour off UTC: whole hours there are half hours here.
  const off = scale.timeTicks(from, from + 6 * 3_600_000, 6, 19_800_000);
  assert.equal(off[0] % 3_600_000, 1_800_000);
  assert.deepEqual(scale.timeTicks(5, 5), []);
  assert.ok(scale.timeTicks(0, 400 * scale.DAY_MS, 6, 0).length <= 6);
});

test("a hole breaks a line, a zero does not", () => {
  const points = [{ x: 0, y: 1 }, { x: 60, y: 0 }, { x: 120, y: 2 }, { x: 300, y: 3 }, { x: 360, y: undefined }, { x: 420, y: 4 }];
  assert.deepEqual(scale.segments(points, 90).map((run) => run.map((point) => point.x)), [[0, 60, 120], [300], [420]]);
  assert.deepEqual(scale.segments(points).map((run) => run.length), [4, 1]);
  assert.deepEqual(scale.segments([]), []);
});

test("too many points become few and the peak stays", () => {
  const points = Array.from({ length: 10_000 }, (_, x) => ({ x, y: x === 4321 ? 99 : 1 }));
  const kept = scale.thin(points);
  assert.equal(kept.length, scale.POINTS_MAX);
  assert.ok(kept.some((point) => point.x === 4321 && point.y === 99));
  assert.ok(kept.every((point, at) => at === 0 || point.x > kept[at - 1].x));
  assert.equal(scale.thin(points.slice(0, 5)).length, 5);
});

test("lines are put together by time, and what one does not have stays unknown", () => {
  const rows = scale.aligned([{ points: [{ x: 2, y: 1 }, { x: 1, y: 5 }] }, { points: [{ x: 2, y: 7 }] }]);
  assert.deepEqual(rows, [{ x: 1, ys: [5, undefined] }, { x: 2, ys: [1, 7] }]);
  const many = (start) => ({ points: Array.from({ length: 1000 }, (_, x) => ({ x: x * 2 + start, y: x })) });
  assert.ok(scale.aligned([many(0), many(1)]).length <= scale.POINTS_MAX);
});

test("days are counted over months, leap days and the change of clocks", () => {
  assert.deepEqual(scale.daysBetween("2028-02-28", "2028-03-01"), ["2028-02-28", "2028-02-29", "2028-03-01"]);
  assert.equal(scale.daysBetween("2026-03-01", "2026-04-30").length, 61);
  assert.equal(scale.daysBetween("2000-01-01", "2026-01-01").length, scale.DAYS_MAX);
  assert.equal(scale.daysBetween("2000-01-01", "2026-01-01").at(-1), "2026-01-01");
  assert.deepEqual(scale.daysBetween("2026-02-02", "2026-02-01"), []);
  assert.deepEqual(scale.daysBetween("", "2026-02-01"), []);
  assert.equal(scale.addDays("2025-12-31", 1), "2026-01-01");
  assert.equal(scale.dayText("2026-11-03"), "Nov 3");
});

test("every sample is in one bin", () => {
  const samples = [0, 3, 9, 10, 11, 48, 50, 50];
  const all = scale.bins(samples, 5);
  assert.equal(all.reduce((sum, bin) => sum + bin.count, 0), samples.length);
  assert.deepEqual(all.map((bin) => [bin.from, bin.count]), [[0, 3], [10, 2], [20, 0], [30, 0], [40, 3]]);
  assert.deepEqual(scale.bins([]), []);
  assert.equal(scale.bins([0, 0]).reduce((sum, bin) => sum + bin.count, 0), 2);
});

test("a limit far above everything does not flatten the plot", () => {
  assert.equal(scale.axisTop([1, 2], [5]), 5);
  assert.equal(scale.axisTop([1, 2], [500]), 2);
  assert.equal(scale.axisTop([], [20]), 20);
  assert.equal(scale.axisTop([undefined, 3], []), 3);
});

test("what is not known is not zero", () => {
  assert.equal(scale.valueText(undefined, "usd"), "price unknown");
  assert.equal(scale.valueText(0, "usd"), "$0");
  assert.equal(scale.valueText(undefined, "ms"), "no data");
  assert.equal(scale.valueText(1234.5, "tokens"), "1,234.5 tokens");
  assert.deepEqual([0, 250, 1500, 90_000, 150_000].map((ms) => scale.axisText(ms, "ms")), ["0", "250 ms", "1.5 s", "90 s", "2.5 min"]);
  assert.deepEqual([0, 0.05, 2, 1500].map((usd) => scale.axisText(usd, "usd")), ["$0", "$0.05", "$2", "$1.5K"]);
});

test("a scale maps the ends to the ends and a range without width to its middle", () => {
  const place = scale.linear(10, 20, 100, 0);
  assert.deepEqual([10, 15, 20].map(place), [100, 50, 0]);
  assert.equal(scale.linear(5, 5, 0, 10)(5), 5);
  assert.equal(scale.everyNth(90, 300, 50), 15);
  assert.equal(scale.everyNth(3, 300, 50), 1);
});
