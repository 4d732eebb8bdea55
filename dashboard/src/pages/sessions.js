// All sessions: to find one, to go on with it, to tidy up.

import { h, redraw } from "../lib/dom.js";
import { debounced } from "../lib/fetching.js";
import { count, money, sessionName } from "../lib/format.js";
import { may } from "../lib/link.js";
import { onNews } from "../lib/live.js";
import { remembered } from "../lib/remember.js";
import { go, href, replaceQuery, route } from "../lib/router.js";
import { soon } from "../lib/soon.js";
import { Badge, Button, Choice, Empty, ErrorNote, Loading, Search, VirtualList, When } from "../ui/parts.js";
import { Small } from "../ui/small.js";
import { deleteRows } from "./sessions/deleting.js";
import { Menu, openMenu } from "./sessions/menu.js";
import { dropRow, hearLane, hearSession, laneOf, list, loadMore, refreshHead, reload, shownRows } from "./sessions/rows.js";
import { Hits, forgetHits, lookAgain, searchFor } from "./sessions/search.js";

const narrow = matchMedia("(max-width: 760px)");
const ROW_PX = 48;
const ROW_NARROW_PX = 68;
const QUERY_CHARS_MAX = 200;
const WORDS = { running: ["info", "runs"], asking: ["warn", "asks"], waiting: ["warn", "waits"] };

const page = { isHere: false, scroll: {}, text: "", isInText: false, active: null, chosen: new Map(), isPointed: false, last: null, read: new Map() };
const rowPx = () => (narrow.matches ? ROW_NARROW_PX : ROW_PX);
const box = () => document.querySelector(".sessions-list .virtual");

// While somebody points at the list or stands in it nothing moves under them; else the newest come to the top by themselves.
const isLookedAt = () => page.isPointed || (page.scroll.top ?? 0) > rowPx() || !!box()?.contains(document.activeElement);
const settle = soon(1000, () => page.isHere && list.newer.size > 0 && (list.newer.has("") && !isLookedAt() ? reload() : refreshHead(isLookedAt())));

// Also while another page is shown: nothing that is gone is in the list when somebody comes back.
onNews("session", ({ sessionId, deleted }) => deleted && (dropRow(sessionId), page.chosen.delete(sessionId)));
// News of the time between are lost.
onNews("connected", () => {
  if (page.isHere && page.isInText) lookAgain();
  if (page.isHere && (list.fault || !isLookedAt())) reload();
  else list.newer.add("");
});

// How far each session was read in this browser, as the page of a session writes it.
function recall() {
  const kept = remembered("read", []);
  page.read = new Map(Array.isArray(kept) ? kept.filter(Array.isArray) : []);
  redraw();
}

function arrive() {
  recall();
  addEventListener("storage", recall);
  page.text = (route.query.get("q") ?? "").slice(0, QUERY_CHARS_MAX);
  page.isInText = route.query.get("in") === "text";
  page.isHere = true;
  forgetHits();
  look();
  return [
    () => removeEventListener("storage", recall),
    onNews("session", (news) => news.deleted || (hearSession(news), settle())),
    onNews("lane", hearLane),
    () => (page.chosen.clear(), (page.isHere = false)),
  ];
}

function look() {
  const query = page.text.trim();
  if (page.isInText) return searchFor(query);
  if (list.isAsked && list.query === query && !list.fault && !list.newer.has("")) return refreshHead(false);
  list.query = query;
  toTop();
  return reload();
}

function toTop() {
  page.scroll.top = 0;
  box()?.scrollTo(0, 0);
}

const lookSoon = debounced(250, () => {
  if (!page.isHere) return;
  const text = page.text.trim();
  replaceQuery([...(text ? [["q", text]] : []), ...(page.isInText ? [["in", "text"]] : [])]);
  look();
});

function showNewer() {
  toTop();
  if (list.newer.has("")) reload();
  else refreshHead(false);
}

function stand(rows, at) {
  const row = rows[Math.max(0, Math.min(rows.length - 1, at))];
  if (!row) return;
  page.active = row.id;
  const element = box();
  const top = rows.indexOf(row) * rowPx();
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + rowPx() > element.scrollTop + element.clientHeight) element.scrollTop = top + rowPx() - element.clientHeight;
  page.scroll.top = element.scrollTop;
  redraw();
  requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(`session-${row.id}`)?.focus({ preventScroll: true })));
}

function onkeydown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const rows = shownRows();
  const at = rows.findIndex((row) => row.id === page.active);
  const seen = Math.max(1, Math.floor((box()?.clientHeight ?? 600) / rowPx()) - 1);
  const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + seen, PageUp: at - seen, Home: 0, End: rows.length - 1 };
  if (event.key in steps) {
    event.preventDefault();
    stand(rows, steps[event.key]);
  } else if (event.key === "Delete" && may("admin") && (page.chosen.size > 0 || at >= 0)) {
    event.preventDefault();
    remove(page.chosen.size > 0 ? [...page.chosen.values()] : [rows[at]]);
    stand(shownRows(), at);
  } else if (event.key === "Enter" && event.target === box() && at >= 0) {
    go("chat", rows[at].id);
  } else if (event.key === " " && at >= 0 && event.target.id === `session-${page.active}`) {
    event.preventDefault();
    page.chosen.delete(page.active) || page.chosen.set(page.active, rows[at]);
    redraw();
  } else if (event.key === "F2" && at >= 0) {
    openMenu(rows[at], document.getElementById(`session-${rows[at].id}`) ?? event.target, true);
  }
}

function remove(rows) {
  deleteRows(rows);
  page.chosen.clear();
  redraw();
}

