// A table whose heads sort it. What is sorted by lives in `state`: { by, isUp, isAll }.

import { h, redraw } from "../lib/dom.js";
import { once } from "../lib/format.js";
import { Button, Table } from "./parts.js";
import { div, p, span } from "./tags.js";

// Rows that are in the document, and after somebody wanted more.
const ROWS_SHOWN = 100;
const ROWS_MAX = 1000;
const collator = once(() => new Intl.Collator(undefined, { numeric: true }));

// `columns`: [{ name, head, cell(row), value(row), numeric, first }]; `value` makes a column one that can be sorted by. What has no
// value is last, whichever way it goes.
export function sortRows(rows, column, isUp) {
  if (!column?.value) return rows;
  const way = isUp ? 1 : -1;
  const known = (value) => value !== undefined && value !== null && value !== "";
  return [...rows].sort((one, two) => {
    const [a, b] = [column.value(one), column.value(two)];
    if (!known(a) || !known(b)) return known(b) - known(a);
    return way * (typeof a === "string" ? collator().compare(a, b) : a - b);
  });
}

// Sorted once for the same rows: ten thousand of them take their time.
function sortedOnce(state, rows, by) {
  const { memo } = state;
  if (memo?.rows === rows && memo.by === by?.name && memo.isUp === state.isUp) return memo.sorted;
  state.memo = { rows, by: by?.name, isUp: state.isUp, sorted: sortRows(rows, by, state.isUp) };
  return state.memo.sorted;
}

export function SortTable({ state, columns, rows, ...more }) {
  const by = columns.find((column) => column.name === state.by);
  const sorted = sortedOnce(state, rows, by);
  const shown = sorted.slice(0, state.isAll ? ROWS_MAX : ROWS_SHOWN);
  const sort = (column) => {
    // Numbers are looked at from the largest down.
    state.isUp = state.by === column.name ? !state.isUp : !column.numeric;
    state.by = column.name;
    redraw();
  };
  const headOf = (column) => {
    const way = by === column && (state.isUp ? "ascending" : "descending");
    const arrow = way && (state.isUp ? " ↑" : " ↓");
    return [{ "aria-sort": way }, column.value ? h("button.sort", { type: "button", onclick: () => sort(column) }, column.head, span({ "aria-hidden": "true" }, arrow)) : column.head];
  };
  const isMore = shown.length < sorted.length;
  return div(
    null,
    Table({ columns, rows: shown, headOf, class: "sorted", ...more }),
    isMore && !state.isAll && Button({ kind: "small", onclick: () => ((state.isAll = true), redraw()) }, `Show ${sorted.length > ROWS_MAX ? `the first ${ROWS_MAX}` : "all"} of ${sorted.length}`),
    isMore && state.isAll && p("dim", `The first ${shown.length} of ${sorted.length} are listed.`),
  );
}
