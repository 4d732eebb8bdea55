// Small parts that every page is made of.

import { serverNow } from "../lib/clock.js";
import { h, redraw } from "../lib/dom.js";
import { ago, moment } from "../lib/format.js";
import { div, input, p, span } from "./tags.js";

export function Button({ onclick, kind, busy, title, disabled, label, type, ...rest }, children) {
  const name = `button${kind ? ` button-${kind}` : ""}`;
  return h("button", { type: type ?? "button", class: name, onclick, title, disabled: !!disabled || !!busy, "aria-label": label, "aria-busy": busy && "true", ...rest }, children);
}

// `tone`: good | warn | bad | info | none. The word says it too: colour alone says nothing to some.
export function Badge({ tone, title }, children) {
  return span({ class: `badge badge-${tone ?? "none"}`, title }, children);
}

export function Card({ title, actions, key, id, class: more }, children) {
  return h(
    "section",
    { class: `card ${more ?? ""}`, key, id, "aria-label": typeof title === "string" && title },
    title || actions ? h("header.card-head", h("h2", title), div("card-actions", actions)) : null,
    children,
  );
}

// Nothing is here, and what would bring something.
export function Empty({ title }, children) {
  return div("empty", p("empty-title", title), children.length ? p(null, children) : null);
}

export function ErrorNote({ why, again }) {
  if (!why) return null;
  return div({ class: "note note-bad", role: "alert" }, span(null, String(why.message ?? why)), again && Button({ onclick: again, kind: "small" }, "Try again"));
}

export function Loading() {
  return p({ class: "loading", role: "status" }, "Loading…");
}

export function When({ at }) {
  return at ? h("time", { datetime: new Date(at).toISOString(), title: moment(at) }, ago(at, serverNow())) : span("dim", "never");
}

// A figure with its name under it.
export function Figure({ label, value, hint, tone }) {
  return div({ class: `figure ${tone ? `figure-${tone}` : ""}`, title: hint }, h("strong", value), span(null, label));
}

// `columns`: [{ name, head, cell(row), numeric }]. On a narrow screen each row becomes a block with its heads beside the cells.
// `headOf(column)` gives [attributes, what is shown] of a head that does more than to say its name.
export function Table({ columns, rows, keyOf, caption, empty, class: more, rowClass, headOf = (column) => [{}, column.head] }) {
  if (rows.length === 0) return h(Empty, { title: empty ?? "Nothing yet" });
  const name = (column) => (column.numeric ? "numeric" : "");
  const head = (column) => {
    const [attributes, shown] = headOf(column);
    return h("th", { scope: "col", class: name(column), ...attributes }, shown);
  };
  const cell = (row) => (column) => h("td", { class: name(column), "data-head": column.head }, span("cell", column.cell(row)));
  const line = (row) => h("tr", { key: keyOf(row), class: rowClass?.(row) }, columns.map(cell(row)));
  return div({ class: `table-box ${more ?? ""}`, tabindex: "0", role: "region", "aria-label": caption }, h("table", h("caption.unseen", caption), h("thead", h("tr", columns.map(head))), h("tbody", rows.map(line))));
}

// A choice of a few: [[value, label]].
export function Choice({ label, value, options, onchange }) {
  return div(
    { class: "choice", role: "group", "aria-label": label },
    options.map(([it, shown]) => h("button", { type: "button", class: it === value ? "chosen" : "", "aria-pressed": String(it === value), onclick: () => onchange(it) }, shown)),
  );
}

export function Select({ label, value, options, onchange }) {
  return h(
    "label.field.field-inline",
    span(null, label),
    h("select", { value, onchange: (event) => onchange(event.target.value) }, options.map(([it, shown]) => h("option", { value: it, selected: it === value }, shown))),
  );
}

export function Search({ label, value, oninput, placeholder }) {
  return input({ type: "search", class: "search", "aria-label": label, placeholder: placeholder ?? label, value, oninput: (event) => oninput(event.target.value) });
}

// Messages that go by themselves. `undo` gives one a button; `tone: "bad"` says in colour, too, that something failed.
const toasts = [];
let toastId = 0;
const TOAST_MS = 6000;
const TOASTS_MAX = 4;

export function toast(text, { undo, ms, tone } = {}) {
  const it = { id: ++toastId, text, undo, tone };
  toasts.push(it);
  // The way back stays as long as there is one.
  const first = toasts.findIndex((told) => !told.undo);
  if (toasts.length > TOASTS_MAX && first >= 0) toasts.splice(first, 1);
  setTimeout(() => dropToast(it), ms ?? TOAST_MS);
  redraw();
  return it;
}

export function dropToast(it) {
  const at = toasts.indexOf(it);
  if (at >= 0) toasts.splice(at, 1);
  redraw();
}

export function Toasts() {
  return div(
    { class: "toasts", role: "status", "aria-live": "polite" },
    toasts.map((it) => div({ class: `toast toast-${it.tone ?? "none"}`, key: it.id }, span(null, it.text), it.undo && Button({ kind: "small", onclick: () => (it.undo(), dropToast(it)) }, "Undo"))),
  );
}

export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what ?? "It"} is in the clipboard.`);
  } catch {
    toast("This browser does not let the page copy.");
  }
}

// A long list of which only what is seen is in the document. All rows are `rowPx` high. `state` is any object of the caller's.
export function VirtualList({ state, rows, rowPx, row, keyOf, label, onend }) {
  const height = state.height ?? 600;
  const top = state.top ?? 0;
  const first = Math.max(0, Math.floor(top / rowPx) - 8);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowPx) + 8);
  const look = (element) => {
    if (element.clientHeight !== state.height) {
      state.height = element.clientHeight;
      redraw();
    }
  };
  const onscroll = (event) => {
    state.top = event.target.scrollTop;
    if (onend && event.target.scrollTop + event.target.clientHeight > event.target.scrollHeight - 20 * rowPx) onend();
    redraw();
  };
  return div(
    { class: "virtual", onscroll, created: look, updated: look, role: "list", "aria-label": label, tabindex: "0" },
    div({ class: "virtual-all", style: { height: `${rows.length * rowPx}px` } },
      div({ class: "virtual-seen", style: { transform: `translateY(${first * rowPx}px)` } }, rows.slice(first, last).map((it, at) => div({ role: "listitem", class: "virtual-row", key: keyOf(it), style: { height: `${rowPx}px` }, "aria-setsize": rows.length, "aria-posinset": first + at + 1 }, row(it)))),
    ),
  );
}
