// What does it cost, and which run was it?

import { h, redraw } from "../lib/dom.js";
import { csv, download } from "../lib/csv.js";
import { Fetched, every } from "../lib/fetching.js";
import { count, short, utcDay } from "../lib/format.js";
import { rpc } from "../lib/link.js";
import { href, replaceQuery, route } from "../lib/router.js";
import { DAYS_MAX, addDays, dayAt, dayText, daysBetween } from "../lib/scale.js";
import { Button, Card, Choice, ErrorNote, Figure, Loading } from "../ui/parts.js";
import { BarPlot } from "../ui/plot.js";
import { SortTable } from "../ui/sorted.js";
import { Runs } from "./usage/runs.js";
import { PARTS, byDay, cacheShare, costHint, costOf, costText, perDay, sum, tokensOf } from "./usage/sums.js";

const REFRESH_MS = 30_000;
// Sessions whose titles are asked for.
const TITLES_MAX = 500;
const GROUPS = [["session", "Session"], ["model", "Model"], ["tool", "Tool"], ["principal", "Person"], ["day", "Day"]];

const days = new Fetched();
const groups = new Fetched();
const budget = new Fetched();
const titles = new Fetched();
const table = { by: "tokens", isUp: false, isAll: false };
const typed = { from: "", to: "", isOpen: false, fault: "" };
let stop = null;

// What is chosen is in the address, so that it can be kept and sent.
function chosen() {
  const query = route.query;
  const today = utcDay();
  const [from, to] = [query.get("from"), query.get("to")];
  const isOwn = dayAt(from ?? "") <= dayAt(to ?? "");
  const range = [7, 30, 90].includes(Number(query.get("range"))) ? Number(query.get("range")) : 30;
  return {
    isOwn, range, by: GROUPS.some(([it]) => it === query.get("by")) ? query.get("by") : "session", unit: query.get("unit") === "usd" ? "usd" : "tokens",
    from: isOwn ? from : addDays(today, 1 - range), to: isOwn ? to : today, day: query.get("day") ?? "", session: query.get("session") ?? "", model: query.get("model") ?? "",
  };
}

function choose(change) {
  const query = Object.fromEntries(route.query);
  for (const [name, value] of Object.entries(change)) {
    if (value) query[name] = value;
    else delete query[name];
  }
  replaceQuery(query);
}

// The table below may be out of sight.
function pickRuns(change) {
  choose({ day: "", session: "", model: "", ...change });
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById("usage-runs")?.scrollIntoView({ block: "nearest" })));
}

function asks(now) {
  const length = daysBetween(now.from, now.to).length;
  return {
    // As many days before, to compare with.
    days: () => rpc("usage.report", { from: addDays(now.from, -length), to: now.to, groupBy: "day" }),
    groups: async () => ({ by: now.by, ...(await rpc("usage.report", { from: now.from, to: now.to, groupBy: now.by })) }),
  };
}

function refresh() {
  const ask = asks(chosen());
  days.again(ask.days);
  groups.again(ask.groups);
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
  const own = () => {
    if (typed.isOpen) return void ((typed.isOpen = false), choose({ from: "", to: "", day: "" }));
    Object.assign(typed, { isOpen: true, from: now.from, to: now.to, fault: "" });
    redraw();
  };
  const take = (event) => {
    event.preventDefault();
    const length = (dayAt(typed.to) - dayAt(typed.from)) / 86_400_000 + 1;
    typed.fault = !(length > 0) ? "The first day must not be after the last one." : length > DAYS_MAX ? `At most ${DAYS_MAX} days can be shown.` : "";
    if (typed.fault) redraw();
    else choose({ from: typed.from, to: typed.to, day: "" });
  };
  const isOwn = now.isOwn || typed.isOpen;
  const field = (name, label) => h("label.field.field-inline", h("span", label), h("input", { type: "date", value: typed[name] || now[name], max: utcDay(), required: true, oninput: (event) => (typed[name] = event.target.value) }));
  return h("div.toolbar",
    h(Choice, { label: "Range", value: isOwn ? "own" : now.range, options: [[7, "7 days"], [30, "30 days"], [90, "90 days"], ["own", "Own dates"]], onchange: (it) => (it === "own" ? own() : ((typed.isOpen = false), choose({ range: it, from: "", to: "", day: "" }))) }),
    isOwn ? h("form.usage-dates", { onsubmit: take }, field("from", "From"), field("to", "to"), Button({ type: "submit", kind: "small" }, ["Show"])) : null,
    h(Choice, { label: "Unit", value: now.unit, options: [["tokens", "Tokens"], ["usd", "Cost"]], onchange: (it) => choose({ unit: it === "usd" ? it : "" }) }),
    h("span.dim", "Days are of UTC."),
    typed.fault ? h("p.note.note-bad", { role: "alert" }, typed.fault) : null,
  );
}

