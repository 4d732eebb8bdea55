// What holds, and what a change would do.

import { pretty } from "../lib/format.js";
import { h, redraw } from "../lib/dom.js";
import { Fetched, busy } from "../lib/fetching.js";
import { may, rpc } from "../lib/link.js";
import { live, onNews } from "../lib/live.js";
import { replaceQuery, route } from "../lib/router.js";
import { Awaited } from "../ui/awaited.js";
import { Badge, Button, Card, Empty, Loading, Search, copyText, toast } from "../ui/parts.js";
import { Small, Code } from "../ui/small.js";
import { Changes, Edit, Faults, edit, endEdit, faultLines, startEdit } from "./config/edit.js";
import { SECRET, found, grouped, lines, wanted, whyNot } from "./config/tree.js";

const tree = new Fetched(() => rpc("config.get"));
const schema = new Fetched(() => rpc("config.schema"));
// Whether anything can be changed is what a change says that is only tried.
const trial = new Fetched(() => rpc("config.set", { path: "server.queue.mode", value: null, dryRun: true }));
// `reload`: what reading again would do, or why it cannot; `restart`: settings that hold only after a restart of this instance.
const state = { find: undefined, isAll: false, reload: null, errors: [], isBusy: false, restart: new Map() };

function saved(changes) {
  for (const it of changes) if (it.restartRequired) state.restart.set(it.path, live.info?.instance);
  state.reload = null;
  tree.again();
}

async function reload(dryRun) {
  state.errors = [];
  try {
    const { changes } = await busy(state, () => rpc("config.reload", { dryRun }));
    if (dryRun) return void (state.reload = changes);
    toast(changes.length === 0 ? "Nothing has changed." : `${changes.length} setting${changes.length === 1 ? " is" : "s are"} otherwise now.`);
    saved(changes);
  } catch (why) {
    forget(faultLines(why));
  }
}

function forget(errors) {
  Object.assign(state, { reload: null, errors });
  redraw();
}

function Reload() {
  const isTried = state.reload !== null;
  if (!isTried && state.errors.length === 0) return null;
  const isMore = isTried && state.reload.length > 0;
  return h(Card, { title: "Reading the settings again" },
    state.errors.length ? [h("p", "They cannot be read; those from before hold."), h(Faults, { lines: state.errors })] : null,
    isTried ? h(Changes, { changes: state.reload }) : null,
    h("div.card-actions.config-buttons",
      isMore ? Button({ kind: "main", busy: state.isBusy, onclick: () => reload(false) }, ["Take over"]) : null,
      Button({ onclick: () => forget([]) }, [isMore ? "Not now" : "Close"]),
    ),
  );
}

function Value({ line }) {
  const { value } = line;
  if (value === undefined) return h("span.dim", line.schema?.default === undefined ? "not set" : ["not set: ", h("code", JSON.stringify(line.schema.default))]);
  if (value === SECRET) return Badge({ title: "It is set; nobody is told what it is" }, ["secret, set"]);
  if (value === "" || (Array.isArray(value) && value.length === 0)) return h("span.dim", "empty");
  if (Array.isArray(value) && value.every((it) => typeof it !== "object")) return h("ul.bare", value.map((it) => h("li", h("code", { dir: "auto" }, String(it)))));
  if (typeof value === "object") return Code(pretty(value));
  return h("code", { dir: "auto" }, String(value));
}

// The instance that has not heard of the change is still there.
const isWaiting = (path) => state.restart.has(path) && state.restart.get(path) === live.info?.instance;

function Line({ line }) {
  const { schema: of } = line;
  const isEdited = edit.path === line.path;
  const why = whyNot(line);
  return h(
    "li.rule.config-line",
    { key: line.path },
    h("div.strip.config-name", h("code", line.path), isWaiting(line.path) ? Badge({ tone: "warn" }, ["waits for a restart"]) : of?.["x-restartRequired"] ? Badge({ title: "A change holds after the gateway was started anew" }, ["needs a restart"]) : null),
    h("div.config-is", isEdited ? h(Edit, { line, onsaved: saved }) : h(Value, { line })),
    h("div.small.dim.config-about", { id: `about-${line.path}`, dir: "auto" }, [of?.description, wanted(of) ? `(${wanted(of)})` : "", of?.["x-env"] ? `The variable ${of["x-env"]} wins over it.` : ""].filter(Boolean).join(" ")),
    h("div.config-do", isEdited || !schema.value || !trial.value ? null : why ? h("span.dim.small", { title: why }, line.value === SECRET || of?.writeOnly ? "set by command line" : "not from here") : Small("Change", () => startEdit(line), { label: `Change ${line.path}` })),
  );
}

function Groups({ all }) {
  const shown = found(state.isAll || state.find ? all : all.filter((line) => line.value !== undefined || line.path === edit.path), state.find);
  if (shown.length === 0) return h(Empty, { title: state.find ? "No setting is called so" : "Nothing is set" }, state.find ? Small("Show all", () => find("")) : "Everything is as it comes.");
  return grouped(shown).map(([name, some]) => h(Card, { key: `group-${name}`, title: name || "General" }, h("ul.bare", some.map((line) => h(Line, { line })))));
}

function find(text) {
  state.find = text;
  replaceQuery(text ? { find: text } : {});
}

export const configPage = {
  name: "config",
  title: "Config",
  view() {
    state.find ??= route.query.get("find") ?? "";
    tree.want("tree");
    schema.want("schema");
    if (may("admin")) trial.want("trial");
    const isReady = tree.value && (schema.value || schema.fault);
    const all = isReady ? lines(tree.value, schema.value) : [];
    const unset = all.filter((line) => line.value === undefined).length;
    const waiting = [...state.restart.keys()].filter(isWaiting);
    return h("div",
      h("h1", "Config"),
      h("div.toolbar",
        h(Search, { label: "Find a setting", placeholder: "Name, value or word", value: state.find, oninput: find }),
        unset && !state.find ? h("label.strip", h("input", { type: "checkbox", checked: state.isAll, onchange: (event) => ((state.isAll = event.target.checked), redraw()) }), ` also the ${unset} that are not set`) : null,
        may("admin") && Button({ busy: state.isBusy, onclick: () => reload(true) }, ["Read again…"]),
        tree.value ? Small("Copy all", () => copyText(pretty(tree.value), "What holds, without secrets,")) : null,
      ),
      waiting.length ? h("p.note.note-warn", { role: "status" }, `After a restart of the gateway: ${waiting.join(", ")}.`) : null,
      may("admin") ? trial.fault && h("p.note.note-warn", `Nothing can be changed from here: ${trial.fault.message}`) : h("p.dim", "Your token may look, and not change anything: it lacks the scope admin."),
      h(Reload),
      schema.fault ? Awaited(schema, () => null) : null,
      h("div", Awaited(tree, () => (isReady ? h(Groups, { all }) : h(Loading)))),
      h("p.dim", "What is in effect, from flags, variables and files. Secrets are never told. A change is written to your own file, with its comments kept."),
    );
  },
  // What came after a restart holds now.
  arrive: () => [onNews("connected", () => tree.again())],
  leave() {
    endEdit();
    forget([]);
    tree.stale();
    trial.stale();
  },
};
