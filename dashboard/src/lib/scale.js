// Arithmetic of plots: where a value stands, which values an axis names, where a line breaks. No document in here.

import { duration, money, short } from "./format.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY_MS = 24 * HOUR;
// Points that one plot shows at most; more are put together, and the highest of each group is kept.
export const POINTS_MAX = 300;
// Days that one range can have.
export const DAYS_MAX = 366;

const STEPS_MS = [SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY_MS, 2 * DAY_MS, 7 * DAY_MS, 14 * DAY_MS, 28 * DAY_MS, 91 * DAY_MS];

// A function from a value to a place. A range without width has everything in its middle.
export function linear(from, to, start, end) {
  if (to === from) return () => (start + end) / 2;
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

// The next round number (1, 2, 5 times a power of ten) that is not below.
export function niceStep(rough) {
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const part = rough / power;
  return (part <= 1.0000001 ? 1 : part <= 2.0000001 ? 2 : part <= 5.0000001 ? 5 : 10) * power;
}

// Round values from 0 to the first one that is not below `max`: about `count` steps. What is only ever whole has whole ticks.
export function niceTicks(max, count = 4, isWhole = false) {
  const top = Number.isFinite(max) && max > 0 ? max : 1;
  let step = niceStep(top / count);
  if (isWhole) step = Math.max(1, Math.round(step));
  const ticks = [];
  const last = Math.ceil(top / step - 1e-9);
  for (let at = 0; at <= last; at += 1) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

// Moments that people would name, between both: whole minutes, hours or days of this clock. `offsetMs`: what to add to UTC.
export function timeTicks(from, to, count = 6, offsetMs = -new Date(to).getTimezoneOffset() * MINUTE) {
  if (!(to > from)) return [];
  const rough = (to - from) / count;
  const step = STEPS_MS.find((it) => it >= rough) ?? STEPS_MS[STEPS_MS.length - 1];
  const ticks = [];
  for (let at = Math.ceil((from + offsetMs) / step) * step - offsetMs; at <= to; at += step) ticks.push(at);
  return ticks;
}

// Which of so many names fit, when each needs so much room: every n-th, counted from the last, which is the newest.
export function everyNth(count, room, width) {
  const fit = Math.max(1, Math.floor(room / width));
  return Math.max(1, Math.ceil(count / fit));
}

// Runs of points without a hole: a point without a value, or a step longer than `gapMs`, ends one.
export function segments(points, gapMs = Infinity) {
  const all = [];
  let run = [];
  for (const point of points) {
    const isValue = Number.isFinite(point.y);
    if (run.length > 0 && (!isValue || point.x - run[run.length - 1].x > gapMs)) {
      all.push(run);
      run = [];
    }
    if (isValue) run.push(point);
  }
  if (run.length > 0) all.push(run);
  return all;
}

// At most `max` points, in the same order: of those that fall together the highest is kept, because a peak is what one looks for.
export function thin(points, max = POINTS_MAX) {
  if (points.length <= max) return points;
  const kept = [];
  for (let at = 0; at < max; at += 1) {
    const group = points.slice(Math.floor((at * points.length) / max), Math.floor(((at + 1) * points.length) / max));
    kept.push(group.reduce((best, point) => ((point.y ?? -Infinity) > (best.y ?? -Infinity) ? point : best)));
  }
  return kept;
}

// The rows of several lines by x, in order: [{ x, ys: [y or undefined, by series] }].
export function aligned(series) {
  const rows = new Map();
  series.forEach((line, at) => {
    for (const point of thin(line.points)) {
      const row = rows.get(point.x) ?? { x: point.x, ys: new Array(series.length).fill(undefined) };
      row.ys[at] = point.y;
      rows.set(point.x, row);
    }
  });
  const all = [...rows.values()].sort((one, two) => one.x - two.x);
  return all.length <= POINTS_MAX ? all : all.filter((_, at) => at % Math.ceil(all.length / POINTS_MAX) === 0);
}

// Days of UTC as `2026-01-31`.
export function dayAt(day) {
  return /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : NaN;
}

export function addDays(day, count) {
  return new Date(dayAt(day) + count * DAY_MS).toISOString().slice(0, 10);
}

// Both included, at most `DAYS_MAX`, the newest.
export function daysBetween(from, to) {
  const count = Math.round((dayAt(to) - dayAt(from)) / DAY_MS) + 1;
  if (!(count > 0)) return [];
  const kept = Math.min(count, DAYS_MAX);
  return Array.from({ length: kept }, (_, at) => addDays(to, at - kept + 1));
}

// How many samples fall between round borders: [{ from, to, count }]. The last one has its upper border, too.
export function bins(samples, count = 10) {
  const known = samples.filter(Number.isFinite);
  if (known.length === 0) return [];
  const borders = niceTicks(Math.max(...known), count);
  const step = borders[1] - borders[0];
  const all = borders.slice(0, -1).map((from, at) => ({ from, to: borders[at + 1], count: 0 }));
  for (const sample of known) all[Math.min(all.length - 1, Math.max(0, Math.floor(sample / step)))].count += 1;
  return all;
}

// How high an axis goes: over all values, and over those limits that do not make the values small.
export function axisTop(values, limits) {
  const most = Math.max(0, ...values.filter(Number.isFinite));
  const near = limits.filter((limit) => limit <= (most > 0 ? most * 3 : Infinity));
  return Math.max(most, ...near);
}

// On an axis: short.
export function axisText(value, unit) {
  if (unit === "usd") return value === 0 ? "$0" : value < 1 ? `$${Number(value.toPrecision(2))}` : `$${short(value)}`;
  if (unit === "%") return `${Number(value.toPrecision(3))} %`;
  if (unit !== "ms") return short(value);
  if (value === 0) return "0";
  if (value < SECOND) return `${Number(value.toPrecision(3))} ms`;
  if (value < 2 * MINUTE) return `${Number((value / SECOND).toPrecision(3))} s`;
  return `${Number((value / MINUTE).toPrecision(3))} min`;
}

// In a sentence: with its unit. `undefined` is not zero.
export function valueText(value, unit) {
  if (value == null || Number.isNaN(value)) return unit === "usd" ? "price unknown" : "no data";
  if (unit === "usd") return money(value);
  if (unit === "ms") return duration(value);
  if (unit === "%") return `${Number(value.toPrecision(3))} %`;
  return `${new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 }).format(value)}${unit ? ` ${unit}` : ""}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// `2026-11-03` as `Nov 3`.
export function dayText(day) {
  const [, month, date] = day.split("-").map(Number);
  return `${MONTHS[month - 1]} ${date}`;
}
