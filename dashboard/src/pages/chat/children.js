// Which sessions work for which calls of a session: the log of the parent does not say, the list of sessions and their news do.

import { redraw } from "../../lib/dom.js";
import { rpc } from "../../lib/link.js";
import { onNews } from "../../lib/live.js";

const CHILDREN_MAX = 500;
const TOOL = /^subagent/;
// Clocks of one machine, read at two moments.
const EARLY_MS = 1000;

export class Children {
  #sessionId;
  // { sessionId, callId, at }, each session once.
  #known = new Map();
  #asked = false;
  #unhook;

  constructor(sessionId) {
    this.#sessionId = sessionId;
    this.#unhook = onNews("session", ({ sessionId: id, parent }) => this.#learn(id, parent, Date.now()));
  }
  close() {
    this.#unhook();
  }

  // The session that works for this call.
  of({ call, at }) {
    if (!TOOL.test(call.tool)) return undefined;
    if (!this.#asked) this.#ask();
    let found;
    for (const it of this.#known.values()) {
      // Models count their calls anew: of those with this name the first that began after it.
      const fits = it.callId === call.callId && (!at || !it.at || it.at >= at - EARLY_MS);
      if (fits && (!found || it.at < found.at)) found = it;
    }
    return found?.sessionId;
  }

  async #ask() {
    this.#asked = true;
    try {
      const { sessions } = await rpc("sessions.list", { childOf: this.#sessionId, includePersisted: true, limit: CHILDREN_MAX });
      for (const { id, parent, createdAt } of sessions) this.#learn(id, parent, createdAt);
    } catch {
      // The card is there without it.
    }
    redraw();
  }
  #learn(sessionId, parent, at) {
    if (parent?.sessionId !== this.#sessionId || this.#known.size >= CHILDREN_MAX) return;
    // News comes at the beginning and again later: the first time counts.
    this.#known.set(sessionId, { sessionId, callId: parent.callId, at: Math.min(at ?? Infinity, this.#known.get(sessionId)?.at ?? Infinity) });
  }
}