function changeText(now, before) {
  if (!(before > 0) || now === undefined) return "";
  const pct = Math.round((now / before - 1) * 100);
  return pct === 0 ? "as much as in the days before" : `${Math.abs(pct)} % ${pct > 0 ? "more" : "less"} than in the days before`;
}

function Figures({ rows, before, now }) {
  const known = rows.filter(Boolean);
  const all = sum(known);
  const [cost, rate, share] = [costOf(all), perDay(rows), cacheShare(all.usage)];
  const today = known.find((row) => row.key === utcDay());
  const limit = budget.value?.day ?? {};
  const spent = today ? costOf(today).usd : undefined;
  const part = limit.usd > 0 && spent !== undefined ? spent / limit.usd : limit.tokens > 0 && today ? tokensOf(today.usage) / limit.tokens : undefined;
  const change = changeText(tokensOf(all.usage), tokensOf(sum(before).usage));
  const figure = (label, value, hint, tone) => h(Figure, { label, value, hint, tone });
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
  if (unit === "tokens") return { key: day, label, parts: PARTS.map(([name, shown]) => ({ name: shown, value: row.usage[name] ?? 0 })), hint: row.calls ? `${count(row.calls)} calls` : "not used" };
  const cost = costOf(row);
  return { key: day, label, parts: [{ name: "Cost", value: cost.usd }], isPartial: cost.unpriced > 0, hint: cost.unpriced > 0 ? costHint(cost) : row.calls ? `${count(row.calls)} calls` : "not used" };
}

function Days({ rows, all, now }) {
  const limit = budget.value?.day?.[now.unit];
  const lines = limit > 0 ? [{ y: limit, label: now.unit === "usd" ? `budget of a day: $${limit}` : `budget of a day: ${short(limit)}` }] : [];
  const bars = rows.map((row, at) => barOf(row, all[at], now.unit));
  const isMissing = rows.includes(null);
  return h(Card,
    h(BarPlot, { id: "usage-days", title: now.unit === "usd" ? "Cost of each day (estimate)" : "Tokens of each day", unit: now.unit, head: "Day", bars, lines, onpick: (day) => pickRuns({ day }) }),
    h("p.dim.usage-note", "Choose a day to see its runs.", isMissing ? " Hatched: nothing is known of these days. A line at the bottom: nothing was used." : "", now.unit === "usd" ? " “?”: the price of a model is not known, and the day cost more than what is shown." : ""),
  );
}

function nameCell(row, by) {
  if (by === "session") return h("a", { href: href("chat", row.key), dir: "auto", title: row.key }, nameOf(row.key));
  return h("span", { dir: "auto" }, row.key || "(nobody)");
}

