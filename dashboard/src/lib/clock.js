// The time by the clock of the gateway, whose times are all we are told: a phone that is a minute off would count wrong.

// The header has whole seconds, and an answer takes its time.
const LEAST_MS = 3_000;
let skewMs = 0;

export function serverNow() {
  return Date.now() - skewMs;
}

export async function startClock() {
  try {
    const answer = await fetch("/api/health", { method: "HEAD", cache: "no-store" });
    const at = Date.parse(answer.headers.get("date") ?? "");
    if (Math.abs(Date.now() - at) >= LEAST_MS) skewMs = Date.now() - at;
  } catch {
    // Without an answer the clock here is as good as any.
  }
}
