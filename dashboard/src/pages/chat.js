// One session: what was said and done in it, what happens now, and a place to write.

import { h, redraw } from "../lib/dom.js";
import { link, rpc } from "../lib/link.js";
import { live } from "../lib/live.js";
import { go, route } from "../lib/router.js";
import { act } from "../ui/act.js";
import { Composer } from "../ui/composer.js";
import { Button, Empty, ErrorNote, Loading, toast } from "../ui/parts.js";
import { COMMANDS } from "../../../sdk/typescript/dist/generated.js";
import { freshName } from "../../../sdk/typescript/dist/socket.js";
import { Missing, closeChildren, nestedIn } from "./chat/child.js";
import { Conversation } from "./chat/conversation.js";
import { Head, copyOf, titleOf } from "./chat/head.js";
import { ListState, RowList, stickToEnd } from "./chat/list.js";
import { followOthers, keepRead, keepWriting, readOf, writingOf } from "./chat/memory.js";
import { isAnyUnkept, onCommand, send, startOutbox } from "./chat/outbox.js";
import { Making, Recent, Side, startMaking } from "./chat/recent.js";
import { guessPx, Row } from "./chat/rows.js";
import { OnTheWay, QueueChips } from "./chat/waiting.js";
import { div, p } from "../ui/tags.js";

const SAVE_MS = 400;
// What is marked by a link stays marked so long.
const MARK_MS = 4000;

// For ears.
const SAID = { complete: "The answer is complete.", error: "The run has failed.", cancelled: "The run was stopped." };

// Null where no session is named.
let chat = null;
let commands = null;
let ticking = 0;

class Chat {
  list = new ListState();
  unreadKey;
  markedKey;
  // The entry that a link names, until it is found.
  wanted;
  // Up to where somebody has seen the end.
  seenSeq = 0;
  // For ears: how the last run ended.
  said = "";
  conversation;

  constructor(sessionId, at) {
    this.sessionId = sessionId;
    this.wanted = this.linked = at;
    this.readSeq = readOf(sessionId)?.seq;
    this.composer = writingOf(sessionId);
    if (!sessionId) return;
    this.conversation = new Conversation(sessionId, at);
    this.conversation.onNews = (event) => hear(this, event);
  }
}

function hear(it, event) {
  if (event.event !== "run_state") return;
  const { state } = event.data;
  it.said = SAID[state] ?? "";
}

// What this browser remembers is written a moment later, and not with every word of an answer.
let saving;
function saveSoon() {
  saving ??= setTimeout(() => {
    saving = undefined;
    keepWriting();
    const { conversation, list } = chat ?? {};
    const { lastSeq, lastAt } = conversation?.transcript ?? {};
    if (lastSeq && list.isStuck && conversation.isAtEnd && document.visibilityState === "visible") keepRead(chat.sessionId, lastSeq, lastAt ?? Date.now());
  }, SAVE_MS);
}

function close() {
  keepWriting();
  chat?.conversation?.close();
  closeChildren();
  chat = null;
  clearInterval(ticking);
  ticking = 0;
}

function start() {
  startOutbox();
  onCommand((sessionId, text, result) => {
    if (chat?.sessionId !== sessionId) return toast(result.content.slice(0, 300));
    chat.conversation.transcript.addLocal({ kind: "command", command: text.trim(), text: result.content, ok: result.command.ok });
    redraw();
  });
  followOthers();
  // The browser asks whether to leave where something is in this page alone.
  addEventListener("beforeunload", (event) => (!keepWriting() || isAnyUnkept()) && event.preventDefault());
  // Whoever was away begins where they stopped to read.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !chat?.seenSeq) return;
    chat.readSeq = chat.seenSeq;
    redraw();
  });
}
start();

function askCommands() {
  if (commands) return commands;
  commands = [...COMMANDS].map((name) => ({ name }));
  rpc("commands.list").then((answer) => {
    commands = answer.commands;
    redraw();
  }, () => (commands = null));
  return commands;
}

function submit({ text, attachments }) {
  const written = chat;
  const sessionId = chat.sessionId || `ws:${freshName()}`;
  const shown = chat.sessionId ? chat : new Chat(sessionId);
  const { conversation } = shown;
  if (!conversation.isAtEnd && !conversation.isLoading) toEnd();
  try {
    send(sessionId, text, attachments, conversation.ready(text));
  } catch (why) {
    if (shown !== written) conversation.close();
    return toast(why.message);
  }
  Object.assign(written.composer, { text: "", attachments: [] });
  keepWriting();
  if (shown !== written) {
    close();
    begin(shown);
    return go("chat", sessionId);
  }
  stickToEnd(chat.list);
}

function begin(it) {
  chat = it;
  ticking = setInterval(() => chat?.conversation?.transcript.run && redraw(), 1000);
}

function stop() {
  act("It could not be stopped", async () => (await rpc("agent.cancel", { sessionId: chat.sessionId })).cancelled || "Nothing was running.");
}

