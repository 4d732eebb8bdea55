// What holds, and what a change would do.

import { h, redraw } from "../lib/dom.js";
import { Fetched } from "../lib/fetching.js";
import { rpc } from "../lib/link.js";
import { has, live } from "../lib/live.js";
import { replaceQuery, route } from "../lib/router.js";
import { Badge, Button, Card, Empty, ErrorNote, Loading, Search, copyText, toast } from "../ui/parts.js";
import { Changes, Edit, Faults, edit, endEdit, faultLines, startEdit } from "./config/edit.js";
import { SECRET, found, grouped, lines, wanted, whyNot } from "./config/tree.js";

const tree = new Fetched();
const schema = new Fetched();
// `reload`: what reading again would do, or why it cannot; `restart`: settings that hold only after a restart of this instance.
const state = { find: undefined, isAll: false, reload: null, errors: [], isBusy: false, restart: new Map() };

const askTree = () => rpc("config.get");
const askSchema = () => (has("config.schema") ? rpc("config.schema") : Promise.resolve(null));
const canTry = () => has("config.set");

function saved(changes) {
  for (const it of changes) if (it.restartRequired) state.restart.set(it.path, live.info?.instance);
  state.reload = null;
  tree.again(askTree);
}

async function reload(dryRun) {
  Object.assign(state, { isBusy: true, errors: [] });
  redraw();
  try {
    const result = await rpc("config.reload", dryRun ? { dryRun } : {});
    const changes = result.changes ?? [...result.changed, ...result.restartRequired].map((path) => ({ path, restartRequired: result.restartRequired.includes(path) }));
    if (dryRun) state.reload = changes;
    else {
      toast(changes.length === 0 ? "Nothing has changed." : `${changes.length} setting${changes.length === 1 ? " is" : "s are"} otherwise now.`, { tone: "good" });
      saved(changes);
    }
  } catch (why) {
    Object.assign(state, { reload: null, errors: faultLines(why) });
  }
  state.isBusy = false;
  redraw();
}

function Reload() {
  if (!has("config.reload")) return null;
  const isTried = state.reload !== null;
  if (!isTried && state.errors.length === 0) return null;
  return h(Card, { title: "Reading the settings again" },
    state.errors.length ? [h("p", "They cannot be read; those from before hold."), h(Faults, { lines: state.errors })] : null,
    isTried ? h(Changes, { changes: state.reload }) : null,
    h("div.card-actions.config-buttons",
      isTried && state.reload.length > 0 ? Button({ kind: "main", busy: state.isBusy, onclick: () => reload(false) }, ["Take over"]) : null,
      Button({ onclick: () => (Object.assign(state, { reload: null, errors: [] }), redraw()) }, [isTried && state.reload.length > 0 ? "Not now" : "Close"]),
    ),
  );
}

function Value({ line }) {
  const { value } = line;
  if (value === undefined) return h("span.dim", line.schema?.default === undefined ? "not set" : ["not set: ", h("code", JSON.stringify(line.schema.default))]);
  if (value === SECRET) return Badge({ title: "It is set; nobody is told what it is" }, ["secret, set"]);
  if (value === "" || (Array.isArray(value) && value.length === 0)) return h("span.dim", "empty");
  if (Array.isArray(value) && value.every((it) => typeof it !== "object")) return h("ul.config-list", value.map((it) => h("li", h("code", { dir: "auto" }, String(it)))));
  if (typeof value === "object") return h("pre.code", { dir: "auto", tabindex: "0" }, JSON.stringify(value, null, 2));
  return h("code.config-value", { dir: "auto" }, String(value));
}

