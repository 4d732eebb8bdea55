import assert from "node:assert/strict";
import { test } from "node:test";
import { counted, lineDiff } from "../src/ui/linediff.js";
import { ToolCard } from "../src/ui/toolcard.js";
import { diffOf, kindOf, patchedFiles, summarize } from "../src/ui/toolwords.js";
import { find, neverDraw, textOf } from "./tree.mjs";

neverDraw();

const PATCH = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn main\n-old\n+new\n*** Add File: b.txt\n+b\n*** End Patch";
const UNIFIED = "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1 @@\n-a\n+b\n";

const SUMMARIES = [
  ["shell.exec", { command: "cargo test\n  --all", cwd: "sub" }, "Run", "cargo test --all", "in sub"],
  ["bash", { command: "sleep 9", run_in_background: true, description: "wait" }, "Run in the background", "sleep 9", "wait"],
  ["file.read", { path: "a.rs", offset: 10, limit: 5 }, "Read", "a.rs", "lines 10 to 14"],
  ["file_read", { file_path: "a.rs" }, "Read", "a.rs", ""],
  ["file.write", { path: "n.txt", content: "a\nb\n" }, "Write", "n.txt", "2 lines"],
  ["file.edit", { path: "a.rs", old_string: "x\ny", new_string: "x\nz\nw" }, "Edit", "a.rs", "+2 −1"],
  ["file.edit", { path: "a.rs", edits: [{ old_string: "a", new_string: "b" }, { oldText: "c", newText: "d" }] }, "Edit", "a.rs", "+2 −2"],
  ["file.patch", { input: PATCH }, "Patch", "src/a.rs, b.txt", "+2 −1"],
  ["apply_patch", { patch: UNIFIED }, "Patch", "x.txt", "+1 −1"],
  ["file.glob", { pattern: "**/*.rs", path: "src" }, "Find files", "**/*.rs", "in src"],
  ["file.grep", { pattern: "fn \\w+", path: "src", glob: "*.rs" }, "Search", "fn \\w+", "in src, *.rs"],
  ["file.list", {}, "List", ".", ""],
  ["shell.write", { id: 3, input: "y\n" }, "Write to process", "3", "y"],
  ["shell.stop", { id: "p1" }, "Stop process", "p1", ""],
  ["web.fetch", { url: "https://x.org/a", prompt: "the price" }, "Fetch", "https://x.org/a", "the price"],
  ["web.search", { query: "rust" }, "Search the web", "rust", ""],
  ["todo.write", { todos: [{ content: "a", status: "completed" }, { content: "b", status: "in_progress" }, { content: "c", status: "pending" }] }, "Tasks", "b", "1 of 3 done"],
  ["TodoWrite", { phases: [{ name: "One", tasks: [{ content: "a", status: "completed" }] }] }, "Tasks", "", "1 of 1 done"],
  ["subagent.spawn", { task: "look for it", label: "Scout", access: "read-only" }, "Sub-agent", "Scout", "read-only"],
  ["mcp__github__list_issues", { state: "open", repo: "a/b" }, "github: list_issues", "state: open, repo: a/b", ""],
  ["my_tool", { z: 1, path: "p", nested: { a: [1] }, b: true, more: "x" }, "my_tool", "path: p, z: 1, nested: {\"a\":[1]}, b: true, …", ""],
  ["my_tool", {}, "my_tool", "", ""],
];

test("each call in one line", () => {
  for (const [tool, args, verb, what, more] of SUMMARIES) assert.deepEqual(summarize({ tool, args }), { verb, what, more }, tool);
  assert.ok(summarize({ tool: "bash", args: { command: "x".repeat(5000) } }).what.length <= 300);
  assert.equal(summarize({ tool: "bash", args: { command: "a \u202e b" } }).what, "a ‹202E› b");
  assert.equal(kindOf("constructor"), "other");
});

