// What was asked for, as a table: or why it is not there, or that it comes, or that there is nothing.

import { h } from "../lib/dom.js";
import { Awaited } from "./awaited.js";
import { Empty, Table } from "./parts.js";

// A table whose `columns` are short: [head, cell(row), numeric?].
export function Rows({ columns, ...rest }) {
  return Table({ columns: columns.map(([head, cell, numeric]) => ({ head, cell, numeric })), ...rest });
}

export function Listed({ fetched, rows, empty, hint, ...rest }) {
  return Awaited(fetched, () => (rows.length ? Rows({ rows, ...rest }) : empty ? h(Empty, { title: empty }, hint) : null));
}
