// Sums of what was used. A price that nobody knows is `undefined` and stays so: it is never counted as nothing.

import { count, money } from "../../lib/format.js";

export const PARTS = [["inputTokens", "input"], ["cacheReadTokens", "cache read"], ["cacheWriteTokens", "cache write"], ["outputTokens", "output"]];

export function tokensOf(usage) {
  return PARTS.reduce((sum, [name]) => sum + (usage?.[name] ?? 0), 0);
}

// `{ usd, unpriced }`: what is known of the cost, and how many tokens it is without. `usd` is undefined where all of it is unknown.
export function costOf(row) {
  const unpriced = row.unpriced ?? 0;
  const usd = row.usage?.costUsd;
  return { usd: usd === undefined || (usd === 0 && unpriced > 0) ? undefined : usd, unpriced };
}

export function costText({ usd, unpriced }) {
  if (usd === undefined) return unpriced > 0 ? "unknown" : "–";
  return unpriced > 0 ? `≥ ${money(usd)}` : money(usd);
}

export function costHint({ usd, unpriced }) {
  if (unpriced > 0) return `The price of ${count(unpriced)} tokens is not known${usd === undefined ? "" : "; they are not in this sum"}.`;
  return usd === undefined ? "" : `$${usd.toFixed(6)}`;
}

// All rows as one.
export function sum(rows) {
  const all = { calls: 0, unpriced: 0, usage: {} };
  let usd;
  for (const row of rows) {
    all.calls += row.calls ?? 0;
    all.unpriced += row.unpriced ?? 0;
    for (const [name] of PARTS) all.usage[name] = (all.usage[name] ?? 0) + (row.usage[name] ?? 0);
    const cost = costOf(row).usd;
    if (cost !== undefined) usd = (usd ?? 0) + cost;
  }
  if (usd !== undefined) all.usage.costUsd = usd;
  return all;
}

// The part of what models read that came out of a cache, 0..1; undefined where they read nothing.
export function cacheShare(usage) {
  const read = (usage.inputTokens ?? 0) + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  return read > 0 ? (usage.cacheReadTokens ?? 0) / read : undefined;
}

// A row for each of `days`: what the report has; a zero for a day on which nothing was used; null for a day before `first`, the
// first day of which anything is known.
export function byDay(days, rows, first) {
  const known = new Map(rows.map((row) => [row.key, row]));
  return days.map((day) => known.get(day) ?? (first && day >= first ? { key: day, calls: 0, unpriced: 0, usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 } } : null));
}

// What a day was on average over those days of which anything is known.
export function perDay(rows) {
  const known = rows.filter((row) => row !== null);
  if (known.length === 0) return undefined;
  const all = sum(known);
  const { usd, unpriced } = costOf(all);
  return { days: known.length, tokens: tokensOf(all.usage) / known.length, usd: usd === undefined ? undefined : usd / known.length, unpriced };
}
