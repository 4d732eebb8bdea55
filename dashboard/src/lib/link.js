// The one connection of the page: the client library of the gateway, as any program would use it, and what the header and the
// console want to know of it.

import { GatewayClient } from "../../../sdk/typescript/dist/client.js";
import { redraw } from "./dom.js";

// Frames that the console can look back at, and the characters kept of each.
const FRAMES_MAX = 500;
const FRAME_CHARS_MAX = 8000;
// How often the gateway is asked whether it is there while somebody looks, and after how long without an answer we are behind.
const BEAT_MS = 3_000;
const BEHIND_MS = 3_000;
const BEAT_TIMEOUT_MS = 10_000;

export const link = {
  // "login" (somebody has to say who they are) | "connecting" | "live" | "behind" | "offline"
  state: "connecting",
  // When the gateway last said something.
  heardAt: 0,
  // Of the last beat.
  tripMs: undefined,
  why: "",
  // Scopes that our credential does not have: what only they may do is not offered.
  lacks: new Set(),
};

// Frames in and out, oldest first: { id, at, out, text, cut }. `watching` is told of each new one.
export const frames = { list: [], watching: null, isOn: true };

let lastFrame = 0;

function keep(out, data) {
  if (!out) link.heardAt = Date.now();
  if (!frames.isOn) return;
  const text = typeof data === "string" ? data : "(binary)";
  const frame = { id: ++lastFrame, at: Date.now(), out, text: text.slice(0, FRAME_CHARS_MAX), cut: text.length > FRAME_CHARS_MAX };
  frames.list.push(frame);
  if (frames.list.length > FRAMES_MAX) frames.list.splice(0, frames.list.length - FRAMES_MAX);
  frames.watching?.(frame);
}

class HeardSocket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols);
    this.addEventListener("message", (event) => keep(false, event.data));
  }
  send(data) {
    keep(true, data);
    super.send(data);
  }
}

const reconnected = [];
// `run` is called with each new connection, the first included: what has no cursor is asked for again.
export function onConnected(run) {
  reconnected.push(run);
  if (gateway.state === "open") run();
}

export const gateway = new GatewayClient(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`, {
  WebSocket: HeardSocket,
  backoffMinMs: 500,
  backoffMaxMs: 10_000,
  heartbeatMs: 30_000,
  onState(state, why) {
    if (link.state === "login") return;
    link.why = why?.message ?? "";
    if (state === "open") {
      link.state = "live";
      link.heardAt = Date.now();
      for (const run of reconnected) run();
    } else if (state !== "idle") {
      // A page that was loaded while the gateway is away has heard nothing, and knows it all the same.
      if (link.heardAt) link.state = "offline";
    }
    redraw();
  },
});

export const may = (scope) => !link.lacks.has(scope);

// Whether a call failed because the credential may not do that: then it is known what it may not.
export function lacks(why) {
  const isThat = why?.data?.reason === "scope";
  if (isThat) for (const scope of why.data.scope ?? []) link.lacks.add(scope);
  return isThat;
}

// A call that fails because nobody is logged in shows the login.
export async function rpc(method, params, options) {
  try {
    return await gateway.call(method, params ?? {}, options);
  } catch (why) {
    // A credential that may not do one thing is still one.
    if (!lacks(why) && (why?.code === -4 || why?.code === -5)) {
      link.state = "login";
      redraw();
    }
    throw why;
  }
}

let isBeating = false;
async function beat() {
  if (gateway.state !== "open" || isBeating || document.hidden) return;
  isBeating = true;
  const began = Date.now();
  const late = setTimeout(() => {
    if (link.state === "live") link.state = "behind";
    redraw();
  }, BEHIND_MS);
  try {
    await rpc("system.info", {}, { timeoutMs: BEAT_TIMEOUT_MS });
    link.tripMs = Date.now() - began;
    if (link.state === "behind") link.state = "live";
  } catch {
    // The connection says so itself.
  } finally {
    clearTimeout(late);
    isBeating = false;
    redraw();
  }
}

// Whether we may come in, before anything is asked: a page without a cookie shows the login at once.
export async function start() {
  try {
    const answer = await fetch("/api/health");
    if (answer.status === 401) {
      link.state = "login";
      redraw();
      return;
    }
  } catch {
    link.state = "offline";
  }
  // A question that waits for its answer: without one the library would give up after a first attempt that fails.
  gateway.call("system.info", {}, { timeoutMs: 0 }).catch(() => {});
  setInterval(beat, BEAT_MS);
}

function post(path, body) {
  return fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

// The token becomes a cookie that no script can read; it is kept nowhere else.
export async function login(token) {
  const answer = await post("/api/login", { token });
  if (answer.ok) return location.reload();
  if (answer.status === 429) {
    const wait = answer.headers.get("Retry-After") ?? "60";
    throw new Error(`Too many wrong tokens came from here. Try again in ${wait} s.`);
  }
  throw new Error("This token is not known here. `tillerman gateway token` prints the right one.");
}

export async function logout(everywhere) {
  await post("/api/logout", { everywhere });
  gateway.close();
  location.reload();
}
