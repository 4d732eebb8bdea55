// Everything that a call was given, as a person has to see it before they say yes. Nothing is cut, and nothing hides: signs that
// have no shape, or that turn the direction of what follows, are written out.

import { h } from "../lib/dom.js";
import { Diff, looksLikeDiff } from "./diff.js";
import { scrolls } from "./plain.js";
import { div, pre } from "./tags.js";

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202e\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

export function withoutTricks(text) {
  return String(text).replace(UNSEEN, (sign) => `‹U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

const whole = (label, text) => pre({ class: "code", dir: "ltr", ...scrolls(label) }, text);
const written = (value) => (typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "nothing"));

function block(name, value) {
  const label = withoutTricks(name);
  const text = written(value);
  const shown = withoutTricks(text);
  const lines = shown.split("\n").length;
  const size = lines > 20 ? `, ${lines} lines` : shown.length > 2000 ? `, ${shown.length} characters` : "";
  return div("fact", div("fact-label", `${label}${size}`), looksLikeDiff(text) ? Diff({ text: shown }) : whole(`${label}: all of it`, shown));
}

// A question about money is no call of a tool, and its summary says everything.
export const isBudget = (ask) => ask.tool === "budget";

// In a few words, for ears and for who looks elsewhere.
export function questionOf(ask) {
  return isBudget(ask) ? "may more be spent?" : `may ${ask.tool} run?`;
}

// The tool's own words where it has some, with the arguments behind them; else the arguments one by one, texts as texts: in JSON a
// script is one line of \n.
export function wholeOf(ask) {
  const { preview, args } = ask;
  if (isBudget(ask)) return null;
  if (preview?.length) return div("facts", preview.map((fact) => block(fact.label, fact.text)), h("details.fact", h("summary", "Arguments as they were given"), whole("Arguments", withoutTricks(written(args)))));
  const entries = args && typeof args === "object" && !Array.isArray(args) ? Object.entries(args) : [];
  return div("facts", entries.length ? entries.map(([name, value]) => block(name, value)) : block("arguments", args));
}
