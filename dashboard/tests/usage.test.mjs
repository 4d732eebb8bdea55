import assert from "node:assert/strict";
import { test } from "node:test";
import { csv } from "../src/lib/csv.js";
import { byDay, cacheShare, costOf, costText, perDay, sum, tokensOf } from "../src/pages/usage/sums.js";
import { sortRows } from "../src/ui/sorted.js";

const row = (key, inputTokens, costUsd, unpriced = 0) => ({ key, calls: 1, unpriced, usage: { inputTokens, outputTokens: 1, ...(costUsd === undefined ? {} : { costUsd }) } });

test("a price that nobody knows is never nothing", () => {
  assert.equal(costText(costOf(row("a", 5, 0, 6))), "unknown");
  assert.equal(costText(costOf(row("a", 5, 0, 0))), "$0");
  assert.equal(costText(costOf(row("a", 5, 2, 6))), "≥ $2.00");
  assert.equal(costText(costOf(row("a", 5, undefined))), "–");
  const all = sum([row("a", 1, 0, 9), row("b", 2, 0.5)]);
  assert.equal(costText(costOf(all)), "≥ $0.50");
  assert.equal(costText(costOf(sum([row("a", 1, 0, 9)]))), "unknown");
  assert.equal(all.calls, 2);
  assert.equal(tokensOf(all.usage), 5);
});

test("days without use are zero, days before the first are not known", () => {
  const rows = byDay(["d1", "d2", "d3", "d4"], [row("d2", 5, 1), row("d4", 1, 1)], "d2");
  assert.deepEqual(rows.map((it) => it && it.usage.inputTokens), [null, 5, 0, 1]);
  assert.equal(perDay(rows).days, 3);
  assert.ok(Math.abs(perDay(rows).usd - 2 / 3) < 1e-12);
  assert.equal(perDay([null]), undefined);
  assert.deepEqual(byDay(["d1"], [], undefined), [null]);
});

test("the share of the cache is of what was read", () => {
  assert.equal(cacheShare({ inputTokens: 10, cacheReadTokens: 80, cacheWriteTokens: 10, outputTokens: 500 }), 0.8);
  assert.equal(cacheShare({}), undefined);
});

test("cells of a spreadsheet are quoted and are no formulas", () => {
  assert.equal(csv(["a", "b"], [["x,y", 'say "hi"'], ["=1+1", undefined], ["-cmd", -5]]), 'a,b\r\n"x,y","say ""hi"""\r\n\'=1+1,\r\n\'-cmd,-5\r\n');
});

test("what has no value is last, whichever way it goes", () => {
  const column = { value: (it) => it.n };
  const rows = [{ n: 2 }, {}, { n: 10 }, { n: 1 }];
  assert.deepEqual(sortRows(rows, column, true).map((it) => it.n), [1, 2, 10, undefined]);
  assert.deepEqual(sortRows(rows, column, false).map((it) => it.n), [10, 2, 1, undefined]);
});
