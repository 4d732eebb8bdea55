// What all plots share: how wide they are, axes, which point is looked at (by pointer or by keys), what is said about it, and the
// table behind. A plot is given as `points`: [{ label, lines: [[name, text, nth]], left, width, middle }], in the order of the keys;
// `markOf(nth)` draws the mark of a line or a part.

import { h, redraw } from "../../lib/dom.js";
import { axisText } from "../../lib/scale.js";
import { Button, Table } from "../parts.js";
import { kept } from "../plain.js";
import { div, li, p, span, ul } from "../tags.js";

// Those who listen have the points, and the table.
export const UNHEARD = { "aria-hidden": "true" };

// Plots whose state is remembered.
const PLOTS_MAX = 60;
const NARROW_PX = 480;
// How wide a name on the axis is.
export const NAME_PX = 58;
export const MARGIN = { left: 52, right: 28, top: 14, bottom: 26 };

// By the id of the plot: { width, at (which point has the keyboard), shown (which one is told), isOpen (the table), memo }
const plots = new Map();

export function plotState(id) {
  let state = plots.get(id);
  if (!state) {
    state = { id, width: 0, at: -1, shown: -1, isOpen: false, memo: new Map(), onpick: null };
    plots.set(id, state);
    if (plots.size > PLOTS_MAX) plots.delete(plots.keys().next().value);
  }
  return state;
}

export function sizeOf(state) {
  // Before it was measured: about what is there.
  const width = Math.max(240, state.width || Math.min(900, innerWidth - 60));
  const height = width < NARROW_PX ? 190 : 230;
  return { width, height, right: width - MARGIN.right, bottom: height - MARGIN.bottom };
}

// The width is told by the browser when it has laid out anyway; nobody asks for it.
function watchWidth(state) {
  return (element) => {
    const observer = new ResizeObserver((entries) => {
      const width = Math.round(entries.at(-1).contentRect.width);
      if (width === 0 || width === state.width) return;
      state.width = width;
      redraw();
    });
    observer.observe(element);
    state.unwatch = () => observer.disconnect();
  };
}

// Lines and values of the upright axis.
export function valueAxis(ticks, place, unit, size) {
  return h(
    "g",
    { class: "plot-axis", ...UNHEARD },
    ticks.map((tick) => [
      h("line", { x1: MARGIN.left, x2: size.right, y1: place(tick), y2: place(tick), class: tick === 0 ? "plot-base" : "plot-grid" }),
      h("text", { x: MARGIN.left - 6, y: place(tick) + 4, "text-anchor": "end" }, axisText(tick, unit)),
    ]),
  );
}

// `names`: [{ x, text }]
export function nameAxis(names, size) {
  return h("g", { class: "plot-axis", ...UNHEARD }, names.map((name) => h("text", { x: name.x, y: size.height - 8, "text-anchor": name.x > size.width - NAME_PX / 2 ? "end" : "middle" }, name.text)));
}

// Limits as lines with their names; one that is above the plot is named at its upper edge.
export function limitLines(lines, place, size) {
  return h(
    "g",
    { class: "plot-limits", ...UNHEARD },
    lines.map((line, at) => {
      const isAbove = place(line.y) < MARGIN.top;
      const y = isAbove ? MARGIN.top - 3 + at * 12 : place(line.y);
      return [
        isAbove ? null : h("line", { x1: MARGIN.left, x2: size.right, y1: y, y2: y }),
        // On the left: the newest is on the right, and is what one looks at.
        h("text", { x: MARGIN.left + 4, y: isAbove ? y : y - 4 }, isAbove ? `${line.label} (above)` : line.label),
      ];
    }),
  );
}

function pick(state, at) {
  if (state.onpick && at >= 0) state.onpick(at);
}

function show(state, at) {
  if (state.shown === at) return;
  state.shown = at;
  redraw();
}

function onkeydown(state, count) {
  return (event) => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: -10, PageDown: 10 };
    const from = Number(event.target.dataset?.at ?? state.at);
    let to;
    if (event.key in steps) to = Math.min(count - 1, Math.max(0, from + steps[event.key]));
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = count - 1;
    else if (event.key === "Escape") return show(state, -1);
    else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return pick(state, from);
    } else return;
    event.preventDefault();
    event.currentTarget.querySelector(`[data-at="${to}"]`)?.focus();
  };
}

