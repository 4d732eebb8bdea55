// One session that is in memory: what it does, since when, what waits for it and why, and what one can do about it.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { ago, sessionName, ticking } from "../../lib/format.js";
import { link, rpc } from "../../lib/link.js";
import { live, onNews } from "../../lib/live.js";
import { href } from "../../lib/router.js";
import { act } from "../../ui/act.js";
import { questionOf } from "../../ui/asked.js";
import { Awaited } from "../../ui/awaited.js";
import { Composer } from "../../ui/composer.js";
import { Badge, Button } from "../../ui/parts.js";
import { cut } from "../../ui/plain.js";
import { Small } from "../../ui/small.js";
import { keepWriting, writingOf } from "../chat/memory.js";
import { outboxOf, send, wordsOf } from "../chat/outbox.js";
import { takeOut } from "../chat/waiting.js";

const TONES = { stalled: ["bad", "stalled"], asking: ["warn", "asks"], running: ["info", "runs"], waiting: ["warn", "waits"], idle: ["none", "idle"] };
// Characters that are shown of a message on its way.
const SENT_CHARS = 80;

// By session, only what is open: the list of what waits, and where something is written.
const queues = new Map();
const writing = new Set();
const stopping = new Set();
// Sessions that are written to from here, until nothing is open or on its way: { lane, isAtWork }, the lane as it was last known and
// which of the lists it stood in. Nobody's row goes from under their hands because a run has ended, the session has left the memory
// or the gateway stops.
const held = new Map();

onNews("session", ({ sessionId, deleted }) => deleted && held.delete(sessionId));

function stop(lane) {
  const { sessionId } = lane;
  stopping.add(sessionId);
  redraw();
  const run = async () => {
    const { queued, cancelled } = await rpc("agent.cancel", { sessionId });
    const back = queued ? ` ${queued} waiting message${queued === 1 ? " was" : "s were"} taken back.` : "";
    return cancelled ? `${sessionName(lane)} is told to stop.${back}` : "There was nothing to stop any more.";
  };
  act("It could not be stopped", run, () => stopping.delete(sessionId));
}

function takeBack({ sessionId }, item) {
  const run = async () => ((await takeOut(sessionId, item)) ? "The message is taken back. Its text is on the session's page." : "That message was taken already.");
  act("It could not be taken back", run, () => queues.get(sessionId)?.again());
}

function toggleQueue({ sessionId }) {
  if (!queues.delete(sessionId)) queues.set(sessionId, new Fetched(() => rpc("queue.list", { sessionId })));
  redraw();
}

function Queue({ lane }) {
  const queue = queues.get(lane.sessionId);
  if (!queue) return null;
  // Another number waits now: another list. The key is the number, so that it is asked once for each.
  queue.want(lane.depth);
  const one = (item) => h("li", { key: item.itemId },
    h("p.now-queued", { dir: "auto" }, item.text || "(no text)"),
    h("p.dim.small", [item.by ? `by ${item.by}` : "", item.at ? `written ${ago(item.at)}` : "", item.attachments ? `${item.attachments} attached` : ""].filter(Boolean).join(" · ")),
    Small("Take back", () => takeBack(lane, item), { label: `Take back: ${(item.text ?? "").slice(0, 60)}` }),
  );
  return h("div.now-queue", Awaited(queue, ({ items }) => (items.length ? h("ol", items.map(one)) : h("p.dim", "Nothing waits any more."))));
}

function submit({ sessionId, state }, { text, attachments }) {
  act("It could not be sent", async () => {
    send(sessionId, text, attachments, Promise.resolve());
    Object.assign(writingOf(sessionId), { text: "", attachments: [] });
    writing.delete(sessionId);
    keepWriting();
    // What is only kept says so in the row.
    return link.state === "live" && (state === "idle" ? "Sent." : "Sent; it waits for its turn where the lane says so.");
  });
}

function open({ lane, state }) {
  writing.add(lane.sessionId);
  held.set(lane.sessionId, { lane, isAtWork: state !== "idle" });
}

const onItsWay = (sessionId) => outboxOf(sessionId).filter(({ state }) => state !== "waiting");

// Lanes of those that are not in memory any more.
export function heldLanes() {
  for (const [id, it] of held) {
    if (live.lanes.has(id)) it.lane = live.lanes.get(id);
    if (!writing.has(id) && onItsWay(id).length === 0) held.delete(id);
  }
  const gone = [...held.values()].filter(({ lane }) => !live.lanes.has(lane.sessionId));
  return gone.map(({ lane }) => ({ ...lane, state: "idle", depth: 0, peers: 0, runId: undefined, tool: undefined, since: undefined }));
}

