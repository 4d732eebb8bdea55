// The blocks of Markdown: lines to a list of plain objects. Each line is looked at once per level of quotes and lists, and there
// are only so many levels; deeper ones are text.

import { work } from "./mdtree.js";

const DEPTH_MAX = 10;
const COLUMNS_MAX = 40;
// Blocks, items and rows of one reading; behind them is plain text. A document of many small pieces would stop the page.
const BLOCKS_MAX = 5000;
let left = 0;

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t](.*))?$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( +)(.*))?$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const DASHES = /^[ \t]*[|:-][-|: \t]*$/;
const TASK = /^\[([ xX])\][ \t]+/;

function isBlank(line) {
  return line === "" || line.trim() === "";
}

function indentOf(line) {
  let n = 0;
  while (line[n] === " ") n += 1;
  return n;
}

// Tabs at the start of a line count as four spaces.
function untabbed(line) {
  if (!line.includes("\t") || !/^ *\t/.test(line)) return line;
  const end = line.search(/[^ \t]/);
  return end < 0 ? "" : line.slice(0, end).replaceAll("\t", "    ") + line.slice(end);
}

function fenceOf(line) {
  const found = FENCE.exec(line);
  return found && !(found[1][0] === "`" && found[2].includes("`")) ? found : null;
}

