import assert from "node:assert/strict";
import { test } from "node:test";
import { neverDraw } from "./tree.mjs";

// A browser with room for so many characters.
const ROOM = 3_500_000;
const kept = new Map();
const sizeOf = () => [...kept].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
globalThis.localStorage = new Proxy(
  {
    getItem: (name) => kept.get(name) ?? null,
    removeItem: (name) => void kept.delete(name),
    setItem(name, value) {
      const before = kept.get(name);
      kept.set(name, value);
      if (sizeOf() <= ROOM) return;
      if (before === undefined) kept.delete(name);
      else kept.set(name, before);
      throw new Error("full");
    },
  },
  { ownKeys: () => [...kept.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) },
);
const heard = [];
globalThis.addEventListener = (name, run) => name === "storage" && heard.push(run);
const elsewhere = (name, value) => {
  if (value === null) kept.delete(name);
  else kept.set(name, value);
  for (const run of heard) run({ key: name, newValue: value });
};
// As on an origin that is not secure: no locks.
Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
neverDraw();
globalThis.location = { protocol: "http:", host: "gateway.test" };
globalThis.WebSocket ??= class {};
// Nothing is sent: what is tested is what is kept until then.
globalThis.setTimeout = () => 0;
const never = new Promise(() => {});

const { followOthers, keepWriting, writeBehind, writingOf } = await import("../src/pages/chat/memory.js");
const { drop, giveBackText, isAnyUnkept, outboxOf, putBack, send, startOutbox, wordsOf } = await import("../src/pages/chat/outbox.js");

const NAME = "tillerman.outbox.";
const stored = () => [...kept].filter(([name]) => name.startsWith(NAME)).map(([, value]) => JSON.parse(value).text);

test("each message is kept under its own name, and what is too large is in nobody's way", () => {
  kept.set(`${NAME}k1`, JSON.stringify({ key: "k1", sessionId: "s", text: "of another page", attachments: [], at: 1, state: "failed", isKept: true }));
  startOutbox();
  send("s", "large", [{ mimeType: "text/plain", data: "x".repeat(ROOM) }], never);
  send("s", "small", [], never);
  assert.deepEqual(outboxOf("s").map((it) => [it.text, it.isKept]), [["of another page", true], ["large", false], ["small", true]]);
  assert.deepEqual(stored(), ["of another page", "small"]);
  assert.match(wordsOf(outboxOf("s")[1]), /only while this page is open/);
  assert.doesNotMatch(wordsOf(outboxOf("s")[2]), /only while/);
  assert.ok(isAnyUnkept());
  drop(outboxOf("s")[1]);
  assert.ok(!isAnyUnkept());
  // Another tab has settled it.
  elsewhere(`${NAME}k1`, null);
  assert.deepEqual(outboxOf("s").map((it) => it.text), ["small"]);
  drop(outboxOf("s")[0]);
  assert.deepEqual(stored(), []);
});

test("what was taken back is in the composer, or beside what is written there", () => {
  giveBackText("back", "first");
  assert.equal(writingOf("back").text, "first");
  giveBackText("back", "second");
  const [item] = outboxOf("back");
  assert.deepEqual([item.text, item.state, stored()], ["second", "back", ["second"]]);
  putBack(item);
  assert.equal(writingOf("back").text, "first\n\nsecond");
  assert.deepEqual([outboxOf("back"), stored()], [[], []]);
  Object.assign(writingOf("back"), { text: "" });
});

test("what failed or came back keeps nobody from sending, and is bounded", () => {
  writingOf("many").text = "busy";
  for (let at = 0; at < 300; at += 1) giveBackText("many", `back ${at}`);
  assert.deepEqual([outboxOf("many").length, outboxOf("many")[0].text, stored().length], [200, "back 100", 200]);
  for (let at = 0; at < 50; at += 1) send("many", `out ${at}`, [], never);
  assert.throws(() => send("many", "one more", [], never), /Too many messages are on their way/);
  for (const item of outboxOf("many")) drop(item);
  writingOf("many").text = "";
});

test("drafts are kept whole or not at all, and whoever leaves is told which", () => {
  followOthers();
  const it = writingOf("long");
  it.text = "y".repeat(500_000);
  assert.ok(keepWriting());
  assert.equal(new Map(JSON.parse(kept.get("tillerman.drafts"))).get("long").length, 500_000);
  it.text = "z".repeat(2_000_000);
  assert.ok(!keepWriting(), "it is only here");
  assert.equal(writingOf("long").text.length, 2_000_000);
  // Another tab writes something else: what is only here stays, what nobody has changed follows.
  writingOf("short");
  elsewhere("tillerman.drafts", JSON.stringify([["long", "old"], ["short", "new"]]));
  assert.deepEqual([writingOf("long").text.length, writingOf("short").text], [2_000_000, "new"]);
  it.text = "";
  assert.ok(keepWriting());
  writeBehind("short", "more", [{ filename: "a.txt" }]);
  assert.equal(writingOf("short").text, "new\n\nmore");
  assert.ok(!keepWriting(), "files are only here");
});
