import assert from "node:assert/strict";
import { test } from "node:test";
import { neverDraw } from "./tree.mjs";

neverDraw();
globalThis.location = { protocol: "http:", host: "gateway.test" };
globalThis.WebSocket ??= class {};
const { gateway } = await import("../src/lib/link.js");
const { live, refresh, startLive } = await import("../src/lib/live.js");

// A gateway that answers when it is told to, and tells news when it is told to.
const asked = [];
let tell;
const subscriptions = [];
gateway.call = (method) => new Promise((answer, fail) => asked.push({ method, answer, fail }));
gateway.listen = () => {
  const news = [];
  let wake = () => {};
  const subscription = { end: null };
  subscriptions.push(subscription);
  tell = (event, data) => (news.push({ event, data }), wake());
  subscription.fail = (why) => ((subscription.end = why), wake());
  return (async function* () {
    for (;;) {
      while (news.length) yield news.shift();
      if (subscription.end) throw subscription.end;
      await new Promise((done) => (wake = done));
    }
  })();
};
Object.defineProperty(gateway, "state", { value: "open" });

const soon = () => new Promise((done) => setTimeout(done));
const ANSWERS = { "system.info": { version: "1" }, "system.capabilities": { scopes: ["chat", "tools", "admin"] }, "lanes.list": { lanes: [] }, "asks.list": { asks: [] } };
// Answers all that is open, and what is asked for then.
async function answerAll(answers = {}) {
  for (let round = 0; round < 6; round++) {
    for (const { method, answer } of asked.splice(0)) answer({ ...ANSWERS, ...answers }[method]);
    await soon();
  }
}
const states = () => Object.fromEntries([...live.lanes].map(([id, lane]) => [id, lane.state]));

test("what news says while a list is on its way is newer than the list", async () => {
  startLive();
  await answerAll();
  // The next connection. Whatever is told now, the gateway has read its lists before.
  const done = refresh();
  const told = new Set();
  for (let round = 0; round < 6; round++) {
    for (const { method, answer } of asked.splice(0)) {
      if (method === "lanes.list" && !told.has(method)) {
        tell("lane", { sessionId: "a", state: "running" });
        tell("lane", { sessionId: "new", state: "running" });
        tell("session", { sessionId: "gone", live: false });
      }
      if (method === "asks.list" && !told.has(method)) {
        tell("ask", { askId: "opened", openedAt: 1 });
        tell("ask_done", { askId: "settled" });
      }
      told.add(method);
      await soon();
      const old = { lanes: [{ sessionId: "a", state: "idle" }, { sessionId: "b", state: "idle" }, { sessionId: "gone", state: "idle" }] };
      const asks = { asks: [{ askId: "settled", openedAt: 0 }, { askId: "open", openedAt: 0 }] };
      answer({ ...ANSWERS, "lanes.list": old, "asks.list": asks }[method]);
    }
    await soon();
  }
  await done;
  assert.deepEqual(states(), { a: "running", b: "idle", new: "running" });
  assert.deepEqual([...live.asks.keys()].sort(), ["open", "opened"]);
  // And what was so before is the list's to say.
  const again = refresh();
  await answerAll({ "lanes.list": { lanes: [{ sessionId: "b", state: "running" }] } });
  await again;
  assert.deepEqual(states(), { b: "running" });
});

test("what could not be read is asked for again, and news that has ended is listened to again", async () => {
  live.can = null;
  const failing = refresh();
  for (let round = 0; round < 6; round++) {
    for (const { method, answer, fail } of asked.splice(0)) method === "lanes.list" ? fail(new Error("the store is busy")) : answer(ANSWERS[method]);
    await soon();
  }
  await failing;
  assert.equal(live.fault, "the store is busy");
  assert.equal(live.can, null, "without its lists nothing is known");
  const before = subscriptions.length;
  subscriptions.at(-1).fail(new Error("the subscription has ended"));
  await soon();
  assert.equal(live.fault, "the subscription has ended");
  const again = refresh();
  await answerAll();
  await again;
  assert.deepEqual([live.fault, live.can.scopes.length, subscriptions.length], ["", 3, before + 1]);
  tell("lane", { sessionId: "c", state: "running" });
  await soon();
  assert.deepEqual(states(), { c: "running" });
});
