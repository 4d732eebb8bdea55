// What a sub-agent does, inside the card of the call that it works for. It is followed only while somebody has it open.

import { h, redraw } from "../../lib/dom.js";
import { href } from "../../lib/router.js";
import { Button, ErrorNote, Loading } from "../../ui/parts.js";
import { kept } from "../../ui/plain.js";
import { Conversation } from "./conversation.js";
import { Row } from "./rows.js";
import { a, div, p } from "../../ui/tags.js";

// Open at a time; one more closes the one that was opened first. And the newest rows of each that are shown.
const OPEN_MAX = 6;
const ROWS_MAX = 80;

// By session: { conversation, drawn }.
const opened = new Map();

function toggle(sessionId) {
  if (!close(sessionId)) {
    opened.set(sessionId, { conversation: new Conversation(sessionId), drawn: new WeakMap() });
    if (opened.size > OPEN_MAX) close(opened.keys().next().value);
  }
  redraw();
}
function close(sessionId) {
  opened.get(sessionId)?.conversation.close();
  return opened.delete(sessionId);
}
export function closeChildren() {
  for (const sessionId of [...opened.keys()]) close(sessionId);
}

// Inside the card of a call: a list of trees, or nothing.
export function nestedIn(conversation) {
  return (row) => {
    const sessionId = conversation.children.of(row);
    return sessionId && [Child(sessionId)];
  };
}

function Child(sessionId) {
  const shown = opened.get(sessionId);
  return div(
    { class: "child", key: `child-${sessionId}` },
    div("child-head",
      Button({ kind: "small", "aria-expanded": String(!!shown), onclick: () => toggle(sessionId) }, `${shown ? "Hide" : "Show"} what the sub-agent does`),
      a({ href: href("chat", sessionId) }, "Open it as a page"),
    ),
    shown && ChildRows(sessionId, shown),
  );
}

// In the place of rows that are not there.
export function Missing(conversation) {
  return conversation.isLoading ? Loading() : ErrorNote({ why: conversation.fault, again: () => conversation.again() });
}

function ChildRows(sessionId, { conversation, drawn }) {
  if (conversation.isLoading || conversation.fault) return Missing(conversation);
  const all = conversation.transcript.rows;
  const rows = all.slice(-ROWS_MAX);
  const context = { sessionId, nestedOf: nestedIn(conversation) };
  const isMore = rows.length < all.length || !conversation.isWhole;
  const trees = rows.map((row, at) => Row(row, rows[at - 1], kept(drawn, row, [], () => ({})), context));
  return div(
    { class: "child-rows", role: "list", "aria-label": "What the sub-agent does" },
    isMore && p({ class: "notice", key: "more" }, "Older rows: ", a({ href: href("chat", sessionId) }, "open it as a page")),
    rows.length ? trees : p({ class: "notice", key: "none" }, "Nothing yet."),
  );
}