export const isAtWork = ({ lane, state }) => state !== "idle" || !!held.get(lane.sessionId)?.isAtWork;

// What is on its way, and a place to write: what is typed here is what the page of the session shows, too.
function Quick({ lane }) {
  const { sessionId } = lane;
  const onkeydown = (event) => event.key === "Escape" && (writing.delete(sessionId), redraw());
  return [
    onItsWay(sessionId).map((item) => h("p.now-why", { key: item.key }, `${wordsOf(item)}: `, h("q", { dir: "auto" }, cut(item.text, SENT_CHARS)))),
    writing.has(sessionId) && h("div", { key: "quick", onkeydown },
      Composer({ state: writingOf(sessionId), label: `Message for ${sessionName(lane)}`, placeholder: "A message for it", onsend: (message) => submit(lane, message), created: (element) => element.focus() }),
    ),
  ];
}

// Why a message is not answered yet, or what is in the way.
function why(row) {
  const { lane, asks } = row;
  if (row.state === "stalled") {
    const end = row.stallInMs === undefined ? "" : row.stallInMs > 0 ? `; given up in ${ticking(row.stallInMs)}` : "; it is being given up";
    return `Nothing came of it for ${ticking(row.silentMs)}${end}.`;
  }
  if (lane.state === "asking" && asks.length > 0) return `Waits for an answer: ${questionOf(asks[0])} Asked ${ago(asks[0].openedAt)}.`;
  if (lane.state === "asking") return "Waits for an answer to its question.";
  if (lane.state === "waiting") return "Its messages wait to begin.";
  return "";
}

function waiting(row) {
  const { lane } = row;
  if (!lane.depth) return null;
  const blocks = lane.runId ? (lane.state === "asking" ? "behind a run that asks" : "behind the run") : "to begin";
  const oldest = row.waitedMs === undefined ? "" : `, the oldest for ${ticking(row.waitedMs)}`;
  const text = `${lane.depth} message${lane.depth === 1 ? " waits" : "s wait"} ${blocks}${oldest}`;
  const isOpen = queues.has(lane.sessionId);
  const list = Button({ kind: "quiet", "aria-expanded": isOpen, onclick: () => toggleQueue(lane) }, [isOpen ? "Hide them" : "Show them"]);
  return h("p.now-waiting", text, ` (${lane.mode}) `, list);
}

export function SessionRow({ row }) {
  const { lane } = row;
  const [tone, word] = TONES[row.state];
  const name = sessionName(lane);
  const reason = why(row);
  const facts = [lane.model, lane.peers ? `${lane.peers} connection${lane.peers === 1 ? "" : "s"} on it` : "", lane.cwd].filter(Boolean).join(" · ");
  const isWriting = writing.has(lane.sessionId);
  const stopWord = lane.depth ? "Stop all" : "Stop";
  const write = () => (writing.delete(lane.sessionId) || open(row), redraw());
  return h("li.rule.now-row", { key: lane.sessionId },
    h("div", Badge({ tone }, [word])),
    h("div",
      h("a.named.now-title", { href: href("chat", lane.sessionId), dir: "auto", title: lane.sessionId }, name),
      lane.runId ? h("p", lane.tool ? [h("span.unseen", "tool in hand: "), h("code", lane.tool), " "] : lane.state === "running" ? "the model writes " : "", row.elapsedMs === undefined ? "" : h("span.numeric", `for ${ticking(row.elapsedMs)}`)) : null,
      reason ? h("p", { class: row.state === "stalled" ? "now-why now-why-bad" : "now-why" }, reason) : null,
      waiting(row),
      facts ? h("p.dim.small.clip", { title: facts }, facts) : null,
      h(Queue, { lane }),
      Quick({ lane }),
    ),
    h("div.card-actions.now-actions",
      Small(isWriting ? "Close" : "Message", write, { "aria-expanded": isWriting, label: `${isWriting ? "Close the message" : "Message"} for ${name}` }),
      row.state === "idle" ? null : Small(stopWord, () => stop(lane), { busy: stopping.has(lane.sessionId), label: `${stopWord} ${name}`, title: lane.depth ? "Stops the run and takes back what waits" : "Stops the run" }),
    ),
  );
}

// What belongs to sessions that are not here any more goes; what was typed for one is on its own page.
export function forgetGone(rows) {
  const here = new Set(rows.map(({ lane }) => lane.sessionId));
  for (const open of [queues, writing]) for (const id of open.keys()) if (!here.has(id)) open.delete(id);
}
