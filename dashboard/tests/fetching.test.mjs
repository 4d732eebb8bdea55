import assert from "node:assert/strict";
import { test } from "node:test";
import { neverDraw } from "./tree.mjs";

neverDraw();
const { Fetched, retryFailed } = await import("../src/lib/fetching.js");

test("what has a fault is asked for again with the next connection, and nothing else is", async () => {
  let isAway = true;
  const asked = [];
  const of = (name, away) => new Fetched(async () => {
    asked.push(name);
    if (away && isAway) throw new Error("not answered");
    return name;
  });
  const [one, two] = [of("one", true), of("two", false)];
  await Promise.all([one.again(), two.again()]);
  assert.equal(one.fault.message, "not answered");
  retryFailed();
  await new Promise((done) => setTimeout(done));
  assert.equal(one.fault.message, "not answered", "it is kept until it is answered");
  isAway = false;
  retryFailed();
  await new Promise((done) => setTimeout(done));
  assert.deepEqual([one.fault, one.value, one.isLoading], [null, "one", false]);
  retryFailed();
  assert.deepEqual(asked, ["one", "two", "one", "one"]);
});
