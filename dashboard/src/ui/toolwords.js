// What a call of a tool is about, in one line; and the changes that it makes, where that can be seen from the call.

import { counted, lineDiff } from "./linediff.js";
import { looksLikeDiff } from "./diff.js";
import { cut, joined, kept, visible } from "./plain.js";

const WHAT_MAX = 300;
const VALUE_MAX = 60;
const ARGS_MAX = 4;
const EDITS_MAX = 200;

// Arguments that say what a call is about, whatever the tool.
const TELLING = ["command", "path", "file_path", "file", "pattern", "query", "url", "id", "label", "task", "name"];
const DONE = new Set(["completed", "done"]);

// Other spellings of our own tools that a model or a host may use.
const KINDS = new Map(Object.entries({
  "file.read": "read_file read",
  "file.write": "write_file write",
  "file.edit": "edit_file edit",
  "file.patch": "apply_patch",
  "file.glob": "glob glob_search find",
  "file.grep": "grep grep_search grep_files",
  "file.list": "list_dir ls",
  "shell.exec": "bash",
  "shell.list": "bash_list",
  "shell.read": "bash_read",
  "shell.write": "bash_write",
  "shell.resize": "bash_resize",
  "shell.stop": "bash_stop",
  "todo.write": "todo TodoWrite todo_write",
  "web.fetch": "web_fetch WebFetch",
  "web.search": "web_search WebSearch search_web",
  "subagent.spawn": "subagent Agent",
}).flatMap(([kind, others]) => [kind, kind.replace(".", "_"), ...others.split(" ")].map((name) => [name, kind])));

export function kindOf(tool) {
  return KINDS.get(tool) ?? (tool.startsWith("mcp__") ? "mcp" : "other");
}

export function first(args, ...names) {
  for (const name of names) if (typeof args[name] === "string" && args[name] !== "") return args[name];
  return "";
}

export function argsOf(call) {
  return call.args && typeof call.args === "object" ? call.args : {};
}

export function pathOf(args) {
  return first(args, "path", "file_path", "filePath", "filename", "file", "dir", "directory");
}

export const contentOf = (args) => first(args, "content", "contents", "text");
const within = (args) => pathOf(args) && `in ${pathOf(args)}`;
const patchOf = (args) => first(args, "input", "patch", "diff");

function shortValue(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return cut(text.replace(/\s+/g, " ").trim(), VALUE_MAX);
}

// A few arguments, the telling ones first.
function shortArgs(args) {
  const rank = (name) => (TELLING.indexOf(name) + 1 || TELLING.length + 1);
  const names = Object.keys(args).sort((one, two) => rank(one) - rank(two));
  const shown = names.slice(0, ARGS_MAX).map((name) => `${name}: ${shortValue(args[name])}`);
  return names.length > ARGS_MAX ? `${shown.join(", ")}, …` : shown.join(", ");
}

function lineCount(text) {
  const n = text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  return `${n} line${n === 1 ? "" : "s"}`;
}

function readLines(args) {
  const from = Number(args.offset) || 0;
  const limit = Number(args.limit) || 0;
  if (!from && !limit) return "";
  return limit ? `lines ${from || 1} to ${(from || 1) + limit - 1}` : `from line ${from}`;
}

// The list of tasks: [{ group, text, state }].
export function tasksOf(args) {
  const plain = (list, group) => (Array.isArray(list) ? list : []).map((it) => ({ group: visible(group), text: visible(it?.content ?? it?.text ?? it?.title ?? ""), state: visible(it?.status ?? "pending") }));
  if (Array.isArray(args.phases)) return args.phases.flatMap((phase) => plain(phase?.tasks ?? phase?.todos, String(phase?.name ?? "")));
  return plain(args.todos, "");
}

export function isDoneTask(task) {
  return DONE.has(task.state);
}

// Files of a patch, in either of its two spellings.
export function patchedFiles(text) {
  const found = new Set();
  for (const [, ours, theirs] of text.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: (.+)|\+\+\+ (?:b\/)?([^\t\n]+))$/gm)) found.add((ours ?? theirs).trim());
  found.delete("/dev/null");
  return [...found];
}

