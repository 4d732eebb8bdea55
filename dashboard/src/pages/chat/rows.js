// One row of a conversation.

import { h, redraw } from "../../lib/dom.js";
import { duration, moment, money, once, short } from "../../lib/format.js";
import { href } from "../../lib/router.js";
import { Markdown, MarkdownCache } from "../../ui/markdown.js";
import { Button, copyText } from "../../ui/parts.js";
import { joined, pictureUrl } from "../../ui/plain.js";
import { a, code, div, p, pre, span } from "../../ui/tags.js";
import { Thinking } from "../../ui/thinking.js";
import { ToolCard } from "../../ui/toolcard.js";
import { tokensOf } from "../usage/sums.js";
import { noticeOf, personOf } from "./notices.js";

// Characters of a person's message that are shown at once.
const SHOWN_CHARS = 4000;
const PIECE_CHARS = 6000;
const FROM = { steer: "handed to the run", followup: "follow-up", reminder: "reminder", extension: "from an extension" };
const RUN_ENDS = { complete: ["", "Done"], cancelled: ["warn", "Stopped"], error: ["bad", "Failed"] };

const days = once(() => new Intl.DateTimeFormat([], { dateStyle: "full" }));
const hours = once(() => new Intl.DateTimeFormat([], { timeStyle: "short" }));

// A guess, until the row was drawn.
export function guessPx({ kind, text = "", attachments }) {
  if (kind === "user") return 70 + Math.min(40, text.length / 80) * 22 + (attachments.length ? 160 : 0);
  if (kind === "assistant" || kind === "command") return 55 + (text.length / 90) * 24;
  return kind === "call" ? 52 : 34;
}

// The day where another one begins.
function newDay(row, before) {
  const name = row.at && days().format(row.at);
  return name && !(before?.at && days().format(before.at) === name) && name;
}

// `context`: { sessionId, unreadKey, markedKey, onedit(row)?, nestedOf(row): trees inside the card of a call }
export function Row(row, before, kept, context) {
  const day = newDay(row, before);
  const isMarked = context.markedKey === row.key;
  return div(
    { class: `row row-${row.kind}${isMarked ? " row-marked" : ""}`, key: row.key, role: "listitem" },
    day && p("day", span(null, day)),
    context.unreadKey === row.key && p("unread", span(null, "New since you were here")),
    (BODIES[row.kind] ?? NoticeRow)(row, context, kept, before),
  );
}

function When(row) {
  return row.at && h("time", { datetime: new Date(row.at).toISOString(), title: moment(row.at) }, hours().format(row.at));
}

// What can be done with a message; `#/chat/SESSION?at=SEQ` leads to it.
function Actions(row, context, more) {
  const link = () => copyText(`${location.origin}${location.pathname}${href("chat", context.sessionId, { at: row.seq })}`, "The link");
  return span(
    "row-actions",
    Button({ kind: "quiet", onclick: () => copyText(row.text, "The text") }, "Copy"),
    row.seq && Button({ kind: "quiet", onclick: link, title: "A link to this message" }, "Link"),
    more,
  );
}

export function Attachments(list) {
  if (!list?.length) return null;
  return div("attached", list.map((it) => {
    const url = pictureUrl(it);
    const name = it.filename ?? it.mimeType;
    return url ? a({ href: url, download: it.filename ?? "image", title: name }, h("img", { src: url, alt: name, onload: redraw })) : span(null, name);
  }));
}

export function Words(row) {
  const isCut = row.text.length > SHOWN_CHARS && !row.isWhole;
  const whole = () => ((row.isWhole = true), redraw());
  return [
    div({ class: "words", dir: "auto" }, isCut ? `${row.text.slice(0, SHOWN_CHARS)}…` : row.text),
    isCut && Button({ kind: "small", onclick: whole }, `Show all ${short(row.text.length)} characters`),
  ];
}

