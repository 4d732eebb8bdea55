// A table whose heads sort it. What is sorted by lives in `state`: { by, isUp, isAll }.

import { h, redraw } from "../lib/dom.js";
import { Button, Empty } from "./parts.js";

// Rows that are in the document until somebody wants all.
const ROWS_SHOWN = 100;

// `columns`: [{ name, head, cell(row), value(row), numeric, first }]; `value` makes a column one that can be sorted by. What has no
// value is last, whichever way it goes.
export function sortRows(rows, column, isUp) {
  if (!column?.value) return rows;
  const way = isUp ? 1 : -1;
  const known = (value) => value !== undefined && value !== null && value !== "";
  return [...rows].sort((one, two) => {
    const [a, b] = [column.value(one), column.value(two)];
    if (!known(a) || !known(b)) return known(b) - known(a);
    return way * (typeof a === "string" ? a.localeCompare(b) : a - b);
  });
}

export function SortTable({ state, columns, rows, keyOf, caption, empty, rowClass }) {
  if (rows.length === 0) return h(Empty, { title: empty ?? "Nothing yet" });
  const by = columns.find((column) => column.name === state.by);
  const sorted = sortRows(rows, by, state.isUp);
  const shown = state.isAll ? sorted : sorted.slice(0, ROWS_SHOWN);
  const sort = (column) => {
    // Numbers are looked at from the largest down.
    state.isUp = state.by === column.name ? !state.isUp : !column.numeric;
    state.by = column.name;
    redraw();
  };
  const head = (column) => {
    const way = by === column ? (state.isUp ? "ascending" : "descending") : undefined;
    const arrow = way ? (state.isUp ? " ↑" : " ↓") : "";
    return h("th", { scope: "col", class: column.numeric ? "numeric" : "", "aria-sort": way }, column.value ? h("button", { type: "button", class: "sort", onclick: () => sort(column) }, column.head, h("span", { "aria-hidden": "true" }, arrow)) : column.head);
  };
  const cells = (row) => columns.map((column) => h("td", { class: column.numeric ? "numeric" : "", "data-head": column.head }, h("span", { class: "cell" }, column.cell(row))));
  return h(
    "div",
    {},
    h("div", { class: "table-box sorted", tabindex: "0", role: "region", "aria-label": caption },
      h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, columns.map(head))), h("tbody", {}, shown.map((row) => h("tr", { key: keyOf(row), class: rowClass?.(row) ?? "" }, cells(row))))),
    ),
    shown.length < sorted.length ? Button({ kind: "small", onclick: () => ((state.isAll = true), redraw()) }, [`Show all ${sorted.length}`]) : null,
  );
}
