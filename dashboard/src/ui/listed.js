// What was asked for, as a table: or why it is not there, or that it comes, or that there is nothing.

import { h } from "../lib/dom.js";
import { Empty, ErrorNote, Loading, Table } from "./parts.js";

// A table whose `columns` are short: [head, cell(row), numeric?].
export function Rows({ columns, ...rest }) {
  return Table({ columns: columns.map(([head, cell, numeric]) => ({ head, cell, numeric })), ...rest });
}

export function Listed({ fetched, again, rows, columns, keyOf, caption, empty, hint }) {
  const { value, fault } = fetched;
  return [
    h(ErrorNote, { why: fault, again }),
    !value ? (fault ? null : h(Loading, {})) : rows.length === 0 ? (empty ? h(Empty, { title: empty }, hint) : null) : Rows({ columns, rows, keyOf, caption }),
  ];
}
