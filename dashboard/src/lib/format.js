// Numbers and times as people read them.

// Made once, because to make one takes longer than to use it a hundred times, and when it is first wanted: the very first one takes
// a browser longer than all the rest that stands before the first picture.
export function once(make) {
  let made;
  return () => (made ??= make());
}

const whole = once(() => new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 }));
const time = once(() => new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit" }));
const dateAndTime = once(() => new Intl.DateTimeFormat([], { dateStyle: "short", timeStyle: "medium" }));
const compact = once(() => new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }));

export function count(n) {
  return n == null ? "–" : whole().format(n);
}

export function short(n) {
  return n == null ? "–" : compact().format(n);
}

// `undefined`: nobody knows the price. That is not nothing.
export function money(usd) {
  if (usd == null) return "unknown";
  if (usd === 0) return "$0";
  if (usd < 0.01) return "<$0.01";
  return `$${usd.toFixed(usd < 100 ? 2 : 0)}`;
}

export function bytes(n) {
  if (n == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let shown = n;
  while (shown >= 1024 && at < units.length - 1) {
    shown /= 1024;
    at += 1;
  }
  return `${at === 0 ? shown : shown.toFixed(1)} ${units[at]}`;
}

// A length of time: `850 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`.
export function duration(ms) {
  if (ms == null) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return `${min} min ${s % 60} s`;
  const hours = Math.floor(min / 60);
  if (hours < 48) return `${hours} h ${min % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// The same for what is counted on a clock that ticks: no parts of a second.
export function ticking(ms) {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : duration(ms);
}

// How long ago, in one unit.
export function ago(at, now = Date.now()) {
  if (!at) return "never";
  const s = Math.max(0, Math.round((now - at) / 1000));
  if (s < 5) return "just now";
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`;
  if (s < 30 * 86_400) return `${Math.floor(s / 86_400)} d ago`;
  return new Date(at).toISOString().slice(0, 10);
}

export function clock(at) {
  return time().format(at);
}

export function moment(at) {
  return at ? dateAndTime().format(at) : "";
}

// The day of UTC, as reports count days.
export function utcDay(at = Date.now()) {
  return new Date(at).toISOString().slice(0, 10);
}

// What a session is called where it has no title.
export function sessionName(session) {
  return session.title || session.id || session.sessionId || "";
}

export function pretty(value) {
  return JSON.stringify(value, null, 2);
}
