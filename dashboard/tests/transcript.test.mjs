// What the chat shows of a session, whatever way its events came.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, isAfter, readCursor, withoutLast } from "../src/pages/chat/cursor.js";
import { Transcript } from "../src/pages/chat/transcript.js";

// Chance that comes again: a failing seed is named.
function dice(seed) {
  let state = seed * 2654435761 + 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

// A log: entries as lists of [event, data], as the gateway stores them. A reply is told in pieces to who is live.
function logOf(roll, turns) {
  const log = [{ events: [["session_changed", { kind: "opened", detail: { cwd: "/w", model: "m" } }]] }];
  const add = (run, ...events) => log.push({ run, events });
  let item = 0;
  for (let turn = 1; turn <= turns; turn += 1) {
    const run = `t${turn}`;
    if (roll(4) === 0) add(undefined, ["session_changed", { kind: "setting", detail: { name: ["model", "title", "mode"][roll(3)] } }]);
    add(run, ["run_state", { state: "start", timestamp: turn * 1000 }]);
    const images = roll(3) === 0 ? [["attachment", { mimeType: "image/png", data: "AAAA" }]] : [];
    add(run, ["session_changed", { kind: "message", role: "user", text: `do ${turn} ä🙂`, detail: { from: "prompt", by: "me" } }], ...images);
    for (let reply = roll(4); reply >= 0; reply -= 1) {
      add(run, ["session_changed", { kind: "requested", detail: { model: "m" } }]);
      if (roll(5) === 0) add(run, ["session_changed", { kind: "retrying", detail: { attempt: 1, of: 3, waitMs: 10, message: "busy" } }]);
      const text = roll(5) === 0 ? "" : `réply ${turn}.${reply} 🙂 ${"word ".repeat(roll(9))}`;
      const thinking = roll(3) === 0 ? `hm ${turn} ü` : undefined;
      const waits = roll(4) === 0 ? `i${(item += 1)}` : undefined;
      if (waits) add(undefined, ["queued", { itemId: waits, text: `wait ${waits}` }]);
      log.push({ run, reply: { text, thinking } });
      for (let call = roll(3); call > 0; call -= 1) callOf(roll, add, run, `call_${reply}_${call}`);
      if (waits) add(undefined, ["session_changed", { kind: "settled", detail: { itemId: waits, end: ["consumed", "dropped"][roll(2)], why: "overflow" } }]);
    }
    const end = roll(4);
    if (end === 0) add(run, ["run_state", { state: "cancelled", timestamp: turn * 1000 + 9 }], ["error", { code: 4, message: "it was cancelled" }]);
    else if (end === 1) add(run, ["run_state", { state: "error", timestamp: turn * 1000 + 9 }], ["error", { code: 5, message: "no", data: { reason: "model_error" } }]);
    else add(run, ["run_state", { state: "complete", timestamp: turn * 1000 + 9 }], ["done", { usage: { inputTokens: 1, outputTokens: 2 }, runId: run }]);
  }
  return log;
}
function callOf(roll, add, run, callId) {
  if (roll(3) === 0) {
    const askId = `ask-${run}-${callId}`;
    add(run, ["tool_confirm", { askId, callId, tool: "shell.exec", args: {} }]);
    add(undefined, ["tool_confirm_done", { askId, callId, decision: "allow" }]);
  }
  add(run, ["tool_start", { tool: "shell.exec", args: { command: "ls" }, callId }]);
  // A process that was killed leaves a call without an end.
  if (roll(8) === 0) return;
  const images = roll(3) === 0 ? [["attachment", { mimeType: "image/png", data: "BBBB" }]] : [];
  add(run, ["tool_end", { tool: "shell.exec", callId, result: { success: roll(3) > 0, output: `out ${callId}`, error: null }, durationMs: 5 }], ...images);
}

const at = (seq) => 1_000_000 + seq;
function placed(entry, seq, list, first = 0) {
  return list.map(([event, data], index) => ({ event, data: structuredClone(data), seq, at: at(seq), cursor: first + index === first + list.length - 1 ? `${seq}` : `${seq}.${first + index}`, sessionId: "s", ...(entry.run ? { runId: entry.run } : {}) }));
}
// As `events.replay` tells entries.
function stored(log, from, to) {
  const events = [];
  for (let seq = from; seq < to; seq += 1) {
    const entry = log[seq - 1];
    const list = entry.events ?? [...(entry.reply.thinking === undefined ? [] : [["thinking", { text: entry.reply.thinking, final: true }]]), ["content", { text: entry.reply.text, final: true }]];
    events.push(...placed(entry, seq, list));
  }
  return events;
}
// As a subscription tells them: replies in pieces of whole characters, sometimes told and taken back first.
function live(log, from, to, roll) {
  const events = [];
  for (let seq = from; seq < to; seq += 1) {
    const entry = log[seq - 1];
    if (entry.events) {
      events.push(...stored(log, seq, seq + 1));
      continue;
    }
    const { text, thinking } = entry.reply;
    const base = seq - 1;
    const frame = (event, data, cursor) => events.push({ event, data, seq: base, cursor, sessionId: "s", runId: entry.run });
    let told = { text: 0, thinking: 0 };
    const tell = (event, field, whole, share) => {
      const letters = [...(whole ?? "")];
      const most = Math.floor((letters.length * share) / 4);
      for (let done = 0; done < most; ) {
        const step = Math.min(most - done, 1 + roll(4));
        const piece = letters.slice(done, done + step).join("");
        done += step;
        told[field] += bytesOf(piece);
        frame(event, { text: piece }, `${base}+${told.text}${told.thinking ? `+${told.thinking}` : ""}`);
      }
      return letters.slice(0, most).join("").length;
    };
    if (roll(5) === 0) {
      tell("content", "text", "never mind 🙂", 3);
      frame("retract", { bytes: told.text }, `${base}`);
      told = { text: 0, thinking: 0 };
    }
    const thought = tell("thinking", "thinking", thinking, roll(5));
    const said = tell("content", "text", text, roll(5));
    const list = [...(thinking === undefined ? [] : [["thinking", { text: thinking.slice(thought), final: true }]]), ["content", { text: text.slice(said), final: true }]];
    events.push(...placed(entry, seq, list));
  }
  return events;
}

function shown(transcript) {
  const rows = transcript.rows.map(({ key, had, ...row }) => row);
  return JSON.parse(JSON.stringify({ rows, asks: [...transcript.asks.keys()], queue: [...transcript.queue.keys()], run: transcript.run, first: transcript.firstSeq, last: transcript.lastSeq }));
}

test("any cut into pages and live news gives the same rows", () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const roll = dice(seed);
    const log = logOf(roll, 1 + roll(6));
    const end = 1 + roll(log.length) + 1;
    const whole = new Transcript();
    for (const event of stored(log, 1, end)) assert.equal(whole.apply(event), true);

    const cut = new Transcript();
    let low = 1 + roll(end);
    const news = live(log, low, end, roll);
    // A page and the news arrive in any order, and some of it twice.
    const pages = [];
    while (low > 1) {
      const from = Math.max(1, low - 1 - roll(7));
      pages.push(stored(log, from, Math.min(end, low + roll(2))));
      low = from;
    }
    const first = pages.shift();
    if (first) cut.prepend(first);
    let told = 0;
    while (told < news.length || pages.length > 0) {
      if (told < news.length && (pages.length === 0 || roll(2))) {
        const event = news[told];
        cut.apply(event);
        // Told again by a connection that came back: never twice.
        if (event.event !== "retract" && roll(3) === 0) assert.equal(cut.apply(structuredClone(event)), false, `seed ${seed}`);
        told += 1;
      } else if (cut.cursor !== undefined) {
        const page = pages.shift();
        cut.prepend(page);
        if (roll(3) === 0) cut.prepend(page);
      }
    }
    assert.deepEqual(shown(cut), shown(whole), `seed ${seed}`);
  }
});

