// What is shown of a session: events of the gateway become rows. Pages of the history and live news go through the same function,
// so that whatever came by which way the rows are the same. Without a document: the tests run it alone.
//
// An event that was told is not taken a second time (by its cursor). Pages are put before what is there: a page becomes rows of its
// own, and then what hangs over the seam is settled (a call that began in one and ended in the other, a question and its answer).

import { behindBytes, bytesOf, isAfter, readCursor, withoutLast } from "./cursor.js";
import { finish, interrupt, sizeOf } from "./row.js";

const NOWHERE = { entry: -1, within: 0 };
// Of the model's own bookkeeping: nobody wants to read it.
const SILENT = new Set(["requested", "spent", "call_done", "shell", "summary"]);
const SILENT_SETTINGS = new Set(["todos", "gadgets", "title"]);
const SILENT_NOTES = new Set(["keyed", "imported", ""]);

let liveRows = 0;

export class Transcript {
  // user | assistant | call | notice | run | command, oldest first. `open` is the reply that is being made: always the last row.
  rows = [];
  open = null;
  // The run that is under way: { id, at, isStopping }.
  run = null;
  // Open questions by id, and what waits in the lane by item.
  asks = new Map();
  queue = new Map();
  // The first entry that is here, and how far it goes.
  firstSeq = Infinity;
  lastSeq = 0;
  lastAt;
  cursor;
  // Characters of all rows, about.
  chars = 0;
  #told = NOWHERE;
  // Calls that have not ended, and when runs began that have not.
  #calls = new Map();
  #starts = new Map();
  // What ended here and began further up. Each is tried with every page that comes before, until it says that it is settled.
  #owed = [];
  // The last reply or call.
  #lastAct;
  // Whose images follow, and whose end.
  #holder;
  #runRow;

