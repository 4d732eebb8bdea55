import assert from "node:assert/strict";
import { test } from "node:test";
import { WINDOWS, errorPct, steps } from "../src/pages/latency/numbers.js";

const NOW = 1_800_000_000_000;
const answer = { generatedAt: NOW, since: NOW - 1_800_000, windowMinutes: 60, bucketSeconds: 60, buckets: [{ ts: NOW - 10_000, calls: 1, errors: 0, p50: 100 }] };

test("of no calls nobody knows how many fail", () => {
  assert.equal(errorPct({ calls: 0, errors: 0 }), undefined);
  assert.equal(errorPct({ calls: 4, errors: 1 }), 25);
});

test("a step without calls is empty, a step before counting began is unknown, and no window has more than 300", () => {
  const all = steps(answer);
  assert.equal(all.length, 60);
  assert.equal(all[0].bucket, null);
  assert.equal(all.at(-5).bucket.calls, 0);
  assert.equal(all.filter((it) => it.bucket?.calls).length, 1);
  // Half an hour of 60 minutes, and the step in which it began.
  assert.ok(Math.abs(all.filter((it) => it.bucket === null).length - 30) <= 1);
  for (const [minutes, seconds] of WINDOWS) assert.ok((minutes * 60) / seconds <= 300);
});
