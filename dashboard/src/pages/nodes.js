// Companions that are here, and what was put on the canvas.

import { serverNow } from "../lib/clock.js";
import { h } from "../lib/dom.js";
import { Fetched, every } from "../lib/fetching.js";
import { ago, moment } from "../lib/format.js";
import { rpc } from "../lib/link.js";
import { live, onNews } from "../lib/live.js";
import { Awaited } from "../ui/awaited.js";
import { Badge, Card, Empty, When } from "../ui/parts.js";
import { Meter } from "../ui/plot.js";
import { Canvas, leaveCanvas, refreshCanvas } from "./nodes/canvas.js";

const REFRESH_MS = 15_000;
// A companion that has not been heard of for so long may be gone without having said so.
const QUIET_MS = 120_000;
const BATTERY_LOW_PCT = 20;

const nodes = new Fetched(() => rpc("system.nodes"));

function placeText({ latitude, longitude, accuracyMeters, source, capturedAt, receivedAt }) {
  const at = capturedAt ?? receivedAt;
  const degrees = (value, signs) => `${Math.abs(value).toFixed(5)}° ${signs[value < 0 ? 1 : 0]}`;
  return `${degrees(latitude, "NS")}, ${degrees(longitude, "EW")}${accuracyMeters === undefined ? "" : ` ± ${Math.round(accuracyMeters)} m`}${source ? `, ${source}` : ""}${at ? `, ${ago(at, serverNow())}` : ""}`;
}

function Battery({ pct, source }) {
  const isLow = pct <= BATTERY_LOW_PCT && source !== "ac";
  const text = `${Math.round(pct)} %${source === "ac" ? ", plugged in" : source === "battery" ? ", on battery" : ""}${isLow ? ", low" : ""}`;
  return h("span.strip.node-battery", h(Meter, { value: pct, max: 100, label: "Battery", text, tone: isLow ? "bad" : "info" }), text);
}

function Able({ capabilities }) {
  const { declared, enabled } = capabilities;
  if (declared.length === 0) return "none";
  return h("span.strip", declared.map((name) => (enabled.includes(name) ? Badge({ tone: "good", title: "It may" }, [name]) : Badge({ title: "It can, but this gateway does not let it" }, [`${name}: not granted`]))));
}

function Node({ node }) {
  const status = node.status ?? {};
  const isQuiet = serverNow() - node.lastSeenAt > QUIET_MS;
  const fact = (name, value) => (value ? h("div", h("dt", name), h("dd", { dir: "auto" }, value)) : null);
  const app = [status.platform, status.appVersion].filter(Boolean).join(" ");
  return h(
    "li.boxed.node",
    { key: node.connectionId },
    h("div.strip", h("h3", { dir: "auto" }, status.deviceName || node.id), Badge({ tone: "info" }, [node.role]), Badge({ tone: isQuiet ? "warn" : "good" }, [isQuiet ? "quiet" : "here"])),
    status.statusText ? h("p", { dir: "auto" }, status.statusText) : null,
    h("dl.small.facts-list",
      fact("Id", h("code", node.id)),
      fact("App", app),
      fact("Can", h(Able, node)),
      fact("Battery", status.batteryPct === undefined ? null : h(Battery, { pct: status.batteryPct, source: status.powerSource })),
      fact("Place", node.location ? h("span", { title: moment(node.location.receivedAt) }, placeText(node.location)) : null),
      fact("Push", node.push ? h("span", `${node.push.provider}, `, h("code", node.push.tokenPreview), ", since ", h(When, { at: node.push.updatedAt })) : "no token"),
      fact("Here since", h(When, { at: node.registeredAt })),
      fact("Last heard", h(When, { at: node.lastSeenAt })),
      fact("Protocol", String(node.protocolVersion)),
      fact("Connection", h("code", node.connectionId)),
    ),
  );
}

function Companions() {
  const gates = live.can?.nodes;
  if (gates && !gates.enabled) {
    return h(Card, { title: "Companions" }, h(Empty, { title: "Companions are switched off" }, "A phone or a desktop app can register once ", h("code", "tillerman config set server.nodes.enabled true"), " was said. Places and push have their own switches: ", h("code", "server.nodes.location.enabled"), ", ", h("code", "server.nodes.push.enabled"), "."));
  }
  const number = nodes.want("nodes").value?.nodes.length;
  const off = gates ? [gates.locationEnabled ? "" : "places", gates.pushEnabled ? "" : "push"].filter(Boolean) : [];
  return h(Card, { title: number ? `Companions (${number})` : "Companions" },
    Awaited(nodes, (value) => (number ? h("ul.bare.nodes", value.nodes.map((node) => h(Node, { node }))) : h(Empty, { title: "No companion is connected" }, `Roles that may register: ${gates?.allowedRoles.join(", ") || "none"}.`))),
    off.length ? h("p.dim", `Switched off: ${off.join(" and ")}.`) : null,
  );
}

export const nodesPage = {
  name: "nodes",
  title: "Nodes & canvas",
  view: () => h("div", h("h1", "Nodes & canvas"), h(Companions), h(Canvas)),
  arrive: () => [nodes.keep(REFRESH_MS), every(REFRESH_MS, refreshCanvas), onNews("node", () => nodes.again()), leaveCanvas],
};
