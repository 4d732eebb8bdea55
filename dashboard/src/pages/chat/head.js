// The top of a conversation: what it is called, which model answers, what it cost, how full it is, and what its lane does.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { duration, short } from "../../lib/format.js";
import { link, rpc } from "../../lib/link.js";
import { live } from "../../lib/live.js";
import { go, href } from "../../lib/router.js";
import { act } from "../../ui/act.js";
import { Badge, Button } from "../../ui/parts.js";
import { joined } from "../../ui/plain.js";
import { a, div, input, span } from "../../ui/tags.js";
import { costHint, costOf, costText, sum, tokensOf } from "../usage/sums.js";

const TITLE_MAX = 200;

// Of the session that is shown. `edit`: null | { what: "title" | "model", text, isBusy }.
let of = "";
let session = new Fetched();
let context = new Fetched();
let usage = new Fetched();
let edit = null;
let isMenuOpen = false;

function ask(conversation) {
  const { sessionId, runs } = conversation;
  if (of !== sessionId) {
    [of, session, context, usage, edit, isMenuOpen] = [sessionId, new Fetched(), new Fetched(), new Fetched(), null, false];
  }
  if (conversation.isNew || conversation.isLoading || conversation.fault) return;
  want(session, runs, () => rpc("sessions.get", { sessionId, historyLimit: 1 }));
  want(context, runs, () => rpc("system.contextUsage", { sessionId }));
  if (session.value) want(usage, runs, () => rpc("usage.report", { sessionId, groupBy: "model", from: session.value.createdAt.slice(0, 10) }));
}

// One question at a time: runs that end fast would each overtake the answer to the last.
function want(fetched, key, ask) {
  if (!fetched.isLoading) fetched.want(key, ask);
}

function patch(sessionId, change) {
  const under = edit;
  edit.isBusy = true;
  act("That was not changed", async () => {
    await rpc("sessions.patch", { sessionId, ...change });
    edit = null;
    session.stale();
  }, () => (under.isBusy = false));
  redraw();
}

function begin(what, text) {
  edit = { what, text, isBusy: false };
  redraw();
}

// A line that is changed in its place: Enter keeps it, Escape leaves it.
function EditLine({ label, list, onsave }) {
  const keep = (event) => {
    event.preventDefault();
    if (edit.text.trim()) onsave(edit.text.trim());
  };
  const leave = () => {
    edit = null;
    redraw();
  };
  return h(
    "form.edit-line",
    { onsubmit: keep, onkeydown: (event) => event.key === "Escape" && leave() },
    input({ "aria-label": label, value: edit.text, maxlength: TITLE_MAX, dir: "auto", list: list && "known-models", oninput: (event) => (edit.text = event.target.value), created: (element) => (element.focus(), element.select()) }),
    list && h("datalist", { id: "known-models" }, list.map((name) => h("option", { value: name }))),
    Button({ type: "submit", kind: "small", busy: edit.isBusy }, "Save"),
    Button({ kind: "small", onclick: leave }, "Cancel"),
  );
}

function Title(conversation) {
  const { sessionId } = conversation;
  const title = session.value?.title;
  if (edit?.what === "title") return div({ class: "chat-title", key: "edit" }, h("h1.unseen", title ?? sessionId), EditLine({ label: "Title", onsave: (text) => patch(sessionId, { title: text }) }));
  return div({ class: "chat-title", key: "title" }, h("h1", { dir: "auto", title: sessionId }, conversation.isNew ? "New session" : (title ?? sessionId)));
}

function Model(conversation) {
  const model = session.value?.config.modelTier;
  if (!model) return null;
  const save = (text) => patch(conversation.sessionId, { modelTier: text });
  if (edit?.what === "model") return div({ class: "chat-fact", key: "model-edit" }, EditLine({ label: "Model", list: knownModels(model), onsave: save }));
  return Fact("Model", {}, span({ class: "model", title: model }, model), Button({ kind: "quiet", onclick: () => begin("model", model), label: "Change the model" }, "Change"));
}
// What is known, with its name before it.
function Fact(name, attributes, ...shown) {
  return h(attributes.href ? "a" : "span", { class: "chat-fact", key: name, ...attributes }, span("dim", name), shown);
}
function knownModels(model) {
  const names = [...live.lanes.values()].map((lane) => lane.model).concat(live.info?.model, model);
  return [...new Set(names.filter(Boolean))].slice(0, 20);
}

