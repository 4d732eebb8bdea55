// One session as the page follows it: the newest page of its history, older and newer ones as somebody scrolls, and what happens
// from there on.

import { redraw } from "../../lib/dom.js";
import { gateway, rpc } from "../../lib/link.js";
import { onNews } from "../../lib/live.js";
import { cut } from "../../ui/plain.js";
import { Children } from "./children.js";
import { asked, isUnasked, sawEvent } from "./outbox.js";
import { Transcript } from "./transcript.js";

// Entries of a page.
const PAGE = 120;
// Behind a message that a link names: what follows it is shown too.
const AROUND = 60;
// Rows and characters that are kept of one session; beyond it the oldest go, and come again when somebody scrolls up.
const ROWS_MAX = 40_000;
const CHARS_MAX = 64 * 1024 * 1024;
// Behind every entry that there is.
const THE_END = Number.MAX_SAFE_INTEGER;

// Characters of a message that become the title of what begins with it.
const TITLE_CHARS = 60;

// A command is no name.
const nameOf = (text = "") => (text.startsWith("/") ? "" : cut(text.trim().split("\n", 1)[0], TITLE_CHARS));

export class Conversation {
  sessionId;
  transcript = new Transcript();
  // Why it cannot be shown.
  fault = null;
  isLoading = true;
  // There is no such session yet: the first message makes it.
  isNew = false;
  // Nothing older, nothing newer is to be loaded.
  isWhole = false;
  isAtEnd = false;
  // A page that is on its way: "older" | "newer" | null, and why the last one failed.
  fetching;
  pageFault;
  // Counts ends of runs, so that others know when sums are old.
  runs = 0;
  // Counts what happened to the lane's queue.
  queueVersion = 0;
  onNews;
  #watch;
  #opened;
  #made;
  #unhook = () => {};
  #isClosed = false;

  constructor(sessionId, at) {
    this.sessionId = sessionId;
    this.children = new Children(sessionId);
    this.open(at);
  }

  // Shows the newest, or what is around the entry `at`.
  open(at) {
    return (this.#opened = this.#open(at));
  }
  async #open(at) {
    this.#unhook();
    this.#watch?.close();
    this.#watch = null;
    const transcript = (this.transcript = new Transcript());
    Object.assign(this, { fault: null, isLoading: true, isNew: false, isWhole: false, isAtEnd: false });
    redraw();
    try {
      const page = await this.#page({ beforeSeq: at ? at + AROUND : THE_END });
      if (this.#isClosed || this.transcript !== transcript) return;
      transcript.prepend(page.events);
      this.isWhole = page.complete;
      this.isLoading = false;
      if (at) await this.newer();
      else this.#follow();
    } catch (why) {
      if (this.#isClosed || this.transcript !== transcript) return;
      this.isLoading = false;
      if (why.code !== 1) this.fault = why;
      else this.#begin();
    }
    redraw();
  }
  close() {
    this.#isClosed = true;
    this.children.close();
    this.#unhook();
    this.#watch?.close();
  }

  // It is not there, or not any more: it begins with the first message, of this page or of anybody.
  #begin() {
    this.isNew = this.isWhole = this.isAtEnd = true;
    this.#made = null;
    this.#unhook();
    this.#unhook = onNews("session", ({ sessionId, live }) => live && sessionId === this.sessionId && this.open());
  }
  // Resolves when what happens next is heard here: who comes in the middle of a reply is told it only when it is whole. Makes the
  // session where it is not there yet; `text` is what is to be said in it first.
  async ready(text) {
    await this.#opened;
    if (this.isNew && !this.#isClosed) await (this.#made ??= this.#make(text));
    await this.#watch?.ready;
  }
  async #make(text) {
    this.#unhook();
    const title = nameOf(text);
    await rpc("sessions.create", { sessionId: this.sessionId, ...(title ? { title } : {}) }, { timeoutMs: 0 });
    // One that was deleted has left its rows here.
    Object.assign(this, { transcript: new Transcript(), fault: null, isNew: false });
    this.#follow();
  }

  #page(more) {
    return rpc("events.replay", { sessionId: this.sessionId, limit: PAGE, thinking: true, ...more });
  }

  async #fetch(which, ask, take) {
    if (this.fetching || this.isLoading) return;
    const { transcript } = this;
    this.fetching = which;
    this.pageFault = null;
    redraw();
    try {
      const page = await ask();
      if (!this.#isClosed && this.transcript === transcript) take(page);
    } catch (why) {
      this.pageFault = why;
    }
    this.fetching = null;
    redraw();
  }
  older() {
    if (this.isWhole || this.pageFault) return;
    return this.#fetch("older", () => this.#page({ beforeSeq: this.transcript.firstSeq }), (page) => {
      const before = this.transcript.firstSeq;
      this.transcript.prepend(page.events);
      // A page that brings nothing is the last one too: it is not asked for for ever.
      this.isWhole = page.complete || this.transcript.firstSeq === before;
    });
  }
  newer() {
    if (this.isAtEnd || this.pageFault) return;
    return this.#fetch("newer", () => this.#page({ afterSeq: this.transcript.cursor }), (page) => {
      for (const event of page.events) this.transcript.apply(event);
      if (page.complete) this.#follow();
    });
  }
  again() {
    this.pageFault = null;
    if (this.fault) this.open();
    redraw();
  }

  async #follow() {
    this.isAtEnd = true;
    const watch = (this.#watch = gateway.watch(this.sessionId, { after: this.transcript.cursor ?? 0, thinking: true, ...asked() }));
    try {
      for await (const event of watch) {
        if (this.#watch !== watch) return;
        this.#hear(event);
      }
      if (this.#watch === watch && !this.#isClosed) {
        this.#begin();
        this.fault = new Error("This session was deleted. A message begins it anew.");
      }
    } catch (why) {
      if (this.#watch !== watch || this.#isClosed) return;
      if (isUnasked(why)) return this.#follow();
      this.fault = why;
    }
    redraw();
  }
  #hear(event) {
    if (!this.transcript.apply(event)) return;
    const { data } = event;
    const isQueue = event.event === "queued" || (event.event === "session_changed" && (data.kind === "settled" || data.kind === "taken"));
    if (isQueue) this.queueVersion += 1;
    if (event.event === "run_state" && data.state !== "start" && data.state !== "cancel_requested") this.runs += 1;
    if (event.event === "session_changed" && data.kind === "setting") this.runs += 1;
    sawEvent(this.sessionId, event);
    this.onNews?.(event);
    redraw();
  }
  // Called while the newest is looked at.
  tidy() {
    if (this.transcript.trim(ROWS_MAX, CHARS_MAX)) this.isWhole = false;
  }
}
