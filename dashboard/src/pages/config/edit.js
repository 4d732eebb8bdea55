// Changing one setting: put in, look at what it would do, then save. Nothing is written before somebody has seen the change.

import { h, redraw } from "../../lib/dom.js";
import { busy } from "../../lib/fetching.js";
import { rpc } from "../../lib/link.js";
import { Rows } from "../../ui/listed.js";
import { Badge, Button, toast } from "../../ui/parts.js";
import { fieldOf, read, typed } from "./tree.js";

// The setting that is being changed: { path, field, text, isDefault, changes, shadowedBy, errors, isBusy }.
export const edit = { path: "" };

export function startEdit(line) {
  const field = fieldOf(line);
  Object.assign(edit, { path: line.path, field, text: typed(field, line.value ?? (field === "switch" ? false : line.schema?.default ?? (field === "choice" ? line.schema.enum[0] : undefined))), changes: null, shadowedBy: "", errors: [], isDefault: false, isBusy: false });
  redraw();
}

export function endEdit() {
  edit.path = "";
  redraw();
}

// Whatever is wrong, as sentences: the gateway names each setting that is.
export function faultLines(why) {
  const all = why.data?.errors;
  return all?.length ? all.map((it) => `${it.path ? `${it.path}: ` : ""}${it.message ?? it}`) : [why.message];
}

async function send(isDefault, dryRun) {
  Object.assign(edit, { errors: [], isDefault });
  try {
    const value = isDefault ? null : read(edit.field, edit.text);
    const { changes, shadowedBy } = await busy(edit, () => rpc("config.set", { path: edit.path, value, dryRun }));
    Object.assign(edit, { changes, shadowedBy });
    return changes;
  } catch (why) {
    Object.assign(edit, { changes: null, errors: faultLines(why) });
    redraw();
  }
}

const shown = (value) => (value == null ? h("span.dim", "not set") : h("code", { dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value)));

// What changes, old beside new.
export function Changes({ changes }) {
  const columns = [
    ["Setting", (it) => h("code", it.path)],
    ["Is", (it) => h("span.config-from", shown(it.from))],
    ["Would be", (it) => h("span.config-to", shown(it.to))],
    ["Holds", (it) => (it.restartRequired ? Badge({ tone: "warn" }, ["after a restart"]) : Badge({ tone: "good" }, ["at once"]))],
  ];
  return Rows({ columns, rows: changes, keyOf: (it) => it.path, caption: "What would change", empty: "Nothing would change" });
}

export function Faults({ lines }) {
  if (lines.length === 0) return null;
  return h("div.note.note-bad", { role: "alert" }, lines.length === 1 ? h("span", { dir: "auto" }, lines[0]) : h("ul.config-faults", lines.map((line) => h("li", { dir: "auto" }, line))));
}

function Field({ line }) {
  const { schema } = line;
  const oninput = (event) => {
    Object.assign(edit, { text: event.target.value, changes: null, errors: [] });
    redraw();
  };
  const shared = { "aria-label": `New value of ${line.path}`, "aria-describedby": `about-${line.path}`, value: edit.text, oninput, disabled: edit.isBusy, created: (element) => element.focus() };
  const options = edit.field === "switch" ? ["true", "false"] : schema?.enum?.filter((it) => it !== null);
  if (options) return h("select", { ...shared, oninput: undefined, onchange: oninput }, options.map((it) => h("option", { value: String(it), selected: String(it) === edit.text }, String(it))));
  if (edit.field === "number") return h("input", { ...shared, type: "number", step: schema?.type === "integer" ? 1 : "any", min: schema?.minimum, max: schema?.maximum });
  if (edit.field === "text") return h("input", { ...shared, type: "text", dir: "auto", spellcheck: "false", autocomplete: "off" });
  return h("textarea", { ...shared, rows: 5, dir: "auto", spellcheck: "false" });
}

// `onsaved(changes)`: it is written and holds.
export function Edit({ line, onsaved }) {
  const check = (event) => (event.preventDefault(), send(false, true));
  const save = async () => {
    const changes = await send(edit.isDefault, false);
    if (!changes) return;
    toast(`${edit.path} is saved.`);
    endEdit();
    onsaved(changes);
  };
  const isChecked = edit.changes !== null;
  return h(
    "form.config-edit",
    { onsubmit: check, onkeydown: (event) => event.key === "Escape" && endEdit() },
    h(Field, { line }),
    edit.field === "lines" ? h("p.dim", "One on each line.") : null,
    h(Faults, { lines: edit.errors }),
    isChecked ? h(Changes, { changes: edit.changes }) : null,
    edit.shadowedBy ? h("p.note.note-warn", `It would be written, but ${edit.shadowedBy} is laid over it: what holds stays as it is.`) : null,
    h("div.card-actions",
      isChecked && edit.changes.length > 0 ? Button({ kind: "main", busy: edit.isBusy, onclick: save }, ["Save and reload"]) : Button({ type: "submit", busy: edit.isBusy }, ["See what would change"]),
      line.value !== undefined && !isChecked ? Button({ busy: edit.isBusy, title: "Takes it out of your file", onclick: () => send(true, true) }, ["Back to the default…"]) : null,
      isChecked && edit.changes.length === 0 && edit.shadowedBy ? Button({ busy: edit.isBusy, onclick: save }, ["Save all the same"]) : null,
      Button({ kind: "quiet", onclick: endEdit }, ["Leave it"]),
    ),
  );
}
