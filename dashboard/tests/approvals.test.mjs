import assert from "node:assert/strict";
import { test } from "node:test";
import { find, neverDraw, textOf } from "./tree.mjs";

neverDraw();
globalThis.location = { protocol: "http:", host: "gateway.test" };
globalThis.WebSocket ??= class {};
globalThis.window = globalThis;
const { wholeOf, withoutTricks } = await import("../src/ui/asked.js");
const { live } = await import("../src/lib/live.js");
const { link } = await import("../src/lib/link.js");
const { Approvals } = await import("../src/ui/approvals.js");

const ask = (n, more) => ({ askId: `a${n}`, callId: `c${n}`, sessionId: "s", tool: "shell.exec", args: { command: `echo ${n}` }, risk: "danger-full-access", summary: `echo ${n}`, openedAt: n, ...more });
const draw = () => ({ tag: "root", attrs: {}, children: Approvals().filter(Boolean) });

test("nothing that was given is left out", () => {
  const command = `echo ${"x".repeat(100_000)} && echo END`;
  assert.ok(textOf(wholeOf(ask(1, { args: { command, list: [1, { a: "b" }] } }))).includes(command));
  const diff = `@@ -1,2000 +1,2000 @@\n${Array.from({ length: 2000 }, (_, at) => `+line ${at}`).join("\n")}\n`;
  const shown = textOf(wholeOf(ask(1, { preview: [{ label: "a.rs", text: diff }] })));
  assert.ok(shown.includes("line 0") && shown.includes("line 1999") && shown.includes('"command"'), "the diff, and the arguments behind it");
  for (const args of [null, undefined, "text", 5, [], {}]) assert.ok(textOf(wholeOf(ask(1, { args }))).length > 0);
});

test("signs that hide or turn around are written out", () => {
  assert.equal(withoutTricks("rm\u202e x\u200b\u0007"), "rm‹U+202E› x‹U+200B›‹U+0007›");
  assert.equal(withoutTricks("tab\tline\n日本 é 👍"), "tab\tline\n日本 é 👍");
});

test("a new question is told once, more than three are folded, and nothing can be pressed while they move", () => {
  live.asks = new Map([1, 2, 3, 4, 5].map((n) => [`a${n}`, ask(n)]));
  const first = draw();
  const alert = (tree) => textOf(find(tree, (it) => it.attrs.role === "alert"));
  assert.equal(alert(first), "5 new questions are open.");
  const articles = (tree) => { let n = 0; find(tree, (it) => (n += it.tag === "article" ? 1 : 0) && false); return n; };
  assert.equal(articles(first), 3);
  assert.ok(find(first, (it) => it.tag === "button" && textOf(it) === "2 more open questions"));
  assert.equal(find(first, (it) => it.tag === "button" && textOf(it) === "Allow once").attrs["aria-disabled"], "true");
  live.asks.set("a6", ask(6));
  assert.equal(alert(draw()), "Question: may shell.exec run? echo 6");
  assert.equal(alert(draw()), "Question: may shell.exec run? echo 6", "the same words: nothing new to say");
  live.asks = new Map();
  assert.equal(alert(draw()), "");
});

test("a question about money is no call of a tool", () => {
  live.asks = new Map([["a9", ask(9, { tool: "budget", args: { budget: "day.usd" }, summary: "the day's budget of $20 is spent: go on with another $20?" })]]);
  const shown = textOf(draw());
  assert.ok(shown.includes("Spend more? the day's budget of $20 is spent") && shown.includes("Question: may more be spent?"), shown);
  assert.ok(!shown.includes("full access") && !shown.includes("day.usd"), shown);
  live.asks = new Map();
});

test("who may not answer is told so instead", () => {
  live.asks = new Map([["a1", ask(1)]]);
  link.lacks.add("tools");
  const tree = draw();
  assert.ok(textOf(tree).includes("lacks the scope tools") && !find(tree, (it) => it.tag === "button" && textOf(it) === "Allow once"));
  link.lacks.clear();
  live.asks = new Map();
});

test("what a question shows is made once", () => {
  live.asks = new Map([["a1", ask(1)]]);
  const facts = () => find(draw(), (it) => it.attrs.class === "facts");
  assert.equal(facts(), facts());
  live.asks = new Map();
  draw();
  live.asks = new Map([["a1", ask(1, { args: { command: "other" } })]]);
  assert.ok(textOf(facts()).includes("other"), "forgotten with its question");
});
