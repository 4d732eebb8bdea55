// What the page on latency counts by itself.

import { percentile } from "../../lib/scale.js";

// Windows in minutes, and the length of a step in seconds: at most 300 steps.
export const WINDOWS = [[60, 60], [360, 120], [1440, 300]];

function sumOf(calls) {
  const lengths = calls.filter((call) => call.ok).map((call) => call.latencyMs);
  const of = (pct) => percentile(lengths, pct);
  return { calls: calls.length, errors: calls.filter((call) => !call.ok).length, p50: of(50), p95: of(95), p99: of(99) };
}

function grouped(calls, keyOf) {
  const groups = new Map();
  for (const call of calls) groups.set(keyOf(call), [...(groups.get(keyOf(call)) ?? []), call]);
  return [...groups];
}

// What a gateway without `system.latency` knows, in the shape of its answer: the last calls only, and no first words.
export function fromMetrics(metrics, windowMinutes, bucketSeconds, now = Date.now()) {
  const step = bucketSeconds * 1000;
  const calls = metrics.modelCalls.recentCalls.filter((call) => call.ts >= now - windowMinutes * 60_000);
  const failed = grouped(calls.filter((call) => !call.ok), (call) => call.status);
  const { samples } = metrics.cancelLatencyMs;
  return {
    isRecentOnly: true, generatedAt: now, since: now - metrics.uptime * 1000, windowMinutes, bucketSeconds,
    buckets: grouped(calls, (call) => Math.floor(call.ts / step) * step).sort((one, two) => one[0] - two[0]).map(([ts, some]) => ({ ts, ...sumOf(some) })),
    total: sumOf(calls),
    byModel: grouped(calls, (call) => call.model).map(([model, some]) => ({ model, ...sumOf(some) })).sort((one, two) => two.calls - one.calls),
    errorsByStatus: failed.map(([status, some]) => ({ status, count: some.length })),
    cancel: { p50: percentile(samples, 50), p95: percentile(samples, 95), p99: percentile(samples, 99), samples },
  };
}

// Every step of the window, the oldest first: with its bucket, with `null` where nothing was counted yet, else empty.
export function steps({ generatedAt, since, windowMinutes, bucketSeconds, buckets }) {
  const step = bucketSeconds * 1000;
  const known = new Map(buckets.map((bucket) => [Math.floor(bucket.ts / step), bucket]));
  const last = Math.floor(generatedAt / step);
  const count = Math.min(300, Math.floor((windowMinutes * 60) / bucketSeconds));
  return Array.from({ length: count }, (_, at) => {
    const number = last - count + 1 + at;
    const bucket = known.get(number) ?? ((number + 1) * step <= since ? null : { ts: number * step, calls: 0, errors: 0 });
    return { ts: number * step, bucket };
  });
}

export function errorPct({ calls, errors }) {
  return calls > 0 ? (errors / calls) * 100 : undefined;
}