function replacements(args) {
  const pair = (it) => ({ old: it?.old_string ?? it?.oldText ?? it?.old_text ?? it?.oldString, now: it?.new_string ?? it?.newText ?? it?.new_text ?? it?.newString });
  const list = Array.isArray(args.edits) ? args.edits.slice(0, EDITS_MAX).map(pair) : [pair(args)];
  return list.filter((it) => typeof it.old === "string" && typeof it.now === "string");
}

// By arguments: they do not change, and to compare texts takes time.
const diffs = new WeakMap();

// The text of a diff that shows what the call changes; empty where it changes nothing that we know of.
export function diffOf(call) {
  const args = argsOf(call);
  const kind = kindOf(call.tool);
  if (kind === "file.patch") return patchOf(args);
  if (kind === "file.edit" || kind === "other" || kind === "mcp") {
    const edits = () => replacements(args).flatMap((it, at, all) => [...(all.length > 1 ? [`@@ ${at + 1} of ${all.length} @@`] : []), ...lineDiff(it.old, it.now)]);
    return kept(diffs, args, [], () => edits().join("\n")) || given(call);
  }
  return kind === "shell.exec" || kind.startsWith("file.") ? given(call) : "";
}

function given(call) {
  const output = outputOf(call);
  return kindOf(call.tool) !== "file.read" && looksLikeDiff(output) ? output : "";
}

export function outputOf(call) {
  const text = call.output ?? call.result?.output ?? (typeof call.result === "string" ? call.result : "");
  return typeof text === "string" ? text : JSON.stringify(text, null, 2);
}

export function errorOf(call) {
  const text = call.error ?? call.result?.error;
  return text ? String(text.message ?? text) : "";
}

function changes(call) {
  const text = diffOf(call);
  if (!text) return "";
  const { added, removed } = counted(text.split("\n"));
  return `+${added} −${removed}`;
}

function todoWords(args) {
  const tasks = tasksOf(args);
  const current = tasks.find((task) => task.state === "in_progress");
  if (tasks.length === 0) return ["Tasks"];
  return ["Tasks", current?.text, `${tasks.filter(isDoneTask).length} of ${tasks.length} done`];
}

const WORDS = {
  "file.read": (args) => ["Read", pathOf(args), readLines(args)],
  "file.write": (args) => ["Write", pathOf(args), lineCount(contentOf(args))],
  "file.edit": (args, call) => ["Edit", pathOf(args), changes(call)],
  "file.patch": (args, call) => ["Patch", patchedFiles(patchOf(args)).join(", "), changes(call)],
  "file.glob": (args) => ["Find files", first(args, "pattern", "glob"), within(args)],
  "file.grep": (args) => ["Search", first(args, "pattern", "query", "regex"), joined([within(args), first(args, "glob", "include")])],
  "file.list": (args) => ["List", pathOf(args) || "."],
  "shell.exec": (args) => [args.run_in_background ? "Run in the background" : "Run", first(args, "command", "cmd"), joined([first(args, "description"), first(args, "cwd") && `in ${args.cwd}`])],
  "shell.list": () => ["List processes"],
  "shell.read": (args) => ["Read output of process", args.id],
  "shell.write": (args) => ["Write to process", args.id, shortValue(args.input ?? args.keys ?? (args.eof ? "end of input" : ""))],
  "shell.resize": (args) => ["Resize terminal of process", args.id, `${args.cols} × ${args.rows}`],
  "shell.stop": (args) => ["Stop process", args.id],
  "todo.write": todoWords,
  "web.fetch": (args) => ["Fetch", first(args, "url"), first(args, "prompt")],
  "web.search": (args) => ["Search the web", first(args, "query")],
  "subagent.spawn": (args) => ["Sub-agent", first(args, "label") || shortValue(first(args, "task", "prompt", "description")), joined([first(args, "access"), first(args, "model")])],
};

// { verb, what, more }: what was done, to what, and what else a person wants to know at once. One line each.
export function summarize(call) {
  const args = argsOf(call);
  const kind = kindOf(call.tool);
  const given = WORDS[kind] ?? ((args) => [kind === "mcp" ? call.tool.split("__").slice(1).join(": ") : call.tool, shortArgs(args)]);
  const words = given(args, call);
  const line = (text) => cut(visible(text ?? "").replace(/\s+/g, " ").trim(), WHAT_MAX);
  return { verb: line(words[0]), what: line(words[1]), more: line(words[2]) };
}
