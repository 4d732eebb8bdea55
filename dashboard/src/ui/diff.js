// A unified diff with its lines marked, for eyes and for ears.

import { h, redraw } from "../lib/dom.js";
import { div, span } from "./tags.js";

// Lines that are in the document; the others are there on demand.
const LINES_MAX = 400;
const opened = new WeakSet();
// The last drawing by holder: its text is the same most of the time, and a long one costs.
const drawn = new WeakMap();

export function looksLikeDiff(text) {
  return typeof text === "string" && /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m.test(text);
}

// A removed line may begin with two dashes itself: the name of a file has a partner beside it.
function isFile(line, before, after) {
  return (line.startsWith("--- ") && after?.startsWith("+++ ")) || (line.startsWith("+++ ") && before?.startsWith("--- "));
}

function lineOf(line, at, all) {
  const kind = line.startsWith("@@") ? "hunk" : isFile(line, all[at - 1], all[at + 1]) ? "file" : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "same";
  const word = kind === "add" ? "added: " : kind === "del" ? "removed: " : "";
  return div({ class: `diff-line diff-${kind}`, key: at }, word && span("unseen", word), line || " ");
}

// `whole`: nothing is left out (a person is asked to allow it). Where it is false, `holder` is an object by which it is known
// what somebody has opened.
export function Diff({ text, whole, holder }) {
  const lines = text.replace(/\n$/, "").split("\n");
  const isWhole = whole !== false || !holder || opened.has(holder) || lines.length <= LINES_MAX;
  const shown = isWhole ? lines : lines.slice(0, LINES_MAX);
  const last = holder ? drawn.get(holder) : undefined;
  if (last && last.text === text && last.isWhole === isWhole) return last.node;
  const node = div(
    { class: "diff", key: holder ? "diff" : undefined, dir: "ltr", tabindex: "0", role: "group", "aria-label": "Changes" },
    shown.map(lineOf),
    isWhole ? null : h("button", { type: "button", class: "button button-small diff-more", onclick: () => (opened.add(holder), redraw()) }, `Show ${lines.length - LINES_MAX} more lines`),
  );
  if (holder) drawn.set(holder, { text, isWhole, node });
  return node;
}