function UserRow(row, context, _, before) {
  const edit = context.onedit && row.seq && Button({ kind: "quiet", onclick: () => context.onedit(row), title: "Opens a copy of the conversation up to here, with this text to change" }, "Edit in a fork");
  const isOwn = !FROM[row.from] || row.from === "steer" || row.from === "followup";
  // What a sub-agent is told first comes from its parent.
  const name = before?.parent ? "Task" : personOf(row.by) || "You";
  return h(
    "article",
    { class: isOwn ? "said said-user" : "said said-user said-quiet", "aria-label": isOwn ? "Message" : "Note for the model" },
    div("said-head", h("strong", { dir: "auto" }, name), FROM[row.from] && span("dim", FROM[row.from]), When(row), Actions(row, context, edit)),
    Words(row),
    Attachments(row.attachments),
  );
}

// A paragraph that grows and grows would be laid out whole with each word. While it is written what is far behind stands by itself;
// when it is done it is one again.
function pieces(row, kept) {
  kept.pieces ??= [{ from: 0, cache: new MarkdownCache() }];
  const list = kept.pieces;
  if (!row.isOpen || row.text.length < list.at(-1).from) list.length = 1;
  const last = list.at(-1);
  const start = Math.max(last.from, row.text.lastIndexOf("\n") + 1);
  const cut = row.isOpen && row.text.length - start > PIECE_CHARS ? row.text.lastIndexOf(" ") + 1 : 0;
  if (cut > last.from) {
    last.text = row.text.slice(last.from, cut);
    list.push({ from: cut, cache: new MarkdownCache() });
  }
  list.at(-1).text = row.text.slice(list.at(-1).from);
  return list.map((piece, at) => div({ key: at }, Markdown({ text: piece.text, isOpen: row.isOpen && at === list.length - 1, cache: piece.cache })));
}

function AssistantRow(row, context, kept) {
  return h(
    "article.said.said-assistant",
    { "aria-label": "Answer", "aria-busy": row.isOpen && "true" },
    row.thinking && Thinking({ text: row.thinking, isOpen: row.isOpen && row.text === "", id: row }),
    row.text && pieces(row, kept),
    row.isInterrupted && p("cut", "It was stopped here."),
    row.isOpen ? null : div("said-foot", When(row), Actions(row, context)),
  );
}

function CommandRow(row) {
  return h(
    "article",
    { class: `said said-command${row.ok ? "" : " said-bad"}`, "aria-label": "Answer of the gateway" },
    div("said-head", code({ dir: "auto" }, row.command), span("dim", row.ok ? "answered by the gateway" : "refused by the gateway")),
    pre({ dir: "auto", tabindex: "0" }, row.text),
  );
}

function NoticeRow(row) {
  const { tone, text, quote, link } = noticeOf(row);
  return p({ class: `notice${tone ? ` notice-${tone}` : ""}`, dir: "auto" }, text, quote && h("q", { dir: "auto" }, quote), " ", link && a({ href: href("chat", link.sessionId) }, link.text), " ", When(row));
}

// How a run ended, and what it took.
function RunRow(row) {
  const [tone, word] = RUN_ENDS[row.state] ?? ["warn", row.state];
  const took = row.durationMs ?? (row.startedAt && row.endedAt ? row.endedAt - row.startedAt : undefined);
  const { usage } = row;
  const facts = joined([took !== undefined && duration(took), usage && `${short(tokensOf(usage) - usage.outputTokens)} in, ${short(usage.outputTokens)} out`, usage?.costUsd !== undefined && money(usage.costUsd), row.model], " · ");
  const why = row.state === "complete" ? null : row.message;
  return div(
    { class: `run-end${tone ? ` run-${tone}` : ""}`, title: row.endedAt ? moment(row.endedAt) : undefined },
    span("run-word", word),
    why && span({ class: "run-why", dir: "auto" }, why),
    facts && span("numeric", facts),
  );
}

const CallRow = (row, context) => ToolCard({ call: row.call, nested: context.nestedOf(row) });
const BODIES = { user: UserRow, assistant: AssistantRow, call: CallRow, run: RunRow, command: CommandRow };
