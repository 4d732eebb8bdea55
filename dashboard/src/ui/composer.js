// Where a message is written. What is typed and attached lives in the page's `state`: a redraw loses nothing, and it is the page
// that empties it when it has taken a message.

import { h, redraw } from "../lib/dom.js";
import { bytes } from "../lib/format.js";
import { live } from "../lib/live.js";
import { attachmentOf, limitsOf, matchingCommands, refuse, sendFault, typedCommand } from "./attaching.js";
import { Button } from "./parts.js";
import { kept, pictureUrl } from "./plain.js";
import { code, div, input, li, p, span, ul } from "./tags.js";

const COMMANDS_MAX = 50;
const FAULTS_MAX = 5;

// By state: what is only of the writing.
const views = new WeakMap();
let ids = 0;

function viewOf(state) {
  return kept(views, state, [], () => ({ id: `composer-${(ids += 1)}`, chosen: 0, faults: [], reading: 0, isOver: false }));
}

async function attach(state, files) {
  const view = viewOf(state);
  const limits = limitsOf(live.can);
  view.faults = [];
  view.reading += 1;
  redraw();
  for (const file of files) {
    try {
      refuse(file, state.attachments, limits);
      const read = await attachmentOf(file);
      // Others may have come while this one was read.
      refuse(file, state.attachments, limits);
      state.attachments.push(read);
    } catch (error) {
      if (view.faults.length < FAULTS_MAX) view.faults.push(error.message);
    }
  }
  view.reading -= 1;
  redraw();
}

function detach(state, it) {
  const at = state.attachments.indexOf(it);
  if (at >= 0) state.attachments.splice(at, 1);
  viewOf(state).faults = [];
  redraw();
  document.getElementById(viewOf(state).id)?.focus();
}

function Chips(state) {
  if (state.attachments.length === 0) return null;
  const chip = (it) => {
    const url = pictureUrl(it);
    return li("upload",
      url && h("img", { src: url, alt: "" }),
      span({ class: "upload-name", dir: "auto", title: it.filename }, it.filename),
      span("dim", bytes(it.bytes)),
      h("button", { type: "button", "aria-label": `Remove ${it.filename}`, title: "Remove", onclick: () => detach(state, it) }, "×"),
    );
  };
  return ul({ class: "uploads", key: "attached", "aria-label": "Attached files" }, state.attachments.map(chip));
}

function type(state, text) {
  const view = viewOf(state);
  state.text = text;
  view.chosen = 0;
  if (!text.startsWith("/")) view.isClosed = false;
  redraw();
}

function accept(state, command) {
  type(state, `/${command.name} `);
  document.getElementById(viewOf(state).id)?.focus();
}

function Commands(state, found) {
  const view = viewOf(state);
  const option = (it, at) =>
    li({
      role: "option", id: `${view.id}-${at}`, key: it.name, class: at === view.chosen ? "command command-chosen" : "command", "aria-selected": String(at === view.chosen),
      updated: at === view.chosen && ((element) => element.scrollIntoView({ block: "nearest" })),
      // Before the text area loses the focus.
      onmousedown: (event) => (event.preventDefault(), accept(state, it)),
    }, span("command-name", `/${it.name}`, it.args && span("dim", ` ${it.args}`)), span("command-summary", it.summary));
  return ul({ class: "commands", key: "commands", role: "listbox", id: `${view.id}-list`, "aria-label": "Commands" }, found.map(option));
}

// True where the key was for the list.
function listKey(event, state, found) {
  const view = viewOf(state);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) view.chosen = (view.chosen + step + found.length) % found.length;
  else if (event.key === "Escape") view.isClosed = true;
  else if (!event.shiftKey && (event.key === "Tab" || (event.key === "Enter" && state.text !== `/${found[view.chosen].name}`))) accept(state, found[view.chosen]);
  else return false;
  event.preventDefault();
  event.stopPropagation();
  redraw();
  return true;
}

function grow(state) {
  const view = viewOf(state);
  return (element) => {
    const { style, clientWidth: width } = element;
    if (view.grown === state.text && view.width === width) return;
    Object.assign(view, { grown: state.text, width });
    style.height = "auto";
    style.height = `${element.scrollHeight + element.offsetHeight - element.clientHeight}px`;
  };
}

function matching(state, commands) {
  return viewOf(state).isClosed ? [] : matchingCommands(state.text, commands, COMMANDS_MAX);
}