  // Takes one event; false where it was told before.
  apply(event) {
    if (!event.cursor) return false;
    const told = readCursor(event.cursor);
    if (event.event === "retract") return this.#retract(event, told);
    if (!isAfter(told, this.#told)) return false;
    const isDelta = (event.event === "content" || event.event === "thinking") && !event.data.final;
    this.#told = told;
    this.cursor = event.cursor;
    if (!isDelta) {
      this.firstSeq = Math.min(this.firstSeq, event.seq);
      this.lastSeq = event.seq;
      this.lastAt = event.at ?? this.lastAt;
    }
    this.#take(event, told);
    return true;
  }

  // A page of what is older than everything here.
  prepend(events) {
    const older = new Transcript();
    for (const event of events) if (event.seq < this.firstSeq) older.apply(event);
    if (older.cursor !== undefined) this.#join(older);
  }

  // What is only here and in no log: the answer to a command.
  addLocal(row) {
    liveRows += 1;
    this.#push({ key: `local${liveRows}`, ...row });
  }

  // Gives up the oldest rows; whoever scrolls up asks for them again.
  trim(rowsMax, charsMax) {
    let gone = 0;
    let chars = this.chars;
    while (gone < this.rows.length - 1 && (this.rows.length - gone > rowsMax || chars > charsMax)) chars -= sizeOf(this.rows[gone++]);
    // Up to the end of a run: nothing hangs over that.
    while (gone > 0 && gone < this.rows.length && this.rows[gone - 1].kind !== "run") gone += 1;
    if (gone === 0 || gone === this.rows.length) return false;
    this.firstSeq = this.rows[gone - 1].seq + 1;
    this.rows.splice(0, gone);
    this.chars = this.rows.reduce((sum, row) => sum + sizeOf(row), 0);
    return true;
  }

  #take(event, told) {
    const { data } = event;
    switch (event.event) {
      case "content":
        return data.transient ? undefined : this.#says(event, "text", told.bytes);
      case "thinking":
        return this.#says(event, "thinking", told.thinking);
      case "tool_start":
        return this.#callBegins(event);
      case "tool_end":
        return this.#callEnds(event);
      case "attachment":
        return this.#attaches(event);
      case "run_state":
        return this.#runIs(event);
      case "done":
        return this.#runSays({ usage: data.usage, model: data.model, durationMs: data.durationMs });
      case "error":
        return this.#runSays({ message: data.message, code: data.code, reason: data.data?.reason });
      case "tool_confirm":
        return void this.asks.set(data.askId, { ...data, at: event.at, run: event.runId });
      case "tool_confirm_done":
        return this.#answered(event, data);
      case "queued":
        return void this.queue.set(data.itemId, { itemId: data.itemId, text: data.text, by: data.by, at: event.at });
      case "context_warning":
        return void this.#add(event, "notice", { what: "context", level: data.level, text: data.message });
      case "session_changed":
        return this.#changed(event, data.detail ?? {});
    }
  }

  #add(event, kind, more) {
    const row = { kind, key: `e${event.seq}`, seq: event.seq, at: event.at, run: event.runId, ...more };
    this.#push(row);
    return row;
  }
  #push(row) {
    this.chars += sizeOf(row);
    // What is logged while a reply is made stands before it, as it will in the history.
    if (this.open) this.rows.splice(this.rows.length - 1, 0, row);
    else this.rows.push(row);
  }

  // More of the reply: a delta, whose cursor says where it ends, or the rest of it.
  #says(event, field, endsAt) {
    const { final, text } = event.data;
    const isWhole = final && field === "text";
    if (!this.open && isWhole && text === "") return;
    const row = this.open ?? this.#reply(event);
    const size = bytesOf(text);
    const had = row.had[field];
    const news = final || endsAt - size >= had ? text : behindBytes(text, had - (endsAt - size));
    row[field] += news;
    row.had[field] = had + (news === text ? size : bytesOf(news));
    this.chars += news.length;
    if (isWhole) this.#replyEnds(row, event);
  }
  #reply(event) {
    liveRows += 1;
    const row = { kind: "assistant", key: `live${liveRows}`, seq: undefined, at: undefined, run: event.runId, text: "", thinking: "", isOpen: true, had: { text: 0, thinking: 0 } };
    this.#push(row);
    this.open = row;
    return row;
  }
  #replyEnds(row, event) {
    this.open = null;
    Object.assign(row, { seq: event.seq, at: event.at, run: event.runId, isOpen: false, had: null });
    // One that only calls tools says nothing.
    if (row.text === "" && row.thinking === "") this.rows.pop();
    else this.#lastAct = row;
  }
  #dropReply() {
    if (!this.open) return;
    this.rows.pop();
    this.chars -= sizeOf(this.open);
    this.open = null;
  }
  // The gateway takes back what it has told of a reply that is not stored.
  #retract(event, told) {
    const row = this.open;
    if (!row) return false;
    for (const [field, bytes] of [["text", event.data.bytes], ["thinking", event.data.thinkingBytes ?? 0]]) {
      row[field] = withoutLast(row[field], bytes);
      row.had[field] = Math.max(0, row.had[field] - bytes);
    }
    if (row.text === "" && row.thinking === "") this.#dropReply();
    this.#told = told;
    this.cursor = event.cursor;
    return true;
  }

  #callBegins(event) {
    const { callId, tool, args } = event.data;
    const key = `${event.runId} ${callId}`;
    const call = { callId, tool, args, state: "running", startedAt: event.at, attachments: [] };
    const row = this.#add(event, "call", { call });
    this.#calls.set(key, row);
    this.#lastAct = row;
  }
  #callEnds(event) {
    const key = `${event.runId} ${event.data.callId}`;
    const end = { data: event.data, attachments: [] };
    this.#holder = { seq: event.seq, list: this.#calls.get(key)?.call.attachments ?? end.attachments };
    this.chars += event.data.result.output.length;
    this.#settle((from) => {
      const row = from.#calls.get(key);
      if (row) finish(row, end);
      return from.#calls.delete(key);
    });
  }
  // Here, or with a page that is yet to come.
  #settle(how) {
    if (!how(this)) this.#owed.push(how);
  }
  #attaches(event) {
    const holder = this.#holder;
    if (holder?.seq !== event.seq) return;
    holder.list.push(event.data);
    this.chars += event.data.data.length;
  }

  #runIs(event) {
    const { state, timestamp } = event.data;
    const id = event.runId;
    if (state === "cancel_requested") {
      if (this.run) this.run.isStopping = true;
      return;
    }
    // What was told of a reply and is not stored by now never will be.
    this.#dropReply();
    if (state === "start") {
      this.run = { id, at: timestamp, isStopping: false };
      this.#starts.set(id, timestamp);
      return;
    }
    const row = (this.#runRow = this.#add(event, "run", { state, startedAt: undefined, endedAt: timestamp }));
    if (state !== "complete") this.#settle((from) => from.#cut(id));
    this.#settle((from) => {
      for (const [key, call] of from.#calls) if (call.run === id) from.#lose(key, call);
      if (from.run?.id === id) from.run = null;
      row.startedAt = from.#starts.get(id);
      return from.#starts.delete(id);
    });
  }
  #runSays(more) {
    if (!this.#runRow) return;
    Object.assign(this.#runRow, more);
  }
  // A run that was stopped or failed in the middle of a reply: that reply is not whole.
  #cut(id) {
    if (this.#lastAct?.run === id) interrupt(this.#lastAct);
    return this.#lastAct?.run === id || this.#starts.has(id);
  }
  #lose(key, row) {
    this.#calls.delete(key);
    Object.assign(row.call, { state: "failed", result: { success: false, output: "", error: "The run ended before this call did." } });
  }

  #answered(event, { askId, decision, by }) {
    const row = this.#add(event, "notice", { what: "answered", decision, by });
    this.#settle((from) => {
      const ask = from.asks.get(askId);
      row.about = ask?.tool ?? ask?.about;
      return from.asks.delete(askId);
    });
  }

  #changed(event, detail) {
    const { kind, text } = event.data;
    if (SILENT.has(kind)) return;
    switch (kind) {
      case "message": {
        const row = this.#add(event, "user", { text: text ?? "", from: detail.from, by: detail.by, attachments: [] });
        this.#holder = { seq: event.seq, list: row.attachments };
        return;
      }
      case "ask":
        return void this.asks.set(detail.askId, { askId: detail.askId, about: detail.about, at: event.at, isOther: true });
      case "ask_done":
        return this.#answered(event, detail);
      case "settled":
        return this.#settled(event, detail);
      case "taken":
        if (!(detail.count > 1)) return;
        break;
      case "setting":
        if (SILENT_SETTINGS.has(detail.name)) return;
        break;
      case "note":
        if (SILENT_NOTES.has(detail.text ?? "")) return;
        break;
    }
    this.#add(event, "notice", { what: kind, ...detail });
  }
  #settled(event, { itemId, end, why }) {
    const row = end === "consumed" ? {} : this.#add(event, "notice", { what: "settled", end, why });
    this.#settle((from) => {
      row.text = from.queue.get(itemId)?.text;
      return from.queue.delete(itemId);
    });
  }

  #join(older) {
    older.#closeReply();
    this.#owed = older.#owed.concat(this.#owed.filter((settle) => !settle(older)));
    const both = (one, two) => new Map([...one, ...two]);
    this.rows = older.rows.concat(this.rows);
    this.chars += older.chars;
    this.run ??= older.run;
    this.asks = both(older.asks, this.asks);
    this.queue = both(older.queue, this.queue);
    this.#calls = both(older.#calls, this.#calls);
    this.#starts = both(older.#starts, this.#starts);
    this.#lastAct ??= older.#lastAct;
    this.firstSeq = older.firstSeq;
    if (this.cursor !== undefined) return;
    this.cursor = older.cursor;
    this.#told = older.#told;
    this.#runRow = older.#runRow;
    this.lastSeq = older.lastSeq;
    this.lastAt = older.lastAt;
  }
  // A page has no reply that is being made.
  #closeReply() {
    if (this.open) this.open.isOpen = false;
    this.open = null;
  }
}
