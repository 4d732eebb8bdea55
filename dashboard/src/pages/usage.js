// What does it cost, and which run was it?

import { h, redraw } from "../lib/dom.js";
import { csv, download } from "../lib/csv.js";
import { Fetched, setting } from "../lib/fetching.js";
import { count, short, utcDay } from "../lib/format.js";
import { rpc } from "../lib/link.js";
import { replaceQuery, route } from "../lib/router.js";
import { DAYS_MAX, addDays, dayAt, dayText, daysBetween } from "../lib/scale.js";
import { Awaited } from "../ui/awaited.js";
import { Card, Choice, Loading } from "../ui/parts.js";
import { BarPlot } from "../ui/plot.js";
import { ChatLink, Small, column, numbers, figure } from "../ui/small.js";
import { SortTable } from "../ui/sorted.js";
import { Runs } from "./usage/runs.js";
import { PARTS, byDay, cacheShare, costHint, costOf, costText, perDay, sum, tokensOf } from "./usage/sums.js";

const REFRESH_MS = 30_000;
// Sessions whose titles are asked for.
const TITLES_MAX = 500;
const GROUPS = [["session", "Session"], ["model", "Model"], ["tool", "Tool"], ["principal", "Person"], ["day", "Day"]];

const days = new Fetched();
const groups = new Fetched();
const budget = new Fetched(askBudget);
const titles = new Fetched(askTitles);
const table = { by: "tokens" };
const typed = { from: "", to: "", isOpen: false };

// What is chosen is in the address, so that it can be kept and sent.
function chosen() {
  const { from, to, range, by, unit, ...picked } = Object.fromEntries(route.query);
  const today = utcDay();
  const isOwn = dayAt(from) <= dayAt(to);
  const length = [7, 90].find((it) => it === Number(range)) ?? 30;
  return {
    ...picked, isOwn, range: length, by: GROUPS.some(([it]) => it === by) ? by : "session", unit: unit === "usd" ? unit : "tokens",
    from: isOwn ? from : addDays(today, 1 - length), to: isOwn ? to : today,
  };
}

function choose(change) {
  const all = Object.entries({ ...Object.fromEntries(route.query), ...change });
  replaceQuery(all.filter(([, value]) => value));
}

// The table below may be out of sight.
function pickRuns(change) {
  choose({ day: "", session: "", model: "", ...change });
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById("usage-runs")?.scrollIntoView({ block: "nearest" })));
}

// `before`: as many days before, to compare with.
function ask({ from, to, by }, before) {
  days.want(`${from} ${to}`, () => rpc("usage.report", { from: before, to, groupBy: "day" }));
  groups.want(`${from} ${to} ${by}`, async () => ({ by, ...(await rpc("usage.report", { from, to, groupBy: by })) }));
  budget.want("budget");
  titles.want("titles");
}

// No limit is set: the gateway knows no such setting.
async function askBudget() {
  try {
    return await rpc("config.get", { path: "budget" });
  } catch (why) {
    if (why.code === -2) return {};
    throw why;
  }
}

async function askTitles() {
  const { sessions } = await rpc("sessions.list", { includePersisted: true, limit: TITLES_MAX });
  return new Map(sessions.map((it) => [it.id, it.title]));
}

const nameOf = (id) => titles.value?.get(id) || id;

function Range({ now }) {
  const preset = (change) => ((typed.isOpen = false), choose({ from: "", to: "", day: "", ...change }));
  const own = () => {
    if (typed.isOpen) return preset({});
    Object.assign(typed, { isOpen: true, from: now.from, to: now.to });
    redraw();
  };
  const take = (event) => (event.preventDefault(), choose({ from, to, day: "" }));
  const isOwn = now.isOwn || typed.isOpen;
  const [from, to] = [typed.from || now.from, typed.to || now.to];
  // The browser says so where the days are the wrong way round, or too many.
  const field = (name, label, value, min, max) => h("label.field.field-inline", h("span", label), h("input", { type: "date", value, min, max, required: true, oninput: (event) => event.target.value && setting(typed, name)(event.target.value) }));
  return h("div.toolbar",
    h(Choice, { label: "Range", value: isOwn ? "own" : now.range, options: [[7, "7 days"], [30, "30 days"], [90, "90 days"], ["own", "Own dates"]], onchange: (it) => (it === "own" ? own() : preset({ range: it })) }),
    isOwn ? h("form.card-actions", { onsubmit: take }, field("from", "From", from, addDays(to, 1 - DAYS_MAX), to), field("to", "to", to, undefined, utcDay()), Small("Show", undefined, { type: "submit" })) : null,
    h(Choice, { label: "Unit", value: now.unit, options: [["tokens", "Tokens"], ["usd", "Cost"]], onchange: (it) => choose({ unit: it === "usd" ? it : "" }) }),
    h("span.dim", "Days are of UTC."),
  );
}