test("a reply grows in its row, and what is logged meanwhile stands before it", () => {
  const transcript = new Transcript();
  const tell = (event, data, seq, cursor) => transcript.apply({ event, data, seq, cursor, runId: "t1" });
  tell("run_state", { state: "start", timestamp: 1 }, 1, "1");
  tell("content", { text: "one " }, 1, "1+4");
  const { key } = transcript.rows[0];
  tell("session_changed", { kind: "setting", detail: { name: "model" } }, 2, "2");
  // One byte of it is there already.
  tell("content", { text: " two" }, 2, "2+7");
  assert.deepEqual(transcript.rows.map((row) => row.text ?? row.what), ["setting", "one two"]);
  assert.equal(transcript.rows[1].isOpen, true);
  tell("content", { text: "!", final: true }, 3, "3");
  assert.deepEqual([transcript.rows[1].text, transcript.rows[1].isOpen, transcript.rows[1].key, transcript.open], ["one two!", false, key, null]);
});

test("what is taken back goes, and a run that ends takes with it what was not stored", () => {
  const transcript = new Transcript();
  const tell = (event, data, seq, cursor) => transcript.apply({ event, data, seq, cursor, runId: "t1" });
  tell("run_state", { state: "start", timestamp: 1 }, 1, "1");
  tell("content", { text: "ab🙂" }, 1, "1+6");
  tell("retract", { bytes: 4 }, 1, "1");
  assert.equal(transcript.open.text, "ab");
  tell("retract", { bytes: 2 }, 1, "1");
  assert.deepEqual(transcript.rows, []);
  tell("content", { text: "again" }, 1, "1+5");
  tell("run_state", { state: "error", timestamp: 3 }, 2, "2.0");
  tell("error", { code: 5, message: "no" }, 2, "2");
  assert.deepEqual(transcript.rows.map((row) => [row.kind, row.message]), [["run", "no"]]);
});

