// Codes by which unknown senders are let in, and who was.

import { serverNow } from "../../lib/clock.js";
import { h } from "../../lib/dom.js";
import { Fetched, busy } from "../../lib/fetching.js";
import { ticking } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { act } from "../../ui/act.js";
import { Listed } from "../../ui/listed.js";
import { Button, Card, When, copyText } from "../../ui/parts.js";
import { Small } from "../../ui/small.js";

const CHANNEL_CHARS_MAX = 64;
const LET_IN = "Senders that were let in";
export const pairing = new Fetched(() => rpc("pairing.list"));
const state = { channel: "", isBusy: false };
const refresh = () => pairing.again();
const leftMs = (row) => Date.parse(row.expiresAt) - serverNow();

function generate(event) {
  event.preventDefault();
  const run = async () => {
    await rpc("pairing.generate", { channel: state.channel.trim() || undefined });
    state.channel = "";
  };
  busy(state, () => act("No code", run, refresh));
}

function Revoke({ params, name }) {
  const revoke = async () => ((await rpc("pairing.revoke", params)).revoked ? `${name} is taken back.` : `${name} was gone already.`);
  return Small("Take back", () => act("It could not be taken back", revoke, refresh), { label: `Take back ${name}` });
}

const CODES = [
  ["Code", (row) => h("code.access-code", row.code)],
  ["Where", (row) => row.channel ?? "any channel"],
  ["How long", (row) => `good for ${ticking(leftMs(row))}`],
  ["Action", (row) => h("span.card-actions", Small("Copy", () => copyText(row.code, "The code"), { label: `Copy ${row.code}` }), Revoke({ params: { code: row.code }, name: row.code }))],
];

const APPROVED = [
  ["Sender", (row) => h("span", { dir: "auto" }, row.senderId)],
  ["Where", (row) => row.channel],
  ["Let in", (row) => h(When, { at: Date.parse(row.approvedAt) })],
  ["Action", (row) => Revoke({ params: { channel: row.channel, senderId: row.senderId }, name: row.senderId })],
];

export function Pairing() {
  const { codes = [], approved } = pairing.value ?? {};
  const label = "Channel (empty: any)";
  return Card({ title: "Pairing", key: "pairing" }, [
    h("p.dim", "An unknown sender who writes a code is let in once and for all. A code is good for five minutes and for one sender."),
    h("form.toolbar.access-form", { onsubmit: generate },
      h("input", { type: "text", "aria-label": label, placeholder: label, maxlength: CHANNEL_CHARS_MAX, value: state.channel, oninput: (event) => (state.channel = event.target.value) }),
      Button({ type: "submit", busy: state.isBusy }, ["Make a code"]),
    ),
    Listed({ fetched: pairing, rows: codes.filter((row) => leftMs(row) > 0), columns: CODES, keyOf: (row) => row.code, caption: "Codes that are good" }),
    approved ? [h("h3.access-sub", LET_IN), Listed({ fetched: { value: approved }, rows: approved, columns: APPROVED, keyOf: (row) => `${row.channel} ${row.senderId}`, caption: LET_IN, empty: "No sender was let in", hint: "They appear here when they have written a code." })] : null,
  ]);
}
