import assert from "node:assert/strict";
import { test } from "node:test";
import { WINDOWS, errorPct, fromMetrics, steps } from "../src/pages/latency/numbers.js";

const NOW = 1_800_000_000_000;
const call = (agoS, latencyMs, ok = true, model = "m", status = ok ? "ok" : "failed") => ({ ts: NOW - agoS * 1000, latencyMs, ok, model, status });
const metrics = (recentCalls, samples = []) => ({ uptime: 1800, modelCalls: { recentCalls }, cancelLatencyMs: { samples } });

test("the last calls become the same numbers, and what is older than the window is left out", () => {
  const got = fromMetrics(metrics([call(10, 100), call(20, 300), call(30, 200, true, "n"), call(40, 9000, false), call(7200, 1)], [5, 50]), 60, 60, NOW);
  assert.deepEqual(got.total, { calls: 4, errors: 1, p50: 200, p95: 300, p99: 300 });
  assert.deepEqual(got.byModel.map((row) => [row.model, row.calls, row.errors]), [["m", 3, 1], ["n", 1, 0]]);
  assert.deepEqual(got.errorsByStatus, [{ status: "failed", count: 1 }]);
  assert.equal(got.cancel.p95, 50);
  assert.equal(got.since, NOW - 1_800_000);
  assert.equal(got.buckets.reduce((sum, bucket) => sum + bucket.calls, 0), 4);
});

test("nothing gives unknown numbers, not zeros", () => {
  const { total, cancel } = fromMetrics(metrics([]), 60, 60, NOW);
  assert.deepEqual([total.calls, total.p50, cancel.p50, errorPct(total)], [0, undefined, undefined, undefined]);
});

test("a step without calls is empty, a step before counting began is unknown, and no window has more than 300", () => {
  const all = steps(fromMetrics(metrics([call(10, 100)]), 60, 60, NOW));
  assert.equal(all.length, 60);
  assert.equal(all[0].bucket, null);
  assert.equal(all.at(-5).bucket.calls, 0);
  assert.equal(all.filter((it) => it.bucket?.calls).length, 1);
  // Half an hour of 60 minutes, and the step in which it began.
  assert.ok(Math.abs(all.filter((it) => it.bucket === null).length - 30) <= 1);
  for (const [minutes, seconds] of WINDOWS) assert.ok((minutes * 60) / seconds <= 300);
});
