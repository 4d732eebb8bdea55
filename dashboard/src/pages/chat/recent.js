// Sessions to switch to, and a new one.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { sessionName } from "../../lib/format.js";
import { link, rpc } from "../../lib/link.js";
import { live } from "../../lib/live.js";
import { go, href } from "../../lib/router.js";
import { Button, Empty, ErrorNote, Loading, When } from "../../ui/parts.js";
import { readOf } from "./memory.js";
import { a, div, input, li, span, ul } from "../../ui/tags.js";

const LISTED = 40;
// News of sessions comes often: the list is asked for so often at most.
const AGAIN_MS = 2000;

const recent = new Fetched();
let seen = -1;
let timer;

// null | { title, cwd, isBusy, fault }
let making = null;

export function wantRecent() {
  if (link.state === "login" || seen === live.sessionsVersion) return;
  const wait = seen < 0 ? 0 : AGAIN_MS;
  if (timer) return;
  timer = setTimeout(() => {
    timer = undefined;
    seen = live.sessionsVersion;
    recent.again(() => rpc("sessions.list", { includePersisted: true, limit: LISTED }));
  }, wait);
}

// Something was said since it was last open here. One that never was open here is not news.
function isUnread(row, current) {
  const read = readOf(row.id);
  return row.id !== current && !!read && (row.lastMessageAt ?? 0) > read.at;
}

const WORK = { running: "working", asking: "asks", waiting: "waits" };

function SessionLine(row, current) {
  const isHere = row.id === current;
  const isNews = isUnread(row, current);
  const work = WORK[live.lanes.get(row.id)?.state ?? row.lane?.state];
  return li(
    { key: row.id },
    a({ href: href("chat", row.id), class: `recent-line${isHere ? " here" : ""}${isNews ? " news" : ""}`, "aria-current": isHere && "page", title: sessionName(row) },
      span({ class: "recent-name", dir: "auto" }, sessionName(row)),
      span("recent-facts", work && span("recent-work", work), isNews && span("recent-news", "new"), When({ at: row.lastMessageAt })),
    ),
  );
}

// Slim, beside a conversation.
export function Side(current) {
  wantRecent();
  const rows = recent.value?.sessions ?? [];
  return h("aside.recent", { "aria-label": "Recent sessions" }, h("h2", "Recent"), ul(null, rows.map((row) => SessionLine(row, current))), a({ href: href("sessions") }, "All sessions"));
}

// Where no session is named.
export function Recent() {
  wantRecent();
  const rows = recent.value?.sessions;
  return h(
    "section.card",
    { "aria-label": "Recent sessions" },
    h("header.card-head", h("h2", "Recent sessions"), a({ href: href("sessions") }, "All sessions")),
    ErrorNote({ why: recent.fault, again: () => ((seen = -1), wantRecent()) }),
    rows ? null : Loading(),
    rows?.length === 0 && h(Empty, { title: "No session yet" }, "Write a message above: it begins one."),
    rows?.length ? ul("recent-list", rows.map((row) => SessionLine(row))) : null,
  );
}

export function startMaking() {
  making = { title: "", cwd: live.info?.cwd ?? "", isBusy: false, fault: null };
  redraw();
}

async function make(event) {
  event.preventDefault();
  making.isBusy = true;
  redraw();
  try {
    const title = making.title.trim();
    const cwd = making.cwd.trim();
    const { sessionId } = await rpc("sessions.create", { ...(title ? { title } : {}), ...(cwd ? { cwd } : {}) });
    making = null;
    go("chat", sessionId);
  } catch (why) {
    if (making) Object.assign(making, { fault: why, isBusy: false });
  }
  redraw();
}

// The form for a new session, where somebody wants one.
export function Making() {
  if (!making) return null;
  const leave = () => {
    making = null;
    redraw();
  };
  return h(
    "form.card.making",
    { onsubmit: make, onkeydown: (event) => event.key === "Escape" && leave(), "aria-label": "New session" },
    h("h2", "New session"),
    h("label.field", span(null, "Title (may be empty)"), input({ value: making.title, maxlength: 200, dir: "auto", oninput: (event) => (making.title = event.target.value), created: (element) => element.focus() })),
    h("label.field", span(null, "Directory on the gateway's machine (empty: its usual one)"), input({ value: making.cwd, maxlength: 4096, placeholder: "/srv/project", oninput: (event) => (making.cwd = event.target.value) })),
    ErrorNote({ why: making.fault }),
    div("toolbar", Button({ type: "submit", kind: "main", busy: making.isBusy }, "Begin"), Button({ onclick: leave }, "Cancel")),
  );
}
