// Who is connected, and who tried to be.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { count } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { act } from "../../ui/act.js";
import { Listed } from "../../ui/listed.js";
import { Badge, Card, When } from "../../ui/parts.js";
import { Small } from "../../ui/small.js";

const ATTEMPTS_SHOWN = 20;
const ATTEMPTS_MAX = 200;
const CREDENTIALS = { token: "a token", cookie: "logged in by browser", user: "the user of this machine", tailscale: "Tailscale", none: "nobody yet" };
const KINDS = { token: "a token", cookie: "a cookie", unreadable: "something unreadable", login: "log-in of a browser", message: "log-in by message" };

const connections = new Fetched(() => rpc("system.connections"));
const attempts = new Fetched(() => rpc("auth.attempts", { limit: ATTEMPTS_MAX }));
const doors = { isAll: false };

export function refreshDoors() {
  connections.again();
  attempts.again();
}

async function close({ connectionId }) {
  const { closed } = await rpc("system.closeConnection", { connectionId });
  return closed ? "It is closed. Whoever has a credential can come again." : "That connection was gone already.";
}

const CONNECTIONS = [
  ["Who", (row) => h("span", { dir: "auto", title: row.connectionId }, row.name ?? "unnamed")],
  ["Known by", (row) => CREDENTIALS[row.credential] ?? row.credential],
  ["May", (row) => row.scopes.join(", ") || "nothing"],
  ["From", (row) => h("code", row.peer)],
  ["Door", (row) => h("code", row.path)],
  ["Since", (row) => h(When, { at: row.since })],
  ["Action", (row) => (row.isSelf ? Badge({ tone: "info" }, ["this page"]) : Small("Close", () => act("It could not be closed", () => close(row), refreshDoors), { label: `Close the connection of ${row.name ?? row.peer}` }))],
];

const ATTEMPTS = [
  ["When", (row) => h(When, { at: row.at })],
  ["Result", (row) => Badge({ tone: row.ok ? "good" : "bad" }, [row.ok ? "let in" : "refused"])],
  ["By", (row) => KINDS[row.kind] ?? row.kind],
  ["From", (row) => h("code", row.peer)],
  ["Page", (row) => (row.origin ? h("code", row.origin) : "–")],
  ["Door", (row) => h("code", row.path)],
];

export function Connections() {
  const { connections: rows = [], total = 0 } = connections.value ?? {};
  return Card({ title: `Connections (${count(total)})`, key: "connections" }, [
    Listed({ fetched: connections, rows, columns: CONNECTIONS, keyOf: (row) => row.connectionId, caption: "Open connections" }),
    total > rows.length ? h("p.dim", `The oldest ${count(rows.length)} are shown.`) : null,
  ]);
}

export function Attempts() {
  const rows = (attempts.value?.attempts ?? []).map((row, at) => ({ ...row, key: `${row.at} ${at}` }));
  const failed = rows.filter((row) => !row.ok).length;
  const shown = doors.isAll ? rows : rows.slice(0, ATTEMPTS_SHOWN);
  const more = rows.length - shown.length;
  return Card({ title: "Attempts to come in", key: "attempts" }, [
    attempts.value ? h("p", { class: failed ? "access-failed" : "dim" }, failed ? `${failed} refused since the gateway began (the last ${ATTEMPTS_MAX} attempts are kept).` : "Nobody was refused since the gateway began.") : null,
    Listed({ fetched: attempts, rows: shown, columns: ATTEMPTS, keyOf: (row) => row.key, caption: "Attempts, the newest first" }),
    more > 0 ? Small(`${more} more`, () => ((doors.isAll = true), redraw())) : null,
  ]);
}