// A copy of the conversation up to a message, with its text to be changed.
function edit(row) {
  return act("It could not be copied", async () => {
    const copy = await copyOf(chat.sessionId, row.seq);
    const attachments = row.attachments.map((it) => ({ filename: "image", bytes: Math.floor((it.data.length * 3) / 4), ...it }));
    Object.assign(writingOf(copy), { text: row.text, attachments });
    go("chat", copy);
    return "This is a copy up to that message. Change it and send it.";
  });
}

function toEnd() {
  chat.wanted = undefined;
  if (!chat.conversation.isAtEnd) chat.conversation.open();
  stickToEnd(chat.list);
}

// The message that a link names, or where the reader was: once, when the rows are there.
function find() {
  const { conversation, list } = chat;
  if (conversation.isLoading || conversation.fetching === "newer") return;
  const { rows } = conversation.transcript;
  if (chat.wanted) {
    const row = rows.find((it) => it.seq >= chat.wanted);
    chat.wanted = undefined;
    if (!row) return;
    list.target = chat.markedKey = row.key;
    setTimeout(() => ((chat.markedKey = null), redraw()), MARK_MS);
  } else if (chat.readSeq !== undefined) {
    const at = rows.findIndex((it) => it.seq > chat.readSeq && it.kind !== "notice" && it.kind !== "run");
    if (at > 0) chat.unreadKey = rows[at].key;
    // Who reads further up is left there.
    if (at > 0 && list.isStuck) list.target = chat.unreadKey;
  }
  chat.readSeq = undefined;
}

function arrive() {
  const at = Number(route.query.get("at")) || undefined;
  const isOther = chat?.sessionId !== route.arg;
  if (isOther) {
    close();
    begin(new Chat(route.arg, at));
  } else if (at !== chat.linked) {
    chat.linked = at;
    if (at) look(at);
  }
}
// A link to another message of the same session.
function look(at) {
  const { transcript } = chat.conversation;
  chat.wanted = at;
  if (at < transcript.firstSeq || at > transcript.lastSeq) chat.conversation.open(at);
}

function watchReader() {
  const { conversation, list } = chat;
  const { transcript } = conversation;
  if (!list.isStuck || !conversation.isAtEnd) return;
  if (!document.hidden) chat.seenSeq = transcript.lastSeq;
  conversation.tidy();
}

function Rows() {
  const { conversation, list } = chat;
  const { transcript } = conversation;
  const context = { sessionId: chat.sessionId, unreadKey: chat.unreadKey, markedKey: chat.markedKey, onedit: !link.lacks.has("chat") && edit, nestedOf: nestedIn(conversation) };
  const isNews = transcript.lastSeq > chat.seenSeq;
  const head = conversation.fetching === "older" ? Loading() : conversation.pageFault && ErrorNote({ why: conversation.pageFault, again: () => conversation.again() });
  const foot = conversation.isAtEnd ? OnTheWay(conversation) : Loading();
  return div(
    "rows-box",
    RowList({ state: list, rows: transcript.rows, draw: (row, before, kept) => Row(row, before, kept, context), guess: guessPx, pages: conversation, head, foot }),
    list.isStuck && conversation.isAtEnd ? null : div("to-end", Button({ onclick: toEnd }, isNews ? "New messages" : "Go to the end")),
    p({ class: "unseen", role: "status" }, chat.said),
  );
}

function Middle() {
  const { conversation } = chat;
  if (conversation.isLoading || conversation.fault) return div("rows-box", Missing(conversation));
  find();
  watchReader();
  const isEmpty = conversation.transcript.rows.length === 0 && OnTheWay(conversation).flat().filter(Boolean).length === 0;
  if (isEmpty) return div("rows-box", h(Empty, { title: "Nothing was said yet" }, "Write what you want done. It works in the session's directory, and asks before it does what it may not do."));
  return Rows();
}

// Where the focus went with what was there before. A finger would get a keyboard that it did not ask for.
function takeFocus(element) {
  if (document.activeElement === document.body && matchMedia("(pointer: fine)").matches) element.focus();
}

function Writing() {
  if (link.lacks.has("chat")) return p("dim", "Your token may read, and not write: it lacks the scope chat.");
  const { conversation } = chat;
  const lane = live.lanes.get(chat.sessionId);
  const isRunning = !!conversation && (!!conversation.transcript.run || lane?.state === "running" || lane?.state === "asking");
  const more = lane?.depth ? { stop: "Stop all", stopHint: "Stops the run and takes back what waits" } : {};
  return Composer({ state: chat.composer, onsend: submit, onstop: stop, ...more, created: takeFocus, isRunning, commands: askCommands(), placeholder: isRunning ? "Write; it waits its turn in this session's lane" : "Write a message, or / for commands" });
}

export const chatPage = {
  name: "chat",
  title: "Chat",
  leave: close,
  tab: () => titleOf(route.arg),
  view() {
    if (!live.can) return Loading();
    arrive();
    saveSoon();
    if (!chat.conversation) return div("chat-start", div("chat-head-line", h("h1", "Chat"), Button({ onclick: startMaking }, "New session in a directory")), Making(), Writing(), Recent());
    return div(
      { class: "chat", key: chat.sessionId },
      div("chat-main", Head(chat.conversation, startMaking), Making(), Middle(), QueueChips(chat.conversation), Writing()),
      Side(chat.sessionId),
    );
  },
};
