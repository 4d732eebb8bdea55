// Codes by which unknown senders are let in, and who was.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { ticking } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { has } from "../../lib/live.js";
import { Button, Card, Empty, ErrorNote, Loading, Table, When, copyText, toast } from "../../ui/parts.js";

const CHANNEL_CHARS_MAX = 64;
const pairing = { list: new Fetched(), channel: "", isBusy: false };

export function refreshPairing() {
  if (has("pairing.list")) pairing.list.again(() => rpc("pairing.list"));
}

// Whether something on the page changes by the second.
export function hasCodes() {
  return (pairing.list.value?.codes ?? []).length > 0;
}

async function generate(event) {
  event.preventDefault();
  const channel = pairing.channel.trim();
  pairing.isBusy = true;
  redraw();
  try {
    await rpc("pairing.generate", channel ? { channel } : {});
    pairing.channel = "";
  } catch (why) {
    toast(`No code: ${why.message}`, { tone: "bad" });
  }
  pairing.isBusy = false;
  refreshPairing();
}

async function revoke(params, what) {
  try {
    const { revoked } = await rpc("pairing.revoke", params);
    toast(revoked ? `${what} is taken back.` : `${what} was gone already.`);
  } catch (why) {
    toast(`It could not be taken back: ${why.message}`, { tone: "bad" });
  }
  refreshPairing();
}

function left(row) {
  const ms = row.expiresAt - Date.now();
  return ms > 0 ? `good for ${ticking(ms)}` : "not good any more";
}

const CODES = [
  { head: "Code", cell: (row) => h("code", { class: "access-code" }, row.code) },
  { head: "Where", cell: (row) => row.channel ?? "any channel" },
  { head: "How long", cell: left },
  { head: "Action", cell: (row) => h("span", { class: "card-actions" }, Button({ kind: "small", label: `Copy ${row.code}`, onclick: () => copyText(row.code, "The code") }, ["Copy"]), Button({ kind: "small", label: `Take back ${row.code}`, onclick: () => revoke({ code: row.code }, "The code") }, ["Take back"])) },
];

const APPROVED = [
  { head: "Sender", cell: (row) => h("span", { dir: "auto" }, row.senderId) },
  { head: "Where", cell: (row) => row.channel },
  { head: "Let in", cell: (row) => h(When, { at: row.approvedAt }) },
  { head: "Action", cell: (row) => Button({ kind: "small", label: `Take back ${row.senderId}`, onclick: () => revoke({ channel: row.channel, senderId: row.senderId }, "The sender") }, ["Take back"]) },
];

export function Pairing() {
  if (!has("pairing.list")) return null;
  const { value, fault } = pairing.list;
  const form = h("form", { class: "toolbar access-form", onsubmit: generate },
    h("input", { type: "text", "aria-label": "Channel (empty: any)", placeholder: "Channel (empty: any)", maxlength: CHANNEL_CHARS_MAX, value: pairing.channel, oninput: (event) => (pairing.channel = event.target.value) }),
    Button({ type: "submit", busy: pairing.isBusy }, ["Make a code"]),
  );
  const codes = (value?.codes ?? []).filter((row) => row.expiresAt > Date.now());
  return Card({ title: "Pairing", key: "pairing" }, [
    h("p", { class: "dim" }, "An unknown sender who writes a code is let in once and for all. A code is good for five minutes and for one sender."),
    form,
    h(ErrorNote, { why: fault, again: refreshPairing }),
    !value && !fault ? h(Loading, {}) : null,
    codes.length ? Table({ columns: CODES, rows: codes, keyOf: (row) => row.code, caption: "Codes that are good" }) : null,
    value ? h("h3", { class: "access-sub" }, "Senders that were let in") : null,
    value && value.approved.length === 0 ? h(Empty, { title: "No sender was let in" }, "They appear here when they have written a code.") : null,
    value?.approved.length ? Table({ columns: APPROVED, rows: value.approved, keyOf: (row) => `${row.channel} ${row.senderId}`, caption: "Senders that were let in" }) : null,
  ]);
}