test("a reply that was cut says so, a call that never ended does too", () => {
  const transcript = new Transcript();
  const tell = (event, data, seq) => transcript.apply({ event, data, seq, cursor: `${seq}`, runId: "t1" });
  tell("run_state", { state: "start", timestamp: 1 }, 1);
  tell("tool_start", { tool: "x", args: {}, callId: "c" }, 2);
  tell("content", { text: "half", final: true }, 3);
  tell("run_state", { state: "cancelled", timestamp: 2 }, 4);
  assert.deepEqual(transcript.rows.map((row) => row.call?.state ?? row.isInterrupted ?? row.state), ["failed", true, "cancelled"]);
});

test("the oldest rows are given up at the end of a run, and come back by a page", () => {
  const roll = dice(7);
  const log = logOf(roll, 40);
  const whole = new Transcript();
  for (const event of stored(log, 1, log.length + 1)) whole.apply(event);
  const before = shown(whole);
  assert.equal(whole.trim(50, Infinity), true);
  assert.ok(whole.rows.length <= 50 && whole.rows.length > 20, `${whole.rows.length}`);
  assert.equal(whole.trim(50, Infinity), false);
  whole.prepend(stored(log, 1, whole.firstSeq));
  assert.deepEqual(shown(whole).rows, before.rows);
});

test("cursors stand in the order in which they are told", () => {
  const order = ["0", "6", "7.0", "7.1", "7", "7+3", "7+5", "7+5+2", "8.0+5", "8"].map(readCursor);
  for (let at = 1; at < order.length; at += 1) assert.ok(isAfter(order[at], order[at - 1]) && !isAfter(order[at - 1], order[at]), `${at}`);
  assert.equal(bytesOf("aä€🙂"), 10);
  assert.equal(withoutLast("aä€🙂", 7), "aä");
});