function changeText(now, before) {
  if (!(before > 0) || now === undefined) return "";
  const pct = Math.round((now / before - 1) * 100);
  return pct === 0 ? "as much as in the days before" : `${Math.abs(pct)} % ${pct > 0 ? "more" : "less"} than in the days before`;
}

function Figures({ rows, before }) {
  const known = rows.filter(Boolean);
  const all = sum(known);
  const [cost, rate, share] = [costOf(all), perDay(rows), cacheShare(all.usage)];
  const today = known.find((row) => row.key === utcDay());
  const limit = budget.value?.day ?? {};
  const spent = today ? costOf(today).usd : undefined;
  const part = limit.usd > 0 && spent !== undefined ? spent / limit.usd : limit.tokens > 0 && today ? tokensOf(today.usage) / limit.tokens : undefined;
  const change = changeText(tokensOf(all.usage), tokensOf(sum(before).usage));
  return h("div.figures",
    today ? figure(`today: ${short(tokensOf(today.usage))} tokens${part === undefined ? "" : `, ${Math.round(part * 100)} % of the day's budget`}`, costText(costOf(today)), costHint(costOf(today)), part >= 1 ? "bad" : part >= 0.8 ? "warn" : "") : null,
    figure(`${known.length} day${known.length === 1 ? "" : "s"}: cost${cost.unpriced > 0 ? ", some prices unknown" : " (estimate)"}`, costText(cost), costHint(cost)),
    figure(`tokens${change ? `, ${change}` : ""}`, short(tokensOf(all.usage)), count(tokensOf(all.usage))),
    figure(`a day, on average${rate?.usd === undefined ? "" : `: ${short(rate.tokens)} tokens`}`, rate === undefined ? "–" : rate.usd === undefined ? `${short(rate.tokens)} tokens` : costText(rate), rate?.usd === undefined ? "" : `At this rate: ${costText({ usd: rate.usd * 30, unpriced: rate.unpriced })} in 30 days`),
    figure("of what models read came from a cache", share === undefined ? "–" : `${Math.round(share * 100)} %`, `${count(all.usage.cacheReadTokens ?? 0)} tokens`),
    figure("calls of models", count(all.calls)),
  );
}

function barOf(row, day, unit) {
  const label = dayText(day);
  if (!row) return { key: day, label, parts: null };
  const calls = row.calls ? `${count(row.calls)} calls` : "not used";
  if (unit === "tokens") return { key: day, label, parts: PARTS.map(([name, shown]) => ({ name: shown, value: row.usage[name] ?? 0 })), hint: calls };
  const cost = costOf(row);
  const isPartial = cost.unpriced > 0;
  return { key: day, label, parts: [{ name: "Cost", value: cost.usd }], isPartial, hint: isPartial ? costHint(cost) : calls };
}

function Days({ rows, all, now }) {
  const limit = budget.value?.day?.[now.unit];
  const lines = limit > 0 ? [{ y: limit, label: now.unit === "usd" ? `budget of a day: $${limit}` : `budget of a day: ${short(limit)}` }] : [];
  const bars = rows.map((row, at) => barOf(row, all[at], now.unit));
  const isMissing = rows.includes(null);
  return h(Card,
    h(BarPlot, { id: "usage-days", title: now.unit === "usd" ? "Cost of each day (estimate)" : "Tokens of each day", unit: now.unit, head: "Day", bars, lines, onpick: (day) => pickRuns({ day }) }),
    h("p.dim.small.usage-note", "Choose a day to see its runs.", isMissing ? " Hatched: nothing is known. A line at the bottom: nothing was used." : "", now.unit === "usd" ? " “?”: the day cost more; the price of a model is not known." : ""),
  );
}

function nameCell(row, by) {
  return by === "session" ? ChatLink(row.key, nameOf(row.key)) : h("span", { dir: "auto" }, row.key || "(nobody)");
}

function columnsOf(by, rows) {
  const all = tokensOf(sum(rows).usage);
  const number = (name, head, value, hint) => numbers(name, head, value, (row) => h("span", { title: hint?.(row) ?? count(value(row)) }, short(value(row))));
  const nameHere = (row) => (by === "session" ? nameOf(row.key) : row.key);
  const runs = by === "principal" ? [] : [{ head: "Runs", cell: (row) => Small("Show", () => pickRuns({ [by]: row.key }), { label: `Show runs of ${nameHere(row)}` }) }];
  const name = column("key", GROUPS.find(([it]) => it === by)[1], nameHere, (row) => nameCell(row, by));
  const calls = number("calls", "Calls", (row) => row.calls);
  if (by === "tool") return [name, calls, number("failed", "Failed", (row) => row.failed ?? 0)];
  return [
    name, calls,
    ...PARTS.map(([part, shown]) => number(part, shown[0].toUpperCase() + shown.slice(1), (row) => row.usage[part] ?? 0)),
    number("tokens", "All tokens", (row) => tokensOf(row.usage), (row) => `${count(tokensOf(row.usage))}: ${all > 0 ? Math.round((tokensOf(row.usage) / all) * 100) : 0} %`),
    numbers("cost", "Cost", (row) => costOf(row).usd, (row) => h("span", { title: costHint(costOf(row)) }, costText(costOf(row)))),
    ...runs,
  ];
}

function save(now, rows) {
  const heads = [now.by, ...(now.by === "session" ? ["title"] : []), "calls", "failed", ...PARTS.map(([name]) => name), "costUsd", "unpricedTokens"];
  const line = (row) => [row.key, ...(now.by === "session" ? [titles.value?.get(row.key) ?? ""] : []), row.calls, row.failed, ...PARTS.map(([name]) => row.usage[name] ?? 0), costOf(row).usd, row.unpriced];
  download(`usage-${now.by}-${now.from}-${now.to}.csv`, csv(heads, rows.map(line)));
}

function Groups({ now }) {
  // An answer to another question has other columns.
  const rows = groups.value?.by === now.by ? groups.value.rows : null;
  const shown = () => rows ? h(SortTable, { state: table, columns: columnsOf(now.by, rows), rows, keyOf: (row) => row.key, caption: `Usage by ${now.by}`, empty: "Nothing was used in these days" }) : h(Loading);
  const actions = [h(Choice, { label: "By", value: now.by, options: GROUPS, onchange: (by) => choose({ by: by === "session" ? "" : by }) }), Small("Save as CSV", () => save(now, rows), { disabled: !rows?.length })];
  return h(Card, { title: "Who and what used it", actions }, Awaited(groups, shown), now.by === "tool" ? h("p.dim", "Tools are counted by calls; tokens belong to the model that reads their results.") : null);
}

export const usagePage = {
  name: "usage",
  title: "Usage",
  view() {
    const now = chosen();
    const all = daysBetween(now.from, now.to);
    const first = addDays(now.from, -all.length);
    ask(now, first);
    const shown = ({ from, to, rows: known, since }) => {
      // Days that another range did not have are not days without use.
      if (from !== first || to !== now.to) return h(Loading);
      const rows = byDay(all, known, since ?? known[0]?.key);
      return [h(Figures, { rows, before: known.filter((row) => row.key < now.from) }), h(Days, { rows, all, now })];
    };
    const { day, session, model } = now;
    const wish = { from: day || now.from, to: day || now.to, sessionId: session, model };
    return h("div",
      h("h1", "Usage"),
      h(Range, { now }),
      Awaited(days, shown),
      (day || session || model) && dayAt(wish.from) ? h(Runs, { wish, nameOf, onclose: () => pickRuns({}) }) : null,
      h(Groups, { now }),
      h("p.dim", "Costs are an estimate by list prices, not a bill. Prices that are not known can be set (", h("code", "models"), ")."),
    );
  },
  arrive: () => [days.keep(REFRESH_MS), groups.keep(REFRESH_MS), () => (budget.stale(), titles.stale())],
};
