import assert from "node:assert/strict";
import { test } from "node:test";
import { elements, neverDraw, textOf } from "./tree.mjs";

neverDraw();
const { Toasts, dropToast, toast } = await import("../src/ui/parts.js");

test("a way back is not pushed out by what is told after it", () => {
  const kept = toast("gone in a while", { undo: () => {}, ms: 1 });
  for (let at = 0; at < 9; at += 1) toast(`news ${at}`, { ms: 1 });
  const shown = textOf(Toasts());
  assert.match(shown, /^gone in a whileUndo/);
  assert.ok(shown.endsWith("news 8") && !shown.includes("news 5"), shown);
  dropToast(kept);
  assert.ok(!textOf(Toasts()).includes("Undo"));
});

test("what failed looks like it", () => {
  toast("it did not work", { tone: "bad", ms: 1 });
  assert.ok([...elements(Toasts())].some((it) => it.attrs.class === "toast toast-bad"));
});
