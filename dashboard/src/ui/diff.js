// A unified diff with its lines marked, for eyes and for ears.

import { h } from "../lib/dom.js";

// Lines that are in the document; the others are there on demand.
const LINES_MAX = 400;
const opened = new WeakSet();

export function looksLikeDiff(text) {
  return typeof text === "string" && /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.test(text);
}

function lineOf(line, at) {
  const kind = line.startsWith("@@") ? "hunk" : line.startsWith("+++") || line.startsWith("---") ? "file" : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "same";
  const word = kind === "add" ? "added: " : kind === "del" ? "removed: " : "";
  return h("div", { class: `diff-line diff-${kind}`, key: at }, word ? h("span", { class: "unseen" }, word) : null, line || " ");
}

// `whole`: nothing is left out (a person is asked to allow it).
export function Diff({ text, whole, holder }) {
  const lines = text.replace(/\n$/, "").split("\n");
  const isWhole = whole !== false || (holder && opened.has(holder)) || lines.length <= LINES_MAX;
  const shown = isWhole ? lines : lines.slice(0, LINES_MAX);
  return h(
    "div",
    { class: "diff", dir: "ltr", tabindex: "0", role: "group", "aria-label": "Changes" },
    shown.map(lineOf),
    isWhole ? null : h("div", { class: "diff-line diff-hunk" }, `… ${lines.length - LINES_MAX} more lines`),
  );
}