// Whether this line ends a paragraph before it.
function interrupts(line) {
  if (!/^ {0,3}[`~#*_+>\d-]/.test(line)) return false;
  if (fenceOf(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
  const item = ITEM.exec(line);
  return !!item && !!item[4] && (!/\d/.test(item[2]) || parseInt(item[2]) === 1);
}

function fence(lines, at) {
  const found = fenceOf(lines[at]);
  if (!found) return null;
  const indent = indentOf(lines[at]);
  const [, mark, info] = found;
  const inside = [];
  let next = at + 1;
  let isClosed = false;
  for (; next < lines.length && !isClosed; next += 1) {
    const line = lines[next];
    const end = line.trim();
    isClosed = end.length >= mark.length && end[0] === mark[0] && indentOf(line) < 4 && end === mark[0].repeat(end.length);
    if (!isClosed) inside.push(line.slice(Math.min(indent, indentOf(line))));
    work.steps += 1;
  }
  return { type: "code", language: info.trim().split(/[\s,{]/, 1)[0], text: inside.join("\n"), isClosed, next };
}

function heading(lines, at) {
  const found = HEADING.exec(lines[at]);
  if (!found) return null;
  let text = (found[2] ?? "").trim();
  let end = text.length;
  while (text[end - 1] === "#") end -= 1;
  if (end === 0 || (end < text.length && text[end - 1] === " ")) text = text.slice(0, end).trim();
  return { type: "heading", level: found[1].length, text, next: at + 1 };
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? { type: "rule", next: at + 1 } : null;
}

function quote(lines, at, depth) {
  if (depth >= DEPTH_MAX || !QUOTE.test(lines[at])) return null;
  const inside = [];
  let next = at;
  let isText = false;
  for (; next < lines.length; next += 1) {
    const line = lines[next];
    const isQuoted = QUOTE.test(line);
    // A line without the mark goes on with the paragraph before it.
    if (!isQuoted && (!isText || isBlank(line) || interrupts(line))) break;
    const shown = isQuoted ? line.replace(QUOTE, "") : line;
    isText = !isBlank(shown) && !fenceOf(shown) && !HEADING.test(shown);
    inside.push(shown);
    work.steps += 1;
  }
  return { type: "quote", blocks: parseBlocks(inside, depth + 1), next };
}

function itemOf(line) {
  const found = /^ {0,3}[-*+\d]/.test(line) ? ITEM.exec(line) : null;
  if (!found || RULE.test(line)) return null;
  const [, indent, mark, spaces, rest] = found;
  const width = indent.length + mark.length;
  const gap = !rest || spaces.length > 4 ? 1 : spaces.length;
  return { indent: indent.length, kind: mark.at(-1), number: parseInt(mark), offset: width + gap, text: line.slice(width + gap), isEmpty: !rest };
}

// The lines of each item, without their indentation.
function itemLines(lines, at) {
  const head = itemOf(lines[at]);
  const items = [];
  let [item, blanks, next, isLoose] = [null, 0, at, false];
  for (; next < lines.length; next += 1) {
    const line = lines[next];
    work.steps += 1;
    if (isBlank(line)) {
      blanks += 1;
      continue;
    }
    const indent = indentOf(line);
    const found = itemOf(line);
    // Many write lists inside of lists with two spaces, whatever the mark above is.
    const isInside = item && (indent >= item.offset || (found && indent >= head.indent + 2));
    if (isInside) {
      for (; blanks > 0; blanks -= 1) item.lines.push("");
      item.lines.push(line.slice(Math.min(indent, item.offset)));
    } else if (found && found.kind === head.kind) {
      if ((left -= 1) < 0 && item) break;
      if (item && blanks > 0) isLoose = true;
      item = { offset: found.offset, lines: [found.text] };
      items.push(item);
    } else if (item && blanks === 0 && !found && !interrupts(line) && !isBlank(item.lines.at(-1))) item.lines.push(line.trimStart());
    else break;
    blanks = 0;
  }
  return { head, items, isLoose, next };
}

function list(lines, at, depth) {
  if (depth >= DEPTH_MAX || !itemOf(lines[at])) return null;
  const { head, items, isLoose, next } = itemLines(lines, at);
  const read = items.map((item) => {
    const task = TASK.exec(item.lines[0]);
    if (task) item.lines[0] = item.lines[0].slice(task[0].length);
    const blocks = parseBlocks(item.lines, depth + 1);
    return { blocks, isTask: !!task, isDone: !!task && task[1] !== " " };
  });
  const isSpaced = read.some((item) => item.blocks.some((block, n) => n > 0 && block.type === "paragraph"));
  return { type: "list", isOrdered: !Number.isNaN(head.number), start: head.number, isLoose: isLoose || isSpaced, items: read, next };
}

function indented(lines, at) {
  if (indentOf(lines[at]) < 4) return null;
  let next = at;
  let end = at;
  for (; next < lines.length && (indentOf(lines[next]) >= 4 || isBlank(lines[next])); next += 1) {
    if (!isBlank(lines[next])) end = next + 1;
    work.steps += 1;
  }
  return { type: "code", language: "", text: lines.slice(at, end).map((line) => line.slice(4)).join("\n"), isClosed: true, next: end };
}

// Cells of a row: a bar behind a backslash is a bar.
function cells(line) {
  const row = line.trim();
  const list = [];
  let cell = "";
  for (let at = row[0] === "|" ? 1 : 0; at < row.length; at += 1) {
    if (row[at] === "\\" && row[at + 1] === "|") cell += row[(at += 1)];
    else if (row[at] === "|") {
      list.push(cell.trim());
      cell = "";
    } else cell += row[at];
  }
  work.steps += row.length;
  if (cell.trim() || row.at(-1) !== "|") list.push(cell.trim());
  return list;
}

// The sides of the columns where the next line says that a table begins at this one.
function columnsAt(lines, at) {
  const dashes = lines[at + 1];
  if (dashes === undefined || !dashes.includes("-") || !DASHES.test(dashes) || !lines[at].includes("|")) return null;
  const marks = cells(dashes);
  if (marks.length > COLUMNS_MAX || !marks.every((mark) => /^:?-+:?$/.test(mark)) || cells(lines[at]).length !== marks.length) return null;
  return marks.map((mark) => (mark.at(-1) === ":" ? (mark[0] === ":" ? "center" : "right") : "left"));
}

function table(lines, at) {
  const sides = columnsAt(lines, at);
  if (!sides) return null;
  const rows = [];
  let next = at + 2;
  for (; next < lines.length && left > 0 && !isBlank(lines[next]) && !interrupts(lines[next]); next += 1) {
    left -= 1;
    const row = cells(lines[next]).slice(0, sides.length);
    while (row.length < sides.length) row.push("");
    rows.push(row);
  }
  return { type: "table", sides, head: cells(lines[at]), rows, next };
}

function paragraph(lines, at) {
  const inside = [lines[at].trimStart()];
  let next = at + 1;
  for (; next < lines.length && !isBlank(lines[next]); next += 1) {
    const line = lines[next];
    const under = UNDERLINE.exec(line);
    if (under) return { type: "heading", level: under[1][0] === "=" ? 1 : 2, text: inside.join("\n").trim(), next: next + 1 };
    if (interrupts(line) || columnsAt(lines, next)) break;
    inside.push(line.trimStart());
    work.steps += 1;
  }
  return { type: "paragraph", text: inside.join("\n").trimEnd(), next };
}

// By the first character there are only one or two that it can be.
function special(lines, at, depth) {
  const indent = indentOf(lines[at]);
  if (indent >= 4) return indented(lines, at);
  const ch = lines[at][indent];
  if (ch === "`" || ch === "~") return fence(lines, at);
  if (ch === "#") return heading(lines, at);
  if (ch === ">") return quote(lines, at, depth);
  if (!"-*_+0123456789".includes(ch)) return null;
  return rule(lines, at) ?? list(lines, at, depth);
}

// Each block knows its `first` line and the `next` one behind it.
export function parseBlocks(given, depth = 0) {
  if (depth === 0) left = BLOCKS_MAX;
  const lines = given.map(untabbed);
  const found = [];
  let at = 0;
  while (at < lines.length) {
    work.steps += 1;
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    if ((left -= 1) < 0) {
      found.push({ type: "rest", text: lines.slice(at).join("\n"), first: at, next: lines.length });
      break;
    }
    const block = special(lines, at, depth) ?? table(lines, at) ?? paragraph(lines, at);
    block.first = at;
    found.push(block);
    at = block.next;
  }
  return found;
}
