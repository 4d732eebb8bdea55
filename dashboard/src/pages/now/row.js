// One session that is in memory: what it does, since when, what waits for it and why, and what one can do about it.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { ago, sessionName, ticking } from "../../lib/format.js";
import { gateway, rpc } from "../../lib/link.js";
import { href } from "../../lib/router.js";
import { act } from "../../ui/act.js";
import { questionOf } from "../../ui/asked.js";
import { Awaited } from "../../ui/awaited.js";
import { Badge, Button, toast } from "../../ui/parts.js";
import { Small } from "../../ui/small.js";

const TONES = { stalled: ["bad", "stalled"], asking: ["warn", "asks"], running: ["info", "runs"], waiting: ["warn", "waits"], idle: ["none", "idle"] };
const MESSAGE_CHARS_MAX = 100_000;

// By session, only what is open: the list of what waits, and what is being written.
const queues = new Map();
const drafts = new Map();
const stopping = new Set();

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

function takeBack({ sessionId }, { itemId }) {
  const run = async () => ((await rpc("queue.remove", { sessionId, itemId })).removed ? "The message is taken back." : "That message was taken already.");
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

async function send(lane) {
  const text = (drafts.get(lane.sessionId) ?? "").trim();
  if (!text) return;
  drafts.delete(lane.sessionId);
  redraw();
  const run = gateway.send(text, { sessionId: lane.sessionId });
  toast(lane.state === "idle" ? "Sent." : "Sent; it waits for its turn where the lane says so.");
  try {
    // The page of the session shows what comes of it.
    for await (const _ of run);
    await run.result;
  } catch (why) {
    if (why?.code === 4) return;
    // What was typed comes back, unless something new is there.
    if (!drafts.get(lane.sessionId)) drafts.set(lane.sessionId, text);
    toast(`${sessionName(lane)}: ${why.message}`, { tone: "bad" });
    redraw();
  }
}

function Quick({ lane }) {
  if (!drafts.has(lane.sessionId)) return null;
  const onkeydown = (event) => {
    if (event.key === "Escape") drafts.delete(lane.sessionId), redraw();
  };
  const onsubmit = (event) => (event.preventDefault(), send(lane));
  return h("form.now-quick", { onsubmit },
    h("input", { type: "text", dir: "auto", "aria-label": `Message for ${sessionName(lane)}`, placeholder: "A message for it", maxlength: MESSAGE_CHARS_MAX, value: drafts.get(lane.sessionId), oninput: (event) => drafts.set(lane.sessionId, event.target.value), onkeydown, created: (input) => input.focus() }),
    Button({ type: "submit", kind: "small" }, ["Send"]),
  );
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
  const isWriting = drafts.has(lane.sessionId);
  const stopWord = lane.depth && lane.runId ? "Stop all" : "Stop";
  const write = () => (isWriting ? drafts.delete(lane.sessionId) : drafts.set(lane.sessionId, ""), redraw());
  return h("li.rule.now-row", { key: lane.sessionId },
    h("div", Badge({ tone }, [word])),
    h("div",
      h("a.named.now-title", { href: href("chat", lane.sessionId), dir: "auto", title: lane.sessionId }, name),
      lane.runId ? h("p", lane.tool ? [h("span.unseen", "tool in hand: "), h("code", lane.tool), " "] : lane.state === "running" ? "the model writes " : "", row.elapsedMs === undefined ? "" : h("span.numeric", `for ${ticking(row.elapsedMs)}`)) : null,
      reason ? h("p", { class: row.state === "stalled" ? "now-why now-why-bad" : "now-why" }, reason) : null,
      waiting(row),
      facts ? h("p.dim.small.clip", { title: facts }, facts) : null,
      h(Queue, { lane }),
      h(Quick, { lane }),
    ),
    h("div.card-actions.now-actions",
      Small(isWriting ? "Close" : "Message", write, { "aria-expanded": isWriting, label: `${isWriting ? "Close the message" : "Message"} for ${name}` }),
      row.state === "idle" ? null : Small(stopWord, () => stop(lane), { busy: stopping.has(lane.sessionId), label: `${stopWord} ${name}`, title: lane.depth ? "Stops the run and takes back what waits" : "Stops the run" }),
    ),
  );
}

// What belongs to sessions that are not in memory any more goes.
export function forgetGone(lanes) {
  for (const kept of [queues, drafts]) for (const id of kept.keys()) if (!lanes.has(id)) kept.delete(id);
}
