// The small parts that lists are full of.

import { h } from "../lib/dom.js";
import { href } from "../lib/router.js";
import { Button, Figure } from "./parts.js";

// `more`: what else a button can have.
export function Small(word, onclick, more) {
  return Button({ kind: "small", onclick, ...more }, [word]);
}

export function figure(label, value, hint, tone) {
  return Figure({ label, value, hint, tone });
}

// Text that is shown as it is written; what is larger than its place can be scrolled by keys, too.
export function Code(...text) {
  return h("pre.code", { dir: "auto", tabindex: "0" }, text);
}

// To a session, and where `seq` is given to that message of it.
export function ChatLink(sessionId, name, seq) {
  return h("a", { href: href("chat", sessionId, seq ? { at: seq } : undefined), dir: "auto", title: sessionId }, name);
}

// Columns of a table that sorts: by `value(row)`, which is also what is seen where there is no `cell(row)`.
export function column(name, head, value, cell = value) {
  return { name, head, value, cell };
}

export function numbers(name, head, value, cell) {
  return { ...column(name, head, value, cell), numeric: true };
}
