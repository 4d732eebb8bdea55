// Who can talk to it, and who did what.

import { h, redraw } from "../lib/dom.js";
import { Fetched, every, setting } from "../lib/fetching.js";
import { count } from "../lib/format.js";
import { logout, rpc } from "../lib/link.js";
import { live, onNews } from "../lib/live.js";
import { href } from "../lib/router.js";
import { act } from "../ui/act.js";
import { Listed } from "../ui/listed.js";
import { Badge, Button, Card, When } from "../ui/parts.js";
import { Audit, auditFault, refreshAudit } from "./access/audit.js";
import { Attempts, Connections, refreshDoors } from "./access/doors.js";
import { Pairing, pairing } from "./access/pairing.js";

const REFRESH_MS = 10_000;
const PEOPLE_MAX = 100;

const people = new Fetched(() => rpc("system.presence", { limit: PEOPLE_MAX }));
const nodes = new Fetched(() => rpc("system.nodes"));
const access = {};

// Whether this credential administers is what its first question says.
const isRefused = () => auditFault()?.reason === "scope";

async function refresh() {
  people.again();
  nodes.again();
  if (!access.isAsked) await refreshAudit();
  access.isAsked = true;
  if (isRefused()) return;
  refreshDoors();
  pairing.again();
}

const PEOPLE = [
  ["Who", (row) => h("span", { dir: "auto", title: row.senderId }, row.senderName ?? row.senderId)],
  ["Where", (row) => row.channel],
  ["Now", (row) => Badge({ tone: row.status === "online" ? "good" : "none" }, [row.status])],
  ["Messages", (row) => count(row.messageCount), true],
  ["First", (row) => h(When, { at: row.firstSeenAt })],
  ["Last", (row) => h(When, { at: row.lastSeenAt })],
];

function People() {
  const { presence: rows, summary } = people.value ?? {};
  return Card({ title: summary ? `Who wrote (${count(summary.total)}, ${count(summary.online)} online)` : "Who wrote", key: "people" }, [
    Listed({ fetched: people, rows, columns: PEOPLE, keyOf: (row) => `${row.channel} ${row.senderId}`, caption: "Who wrote, the newest first", empty: "Nobody has written yet", hint: "Whoever sends a message appears here." }),
    summary?.total > PEOPLE_MAX ? h("p.dim", `The newest ${PEOPLE_MAX} of ${count(summary.total)}.`) : null,
  ]);
}

function Companions() {
  const { value } = nodes;
  if (!value) return null;
  const names = value.nodes.slice(0, 5).map((node) => `${node.status?.deviceName ?? node.id} (${node.role})`).join(", ");
  const more = value.nodes.length > 5 ? ` and ${value.nodes.length - 5} more` : "";
  const off = live.can && !live.can.nodes.enabled ? "Companions are switched off in the configuration." : "No companion is here.";
  return Card({ title: `Companions (${count(value.summary.total)})`, key: "nodes" }, [
    h("p", { class: value.nodes.length ? "" : "dim", dir: "auto" }, value.nodes.length ? `${names}${more}. ` : `${off} `, h("a", { href: href("nodes") }, "Nodes")),
  ]);
}

const leaveHere = (everywhere) => act("You are still logged in", () => logout(everywhere));

function LogOut() {
  const ask = setting(access, "isSure");
  const sure = [h("span", { key: "sure" }, "Every browser with the same credential has to log in again. Really?"), Button({ kind: "danger", key: "yes", onclick: () => leaveHere(true) }, ["Log out everywhere"]), Button({ key: "no", onclick: () => ask(false) }, ["No"])];
  const both = [Button({ key: "here", onclick: () => leaveHere(false) }, ["Log out here"]), Button({ key: "all", onclick: () => ask(true) }, ["Log out everywhere…"])];
  return Card({ title: "Log out", key: "out" }, [
    h("p.dim", "On the machine of the gateway no log-in may be needed; then there is nothing to end."),
    h("div.card-actions", access.isSure ? sure : both),
  ]);
}

export const accessPage = {
  name: "access",
  title: "Access",
  view() {
    const refused = h("p.note.note-warn", h("span", "Connections, attempts, pairing and the audit are for credentials with the scope ", h("code", "admin"), ". ", h("code", "tillerman gateway token"), " prints one that may."));
    return h("div",
      h("h1", "Access"),
      isRefused() ? [refused, h(Companions), h(People)] : [h(Connections), h(Attempts), h(Companions), h(Pairing), h(People), h(Audit)],
      h(LogOut),
    );
  },
  // What is left of the time of a code is counted by the second.
  arrive: () => [every(REFRESH_MS, refresh), every(1000, () => pairing.value?.codes.length && redraw()), onNews("node", () => nodes.again()), () => (access.isSure = access.isAsked = false)],
};
