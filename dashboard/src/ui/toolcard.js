// A call of a tool: one line that says what, how it ended and how long it took; inside all that is known of it.

import { h, redraw } from "../lib/dom.js";
import { bytes, duration } from "../lib/format.js";
import { withoutEscapes } from "./ansi.js";
import { Diff } from "./diff.js";
import { Fold } from "./fold.js";
import { Markdown, MarkdownCache } from "./markdown.js";
import { Badge } from "./parts.js";
import { CopyButton, kept, pictureUrl, visible } from "./plain.js";
import { code, div, li, p, pre, span, ul } from "./tags.js";
import { Terminal } from "./terminal.js";
import { argsOf, contentOf, diffOf, errorOf, first, isDoneTask, kindOf, outputOf, summarize, tasksOf } from "./toolwords.js";

// Pictures of one call that are shown.
const PICTURES_MAX = 20;
const TASKS_MAX = 200;
// Characters of arguments in the document.
const ARGS_MAX = 100_000;

const STATES = { running: ["info", "running"], asking: ["warn", "waits for an answer"], done: ["none", "done"], failed: ["bad", "failed"] };
const opened = new WeakMap();
// The line by call: arguments do not change, an end may.
const summaries = new WeakMap();

function time(call) {
  if (call.durationMs !== undefined && call.durationMs !== null) return duration(call.durationMs);
  return call.startedAt && call.state === "running" ? duration(Math.max(0, Date.now() - call.startedAt)) : "";
}

function State(call) {
  const [tone, word] = STATES[call.state] ?? ["none", String(call.state)];
  const took = time(call);
  return span("tool-state", call.state === "done" ? span("unseen", word) : Badge({ tone }, word), took && span("tool-more numeric", took));
}

// `text`: what can be copied of it.
function section(title, text, shown) {
  return div({ key: title, role: "group", "aria-label": title }, div("tool-part-head", span(null, title), text && CopyButton({ text, what: `The ${title.toLowerCase()}` })), shown);
}

// The command, whole: the line above cuts it.
function Command(call) {
  const command = first(argsOf(call), "command", "cmd");
  return command && section("Command", command, pre({ class: "code", dir: "ltr", tabindex: "0" }, visible(command)));
}

// What the sub-agent was told to do.
function Task(call) {
  const task = first(argsOf(call), "task", "prompt");
  return task && section("Task", task, div({ class: "words", dir: "auto" }, visible(task)));
}

// By call: what a sub-agent said is read once.
const said = new WeakMap();

function Written(call) {
  const args = argsOf(call);
  const content = contentOf(args);
  return content && section("Content", content, Terminal({ text: content, holder: args, label: "Content" }));
}

function Tasks(call) {
  const tasks = tasksOf(argsOf(call)).slice(0, TASKS_MAX);
  if (tasks.length === 0) return null;
  const row = (task, at) => {
    const isNew = task.group && task.group !== tasks[at - 1]?.group;
    const word = isDoneTask(task) ? "done" : task.state.replaceAll("_", " ");
    return [isNew && li({ class: "tool-task-group", dir: "auto" }, task.group), li(`tool-task tool-task-${isDoneTask(task) ? "done" : "open"}`, span("tool-task-state", word), span({ dir: "auto" }, task.text))];
  };
  return section("Tasks", "", ul("tool-tasks", tasks.map(row)));
}

function Changes(call) {
  const text = diffOf(call);
  return text && section("Changes", text, Diff({ text: visible(text), whole: false, holder: call }));
}

function Output(call) {
  const text = outputOf(call);
  const isDiff = text !== "" && text === diffOf(call);
  const error = errorOf(call);
  if (isDiff || text === "" || text === error) {
    const isSilent = call.state === "done" && kindOf(call.tool) === "shell.exec" && text === "";
    return isSilent && p({ class: "dim", key: "silent" }, "No output.");
  }
  const cutNote = call.truncated && p("dim", `This is the beginning: ${bytes(call.fullBytes)} in all.`);
  const kind = kindOf(call.tool);
  if (kind === "subagent.spawn") return section("Answer", text, [Markdown({ text, cache: kept(said, call, [], () => new MarkdownCache()) }), cutNote]);
  return section("Output", () => withoutEscapes(text), [Terminal({ text, holder: call, isTail: kind.startsWith("shell.") }), cutNote]);
}

function Pictures(call) {
  const urls = (call.attachments ?? []).slice(0, PICTURES_MAX).map((it) => [it, pictureUrl(it)]);
  if (urls.length === 0) return null;
  const picture = ([it, url], at) => (url ? h("img.tool-picture", { src: url, onload: redraw, alt: it.filename ? `Image ${it.filename}` : `Image ${at + 1} of this call` }) : p("dim", `A file of the type ${visible(it.mimeType)} is not shown.`));
  return div({ class: "tool-pictures", key: "pictures" }, urls.map(picture));
}

const written = new WeakMap();

function Arguments(call) {
  const { args } = call;
  if (!args || Object.keys(args).length === 0) return null;
  const text = kept(written, call, [args], () => JSON.stringify(args, null, 2));
  const shown = text.length > ARGS_MAX ? `${text.slice(0, ARGS_MAX)}\n… ${text.length - ARGS_MAX} more characters` : text;
  return h("details.tool-args", { key: "args" }, h("summary", "Arguments"), CopyButton({ text, what: "The arguments" }), pre({ class: "code", dir: "auto", tabindex: "0" }, visible(shown)));
}

function Inside(call, nested) {
  const kind = kindOf(call.tool);
  const error = errorOf(call);
  return div("tool-inside",
    call.state === "failed" && error && pre({ class: "note note-bad tool-error", key: "error", dir: "auto" }, withoutEscapes(error)),
    kind === "shell.exec" && Command(call),
    kind === "todo.write" && Tasks(call),
    kind === "subagent.spawn" && Task(call),
    Changes(call),
    kind === "file.write" && !diffOf(call) && Written(call),
    nested && div({ class: "tool-nested", key: "nested", role: "group", "aria-label": "What the sub-agent did" }, nested),
    Output(call),
    Pictures(call),
    Arguments(call),
  );
}

// `call` is the same object from drawing to drawing: what somebody has opened is known by it. Give the card a `key` where it
// stands among others.
export function ToolCard({ call, nested, key }) {
  const { verb, what, more } = kept(summaries, call, [call.args, call.state], () => summarize(call));
  return Fold({
    look: `tool tool-${call.state}`,
    key,
    open: opened.get(call) ?? (call.state === "running" || call.state === "failed"),
    onchange: (isOpen) => opened.set(call, isOpen),
    title: [
      span({ class: "tool-words", title: call.tool }, span("tool-verb", verb), " ", what && code({ class: "tool-what", dir: "auto", title: what }, what), " ", more && span({ class: "tool-more", dir: "auto" }, more)),
      State(call),
    ],
    body: () => Inside(call, nested),
  });
}