test("differences of lines", () => {
  assert.deepEqual(lineDiff("a\nb\nc\n", "a\nx\nc\n"), [" a", "-b", "+x", " c"]);
  assert.deepEqual(lineDiff("", "a\nb"), ["+a", "+b"]);
  assert.deepEqual(lineDiff("a", "a"), [" a"]);
  assert.deepEqual(lineDiff("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\n7"), [" 3", " 4", " 5", "-6", "+7"]);
  assert.deepEqual(lineDiff("a\nb\nc\nd", "b\nc\ne\nd"), ["-a", " b", " c", "+e", " d"]);
  const [old, now] = [Array.from({ length: 3000 }, (_, n) => `a${n}`).join("\n"), Array.from({ length: 3000 }, (_, n) => `b${n}`).join("\n")];
  assert.deepEqual(counted(lineDiff(old, now)), { added: 3000, removed: 3000 });
});

test("where a diff comes from", () => {
  assert.equal(diffOf({ tool: "file.patch", args: { input: PATCH } }), PATCH);
  assert.equal(diffOf({ tool: "shell.exec", args: { command: "git diff" }, result: { output: UNIFIED } }), UNIFIED);
  assert.equal(diffOf({ tool: "file.read", args: { path: "x.patch" }, output: UNIFIED }), "");
  assert.equal(diffOf({ tool: "file.write", args: { path: "x" }, output: "created x (1 line)" }), "");
  assert.equal(diffOf({ tool: "mcp__fs__edit", args: { old_string: "a", new_string: "b" } }), "-a\n+b");
  assert.deepEqual(patchedFiles(UNIFIED), ["x.txt"]);
});

const card = (more) => ({ callId: "call_1", tool: "shell.exec", args: { command: "ls" }, state: "done", durationMs: 1234, ...more });
const isOpen = (call) => ToolCard({ call }).attrs.open;

test("a card is open while it runs and when it failed, unless somebody says otherwise", () => {
  assert.equal(isOpen(card({ state: "running" })), true);
  assert.equal(isOpen(card({ state: "failed" })), true);
  assert.equal(isOpen(card({})), false);
  assert.equal(isOpen(card({ state: "asking" })), false);
  const call = card({ output: "file.txt" });
  assert.doesNotMatch(textOf(ToolCard({ call })), /file\.txt/);
  ToolCard({ call }).children[0].attrs.onclick({ preventDefault() {} });
  assert.equal(isOpen(call), true);
  assert.match(textOf(ToolCard({ call })), /file\.txt/);
  const running = card({ state: "running" });
  ToolCard({ call: running }).children[0].attrs.onclick({ preventDefault() {} });
  running.state = "failed";
  assert.equal(isOpen(running), false);
});

test("the state is a word, and the time is there", () => {
  assert.match(textOf(ToolCard({ call: card({}) })), /Run ls .*done1\.2 s/);
  assert.match(textOf(ToolCard({ call: card({ state: "failed", error: "denied by the user" }) })), /failed.*denied by the user/);
  assert.match(textOf(ToolCard({ call: card({ state: "running", durationMs: undefined, startedAt: Date.now() - 65_000 }) })), /running1 min 5 s/);
});

test("inside is what the call made", () => {
  const open = (more) => textOf(ToolCard({ call: card({ state: "failed", ...more }) }));
  assert.match(open({ output: "\u001b[31mred\u001b[0m" }), /OutputCopyred/);
  assert.match(open({ output: "x", truncated: true, fullBytes: 2 * 1024 * 1024 }), /2\.0 MiB in all/);
  assert.match(open({ tool: "todo.write", args: { todos: [{ content: "first", status: "completed" }] } }), /donefirst/);
  assert.match(open({ tool: "file.write", args: { path: "a", content: "whole text" } }), /ContentCopywhole text/);
  // The same words are not said twice.
  assert.equal(open({ output: "no such file", error: "no such file" }).match(/no such file/g).length, 1);
  const nested = textOf(ToolCard({ call: card({ state: "running", tool: "subagent.spawn", args: { task: "t" } }), nested: [{ tag: null, text: "inside" }] }));
  assert.match(nested, /inside/);
});