// What can be pointed at: a column for each point, of which one is a stop of the Tab key and the arrows reach the others.
function columns(state, points, size) {
  const stop = state.at >= 0 && state.at < points.length ? state.at : points.length - 1;
  const label = (point) => `${point.label}: ${point.lines.map(([name, text]) => (name ? `${name} ${text}` : text)).join(", ")}`;
  return points.map((point, at) =>
    h("rect", {
      class: "plot-hit", key: at, "data-at": at, x: point.left, y: MARGIN.top, width: Math.max(1, point.width), height: size.bottom - MARGIN.top,
      role: state.onpick ? "button" : "img", "aria-label": label(point), tabindex: at === stop ? "0" : "-1",
      onfocus: () => ((state.at = at), show(state, at), redraw()), onblur: () => show(state, -1), onclick: () => pick(state, at),
    }),
  );
}

function Tip(point, size, markOf) {
  const isLeft = point.middle > size.width / 2;
  const share = `${((isLeft ? size.width - point.middle : point.middle) / size.width) * 100}%`;
  const rows = point.lines.map(([name, text, nth]) => div(null, name && span(null, nth === undefined ? null : markOf(nth), name), h("b", {}, text)));
  return div({ class: "plot-tip", ...UNHEARD, style: isLeft ? { right: share } : { left: share } }, h("strong", {}, point.label), rows);
}

function Behind(state, title, head, points, names) {
  const cell = (at) => (point) => point.lines[at]?.[1] ?? "";
  const first = { head, cell: (point) => (state.onpick ? Button({ kind: "small", onclick: () => pick(state, points.indexOf(point)) }, point.label) : point.label) };
  const columnsOf = [first, ...names.map((name, at) => ({ head: name, cell: cell(at), numeric: true }))];
  const table = state.isOpen && kept(state.memo, "table", [points, !!state.onpick], () => Table({ columns: columnsOf, rows: points, keyOf: (point) => points.indexOf(point), caption: title, empty: "No data" }));
  return h("details", { class: "plot-table", ontoggle: (event) => ((state.isOpen = event.target.open), redraw()) }, h("summary", {}, "As a table"), table);
}

// `drawn`: the tree of what is seen. `legend`: names of lines or parts.
export function Frame({ state, title, unit, points, size, drawn, legend, markOf, head, names, onpick, empty }) {
  state.onpick = onpick ?? null;
  const isEmpty = points.length === 0;
  const hits = isEmpty ? null : kept(state.memo, "hits", [points, state.at, !!onpick], () => h("g", { key: "hits" }, columns(state, points, size)));
  const shown = points[state.shown];
  const svg = () =>
    h("svg", {
      class: `plot-svg ${onpick ? "plot-picks" : ""}`, viewBox: `0 0 ${size.width} ${size.height}`, height: size.height, role: "group", "aria-label": `${title}${unit ? `, in ${unit === "usd" ? "dollars" : unit === "ms" ? "milliseconds" : unit}` : ""}. Arrow keys go from point to point${onpick ? ", Enter opens one" : ""}.`,
      onkeydown: onkeydown(state, points.length), onpointerover: (event) => event.target.dataset.at !== undefined && show(state, Number(event.target.dataset.at)), onpointerleave: () => show(state, -1),
    },
      isEmpty ? null : drawn,
      hits,
      // Last: what comes and goes must not move what has the focus.
      shown ? h("line", { key: "cursor", class: "plot-cursor", x1: shown.middle, x2: shown.middle, y1: MARGIN.top, y2: size.bottom }) : null,
    );
  return h(
    "figure",
    { class: "plot", key: `plot-${state.id}` },
    h("figcaption", {}, span("plot-title", title), legend.length > 1 && !isEmpty && ul("plot-legend", legend.map((name, nth) => li({ key: name }, markOf(nth), name)))),
    div({ class: "plot-box", created: watchWidth(state), removed: () => state.unwatch?.() }, isEmpty ? p("plot-none", empty ?? "No data for this time.") : svg(), shown && Tip(shown, size, markOf)),
    isEmpty ? null : Behind(state, title, head, points, names),
  );
}
