// What a terminal would show of a text: colours, what a carriage return writes over, what a backspace takes back. Gives runs
// [text, style]; styles are shared objects. All other escape sequences are gone.

import { visible } from "./plain.js";

// A cursor goes no further to the right.
const COLUMNS_MAX = 500;

// Groups: parameters and letter of a CSI. A string (title, link) ends at its terminator or at the end of the line.
const ESCAPE = /(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~]|$)|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\|$)?|\u001b[ -/]*[0-~]?|\u009b/y;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

export const PLAIN_STYLE = Object.freeze({ fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, inverse: false, strike: false });

// Twenty more ends it.
const FLAGS = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike", 21: "underline" };

// One of 256: a number below 16 (the theme has a colour for it), or red, green and blue.
function indexed(n) {
  if (!(n >= 0 && n <= 255)) return null;
  if (n < 16) return n;
  if (n >= 232) return Array(3).fill(8 + 10 * (n - 232));
  const part = (it) => (it === 0 ? 0 : 55 + 40 * it);
  return [part(Math.floor((n - 16) / 36)), part(Math.floor((n - 16) / 6) % 6), part((n - 16) % 6)];
}

// `38;5;n`, `38;2;r;g;b`, and the same with colons: the colour, and how many numbers it took.
function extended(codes, at) {
  if (codes[at + 1] === 5) return [indexed(codes[at + 2]), 2];
  if (codes[at + 1] !== 2) return [null, 0];
  const rgb = codes.slice(at + 2, at + 5);
  return [rgb.length === 3 && rgb.every((it) => it >= 0 && it <= 255) ? rgb : null, 4];
}

// With colons a colour has its whole self in one part, and perhaps an empty place for a colour space.
function parts(text) {
  const codes = [];
  for (const part of text.split(";", 64)) {
    const numbers = part.split(":").map((it) => (it === "" ? 0 : parseInt(it)));
    if (numbers.length > 5 && numbers[1] === 2) numbers.splice(2, 1);
    if (numbers.length > 1 && numbers[0] === 4) codes.push(numbers[1] === 0 ? 24 : 4);
    else codes.push(...numbers);
  }
  return codes;
}

function styled(style, text) {
  let now = { ...style };
  const codes = parts(text);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 0) now = { ...PLAIN_STYLE };
    else if (FLAGS[code]) now[FLAGS[code]] = true;
    else if (code === 22) now.bold = now.dim = false;
    else if (FLAGS[code - 20]) now[FLAGS[code - 20]] = false;
    else if (code === 39) now.fg = null;
    else if (code === 49) now.bg = null;
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, at);
      if (colour !== null) now[code === 38 ? "fg" : "bg"] = colour;
      at += used;
    } else {
      const base = Math.floor(code / 10) * 10;
      const bright = base >= 90 ? 8 : 0;
      if (code % 10 < 8 && (base === 30 || base === 90)) now.fg = code - base + bright;
      if (code % 10 < 8 && (base === 40 || base === 100)) now.bg = code - base + bright;
    }
  }
  return Object.keys(now).some((it) => now[it] !== PLAIN_STYLE[it]) ? now : PLAIN_STYLE;
}

// One line on which the cursor moves.
class Line {
  cells = [];
  styles = [];
  at = 0;

  put(ch, style) {
    if (this.at > COLUMNS_MAX && this.at > this.cells.length) this.at = this.cells.length;
    while (this.cells.length < this.at) this.#set(this.cells.length, " ", PLAIN_STYLE);
    this.#set(this.at, ch, style);
    this.at += 1;
  }

  #set(at, ch, style) {
    this.cells[at] = ch;
    this.styles[at] = style;
  }

  csi(letter, parameters) {
    const n = Math.min(COLUMNS_MAX, parseInt(parameters) || 0);
    if (letter === "C") this.at += Math.max(1, n);
    else if (letter === "D") this.at = Math.max(0, this.at - Math.max(1, n));
    else if (letter === "G") this.at = Math.max(0, n - 1);
    else if (letter === "K" && n === 0) this.cells.length = this.styles.length = Math.min(this.at, this.cells.length);
    else if (letter === "K" && n === 2) this.cells.length = this.styles.length = 0;
  }

  runs() {
    const runs = [];
    let [text, style] = ["", this.styles[0]];
    for (let at = 0; at < this.cells.length; at += 1) {
      if (this.styles[at] !== style) {
        runs.push([text, style]);
        [text, style] = ["", this.styles[at]];
      }
      text += this.cells[at];
    }
    if (text) runs.push([text, style]);
    return runs;
  }
}

function movedLine(text, style) {
  const line = new Line();
  for (let at = 0; at < text.length; ) {
    const it = text[at];
    if (it === "\u001b" || it === "\u009b") {
      ESCAPE.lastIndex = at;
      const [whole, parameters, letter] = ESCAPE.exec(text);
      if (letter === "m") style = /[<=>?]/.test(parameters) ? style : styled(style, parameters);
      else if (letter) line.csi(letter, parameters);
      at += Math.max(1, whole.length);
      continue;
    }
    if (it === "\r") line.at = 0;
    else if (it === "\b") line.at = Math.max(0, line.at - 1);
    else if (it === "\t" || !CONTROLS.test(it)) {
      const pair = it >= "\ud800" && it <= "\udbff" && at + 1 < text.length ? it + text[at + 1] : it;
      line.put(pair, style);
      at += pair.length - 1;
    }
    at += 1;
  }
  return [line.runs(), style];
}

// Lines of runs.
export function terminalLines(text) {
  let style = PLAIN_STYLE;
  const lines = visible(text).split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return lines.map((given) => {
    const line = given.endsWith("\r") ? given.replace(/\r+$/, "") : given;
    if (!CONTROLS.test(line)) return line ? [[line, style]] : [];
    const [runs, after] = movedLine(line, style);
    style = after;
    return runs;
  });
}

// As a plain text, for copying.
export function withoutEscapes(text) {
  return terminalLines(text).map((runs) => runs.map(([it]) => it).join("")).join("\n").replace(new RegExp(CONTROLS, "g"), "");
}
