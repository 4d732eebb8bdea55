// What a model thought before it spoke: there for who wants it, out of the way for others.

import { h, redraw } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { Opened, cut } from "./plain.js";
import { div, span } from "./tags.js";

// Characters of the last line that is shown beside the word while it grows.
const GLIMPSE_MAX = 90;
const GLIMPSE_FROM = 400;

const opened = new Opened();

function glimpse(text) {
  const line = text.slice(-GLIMPSE_FROM).trimEnd().split("\n").at(-1) ?? "";
  return cut(line.replace(/[*_#`>]/g, "").trim(), GLIMPSE_MAX);
}

// `isOpen`: the text still grows. It is seen when somebody opens it; until then its last line shows that something goes on.
// `id`: anything that is the same from drawing to drawing, and of this thought only.
export function Thinking({ text, isOpen, id }) {
  const isShown = opened.get(id) ?? false;
  const toggle = (event) => {
    event.preventDefault();
    opened.set(id, !isShown);
    redraw();
  };
  const found = (event) => {
    if (event.target.open === (opened.get(id) ?? false)) return;
    opened.set(id, event.target.open);
    redraw();
  };
  return h("details", { class: "thinking", open: isShown, ontoggle: found },
    h("summary", { onclick: toggle }, span("thinking-word", isOpen ? "Thinking…" : "Thought"), span({ class: "thinking-glimpse", dir: "auto" }, isOpen && !isShown ? glimpse(text) : `${count(text.length)} characters`)),
    isShown && div({ class: "thinking-text", dir: "auto" }, text.trim()),
  );
}