function columnsOf(by, rows) {
  const all = tokensOf(sum(rows).usage);
  const number = (name, head, value, hint) => ({ name, head, numeric: true, value, cell: (row) => h("span", { title: hint?.(row) ?? count(value(row)) }, short(value(row))) });
  const runs = by === "session" || by === "model" || by === "day" ? [{ name: "runs", head: "Runs", cell: (row) => Button({ kind: "small", label: `Show runs of ${by === "session" ? nameOf(row.key) : row.key}`, onclick: () => pickRuns({ [by]: row.key }) }, ["Show"]) }] : [];
  const name = { name: "key", head: GROUPS.find(([it]) => it === by)[1], cell: (row) => nameCell(row, by), value: (row) => (by === "session" ? nameOf(row.key) : row.key) };
  const calls = number("calls", "Calls", (row) => row.calls);
  if (by === "tool") return [name, calls, number("failed", "Failed", (row) => row.failed ?? 0)];
  return [
    name, calls,
    ...PARTS.map(([part, shown]) => number(part, shown[0].toUpperCase() + shown.slice(1), (row) => row.usage[part] ?? 0)),
    number("tokens", "All tokens", (row) => tokensOf(row.usage), (row) => `${count(tokensOf(row.usage))}: ${all > 0 ? Math.round((tokensOf(row.usage) / all) * 100) : 0} %`),
    { name: "cost", head: "Cost", numeric: true, value: (row) => costOf(row).usd, cell: (row) => h("span", { title: costHint(costOf(row)) }, costText(costOf(row))) },
    ...runs,
  ];
}

function save(now, rows) {
  const heads = [now.by, ...(now.by === "session" ? ["title"] : []), "calls", "failed", ...PARTS.map(([name]) => name), "costUsd", "unpricedTokens"];
  const line = (row) => [row.key, ...(now.by === "session" ? [titles.value?.get(row.key) ?? ""] : []), row.calls, row.failed, ...PARTS.map(([name]) => row.usage[name] ?? 0), costOf(row).usd, row.unpriced];
  download(`usage-${now.by}-${now.from}-${now.to}.csv`, csv(heads, rows.map(line)));
}

function Groups({ now }) {
  const { value, fault } = groups;
  // An answer to another question has other columns.
  const rows = value?.by === now.by ? value.rows : null;
  const shown = fault ? h(ErrorNote, { why: fault, again: refresh }) : !rows ? h(Loading) : h(SortTable, { state: table, columns: columnsOf(now.by, rows), rows, keyOf: (row) => row.key, caption: `Usage by ${now.by}`, empty: "Nothing was used in these days" });
  const actions = [h(Choice, { label: "By", value: now.by, options: GROUPS, onchange: (by) => choose({ by: by === "session" ? "" : by }) }), Button({ kind: "small", disabled: !rows?.length, onclick: () => save(now, rows) }, ["Save as CSV"])];
  return h(Card, { title: "Who and what used it", actions }, shown, now.by === "tool" ? h("p.dim", "Tools are counted by calls; the tokens that their results are belong to the model that reads them.") : null);
}

export const usagePage = {
  name: "usage",
  title: "Usage",
  needs: ["usage.report"],
  view() {
    const now = chosen();
    const ask = asks(now);
    days.want(`${now.from} ${now.to}`, ask.days);
    groups.want(`${now.from} ${now.to} ${now.by}`, ask.groups);
    budget.want("budget", askBudget);
    titles.want("titles", askTitles);
    stop ??= every(REFRESH_MS, () => days.value && refresh());
    const all = daysBetween(now.from, now.to);
    // Days that another range did not have are not days without use.
    const isOther = days.value && (days.value.from !== addDays(now.from, -all.length) || days.value.to !== now.to);
    const known = days.value?.rows ?? [];
    const rows = byDay(all, known, days.value?.since ?? known[0]?.key);
    const before = known.filter((row) => row.key < now.from);
    const picked = now.day || now.session || now.model;
    const wish = { from: now.day || now.from, to: now.day || now.to, sessionId: now.session, model: now.model };
    return h("div",
      h("h1", "Usage"),
      h(Range, { now }),
      days.fault ? h(ErrorNote, { why: days.fault, again: refresh }) : null,
      days.value && !isOther ? [h(Figures, { rows, before, now }), h(Days, { rows, all, now })] : days.fault ? null : h(Loading),
      picked && dayAt(wish.from) ? h(Runs, { wish, nameOf, onclose: () => pickRuns({}) }) : null,
      h(Groups, { now }),
      h("p.dim", "Costs are worked out from the list price of each model: an estimate, not a bill. Prices that are not known can be given in the settings (", h("code", "models"), ")."),
    );
  },
  leave() {
    stop?.();
    stop = null;
    for (const it of [days, groups, budget, titles]) it.stale();
  },
};
