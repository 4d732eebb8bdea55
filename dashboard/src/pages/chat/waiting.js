// What is not in the conversation yet: messages on their way, messages that wait in the lane, questions that hold the run.

import { h } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { ago, count } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { live, openAsks } from "../../lib/live.js";
import { act } from "../../ui/act.js";
import { Button } from "../../ui/parts.js";
import { div, li, p, span, ul } from "../../ui/tags.js";
import { cut, joined } from "../../ui/plain.js";
import { ToolCard } from "../../ui/toolcard.js";
import { personOf } from "./notices.js";
import { drop, giveBackText, ours, outboxOf, putBack, retry, wordsOf } from "./outbox.js";
import { Attachments, Words } from "./rows.js";

// Characters of a chip.
const CHIP_CHARS = 120;
// Chips at once; the others are a number.
const CHIPS_MAX = 5;

let queue = new Fetched();
let queueOf = "";

function Sending(item) {
  const isFailed = item.state === "failed";
  const isBack = item.state === "back";
  return div(
    { class: "row row-user", key: item.key },
    h("article", { class: `said said-user said-${item.state}`, "aria-label": "Message on its way" },
      div("said-head", h("strong", "You"), span({ class: isFailed ? "fault" : "dim", role: "status" }, wordsOf(item)),
        span("row-actions always",
          isBack && Button({ kind: "quiet", onclick: () => putBack(item), title: "Into the composer, behind what is there" }, "Put back"),
          (isFailed || isBack) && [Button({ kind: "quiet", onclick: () => retry(item) }, "Send again"), Button({ kind: "quiet", onclick: () => drop(item) }, "Discard")],
        ),
      ),
      Words(item),
      Attachments(item.attachments),
    ),
  );
}

// The same object each time: what somebody opens is known by it.
function callOf(ask) {
  ask.call ??= { callId: ask.callId, tool: ask.tool, args: ask.args, state: "asking", startedAt: ask.openedAt, attachments: [] };
  return ask.call;
}

// Something goes on, and there is nothing to see of it yet.
function Working({ run, open, rows }, isBusy) {
  if (!isBusy || open || rows.at(-1)?.call?.state === "running") return null;
  return div({ class: "row row-notice", key: "working" }, p("notice working", run?.isStopping ? "Stopping…" : "Working…"));
}

// A call that has begun waits in its own card. Gives the others.
function withoutCard(asks, rows) {
  const open = new Set(asks.map((ask) => ask.callId));
  for (let at = rows.length - 1; at >= 0 && rows[at].kind !== "user"; at -= 1) {
    const { call } = rows[at];
    if (call?.state !== "running" && call?.state !== "asking") continue;
    call.state = open.delete(call.callId) ? "asking" : "running";
  }
  return asks.filter((ask) => open.has(ask.callId));
}

// At the end of the rows.
export function OnTheWay(conversation) {
  // What waits is a chip.
  const sent = outboxOf(conversation.sessionId).filter((item) => item.state !== "waiting");
  const asks = openAsks().filter((ask) => ask.sessionId === conversation.sessionId);
  const isBusy = asks.length === 0 && (conversation.transcript.run || live.lanes.get(conversation.sessionId)?.state === "running");
  return [
    withoutCard(asks, conversation.transcript.rows).map((ask) => div({ class: "row row-call", key: ask.askId }, ToolCard({ call: callOf(ask) }))),
    Working(conversation.transcript, isBusy),
    sent.map(Sending),
  ];
}

// What this page has sent comes back whole, by its own run.
export async function takeOut(sessionId, { itemId, text }) {
  const isOurs = ours(sessionId, "waiting", text);
  const { removed } = await rpc("queue.remove", { sessionId, itemId });
  if (removed && text && !isOurs) giveBackText(sessionId, text);
  return removed;
}
function takeBack(sessionId, item) {
  act("It could not be taken back", async () => (await takeOut(sessionId, item)) || "It is not waiting any more.", () => queue.stale());
}

function itemsOf(conversation) {
  const { sessionId, queueVersion, transcript } = conversation;
  if (queueOf !== sessionId) [queue, queueOf] = [new Fetched(), sessionId];
  const depth = live.lanes.get(sessionId)?.depth ?? 0;
  if (depth === 0 && transcript.queue.size === 0) return [];
  if (!queue.isLoading) queue.want(`${queueVersion} ${depth}`, () => rpc("queue.list", { sessionId }));
  return queue.value?.items ?? [];
}

function Chip(item, sessionId) {
  const text = item.text ?? "A message";
  const shown = cut(text, CHIP_CHARS);
  const facts = joined([personOf(item.by), item.at && ago(item.at), item.attachments && `${item.attachments} attached`], " · ");
  return li(
    { class: "wait", key: item.itemId, title: text },
    span({ class: "wait-text", dir: "auto" }, shown),
    facts && span("dim", facts),
    Button({ kind: "small", label: `Take back: ${shown}`, onclick: () => takeBack(sessionId, item) }, "Take back"),
  );
}

const MODES = { collect: "in their order", followup: "each as its own turn", steer: "at the run's next step", steer_backlog: "at the run's next step", interrupt: "at once, instead of what runs" };

// What waits in the lane, above the composer.
export function QueueChips(conversation) {
  const items = itemsOf(conversation);
  if (items.length === 0) return null;
  const mode = live.lanes.get(conversation.sessionId)?.mode;
  return h(
    "section.waits",
    { "aria-label": "Waiting messages" },
    p(null, `${count(items.length)} waiting`, mode && span("dim", `, taken ${MODES[mode] ?? mode}`)),
    ul(null, items.slice(0, CHIPS_MAX).map((item) => Chip(item, conversation.sessionId)), items.length > CHIPS_MAX && li({ class: "wait", key: "more" }, `and ${items.length - CHIPS_MAX} more`)),
  );
}