function Writing(state, found, { commands, placeholder, label, created }, send) {
  const view = viewOf(state);
  const isList = found.length > 0;
  const onkeydown = (event) => {
    // Enter ends the word that an input method is putting together.
    if (event.isComposing || event.keyCode === 229) return;
    // A key may come before the last letter was drawn.
    const now = matching(state, commands);
    view.chosen = Math.min(view.chosen, Math.max(0, now.length - 1));
    if (now.length > 0 && listKey(event, state, now)) return;
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    event.preventDefault();
    send();
  };
  const onpaste = (event) => {
    const { files, types } = event.clipboardData ?? {};
    // A table from a spreadsheet is a text and a picture of it: the text is meant.
    if (!files?.length || types.includes("text/plain")) return;
    event.preventDefault();
    attach(state, [...files]);
  };
  return h("textarea", {
    id: view.id, key: "text", rows: "1", dir: "auto", value: state.text, placeholder, "aria-label": label, enterkeyhint: "send", autocomplete: "off",
    "aria-autocomplete": "list", "aria-haspopup": "listbox", "aria-controls": isList && `${view.id}-list`, "aria-activedescendant": isList && `${view.id}-${view.chosen}`, "aria-describedby": `${view.id}-words`,
    oninput: (event) => type(state, event.target.value), onkeydown, onpaste, created: (element) => (grow(state)(element), created?.(element)), updated: grow(state),
  });
}

function Words(state, commands, fault) {
  const view = viewOf(state);
  const command = typedCommand(state.text, commands);
  const said = command && span(null, code(null, `/${command.name}${command.args ? ` ${command.args}` : ""}`), ` ${command.summary ?? ""}`);
  const why = state.text.trim() || state.attachments.length ? fault : "";
  return div({ class: "composer-words", key: "words", id: `${view.id}-words` },
    div({ role: "status" }, view.reading > 0 && "Reading files…", why && p("fault", why), view.faults.map((it) => p({ class: "fault", dir: "auto" }, it))),
    said && p({ class: "dim", dir: "auto" }, said),
  );
}

function dropping(state) {
  const view = viewOf(state);
  const over = (isOver) => (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (view.isOver !== isOver) redraw();
    view.isOver = isOver;
  };
  const ondrop = (event) => {
    over(false)(event);
    attach(state, [...(event.dataTransfer?.files ?? [])]);
  };
  return { ondragenter: over(true), ondragover: over(true), ondragleave: over(false), ondrop };
}

// `onsend({ text, attachments })` is called with what may be sent. `stop`: the word that stops what runs, `stopHint` what that does.
// `created(element)` is called with the text area.
export function Composer({ state, onsend, onstop, stop = "Stop", stopHint, isRunning, commands = [], placeholder = "Message", label = "Message", created }) {
  const view = viewOf(state);
  const found = matching(state, commands);
  view.chosen = Math.min(view.chosen, Math.max(0, found.length - 1));
  const isList = found.length > 0;
  const faultNow = () => (view.reading > 0 ? "Files are still being read." : sendFault(state, limitsOf(live.can)));
  const fault = faultNow();
  const send = () => {
    // Enter may come before the last letter was drawn.
    if (faultNow()) return redraw();
    view.faults = [];
    onsend({ text: state.text, attachments: [...state.attachments] });
  };
  const pick = (event) => {
    attach(state, [...event.target.files]);
    event.target.value = "";
  };
  // Everything in it has a name: what comes and goes must not take the focus of a neighbour with it.
  return div({ class: view.isOver ? "composer composer-over" : "composer", role: "group", "aria-label": "Write a message", ...dropping(state) },
    isList && Commands(state, found),
    Chips(state),
    Writing(state, found, { commands, placeholder, label, created }, send),
    div({ class: "composer-foot", key: "foot" },
      h("label.button.button-small.composer-file", { key: "file" }, "Attach", input({ type: "file", class: "unseen", multiple: true, onchange: pick })),
      Words(state, commands, fault),
      isRunning && Button({ kind: "danger", key: "stop", onclick: onstop, title: stopHint }, stop),
      Button({ kind: "main", key: "send", onclick: send, disabled: fault, title: fault || "Enter sends, Shift and Enter begin a new line" }, "Send"),
    ),
    p({ class: "unseen", key: "said", role: "status" }, // A reader of screens does not see a list appear.
      isList && `${found.length} command${found.length === 1 ? "" : "s"}, arrows choose, Tab takes`),
    view.isOver && p({ class: "composer-drop", key: "drop" }, "Drop files to attach them"),
  );
}