// With Shift, all between the last one and this.
function choose(row, event) {
  const isOn = event.target.checked;
  const rows = shownRows();
  const [from, to] = [rows.indexOf(page.last), rows.indexOf(row)];
  const all = event.shiftKey && from >= 0 ? rows.slice(Math.min(from, to), Math.max(from, to) + 1) : [row];
  for (const it of all) isOn ? page.chosen.set(it.id, it) : page.chosen.delete(it.id);
  page.last = row;
  redraw();
}

function Row({ row, first }) {
  const lane = laneOf(row);
  const [tone, word] = WORDS[lane.state] ?? [];
  const name = sessionName(row);
  const tabindex = row.id === (page.active ?? first) ? "0" : "-1";
  const { lastMessageAt: at, model = row.config.modelTier } = row;
  const onfocus = () => (page.active = row.id);
  const isUnread = at > page.read.get(row.id)?.at;
  return h("div", { class: page.chosen.has(row.id) ? "session session-chosen" : "session" },
    h("label.session-pick", h("input", { type: "checkbox", checked: page.chosen.has(row.id), "aria-label": `Select ${name}`, tabindex, onfocus, onclick: (event) => choose(row, event) })),
    h("div.session-name",
      h("a", { id: `session-${row.id}`, href: href("chat", row.id), dir: "auto", title: `${name}\n${row.id}${row.cwd ? `\n${row.cwd}` : ""}`, tabindex, onfocus }, name),
      h("span.small.session-id.dim", row.title ? row.id : row.cwd ?? ""),
    ),
    h("span.session-state", isUnread ? Badge({ tone: "info", title: "There is something you have not read here" }, ["new"]) : null, word ? Badge({ tone }, [lane.depth ? `${word}, ${lane.depth} waiting` : word]) : null),
    h("span.session-model.dim", { title: model }, model),
    h("span.session-count.numeric", count(row.messageCount), h("span.session-unit", row.messageCount === 1 ? " message" : " messages")),
    h("span.session-at.dim", at ? h(When, { at }) : "no message"),
    h("span.session-cost.numeric", row.messageCount === 0 ? "–" : row.costUsd === undefined ? "cost unknown" : money(row.costUsd)),
    Small("More", (event) => openMenu(row, event.currentTarget), { class: "button button-small session-more", "aria-haspopup": "dialog", label: `More for ${name}`, tabindex, onfocus }),
  );
}

function Chosen() {
  const { size } = page.chosen;
  if (size === 0) return null;
  return h("div.note.sessions-chosen", { role: "status", key: "chosen" },
    h("span", `${count(size)} selected`),
    h("span.card-actions",
      Small("Clear", () => (page.chosen.clear(), redraw())),
      may("admin") && Button({ kind: "danger", onclick: () => remove([...page.chosen.values()]) }, ["Delete"]),
    ),
  );
}

function List() {
  const rows = shownRows();
  if (!list.isAsked || (list.isLoading && rows.length === 0)) return h(Loading);
  if (list.fault && rows.length === 0) return h(ErrorNote, { why: list.fault, again: reload });
  if (rows.length === 0 && list.query) return h(Empty, { title: "No session has that in its title or id" }, "Look in what was said with “Text” above.");
  if (rows.length === 0) return h(Empty, { title: "No sessions yet" }, "The first message makes one. ", h("a", { href: href("chat") }, "Write it"), ".");
  // One row is on the way of the Tab key; the arrow keys move it.
  const first = rows[0].id;
  if (page.active && !rows.some((row) => row.id === page.active)) page.active = null;
  const isMore = list.newer.size > 0;
  // Who comes back stands where they were.
  const created = (element) => (element.querySelector(".virtual").scrollTop = page.scroll.top ?? 0);
  return h("div.sessions-list", { key: "list", created, onkeydown, onpointerenter: () => (page.isPointed = true), onpointerleave: () => ((page.isPointed = false), settle()) },
    h("p.dim.sessions-count", { role: "status" }, list.isWhole ? `${count(rows.length)} session${rows.length === 1 ? "" : "s"}` : `${count(rows.length)} of ${count(list.total)} sessions loaded`, isMore ? [" · ", Button({ kind: "quiet", onclick: showNewer }, [list.newer.has("") ? "Load them again" : `${count(list.newer.size)} changed: show on top`])] : null),
    h(VirtualList, { state: page.scroll, rows, rowPx: rowPx(), row: (row) => h(Row, { row, first }), keyOf: (row) => row.id, label: "Sessions", onend: loadMore }),
    h(ErrorNote, { why: list.fault, again: () => ((list.fault = null), loadMore()) }),
  );
}

export const sessionsPage = {
  name: "sessions",
  title: "Sessions",
  arrive,
  view() {
    const pick = (isInText) => ((page.isInText = isInText), lookSoon(), redraw());
    return h("div.sessions",
      h("header.page-head", h("h1", "Sessions"), h("a.button", { href: href("chat") }, "New session")),
      h("div.toolbar",
        Search({ label: page.isInText ? "Words in messages" : "Title or id", value: page.text, oninput: (text) => ((page.text = text.slice(0, QUERY_CHARS_MAX)), lookSoon(), redraw()) }),
        Choice({ label: "Where to look", value: page.isInText, options: [[false, "Titles"], [true, "Text"]], onchange: pick }),
        page.isInText ? null : h("span.dim.small.sessions-hint", "Arrow keys move, Enter opens, Space selects, F2 renames, Delete deletes."),
      ),
      h(Chosen),
      page.isInText ? h(Hits) : h(List),
      h(Menu),
    );
  },
};