function ContextMeter() {
  const budget = context.value?.sessions[0]?.budget;
  if (!budget) return null;
  const pct = Math.min(100, budget.usagePct);
  const words = `${short(budget.estimatedTokens)} of ${short(budget.contextWindow)} tokens; it is summarised from ${budget.thresholdPct} % on`;
  return Fact("Context", { href: href("context"), title: words },
    span({ class: "gauge", "aria-hidden": "true" }, span({ class: budget.shouldCompact ? "warn" : "", style: { width: `${pct}%` } })),
    span("numeric", `${budget.usagePct} %`),
  );
}

function Cost() {
  const rows = usage.value?.rows;
  if (!rows?.length) return null;
  const all = sum(rows);
  const cost = costOf(all);
  return Fact("Cost", { title: costHint(cost) || "What this session has cost" }, costText(cost), span("dim", ` (${short(tokensOf(all.usage))} tokens)`));
}

// What its lane does and, where that takes long, what it waits for.
function Lane(conversation) {
  const lane = live.lanes.get(conversation.sessionId);
  const run = conversation.transcript.run;
  const asks = conversation.transcript.asks.size;
  if (asks || lane?.state === "asking") return Badge({ tone: "warn" }, "waits for your answer");
  if (run?.isStopping) return Badge({ tone: "warn" }, "stopping");
  if (lane?.state === "running" || run) {
    const since = run?.at ?? lane?.since;
    const facts = joined([since && duration(Math.max(0, Date.now() - since)), lane?.tool]);
    const still = lane?.movedAt ? Date.now() - lane.movedAt : 0;
    const stall = still > 15_000 && lane.stallInMs ? `; nothing for ${duration(still)}, ended in ${duration(Math.max(0, lane.stallInMs - still))}` : "";
    return Badge({ tone: "info" }, `working${facts ? ` (${facts})` : ""}${stall}`);
  }
  if (lane?.state === "waiting") return Badge({ tone: "warn", title: "Other sessions hold all places" }, `waits for a free place${lane.oldestWaitMs ? `, ${duration(lane.oldestWaitMs)}` : ""}`);
  return link.state === "live" && Badge({ tone: "none" }, "idle");
}

// Where it works.
function Place(conversation) {
  const cwd = live.lanes.get(conversation.sessionId)?.cwd ?? conversation.transcript.rows[0]?.cwd;
  return cwd && Fact("In", { title: cwd }, span({ class: "model", dir: "ltr" }, cwd));
}

// A copy, up to an entry or whole, that is called as what it was made of. Gives its id.
export async function copyOf(original, atSeq) {
  const { sessionId } = await rpc("sessions.fork", { sessionId: original, ...(atSeq ? { atSeq } : {}) });
  const title = titleOf(original);
  if (title) await rpc("sessions.patch", { sessionId, title });
  return sessionId;
}

function fork(sessionId) {
  act("It could not be copied", async () => {
    go("chat", await copyOf(sessionId));
    return "This is a copy of the conversation.";
  });
}

function turnMenu(isOpen) {
  isMenuOpen = isOpen;
  redraw();
}

function More(conversation, onnew) {
  const { sessionId } = conversation;
  const file = (format) => `/api/sessions/export?session=${encodeURIComponent(sessionId)}&format=${format}`;
  return div(
    { class: "chat-actions", onfocusout: (event) => isMenuOpen && !event.currentTarget.contains(event.relatedTarget) && turnMenu(false) },
    Button({ onclick: onnew, title: "New session" }, "New"),
    conversation.isNew ? null : Button({ "aria-expanded": String(isMenuOpen), onclick: () => turnMenu(!isMenuOpen) }, "More"),
    isMenuOpen && !conversation.isNew && div(
      { class: "chat-menu", onkeydown: (event) => event.key === "Escape" && turnMenu(false) },
      Button({ onclick: () => (turnMenu(false), begin("title", session.value?.title ?? "")) }, "Rename"),
      Button({ onclick: () => (turnMenu(false), fork(sessionId)), title: "A copy that goes its own way" }, "Fork"),
      ["html", "md", "jsonl"].map((format) => a({ class: "button", href: file(format), download: true }, `Export as ${format}`)),
      a({ class: "button", href: href("chat") }, "All recent sessions"),
    ),
  );
}

// What the tab of the browser says.
export const titleOf = (sessionId) => of === sessionId && session.value?.title;

export function Head(conversation, onnew) {
  ask(conversation);
  return h(
    "header.chat-head",
    div("chat-head-line", Title(conversation), More(conversation, onnew)),
    div("meters", Lane(conversation), Model(conversation), ContextMeter(), Cost(), Place(conversation)),
  );
}
