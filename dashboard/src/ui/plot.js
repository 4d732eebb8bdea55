// Plots: lines over time, stacked bars, histograms, meters. Colours come from the tokens; dashes and patterns say the same.

import { h } from "../lib/dom.js";
import { clock, moment } from "../lib/format.js";
import { DAY_MS, aligned, axisTop, bins, dayText, everyNth, linear, niceTicks, segments, timeTicks, valueText } from "../lib/scale.js";
import { Frame, MARGIN, NAME_PX, UNHEARD, limitLines, nameAxis, plotState, sizeOf, valueAxis } from "./plot/frame.js";
import { kept } from "./plain.js";
import { div } from "./tags.js";

const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 4"];
const COLOURS = 6;
// How far from a point of a line one may point, in px.
const REACH_PX = 18;
const BAR_PX_MAX = 56;

function swatchLine(at, dashed) {
  return h("svg.plot-swatch", { width: 22, height: 10, ...UNHEARD }, h("line", { x1: 0, x2: 22, y1: 5, y2: 5, class: `plot-line plot-stroke-${(at % COLOURS) + 1}`, "stroke-dasharray": dashOf(at, dashed) }));
}

function dashOf(at, dashed) {
  return dashed ? "5 4" : DASHES[at % DASHES.length];
}

function pathOf(run, x, y) {
  return run.map((point, at) => `${at === 0 ? "M" : "L"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join("");
}

function timeText(at, span) {
  return span > 2 * DAY_MS ? dayText(new Date(at).toISOString().slice(0, 10)) : clock(at).replace(/(\d\d:\d\d):\d\d/, "$1");
}

// `series`: [{ name, points: [{ x, y }], dashed }]; `lines`: limits, [{ y, label }]. A step longer than `gapMs`, or a point
// without a value, is a hole. `from` and `to`: what the axis covers, else what the points do. `onpick(x)`.
export function LinePlot(given) {
  const { series, xKind, onpick } = given;
  const { rows, ...made } = madeOnce(given, madeLines);
  const names = series.map((line) => line.name);
  return Frame({ ...given, ...made, legend: names, markOf: (nth) => swatchLine(nth, series[nth].dashed), head: xKind === "day" ? "Day" : "Time", names, onpick: onpick && ((at) => onpick(rows[at].x)) });
}

// What `make` draws of what was given, as long as that is the same.
function madeOnce(given, make) {
  const state = plotState(given.id ?? given.title);
  const size = sizeOf(state);
  return { state, size, ...kept(state.memo, "all", [JSON.stringify([given, size])], () => make(given, size)) };
}

function madeLines({ unit, series, xKind, lines: limits = [], gapMs, from, to }, size) {
  const rows = aligned(series);
  const start = from ?? rows[0]?.x ?? 0;
  const end = to ?? rows.at(-1)?.x ?? 1;
  const ticks = niceTicks(axisTop(rows.flatMap((row) => row.ys), limits.map((line) => line.y)));
  const x = linear(start, end, MARGIN.left, size.right);
  const y = linear(0, ticks.at(-1), size.bottom, MARGIN.top);
  const isDays = xKind === "day";
  const dayOf = (at) => dayText(new Date(at).toISOString().slice(0, 10));
  const middles = rows.map((row) => x(row.x));
  const points = rows.map((row, at) => {
    const left = Math.max(middles[at] - REACH_PX, at > 0 ? (middles[at - 1] + middles[at]) / 2 : MARGIN.left);
    const right = Math.min(middles[at] + REACH_PX, at < rows.length - 1 ? (middles[at] + middles[at + 1]) / 2 : size.width);
    return { label: isDays ? dayOf(row.x) : moment(row.x), lines: series.map((line, nth) => [line.name, valueText(row.ys[nth], unit), nth]), left, width: right - left, middle: middles[at] };
  });
  const count = Math.max(2, Math.floor((size.right - MARGIN.left) / (NAME_PX * 1.4)));
  const names = timeTicks(start, end, count, isDays ? 0 : undefined).map((at) => ({ x: x(at), text: isDays ? dayOf(at) : timeText(at, end - start) }));
  const marks = series.map((line, nth) => {
    const runs = segments(rows.map((row) => ({ x: row.x, y: row.ys[nth] })), gapMs);
    const colour = (nth % COLOURS) + 1;
    const alone = runs.filter((run) => run.length === 1).map((run) => h("circle", { cx: x(run[0].x), cy: y(run[0].y), r: 2.5, class: `plot-dot plot-fill-${colour}` }));
    return h("g", { key: line.name, ...UNHEARD }, runs.filter((run) => run.length > 1).map((run) => h("path", { d: pathOf(run, x, y), class: `plot-line plot-stroke-${colour}`, "stroke-dasharray": dashOf(nth, line.dashed) })), alone);
  });
  const drawn = h("g", { key: "marks" }, valueAxis(ticks, y, unit, size), nameAxis(names, size), marks, limitLines(limits, y, size));
  return { rows, points, drawn };
}

// Solid, lines, dots, crossed lines: what is drawn over the colour, so that parts differ without it.
const PATTERNS = [null, "M0 6L6 0", "M2 2h1.6v1.6H2z", "M0 3H6M3 0V6", "M0 0L6 6", "M0 3H6"];

function patternOf(id, at) {
  const colour = (at % COLOURS) + 1;
  return h("pattern", { id: `${id}-${at}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, h("rect", { width: 6, height: 6, class: `plot-fill-${colour} ${at > 0 ? "plot-faint" : ""}` }), PATTERNS[at] && h("path", { d: PATTERNS[at], class: `plot-hatch plot-stroke-${colour}` }));
}

