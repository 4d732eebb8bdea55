// The output of a command as a terminal shows it.

import { h, redraw } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { PLAIN_STYLE, terminalLines } from "./ansi.js";
import { kept, scrolls } from "./plain.js";
import { div, p, span } from "./tags.js";

// Lines in the document: at first, and when somebody wants all.
const LINES_MAX = 200;
const ALL_MAX = 20_000;
// Of those, how many are from the beginning: the end of an output says more.
const HEAD_SHARE = 0.25;
// So far from the end is away from it.
const AWAY_PX = 40;
// Characters of a text that are looked at.
const TEXT_MAX = 300_000;
// What programs mean by their sixteen colours, for grounds that they paint themselves.
const SIXTEEN = "000000 aa2020 1d7a34 8a6100 2456b8 8b35a0 0b6f78 d0d0d0 6b6b6b e05050 3fae5a d9a92b 5b8def c872dc 38b6c2 ffffff".split(" ");

const [BLACK, WHITE] = [[0, 0, 0], [255, 255, 255]];

const opened = new WeakSet();
// The last drawing by holder: the text of most is the same each time.
const drawn = new WeakMap();
const looks = new WeakMap();

function rgb(colour) {
  if (Array.isArray(colour)) return colour;
  return [0, 2, 4].map((at) => parseInt(SIXTEEN[colour].slice(at, at + 2), 16));
}

function light(colour) {
  const [r, g, b] = colour.map((it) => (it / 255 <= 0.03928 ? it / 255 / 12.92 : ((it / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(one, two) {
  const [a, b] = [light(one), light(two)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

const css = (colour) => `rgb(${colour.join(" ")})`;

// On a ground that the program painted the two colours are fixed, and readable; on ours the theme has the say.
export function look(style) {
  const words = ["bold", "italic", "underline", "strike"].filter((it) => style[it]).map((it) => `t-${it}`);
  const [fg, bg] = style.inverse ? [style.bg, style.fg] : [style.fg, style.bg];
  if (bg !== null) {
    const ground = rgb(bg);
    const wanted = fg === null ? null : rgb(fg);
    const best = contrast(BLACK, ground) > contrast(WHITE, ground) ? BLACK : WHITE;
    return { class: words.join(" "), style: { "background-color": css(ground), color: css(wanted && contrast(wanted, ground) >= 4.5 ? wanted : best) } };
  }
  if (style.inverse) return { class: [...words, "t-inverse"].join(" ") };
  if (Array.isArray(fg)) return { class: [...words, "t-rgb"].join(" "), style: { "--t": css(fg) } };
  if (fg !== null) words.push(`t-${fg % 8}`, ...(fg === 8 ? ["t-dim"] : []));
  else if (style.dim) words.push("t-dim");
  return { class: words.join(" ") };
}

// Lines become one text as far as they look the same: a thousand lines without colours are one node.
function nodes(lines) {
  const out = [];
  let [text, style] = ["", PLAIN_STYLE];
  const flush = () => {
    if (text) out.push(style === PLAIN_STYLE ? text : span(kept(looks, style, [], () => look(style)), text));
    text = "";
  };
  for (const runs of lines) {
    for (const [part, its] of runs) {
      if (its !== style) flush();
      style = its;
      text += part;
    }
    if (style !== PLAIN_STYLE) flush();
    style = PLAIN_STYLE;
    text += "\n";
  }
  text = text.replace(/\n$/, "");
  flush();
  return out;
}

// The end of an output that grows stays in sight, unless somebody has scrolled away from it.
const away = new WeakSet();

function stay(element) {
  if (!away.has(element)) element.scrollTop = element.scrollHeight;
}

function onscroll(event) {
  const { scrollTop, scrollHeight, clientHeight } = event.target;
  if (scrollHeight - scrollTop - clientHeight > AWAY_PX) away.add(event.target);
  else away.delete(event.target);
}

function box(label = "Output", isTail, children) {
  const hooks = isTail ? { onscroll, created: stay, updated: stay } : {};
  return div({ class: "terminal", key: "terminal", ...scrolls(label), ...hooks }, children);
}

function draw(text, isAll, { holder, label, isTail }) {
  const lines = terminalLines(text.slice(0, TEXT_MAX));
  const max = isAll ? ALL_MAX : LINES_MAX;
  const pre = (some) => h("pre", { dir: "auto" }, nodes(some));
  if (lines.length <= max) return box(label, isTail, pre(lines));
  const head = Math.floor(max * HEAD_SHARE);
  const hidden = lines.length - max;
  const showAll = () => {
    opened.add(holder);
    redraw();
  };
  const gap = isAll ? p("terminal-gap", `${count(hidden)} lines are left out`) : h("button.terminal-gap", { type: "button", onclick: showAll }, `Show all ${count(lines.length)} lines (${count(hidden)} hidden)`);
  return box(label, isTail, [pre(lines.slice(0, head)), gap, pre(lines.slice(head - max))]);
}

// `holder`: the object whose output it is. By it we know what somebody has opened while the text grows, and need not read the
// same text twice. `isTail`: its end is what one wants to see first.
export function Terminal(shown) {
  const text = String(shown.text ?? "");
  const isAll = opened.has(shown.holder);
  return kept(drawn, shown.holder, [text, isAll], () => draw(text, isAll, shown));
}
