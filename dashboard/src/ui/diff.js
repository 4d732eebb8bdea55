// A unified diff with its lines marked, for eyes and for ears.

import { redraw } from "../lib/dom.js";
import { Button } from "./parts.js";
import { kept, scrolls } from "./plain.js";
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
  return kept(drawn, holder, [text, isWhole], () => div(
    { class: "diff", key: holder ? "diff" : undefined, dir: "ltr", ...scrolls("Changes") },
    (isWhole ? lines : lines.slice(0, LINES_MAX)).map(lineOf),
    isWhole || Button({ kind: "small diff-more", onclick: () => (opened.add(holder), redraw()) }, `Show ${lines.length - LINES_MAX} more lines`),
  ));
}