function Line({ line }) {
  const { schema: of } = line;
  const isEdited = edit.path === line.path;
  const why = has("config.set") && schema.value ? whyNot(line) : "";
  const isWaiting = state.restart.get(line.path) !== undefined && state.restart.get(line.path) === live.info?.instance;
  return h(
    "li.config-line",
    { key: line.path },
    h("div.config-name", h("code", line.path), isWaiting ? Badge({ tone: "warn" }, ["waits for a restart"]) : of?.["x-restartRequired"] ? Badge({ title: "A change holds after the gateway was started anew" }, ["needs a restart"]) : null),
    h("div.config-is", isEdited ? h(Edit, { line, onsaved: saved }) : h(Value, { line })),
    h("div.config-about.dim", { id: `about-${line.path}`, dir: "auto" }, [of?.description, wanted(of) ? `(${wanted(of)})` : "", of?.["x-env"] ? `The variable ${of["x-env"]} wins over it.` : ""].filter(Boolean).join(" ")),
    h("div.config-do", isEdited || !has("config.set") || !schema.value ? null : why ? h("span.dim.config-why", { title: why }, line.value === SECRET || of?.writeOnly ? "set by command line" : "not from here") : Button({ kind: "small", label: `Change ${line.path}`, onclick: () => startEdit(line) }, ["Change"])),
  );
}

function Groups({ all }) {
  const shown = found(state.isAll || state.find ? all : all.filter((line) => line.value !== undefined || line.path === edit.path), state.find);
  if (shown.length === 0) return h(Empty, { title: state.find ? "No setting is called so" : "Nothing is set" }, state.find ? Button({ kind: "small", onclick: () => find("") }, ["Show all"]) : "Everything is as it comes.");
  return grouped(shown).map(([name, some]) => h(Card, { key: `group-${name}`, title: name || "General" }, h("ul.config-lines", some.map((line) => h(Line, { line })))));
}

function find(text) {
  state.find = text;
  replaceQuery(text ? { find: text } : {});
}

export const configPage = {
  name: "config",
  title: "Config",
  needs: ["config.get"],
  view() {
    state.find ??= route.query.get("find") ?? "";
    tree.want("tree", askTree);
    schema.want(`schema ${has("config.schema")}`, askSchema);
    const isReady = tree.value && (schema.value !== undefined || schema.fault);
    const all = isReady ? lines(tree.value, schema.value ?? undefined) : [];
    const unset = all.filter((line) => line.value === undefined).length;
    const waiting = [...state.restart].filter(([, instance]) => instance === live.info?.instance).map(([path]) => path);
    return h("div",
      h("h1", "Config"),
      h("div.toolbar",
        h(Search, { label: "Find a setting", placeholder: "Name, value or word", value: state.find, oninput: find }),
        unset && !state.find ? h("label.config-all", h("input", { type: "checkbox", checked: state.isAll, onchange: (event) => ((state.isAll = event.target.checked), redraw()) }), ` also the ${unset} that are not set`) : null,
        has("config.reload") ? Button({ busy: state.isBusy, onclick: () => reload(canTry()) }, [canTry() ? "Read again…" : "Read again"]) : null,
        tree.value ? Button({ kind: "small", onclick: () => copyText(JSON.stringify(tree.value, null, 2), "What holds, without secrets,") }, ["Copy all"]) : null,
      ),
      waiting.length ? h("p.note.note-warn", { role: "status" }, `After a restart of the gateway: ${waiting.join(", ")}.`) : null,
      h(Reload),
      tree.fault ? h(ErrorNote, { why: tree.fault, again: () => tree.again(askTree) }) : null,
      schema.fault ? h(ErrorNote, { why: `What settings mean cannot be told: ${schema.fault.message}`, again: () => schema.again(askSchema) }) : null,
      isReady ? h("div", h(Groups, { all })) : tree.fault ? null : h(Loading),
      h("p.dim", "What is in effect, from flags, variables and files. Secrets are never told.", has("config.set") ? " A change is written to your own file, with its comments kept." : [" They are changed in the file or with ", h("code", "tillerman config set"), "."]),
    );
  },
  leave() {
    endEdit();
    Object.assign(state, { reload: null, errors: [] });
    tree.stale();
  },
};
