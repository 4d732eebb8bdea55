// Who is connected, and who tried to be.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { count } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { has } from "../../lib/live.js";
import { Badge, Button, Card, ErrorNote, Loading, Table, When, toast } from "../../ui/parts.js";

const ATTEMPTS_SHOWN = 20;
const ATTEMPTS_MAX = 200;
const CREDENTIALS = { token: "a token", cookie: "logged in by browser", user: "the user of this machine", tailscale: "Tailscale", none: "nobody yet" };
const KINDS = { token: "a token", cookie: "a cookie", unreadable: "something unreadable", login: "log-in of a browser", message: "log-in by message" };

const doors = { connections: new Fetched(), attempts: new Fetched(), closing: new Set(), isAll: false };

export function refreshDoors() {
  if (has("system.connections")) doors.connections.again(() => rpc("system.connections"));
  if (has("auth.attempts")) doors.attempts.again(() => rpc("auth.attempts", { limit: ATTEMPTS_MAX }));
}

async function close(row) {
  doors.closing.add(row.connectionId);
  redraw();
  try {
    const { closed } = await rpc("system.closeConnection", { connectionId: row.connectionId });
    toast(closed ? "The connection is closed. Whoever has a credential can come again." : "That connection was gone already.");
  } catch (why) {
    toast(`It could not be closed: ${why.message}`, { tone: "bad" });
  }
  doors.closing.delete(row.connectionId);
  refreshDoors();
}

function closer(row) {
  if (row.isSelf) return Badge({ tone: "info" }, ["this page"]);
  return Button({ kind: "small", busy: doors.closing.has(row.connectionId), label: `Close the connection of ${row.name ?? row.peer}`, onclick: () => close(row) }, ["Close"]);
}

const CONNECTIONS = [
  { head: "Who", cell: (row) => h("span", { dir: "auto", title: row.connectionId }, row.name ?? "unnamed") },
  { head: "Known by", cell: (row) => CREDENTIALS[row.credential] ?? row.credential },
  { head: "May", cell: (row) => row.scopes.join(", ") || "nothing" },
  { head: "From", cell: (row) => h("code", {}, row.peer) },
  { head: "Door", cell: (row) => h("code", {}, row.path) },
  { head: "Since", cell: (row) => h(When, { at: row.since }) },
  { head: "Action", cell: closer },
];

const ATTEMPTS = [
  { head: "When", cell: (row) => h(When, { at: row.at }) },
  { head: "Result", cell: (row) => Badge({ tone: row.ok ? "good" : "bad" }, [row.ok ? "let in" : "refused"]) },
  { head: "By", cell: (row) => KINDS[row.kind] ?? row.kind },
  { head: "From", cell: (row) => h("code", {}, row.peer) },
  { head: "Page", cell: (row) => (row.origin ? h("code", {}, row.origin) : "–") },
  { head: "Door", cell: (row) => h("code", {}, row.path) },
];

export function Connections() {
  if (!has("system.connections")) return null;
  const { value, fault } = doors.connections;
  const rows = value?.connections ?? [];
  return Card({ title: value ? `Connections (${count(value.total ?? rows.length)})` : "Connections", key: "connections" }, [
    h(ErrorNote, { why: fault, again: refreshDoors }),
    value ? Table({ columns: CONNECTIONS, rows, keyOf: (row) => row.connectionId, caption: "Open connections", empty: "Nobody is connected" }) : fault ? null : h(Loading, {}),
    value?.total > rows.length ? h("p", { class: "dim" }, `The oldest ${count(rows.length)} are shown.`) : null,
  ]);
}

export function Attempts() {
  if (!has("auth.attempts")) return null;
  const { value, fault } = doors.attempts;
  const rows = (value?.attempts ?? []).map((row, at) => ({ ...row, key: `${row.at} ${at}` }));
  const failed = rows.filter((row) => !row.ok).length;
  const shown = doors.isAll ? rows : rows.slice(0, ATTEMPTS_SHOWN);
  const more = rows.length - shown.length;
  return Card({ title: "Attempts to come in", key: "attempts" }, [
    h(ErrorNote, { why: fault, again: refreshDoors }),
    value ? h("p", { class: failed ? "access-failed" : "dim" }, failed ? `${failed} refused since the gateway began (the last ${ATTEMPTS_MAX} attempts are kept).` : "Nobody was refused since the gateway began.") : fault ? null : h(Loading, {}),
    rows.length ? Table({ columns: ATTEMPTS, rows: shown, keyOf: (row) => row.key, caption: "Attempts, the newest first" }) : null,
    more > 0 ? Button({ kind: "small", onclick: () => ((doors.isAll = true), redraw()) }, [`${more} more`]) : null,
  ]);
}
