// The inside of a line of Markdown: emphasis, code, links. Every character is looked at a bounded number of times, whatever
// a model writes: delimiters are matched once (with a floor below which no opener is looked for), runs of backticks are
// counted once, brackets are tried once, and what lies too deep loses its frame and keeps its text.

import { h } from "../lib/dom.js";
import { URL_MAX, built, linkUrl, work } from "./mdtree.js";

const PARENS_MAX = 32;
// Labels that are open at once; others are text.
const BRACKETS_MAX = 500;
const KINDS_MAX = 2000;

const PLAIN = /[^\\`*_~[\]!<&\nh]+/y;
const BARE = /https?:\/\/[^\s<>`"[\]]+/iy;
const ANGLE = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>/iy;
const BREAK = /<br *\/?>/iy;
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/iy;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", hellip: "…", mdash: "—", ndash: "–", rarr: "→", larr: "←", times: "×" };
const PUNCTUATION = /[!-/:-@[-`{-~]/;
// Marks of East Asian texts count as letters: they stand beside words without a space.
const MARK = /(?![\u3000-\u303f\uff00-\uffef])[\p{P}\p{S}]/u;
const SPACE = /\s/;
const SPECIAL = /[\\`*_~[\]!<&\n]/;
const SPECIALS = new Set("\\`*_~[]!<&\nh");

function sticky(pattern, text, at) {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  work.steps += found ? found[0].length : 1;
  return found;
}

function entity(text, at) {
  const found = sticky(ENTITY, text, at);
  if (!found) return null;
  const [whole, ten, sixteen, name] = found;
  if (name) return name in ENTITIES ? [whole, ENTITIES[name]] : null;
  const code = ten ? parseInt(ten) : parseInt(sixteen, 16);
  const isOdd = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
  return [whole, isOdd ? "\ufffd" : String.fromCodePoint(code)];
}

function unescaped(text) {
  let out = "";
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\" && at + 1 < text.length && PUNCTUATION.test(text[at + 1])) out += text[(at += 1)];
    else {
      const found = text[at] === "&" ? entity(text, at) : null;
      out += found ? found[1] : text[at];
      if (found) at += found[0].length - 1;
    }
  }
  return out;
}

// `(address "title")` behind a label: [address, end], or null.
function destination(text, from) {
  let at = from + 1;
  const skip = () => {
    while (text[at] === " " || text[at] === "\n") at += 1;
  };
  skip();
  let url;
  if (text[at] === "<") {
    const begin = (at += 1);
    while (at < text.length && text[at] !== ">" && text[at] !== "<" && text[at] !== "\n" && at - begin <= URL_MAX) at += 1;
    work.steps += at - begin;
    if (text[at] !== ">") return null;
    url = text.slice(begin, at);
    at += 1;
  } else {
    const begin = at;
    let parens = 0;
    for (; at < text.length && at - begin <= URL_MAX * 3; at += 1) {
      const it = text[at];
      if (it === "\\") at += 1;
      else if (it <= " ") break;
      else if (it === "(" && (parens += 1) > PARENS_MAX) return null;
      else if (it === ")" && (parens -= 1) < 0) break;
    }
    work.steps += at - begin;
    if (parens > 0) return null;
    url = text.slice(begin, at);
  }
  skip();
  const quote = text[at];
  if (quote === '"' || quote === "'") {
    const end = text.indexOf(quote, at + 1);
    work.steps += (end < 0 ? text.length : end) - at;
    if (end < 0) return null;
    at = end + 1;
    skip();
  }
  return text[at] === ")" ? [unescaped(url), at + 1] : null;
}

// 1: a space, 2: a mark, 0: a letter. Asked once for each character there is.
const kinds = new Map();

function kindOf(ch) {
  const known = kinds.get(ch);
  if (known !== undefined) return known;
  const kind = SPACE.test(ch) ? 1 : MARK.test(ch) ? 2 : 0;
  if (kinds.size < KINDS_MAX) kinds.set(ch, kind);
  return kind;
}

// A run of `*`, `_` or `~`: whether it can begin and end something is a matter of its neighbours.
function delimiter(text, at, n) {
  const ch = text[at];
  const [before, after] = [kindOf(text[at - 1] ?? " "), kindOf(text[at + n] ?? " ")];
  const left = after !== 1 && (after === 0 || before !== 0);
  const right = before !== 1 && (before === 0 || after !== 0);
  const isWord = ch === "_";
  const fits = ch !== "~" || n === 2;
  return { ch, n, total: n, at, canOpen: fits && left && (!isWord || !right || before === 2), canClose: fits && right && (!isWord || !left || after === 2), closes: 0, opens: [], prev: null, next: null };
}

// The reading that is under way; there is one at a time. `first` and `last`: delimiters that may still find a partner. `runs`: where
// backticks are, by how many.
let text = "";
let isOpen = false;
let tokens = [];
let first = null;
let last = null;
let brackets = [];
let runs = null;

// Where the next run of exactly `n` backticks begins, from `from` on.
function closing(n, from) {
  if (!runs) {
    runs = new Map();
    for (const run of text.matchAll(/`+/g)) {
      const list = runs.get(run[0].length) ?? { at: 0, starts: [] };
      list.starts.push(run.index);
      runs.set(run[0].length, list);
    }
    work.steps += text.length;
  }
  const list = runs.get(n);
  while (list && list.at < list.starts.length && list.starts[list.at] < from) list.at += 1;
  return list?.starts[list.at] ?? -1;
}

function code(at) {
  let n = 1;
  while (text[at + n] === "`") n += 1;
  const from = at + n;
  let end = closing(n, from);
  const isUnfinished = end < 0 && isOpen && n < 3 && from < text.length && !SPACE.test(text[from]);
  if (isUnfinished) end = text.length;
  if (end < 0) {
    tokens.push(text.slice(at, from));
    return from;
  }
  let inside = text.slice(from, end).replaceAll("\n", " ");
  if (inside.length > 2 && inside[0] === " " && inside.at(-1) === " " && inside.trim()) inside = inside.slice(1, -1);
  work.steps += end - from;
  tokens.push(h("code", inside));
  return Math.min(text.length, end + n);
}

function run(at) {
  let n = 1;
  while (text[at + n] === text[at]) n += 1;
  work.steps += n;
  const it = delimiter(text, at, n);
  it.prev = last;
  if (last) last.next = it;
  else first = it;
  last = it;
  tokens.push(it);
  return at + n;
}

function bracket(at) {
  const opener = brackets.pop();
  const found = opener && text[at + 1] === "(" ? destination(text, at + 1) : null;
  if (!found) return 0;
  match(opener.last, false);
  tokens[opener.token] = { open: "a", url: found[0], isImage: opener.isImage };
  tokens.push({ close: true });
  // There is no link inside a link.
  if (!opener.isImage) brackets = [];
  return found[1];
}

function address(at) {
  const isAddress = text.startsWith("http", at) && (at === 0 || !/\w/.test(text[at - 1]));
  const found = isAddress ? sticky(BARE, text, at) : null;
  if (!found) return 0;
  let url = found[0];
  let extra = 0;
  for (const it of url) extra += it === ")" ? 1 : it === "(" ? -1 : 0;
  let end = url.length;
  for (; end > 0; end -= 1) {
    const it = url[end - 1];
    if (it === ")" && extra > 0) extra -= 1;
    else if (!"?!.,:;*_~'".includes(it)) break;
  }
  work.steps += url.length;
  url = url.slice(0, end);
  if (linkUrl(url)) tokens.push({ open: "a", url }, url, { close: true });
  else tokens.push(url);
  return at + Math.max(end, 1);
}

function angle(at) {
  if (sticky(BREAK, text, at)) {
    tokens.push(h("br"));
    return BREAK.lastIndex;
  }
  const found = sticky(ANGLE, text, at);
  if (!found) return 0;
  const url = /^(?:https?|mailto):/i.test(found[1]) ? found[1] : `mailto:${found[1]}`;
  tokens.push({ open: "a", url }, found[1], { close: true });
  return at + found[0].length;
}

function lineEnd(at) {
  const before = tokens.at(-1);
  if (typeof before === "string" && before.endsWith("  ")) tokens.push(h("br"));
  else tokens.push("\n");
  return at + 1;
}

function escaped(at) {
  const it = text[at + 1];
  if (it === "\n") tokens.push(h("br"));
  else if (it && PUNCTUATION.test(it)) tokens.push(it);
  else return 0;
  return at + 2;
}

function label(at) {
  const isImage = text[at] === "!";
  if ((isImage && text[at + 1] !== "[") || brackets.length >= BRACKETS_MAX) return 0;
  brackets.push({ token: tokens.length, isImage, last });
  tokens.push(isImage ? "![" : "[");
  return at + (isImage ? 2 : 1);
}

function sign(at) {
  const found = entity(text, at);
  if (!found) return 0;
  tokens.push(found[1]);
  return at + found[0].length;
}

// Each gives the place behind what it has read, or nothing: then the character means itself.
const READERS = { "\\": escaped, "`": code, "[": label, "!": label, "]": bracket, "<": angle, "&": sign, "\n": lineEnd, h: address };

function special(at) {
  const next = (READERS[text[at]] ?? run)(at);
  if (!next) tokens.push(text[at]);
  return next || at + 1;
}

// Pairs delimiters behind `bottom`, and forgets them.
function match(bottom, isEnd) {
  const floors = new Map();
  const least = bottom ? bottom.at + 1 : 0;
  let closer = bottom ? bottom.next : first;
  while (closer) {
    work.steps += 1;
    if (!closer.canClose) {
      closer = closer.next;
      continue;
    }
    const key = "*_~".indexOf(closer.ch) * 6 + (closer.canOpen ? 3 : 0) + (closer.total % 3);
    const floor = floors.get(key) ?? least;
    let opener = closer.prev;
    while (opener && opener.at >= floor && !fit(opener, closer)) {
      work.steps += 1;
      opener = opener.prev;
    }
    if (opener && opener.at >= floor) {
      pair(opener, closer);
      if (closer.n === 0) closer = drop(closer);
    } else {
      floors.set(key, closer.at);
      closer = closer.canOpen ? closer.next : drop(closer);
    }
  }
  if (isOpen && isEnd) finish();
  if (bottom) bottom.next = null;
  else first = null;
  last = bottom;
}

function pair(opener, closer) {
  const n = opener.n >= 2 && closer.n >= 2 ? 2 : 1;
  opener.n -= n;
  closer.n -= n;
  opener.opens.push(closer.ch === "~" ? "del" : n === 2 ? "strong" : "em");
  closer.closes += 1;
  opener.next = closer;
  closer.prev = opener;
  if (opener.n === 0) drop(opener);
}

function drop(it) {
  if (it.prev) it.prev.next = it.next;
  else first = it.next;
  if (it.next) it.next.prev = it.prev;
  else last = it.prev;
  return it.next;
}

// The text still grows: what was begun is shown as if it ended here.
function finish() {
  for (let it = first; it; it = it.next) {
    if (!it.canOpen || it.n > 3) continue;
    if (it.n !== 2) it.opens.push("em");
    if (it.n >= 2) it.opens.push(it.ch === "~" ? "del" : "strong");
    it.n = 0;
  }
}

function read() {
  let at = 0;
  while (at < text.length) {
    if (SPECIALS.has(text[at])) {
      at = special(at);
      continue;
    }
    PLAIN.lastIndex = at;
    PLAIN.test(text);
    tokens.push(text.slice(at, PLAIN.lastIndex));
    work.steps += PLAIN.lastIndex - at;
    at = PLAIN.lastIndex;
  }
  match(null, true);
  return built(tokens);
}

function fit(opener, closer) {
  if (opener.ch !== closer.ch || !opener.canOpen) return false;
  return !((opener.canClose || closer.canOpen) && closer.total % 3 !== 0 && (opener.total + closer.total) % 3 === 0);
}

// A link whose address is still being written shows its label.
function withoutHalves(text) {
  const shown = text.replace(/[*_~`]{1,3}$/, "");
  const at = shown.lastIndexOf("[");
  if (at < 0 || shown.length - at > URL_MAX) return shown;
  const half = /^\[([^[\]\n]*)\](?:\([^()\s]*)?$/.exec(shown.slice(at));
  return half ? shown.slice(0, at - (shown[at - 1] === "!" ? 1 : 0)) + half[1] : shown;
}

// Nodes and strings. `isGrowing`: more is coming behind this text.
export function inline(given, isGrowing) {
  work.steps += 1;
  // Most texts have nothing special in them.
  if (!SPECIAL.test(given) && !given.includes("http")) return [given];
  [text, isOpen, tokens, first, last, brackets, runs] = [isGrowing ? withoutHalves(given) : given, isGrowing, [], null, null, [], null];
  return read();
}
