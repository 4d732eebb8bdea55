// A table whose heads sort it. What is sorted by lives in `state`: { by, isUp, isAll }.

import { h, redraw } from "../lib/dom.js";
import { Button, Empty } from "./parts.js";
import { div, p, span } from "./tags.js";

// Rows that are in the document, and after somebody wanted more.
const ROWS_SHOWN = 100;
const ROWS_MAX = 1000;
const collator = new Intl.Collator(undefined, { numeric: true });

// `columns`: [{ name, head, cell(row), value(row), numeric, first }]; `value` makes a column one that can be sorted by. What has no
// value is last, whichever way it goes.
export function sortRows(rows, column, isUp) {
  if (!column?.value) return rows;
  const way = isUp ? 1 : -1;
  const known = (value) => value !== undefined && value !== null && value !== "";
  return [...rows].sort((one, two) => {
    const [a, b] = [column.value(one), column.value(two)];
    if (!known(a) || !known(b)) return known(b) - known(a);
    return way * (typeof a === "string" ? collator.compare(a, b) : a - b);
  });
}

// Sorted once for the same rows: ten thousand of them take their time.
function sortedOnce(state, rows, by) {
  const { memo } = state;
  if (memo?.rows === rows && memo.by === by?.name && memo.isUp === state.isUp) return memo.sorted;
  state.memo = { rows, by: by?.name, isUp: state.isUp, sorted: sortRows(rows, by, state.isUp) };
  return state.memo.sorted;
}

export function SortTable({ state, columns, rows, keyOf, caption, empty, rowClass }) {
  if (rows.length === 0) return h(Empty, { title: empty ?? "Nothing yet" });
  const by = columns.find((column) => column.name === state.by);
  const sorted = sortedOnce(state, rows, by);
  const shown = sorted.slice(0, state.isAll ? ROWS_MAX : ROWS_SHOWN);
  const sort = (column) => {
    // Numbers are looked at from the largest down.
    state.isUp = state.by === column.name ? !state.isUp : !column.numeric;
    state.by = column.name;
    redraw();
  };
  const head = (column) => {
    const way = by === column ? (state.isUp ? "ascending" : "descending") : undefined;
    const arrow = way ? (state.isUp ? " ↑" : " ↓") : "";
    return h("th", { scope: "col", class: column.numeric ? "numeric" : "", "aria-sort": way }, column.value ? h("button", { type: "button", class: "sort", onclick: () => sort(column) }, column.head, span({ "aria-hidden": "true" }, arrow)) : column.head);
  };
  const cells = (row) => columns.map((column) => h("td", { class: column.numeric ? "numeric" : "", "data-head": column.head }, span("cell", column.cell(row))));
  return div(
    null,
    div({ class: "table-box sorted", tabindex: "0", role: "region", "aria-label": caption },
      h("table", {}, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, columns.map(head))), h("tbody", {}, shown.map((row) => h("tr", { key: keyOf(row), class: rowClass?.(row) ?? "" }, cells(row))))),
    ),
    shown.length < sorted.length && !state.isAll && Button({ kind: "small", onclick: () => ((state.isAll = true), redraw()) }, `Show ${sorted.length > ROWS_MAX ? `the first ${ROWS_MAX}` : "all"} of ${sorted.length}`),
    shown.length < sorted.length && state.isAll && p("dim", `The first ${shown.length} of ${sorted.length} are listed.`),
  );
}