// Of the same patterns as the bars beside it.
function swatchBar(id, at) {
  return h("svg.plot-swatch", { width: 14, height: 12, ...UNHEARD }, h("rect.plot-bar", { width: 14, height: 12, rx: 2, fill: `url(#${id}-${at})` }));
}

// `bars`: [{ key, label, parts: [{ name, value }], hint, short }], stacked. `parts: null`: nobody knows anything of it, which is
// drawn otherwise than zero; a bar with a part that is not known, or that is only some of it (`isPartial`), gets a mark above.
// `onpick(key)`.
export function BarPlot(given) {
  const { bars, onpick, head = "" } = given;
  const { name, names: legend, ...made } = madeOnce(given, madeBars);
  const names = legend.length > 1 ? [...legend, "All"] : [legend[0] ?? "Value"];
  if (bars.some((bar) => bar.hint)) names.push("Note");
  return Frame({ ...given, ...made, legend, markOf: (nth) => swatchBar(name, nth), head, names, onpick: onpick && ((at) => onpick(bars[at].key)) });
}

const sumOf = (bar) => (bar.parts ?? []).reduce((sum, part) => sum + (part.value ?? 0), 0);
const isUnknown = (bar) => !!bar.isPartial || (bar.parts ?? []).some((part) => part.value === undefined);

// What is told of a bar: its parts, all of them together, and the hint.
function toldBar(bar, names, unit) {
  if (!bar.parts) return [["", "no data"]];
  const told = names.map((name, nth) => {
    const it = bar.parts.find((part) => part.name === name);
    const text = valueText(it ? it.value : 0, unit);
    return names.length > 1 ? [name, text, nth] : ["", text];
  });
  if (names.length > 1) told.push(["all", `${isUnknown(bar) ? "at least " : ""}${valueText(sumOf(bar), unit)}`]);
  if (bar.hint) told.push(["", bar.hint]);
  return told;
}

function madeBars({ id, title, unit, bars, lines: limits = [], isWhole }, size) {
  const name = `plot-${(id ?? title).replace(/[^A-Za-z0-9]+/g, "-")}`;
  const names = [...new Set(bars.flatMap((bar) => (bar.parts ?? []).map((part) => part.name)))];
  const ticks = niceTicks(axisTop(bars.map(sumOf), limits.map((line) => line.y)), 4, isWhole);
  const y = linear(0, ticks.at(-1), size.bottom, MARGIN.top);
  const step = (size.right - MARGIN.left) / Math.max(1, bars.length);
  const wide = Math.max(1, Math.min(BAR_PX_MAX, step * 0.78));
  const points = bars.map((bar, at) => ({ label: bar.label, lines: toldBar(bar, names, unit), left: MARGIN.left + at * step, width: step, middle: MARGIN.left + (at + 0.5) * step }));
  const column = (bar, at) => {
    const left = points[at].middle - wide / 2;
    if (!bar.parts) return h("rect", { key: bar.key, x: points[at].left, y: MARGIN.top, width: step, height: size.bottom - MARGIN.top, fill: `url(#${name}-none)` });
    let under = 0;
    const parts = bar.parts.filter((part) => part.value > 0).map((part) => {
      const [low, high] = [y(under), y(under + part.value)];
      under += part.value;
      return h("rect.plot-bar", { x: left, width: wide, y: high, height: Math.max(0.5, low - high), fill: `url(#${name}-${names.indexOf(part.name)})` });
    });
    const zero = under === 0 && !isUnknown(bar) ? h("rect.plot-zero", { x: left, width: wide, y: size.bottom - 1.5, height: 1.5 }) : null;
    const mark = isUnknown(bar) && h("text.plot-unknown", { x: points[at].middle, y: y(under) - 4, "text-anchor": "middle" }, "?");
    return h("g", { key: bar.key }, parts, zero, mark);
  };
  const nth = everyNth(bars.length, size.right - MARGIN.left, NAME_PX);
  const shown = bars.map((bar, at) => ({ x: points[at].middle, text: bar.short ?? bar.label })).filter((_, at) => (bars.length - 1 - at) % nth === 0);
  const none = h("pattern", { id: `${name}-none`, width: 8, height: 8, patternUnits: "userSpaceOnUse" }, h("path.plot-none-hatch", { d: "M0 8L8 0" }));
  const drawn = h("g", { key: "marks", ...UNHEARD }, h("defs", names.map((_, at) => patternOf(name, at)), none), valueAxis(ticks, y, unit, size), nameAxis(shown, size), bars.map(column), limitLines(limits, y, size));
  return { name, names, points, drawn };
}

// How often which length came: `samples` are numbers.
export function Histogram({ id, title, unit, samples, count, empty }) {
  const edge = (value) => valueText(value, unit);
  const bars = bins(samples, count ?? 10).map((bin) => ({ key: String(bin.from), label: `${edge(bin.from)} to ${edge(bin.to)}`, short: edge(bin.from), parts: [{ name: "How often", value: bin.count }] }));
  return BarPlot({ id, title, unit: "", bars, head: "Length", isWhole: true, empty });
}

// How full something is. `mark`: where something will happen, and what (`markLabel`).
export function Meter({ value, max, label, text, mark, markLabel, tone }) {
  const share = (it) => `${max > 0 ? Math.min(100, Math.max(0, (it / max) * 100)) : 0}%`;
  return div(
    { class: `meter meter-${tone ?? "info"}`, role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": max, "aria-valuenow": Math.min(value, max), "aria-valuetext": text },
    div({ class: "meter-fill", style: { width: share(value) } }),
    mark === undefined ? null : div({ class: "meter-mark", style: { left: share(mark) }, title: markLabel }),
  );
}
