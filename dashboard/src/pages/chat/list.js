// A list of rows of any height of which only what is near the view is in the document. Heights are guessed until a row was seen.
// While somebody reads the end it stays at the end; else the row that is read stays where it is, whatever happens above and below.

import { redraw } from "../../lib/dom.js";
import { div } from "../../ui/tags.js";

// Pixels above and below the view that are in the document, and how near their end may come before more is drawn.
const AROUND_PX = 900;
const NEAR_PX = 300;
// So near the end is at the end.
const END_PX = 8;
// A page further is asked for when so little is left.
const MORE_PX = 1500;
// Rows in the document, whatever their heights are thought to be.
const DRAWN_MAX = 120;

export class ListState {
  isStuck = true;
  isGripped = false;
  top = 0;
  height = 700;
  width = 0;
  // The row that stays where it is, and how far its top is from the top of the view.
  anchor;
  // Where to go with the next drawing: the key of a row.
  target;
  first = 0;
  last = 0;
  offsets = new Float64Array(1);
  rows = [];
  kept = new Map();
  element;
}

function measure(state, rows, guess) {
  if (state.offsets.length < rows.length + 1) state.offsets = new Float64Array(Math.ceil((rows.length + 1) * 1.5));
  const { offsets } = state;
  let sum = 0;
  for (let at = 0; at < rows.length; at += 1) {
    offsets[at] = sum;
    sum += rows[at].px ?? guess(rows[at]);
  }
  offsets[rows.length] = sum;
  state.rows = rows;
}

// The row at this place.
function indexAt(state, px) {
  let low = 0;
  let high = state.rows.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (state.offsets[middle] <= px) low = middle;
    else high = middle - 1;
  }
  return Math.min(low, Math.max(0, state.rows.length - 1));
}

function rangeAround(state, top, px) {
  const first = indexAt(state, Math.max(0, top - px));
  const last = Math.min(state.rows.length, indexAt(state, top + state.height + px) + 1);
  return [Math.max(first, last - DRAWN_MAX * 2), last];
}

const anchorAt = (state) => state.rows.findIndex((row) => row.key === state.anchor?.key);
const rowsIn = (element) => element.children[2].children;
const boxOf = (element) => element.getBoundingClientRect();
// What is hidden below.
const belowIn = (element) => element.scrollHeight - element.scrollTop - element.clientHeight;

function place(state) {
  const { rows, offsets } = state;
  if (state.isStuck) return Math.max(0, offsets[rows.length] - state.height);
  const at = anchorAt(state);
  return at < 0 ? state.top : offsets[at] - state.anchor.dy;
}

// `pages`: what has `older()` and `newer()` ones. `draw(row, before, kept)` gives the tree of a row; what it puts into `kept` stays as long as the row is in the document.
export function RowList({ state, rows, draw, guess, pages, head, foot }) {
  measure(state, rows, guess);
  if (state.target) aim(state);
  [state.first, state.last] = rangeAround(state, place(state), AROUND_PX);
  const before = state.kept;
  state.kept = new Map();
  const drawn = [];
  for (let at = state.first; at < state.last; at += 1) drawn.push(draw(rows[at], rows[at - 1], keptOf(state, before, rows[at])));
  const above = state.offsets[state.first];
  const below = state.offsets[rows.length] - state.offsets[state.last];
  const settle = (element) => settled(state, element, pages);
  return div(
    { class: "rows-view", tabindex: "0", role: "region", "aria-label": "Conversation", created: settle, updated: settle, onscroll: (event) => scrolled(state, event.target, pages), onwheel: (event) => event.deltaY < 0 && loosen(state), onclick: (event) => grip(state, event) },
    div(null, head),
    div({ style: { height: `${above}px` } }),
    div({ role: "list" }, drawn),
    div({ style: { height: `${below}px` } }),
    div(null, foot),
  );
}

function keptOf(state, before, row) {
  const kept = before.get(row) ?? {};
  state.kept.set(row, kept);
  return kept;
}

