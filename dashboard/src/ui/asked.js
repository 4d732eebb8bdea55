// Everything that a call was given, as a person has to see it before they say yes. Nothing is cut, and nothing hides: signs that
// have no shape, or that turn the direction of what follows, are written out.

import { h } from "../lib/dom.js";
import { Diff, looksLikeDiff } from "./diff.js";
import { div, pre } from "./tags.js";

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

export function withoutTricks(text) {
  return String(text).replace(UNSEEN, (sign) => `‹U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

function block(label, text) {
  const shown = withoutTricks(text);
  const name = `${label}: all of it`;
  const body = looksLikeDiff(text) ? Diff({ text: shown }) : pre({ class: "code", dir: "ltr", tabindex: "0", role: "group", "aria-label": name }, shown);
  const lines = shown.split("\n").length;
  const size = lines > 20 ? `, ${lines} lines` : shown.length > 2000 ? `, ${shown.length} characters` : "";
  return div("fact", div("fact-label", `${label}${size}`), body);
}

// Texts as texts: in JSON a script is one line of \n.
function fromArgs(args) {
  if (!args || typeof args !== "object" || Array.isArray(args)) return [block("arguments", JSON.stringify(args, null, 2) ?? "nothing")];
  const entries = Object.entries(args);
  if (entries.length === 0) return [block("arguments", "none")];
  return entries.map(([name, value]) => block(withoutTricks(name), typeof value === "string" ? value : JSON.stringify(value, null, 2)));
}

// The tool's own words where it has some, with the arguments behind them; else the arguments one by one.
export function wholeOf(ask) {
  const facts = ask.preview ?? [];
  if (facts.length === 0) return div("facts", fromArgs(ask.args));
  const args = withoutTricks(JSON.stringify(ask.args, null, 2) ?? "");
  const raw = h("details", { class: "fact" }, h("summary", {}, "Arguments as they were given"), pre({ class: "code", dir: "ltr", tabindex: "0", role: "group", "aria-label": "Arguments" }, args));
  return div("facts", facts.map((fact) => block(withoutTricks(fact.label), fact.text)), raw);
}
