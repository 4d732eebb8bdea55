// What a model thought before it spoke: there for who wants it, out of the way for others.

import { count } from "../lib/format.js";
import { Fold } from "./fold.js";
import { cut } from "./plain.js";
import { div, span } from "./tags.js";

// Characters of the last line that is shown beside the word while it grows.
const GLIMPSE_MAX = 90;
const GLIMPSE_FROM = 400;

const opened = new WeakSet();

function glimpse(text) {
  const line = text.slice(-GLIMPSE_FROM).trimEnd().split("\n").at(-1);
  return cut(line.replace(/[*_#`>]/g, "").trim(), GLIMPSE_MAX);
}

// `isOpen`: the text still grows. It is seen when somebody opens it; until then its last line shows that something goes on.
// `id`: an object that is the same from drawing to drawing, and of this thought only.
export function Thinking({ text, isOpen, id }) {
  const open = opened.has(id);
  return Fold({
    look: "thinking",
    open,
    onchange: (isShown) => (isShown ? opened.add(id) : opened.delete(id)),
    title: [span("thinking-word", isOpen ? "Thinking…" : "Thought"), span({ class: "thinking-glimpse", dir: "auto" }, isOpen && !open ? glimpse(text) : `${count(text.length)} characters`)],
    body: () => div({ class: "thinking-text", dir: "auto" }, text.trim()),
  });
}
