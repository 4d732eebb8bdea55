// Codes by which unknown senders are let in, and who was.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { ticking } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { has } from "../../lib/live.js";
import { act } from "../../ui/act.js";
import { Listed } from "../../ui/listed.js";
import { Button, Card, When, copyText } from "../../ui/parts.js";

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
  await act("No code", async () => {
    await rpc("pairing.generate", channel ? { channel } : {});
    pairing.channel = "";
  });
  pairing.isBusy = false;
  refreshPairing();
}

function Revoke({ params, name }) {
  const revoke = async () => ((await rpc("pairing.revoke", params)).revoked ? `${name} is taken back.` : `${name} was gone already.`);
  return Button({ kind: "small", label: `Take back ${name}`, onclick: () => act("It could not be taken back", revoke, refreshPairing) }, ["Take back"]);
}

const CODES = [
  ["Code", (row) => h("code.access-code", row.code)],
  ["Where", (row) => row.channel ?? "any channel"],
  ["How long", (row) => `good for ${ticking(row.expiresAt - Date.now())}`],
  ["Action", (row) => h("span.card-actions", Button({ kind: "small", label: `Copy ${row.code}`, onclick: () => copyText(row.code, "The code") }, ["Copy"]), Revoke({ params: { code: row.code }, name: row.code }))],
];

const APPROVED = [
  ["Sender", (row) => h("span", { dir: "auto" }, row.senderId)],
  ["Where", (row) => row.channel],
  ["Let in", (row) => h(When, { at: row.approvedAt })],
  ["Action", (row) => Revoke({ params: { channel: row.channel, senderId: row.senderId }, name: row.senderId })],
];

export function Pairing() {
  if (!has("pairing.list")) return null;
  const fetched = pairing.list;
  const { codes, approved } = fetched.value ?? { codes: [], approved: [] };
  return Card({ title: "Pairing", key: "pairing" }, [
    h("p.dim", "An unknown sender who writes a code is let in once and for all. A code is good for five minutes and for one sender."),
    h("form.toolbar.access-form", { onsubmit: generate },
      h("input", { type: "text", "aria-label": "Channel (empty: any)", placeholder: "Channel (empty: any)", maxlength: CHANNEL_CHARS_MAX, value: pairing.channel, oninput: (event) => (pairing.channel = event.target.value) }),
      Button({ type: "submit", busy: pairing.isBusy }, ["Make a code"]),
    ),
    Listed({ fetched, again: refreshPairing, rows: codes.filter((row) => row.expiresAt > Date.now()), columns: CODES, keyOf: (row) => row.code, caption: "Codes that are good" }),
    fetched.value ? h("h3.access-sub", "Senders that were let in") : null,
    fetched.value ? Listed({ fetched: { value: approved }, rows: approved, columns: APPROVED, keyOf: (row) => `${row.channel} ${row.senderId}`, caption: "Senders that were let in", empty: "No sender was let in", hint: "They appear here when they have written a code." }) : null,
  ]);
}
