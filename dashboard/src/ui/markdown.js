// Markdown as a tree of nodes. There is no HTML on the way: what looks like HTML is text, a link is made here and its address is
// one of a closed list, a picture is a link and loads nothing.

import { h, redraw } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { Diff } from "./diff.js";
import { highlight } from "./highlight.js";
import { parseBlocks } from "./mdblocks.js";
import { inline } from "./mdinline.js";
import { Button } from "./parts.js";
import { CopyButton, scrolls } from "./plain.js";
import { code, div, input, li, p, pre, span } from "./tags.js";

// Characters of one text that are in the document; the others on demand.
const TEXT_MAX = 100_000;
// The line that is being written, when nobody can know yet what it will be: it waits for its next characters.
const HALF_LINE = /(?:^|\n)[ >]{0,12}(?:[-*+=_]{1,40}|#{1,6}|[`~]{1,2}|\d{1,3}[.)])[ ]?$/;

function heading(block, place) {
  // One below the last one at most, so that no level is left out; the size is that of the writer.
  const level = Math.min(block.level + 2, place.level + 1, 6);
  place.level = level;
  return h(`h${level}`, { class: `md-h${block.level}`, dir: place.dir }, inline(block.text, place.isOpen));
}

function codeBlock(block) {
  const language = block.language.toLowerCase();
  const isDiff = language === "diff" || language === "patch";
  const shown = isDiff ? Diff({ text: block.text }) : pre({ dir: "ltr", ...scrolls(language ? `Code, ${language}` : "Code") }, code(null, highlight(block.text, language)));
  return div("md-code", div("md-code-head", span(null, block.language), CopyButton({ text: block.text, what: "The code" })), shown);
}

function itemNode(item, isLoose, place) {
  const box = item.isTask && input({ type: "checkbox", disabled: true, checked: item.isDone, "aria-label": item.isDone ? "done" : "to do" });
  return li(item.isTask && "md-task", box, each(item.blocks, place, (block, here) => (block.type === "paragraph" && !isLoose ? inline(block.text, here.isOpen) : blockNode(block, here))));
}

function listNode({ items, isLoose, isOrdered, start }, place) {
  return h(isOrdered ? "ol" : "ul", { class: isLoose && "md-loose", start: isOrdered && start !== 1 && start, dir: place.dir }, each(items, place, (item, here) => itemNode(item, isLoose, here)));
}

function tableNode(block, place) {
  const cell = (tag, text, at, isOpen) => h(tag, { class: `md-${block.sides[at]}`, dir: "auto", scope: tag === "th" && "col" }, inline(text, isOpen));
  const head = h("thead", h("tr", block.head.map((text, at) => cell("th", text, at, false))));
  const last = block.rows.length - 1;
  const rows = block.rows.map((row, n) => h("tr", row.map((text, at) => cell("td", text, at, place.isOpen && n === last))));
  return div({ class: "md-table", ...scrolls("Table") }, h("table", head, h("tbody", rows)));
}

// What is inside of something. The whole of a quote or a list has one direction, that of its first letter: only what is outermost
// says so.
function each(list, place, make) {
  return list.map((it, at) => {
    const here = { level: place.level, isOpen: place.isOpen && at === list.length - 1 };
    const made = make(it, here);
    place.level = here.level;
    return made;
  });
}

function blockNode(block, place) {
  switch (block.type) {
    case "heading":
      return heading(block, place);
    case "code":
      return codeBlock(block);
    case "rule":
      return h("hr");
    case "rest":
      return pre({ class: "md-rest", dir: place.dir }, block.text);
    case "quote":
      return h("blockquote", { dir: place.dir }, each(block.blocks, place, blockNode));
    case "list":
      return listNode(block, place);
    case "table":
      return tableNode(block, place);
    default:
      return p({ dir: place.dir }, inline(block.text, place.isOpen));
  }
}

let caches = 0;

// What is known of one message's text, one for each place where it is shown. Blocks that can change no more are kept, so that a
// text that grows is read from its last block on.
export class MarkdownCache {
  key = `md-${(caches += 1)}`;
  // The text of those blocks, their nodes, and the level of the last heading among them.
  done = "";
  nodes = [];
  level = 2;
  // Somebody wants to see a very long text whole.
  isWhole = false;
  // The last answer, and to what.
  text;
  isOpen;
  shown;
  // Characters that were read in all, for tests.
  read = 0;
}

// The nodes of the blocks of `text`.
export function cachedBlocks(cache, text, isOpen) {
  if (!text.startsWith(cache.done)) Object.assign(cache, { done: "", nodes: [], level: 2 });
  const half = isOpen ? HALF_LINE.exec(text.slice(-60)) : null;
  const rest = text.slice(cache.done.length, half ? text.length - half[0].trimStart().length : text.length);
  const lines = rest.split("\n");
  cache.read += rest.length;
  const blocks = parseBlocks(lines);
  // A block is done when the first line of the next one is whole: until then it could still belong to it.
  let fixed = 0;
  while (fixed + 1 < blocks.length && blocks[fixed + 1].first < lines.length - 1) fixed += 1;
  const place = { level: cache.level, isOpen: false, dir: "auto" };
  const node = (block, at) => {
    const made = blockNode(block, place);
    // Kept nodes need a name: a nameless one could be taken for its neighbour.
    made.key = at;
    return made;
  };
  for (const block of blocks.slice(0, fixed)) cache.nodes.push(node(block, cache.nodes.length));
  cache.level = place.level;
  if (fixed > 0) cache.done += lines.slice(0, blocks[fixed].first).join("\n") + "\n";
  const open = blocks.slice(fixed).map((block, at, all) => {
    place.isOpen = isOpen && at === all.length - 1;
    return node(block, cache.nodes.length + at);
  });
  return [...cache.nodes, ...open];
}

// `cache`: see there. Without one everything is read with each drawing.
export function Markdown({ text, isOpen, cache: given }) {
  const cache = given ?? new MarkdownCache();
  if (cache.text === text && cache.isOpen === !!isOpen && cache.shown) return cache.shown;
  // Who has seen it grow has all of it, and each step was small.
  Object.assign(cache, { text, isOpen: !!isOpen, isWhole: cache.isWhole || !!isOpen });
  const whole = String(text ?? "").replace(/\r\n?/g, "\n");
  const more = cache.isWhole ? 0 : whole.length - TEXT_MAX;
  const blocks = cachedBlocks(cache, more > 0 ? whole.slice(0, TEXT_MAX) : whole, !!isOpen);
  const showAll = () => {
    Object.assign(cache, { isWhole: true, shown: null });
    redraw();
  };
  const rest = more > 0 && p({ key: "rest" }, Button({ kind: "small", onclick: showAll }, `Show ${count(more)} more characters`));
  cache.shown = div({ class: "md", key: given?.key }, blocks, rest);
  return cache.shown;
}
