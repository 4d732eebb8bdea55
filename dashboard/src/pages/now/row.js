// One session that is in memory: what it does, since when, what waits for it and why, and what one can do about it.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { ago, sessionName, ticking } from "../../lib/format.js";
import { gateway, rpc } from "../../lib/link.js";
import { has } from "../../lib/live.js";
import { href } from "../../lib/router.js";
import { act } from "../../ui/act.js";
import { Badge, Button, ErrorNote, toast } from "../../ui/parts.js";

const TONES = { stalled: ["bad", "stalled"], asking: ["warn", "asks"], running: ["info", "runs"], waiting: ["warn", "waits"], idle: ["none", "idle"] };
const MESSAGE_CHARS_MAX = 100_000;

// By session, only what is open: the list of what waits, and what is being written.
const queues = new Map();
const drafts = new Map();
const busy = new Set();

async function stop(lane) {
  busy.add(lane.sessionId);
  redraw();
  await act("It could not be stopped", async () => {
    const done = await rpc("agent.cancel", { sessionId: lane.sessionId });
    const back = done.queued ? ` ${done.queued} waiting message${done.queued === 1 ? " was" : "s were"} taken back.` : "";
    return done.cancelled ? `${sessionName(lane)} is told to stop.${back}` : "There was nothing to stop any more.";
  });
  busy.delete(lane.sessionId);
  redraw();
}

function askQueue(lane) {
  queues.get(lane.sessionId)?.again(() => rpc("queue.list", { sessionId: lane.sessionId }));
}

function takeBack(lane, { itemId }) {
  const run = async () => ((await rpc("queue.remove", { sessionId: lane.sessionId, itemId })).removed ? "The message is taken back." : "That message was taken already.");
  act("It could not be taken back", run, () => askQueue(lane));
}

function toggleQueue(lane) {
  if (queues.delete(lane.sessionId)) return redraw();
  queues.set(lane.sessionId, new Fetched());
  redraw();
}

function Queue({ row }) {
  const { lane } = row;
  const queue = queues.get(lane.sessionId);
  if (!queue) return null;
  // Another number waits now: another list. The key is the number, so that it is asked once for each.
  queue.want(lane.depth, () => rpc("queue.list", { sessionId: lane.sessionId }));
  const items = queue.value?.items ?? [];
  const one = (item) => h("li", { key: item.itemId },
    h("p.now-queued", { dir: "auto" }, item.text || "(no text)"),
    h("p.dim.now-small", [item.by ? `by ${item.by}` : "", item.at ? `written ${ago(item.at)}` : "", item.attachments ? `${item.attachments} attached` : ""].filter(Boolean).join(" · ")),
    Button({ kind: "small", onclick: () => takeBack(lane, item), label: `Take back: ${(item.text ?? "").slice(0, 60)}` }, ["Take back"]),
  );
  return h("div.now-queue",
    h(ErrorNote, { why: queue.fault, again: () => askQueue(lane) }),
    queue.value && items.length === 0 ? h("p.dim", "Nothing waits any more.") : null,
    h("ol", items.map(one)),
  );
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

function Quick({ row }) {
  const { lane } = row;
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
  if (lane.state === "asking" && asks.length > 0) return `Waits for an answer: may ${asks[0].tool} run? Asked ${ago(asks[0].openedAt)}.`;
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
  const list = has("queue.list") ? Button({ kind: "quiet", "aria-expanded": isOpen, onclick: () => toggleQueue(lane) }, [isOpen ? "Hide them" : "Show them"]) : null;
  return h("p.now-waiting", text, ` (${lane.mode}) `, list);
}

export function SessionRow({ row }) {
  const { lane } = row;
  const [tone, word] = TONES[row.state] ?? ["none", row.state];
  const facts = [lane.model, lane.peers ? `${lane.peers} connection${lane.peers === 1 ? "" : "s"} on it` : "", lane.cwd].filter(Boolean);
  const isWriting = drafts.has(lane.sessionId);
  const stopWord = lane.depth && lane.runId ? "Stop all" : "Stop";
  const write = () => (isWriting ? drafts.delete(lane.sessionId) : drafts.set(lane.sessionId, ""), redraw());
  return h("li", { class: `now-row now-${row.state}`, key: lane.sessionId },
    h("div.now-state", Badge({ tone }, [word])),
    h("div.now-what",
      h("a.now-title", { href: href("chat", lane.sessionId), dir: "auto", title: lane.sessionId }, sessionName(lane)),
      lane.runId ? h("p.now-doing", lane.tool ? [h("span.unseen", "tool in hand: "), h("code", lane.tool), " "] : lane.state === "running" ? "the model writes " : "", row.elapsedMs === undefined ? "" : h("span.now-elapsed", `for ${ticking(row.elapsedMs)}`)) : null,
      why(row) ? h("p", { class: row.state === "stalled" ? "now-why now-why-bad" : "now-why" }, why(row)) : null,
      waiting(row),
      facts.length ? h("p.dim.now-small.now-facts", { title: facts.join(" · ") }, facts.join(" · ")) : null,
      h(Queue, { row }),
      h(Quick, { row }),
    ),
    h("div.now-actions",
      Button({ kind: "small", "aria-expanded": isWriting, label: `${isWriting ? "Close the message" : "Message"} for ${sessionName(lane)}`, onclick: write }, [isWriting ? "Close" : "Message"]),
      row.state === "idle" ? null : Button({ kind: "small", busy: busy.has(lane.sessionId), label: `${stopWord} ${sessionName(lane)}`, title: lane.depth ? "Stops the run and takes back what waits" : "Stops the run", onclick: () => stop(lane) }, [stopWord]),
    ),
  );
}

// What belongs to sessions that are not in memory any more goes.
export function forgetGone(lanes) {
  for (const kept of [queues, drafts]) for (const id of kept.keys()) if (!lanes.has(id)) kept.delete(id);
}