function aim(state) {
  const at = state.rows.findIndex((row) => row.key === state.target);
  if (at < 0) return;
  state.isStuck = false;
  state.anchor = { key: state.target, dy: Math.min(120, state.height / 4) };
  state.target = null;
}

function loosen(state) {
  if (state.element?.scrollHeight > state.element?.clientHeight) state.isStuck = false;
}

// Somebody opens or closes something in a row: it stays under their hand, at the end too.
function grip(state, { target, currentTarget }) {
  if (!target.closest("summary, button")) return;
  const list = [...rowsIn(currentTarget)];
  const found = list.findIndex((it) => it.contains(target));
  const at = found < 0 ? list.length - 1 : found;
  const row = state.rows[state.first + at];
  if (!row) return;
  state.anchor = { key: row.key, dy: boxOf(list[at]).top - boxOf(currentTarget).top };
  state.isStuck = false;
  state.isGripped = true;
  redraw();
}

// Behind each drawing, before it is seen: what the rows really take, and the place that is to be kept.
function settled(state, element, pages) {
  state.element = element;
  const box = boxOf(element);
  if (state.width !== box.width) {
    // Everything flows anew.
    if (state.width) for (const row of state.rows) row.px = undefined;
    state.width = box.width;
  }
  const list = rowsIn(element);
  let isMoved = state.height !== box.height;
  state.height = box.height;
  const first = state.first;
  for (let at = 0; at < list.length; at += 1) {
    const row = state.rows[first + at];
    const px = boxOf(list[at]).height;
    if (row && row.px !== px) {
      row.px = px;
      isMoved = true;
    }
  }
  const wanted = state.isStuck ? element.scrollHeight - element.clientHeight : placeInDocument(state, element, box);
  if (Math.abs(wanted - element.scrollTop) >= 1) element.scrollTop = wanted;
  state.top = element.scrollTop - element.children[0].offsetHeight;
  if (state.isGripped) state.isStuck = belowIn(element) <= END_PX;
  state.isGripped = false;
  if (isMoved && !isCovered(state)) redraw();
  askForMore(element, pages);
}

function placeInDocument(state, element, box) {
  const at = anchorAt(state);
  const shown = at < state.last && rowsIn(element)[at - state.first];
  return element.scrollTop + (shown ? boxOf(shown).top - box.top - state.anchor.dy : 0);
}

// Whether what is drawn is enough for where the view is.
function isCovered(state) {
  const { rows, offsets, first, last } = state;
  let bottom = offsets[first];
  for (let at = first; at < last; at += 1) bottom += rows[at].px ?? 0;
  const isAbove = first === 0 || offsets[first] <= state.top - NEAR_PX;
  return isAbove && (last === rows.length || bottom >= state.top + state.height + NEAR_PX);
}

function scrolled(state, element, pages) {
  const top = element.scrollTop - element.children[0].offsetHeight;
  const isUp = top < state.top - 1;
  state.top = top;
  const wasStuck = state.isStuck;
  if (belowIn(element) <= END_PX) state.isStuck = true;
  else if (isUp) state.isStuck = false;
  if (!state.isStuck) hold(state, element);
  if (state.isStuck !== wasStuck || !isCovered(state)) redraw();
  askForMore(element, pages);
}

// The first row that is seen is the one that stays.
function hold(state, element) {
  const box = boxOf(element);
  const list = rowsIn(element);
  for (let at = 0; at < list.length; at += 1) {
    const { top, bottom } = boxOf(list[at]);
    if (bottom <= box.top + 1) continue;
    const row = state.rows[state.first + at];
    if (row) state.anchor = { key: row.key, dy: top - box.top };
    return;
  }
  // Nothing of what is drawn is in sight: the view has jumped.
  const at = indexAt(state, Math.max(0, state.top));
  if (state.rows[at]) state.anchor = { key: state.rows[at].key, dy: state.offsets[at] - state.top };
}

function askForMore(element, pages) {
  if (element.scrollTop < MORE_PX) pages.older();
  if (belowIn(element) < MORE_PX) pages.newer();
}

export function stickToEnd(state) {
  state.isStuck = true;
  redraw();
}
