// What the page on latency counts by itself.

// Windows in minutes, and the length of a step in seconds: at most 300 steps.
export const WINDOWS = [[60, 60], [360, 120], [1440, 300]];

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
