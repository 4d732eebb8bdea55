// The canvas of a session: what was put there, and taking it away.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { count, sessionName } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { live } from "../../lib/live.js";
import { href, replaceQuery, route } from "../../lib/router.js";
import { Badge, Button, Card, Empty, ErrorNote, Loading, Select, When, toast } from "../../ui/parts.js";
import { Artifact } from "./artifact.js";

// Sessions that can be chosen, those of them that are asked whether they have anything, and artifacts in the list.
const SESSIONS_MAX = 200;
const LOOKED_AT_MAX = 30;
const LISTED_MAX = 500;

const sessions = new Fetched();
const list = new Fetched();
const one = new Fetched();
// How many artifacts a session has, by its id; `sure`: what somebody has to say yes to.
const state = { counts: new Map(), sure: "", isBusy: false };

async function askSessions() {
  const found = (await rpc("sessions.list", { includePersisted: true, limit: SESSIONS_MAX })).sessions;
  lookAt(found.slice(0, LOOKED_AT_MAX));
  return found;
}

// One after the other: it is a courtesy, and must not hold up anything.
async function lookAt(some) {
  for (const session of some) {
    try {
      const { total } = await rpc("canvas.list", { sessionId: session.id, limit: 1, includeContent: false });
      state.counts.set(session.id, total);
    } catch {
      return;
    }
  }
  redraw();
}

// The one in the address; else one that has something; else the newest.
export function canvasSession() {
  if (route.arg) return route.arg;
  const all = sessions.value ?? [];
  return (all.find((it) => state.counts.get(it.id) > 0) ?? all[0])?.id ?? "";
}

const askList = (sessionId) => async () => {
  const found = await rpc("canvas.list", { sessionId, limit: LISTED_MAX, includeContent: false });
  state.counts.set(sessionId, found.total);
  return { sessionId, ...found };
};
const askOne = (sessionId, artifactId) => () => rpc("canvas.get", { sessionId, artifactId });

export function refreshCanvas() {
  const id = canvasSession();
  if (id && list.value) list.again(askList(id));
}

export function leaveCanvas() {
  sessions.stale();
  list.stale();
  one.stale();
  state.sure = "";
}

async function remove(sessionId, artifactId) {
  state.isBusy = true;
  redraw();
  try {
    if (artifactId) await rpc("canvas.delete", { sessionId, artifactId });
    else await rpc("canvas.clear", { sessionId });
    toast(artifactId ? `${artifactId} is gone.` : "The canvas is empty.");
    replaceQuery({});
  } catch (why) {
    toast(`Nothing was deleted: ${why.message}`, { tone: "bad" });
  }
  Object.assign(state, { isBusy: false, sure: "" });
  list.again(askList(sessionId));
}

// A button that asks once more, in its place.
function Sure({ what, word, question, onyes }) {
  if (state.sure !== what) return Button({ kind: "small", onclick: () => ((state.sure = what), redraw()) }, [word]);
  return h("span.canvas-sure", { role: "group", "aria-label": question }, h("span", question), Button({ kind: "danger", busy: state.isBusy, onclick: onyes, created: (button) => button.focus() }, ["Delete"]), Button({ onclick: () => ((state.sure = ""), redraw()) }, ["Keep"]));
}

function Picker({ id }) {
  const all = sessions.value ?? [];
  const name = (it) => `${sessionName(it)}${state.counts.get(it.id) ? ` (${state.counts.get(it.id)})` : ""}`;
  const options = all.map((it) => [it.id, name(it)]);
  if (id && !all.some((it) => it.id === id)) options.unshift([id, id]);
  return h(Select, { label: "Session", value: id, options, onchange: (it) => (location.hash = href("nodes", it)) });
}

function List({ id, picked }) {
  const { artifacts } = list.value;
  return h(
    "ul.canvas-list",
    { "aria-label": "Artifacts, the newest first" },
    artifacts.map((it) =>
      h("li", { key: it.artifactId },
        h("a", { href: href("nodes", id, { artifact: it.artifactId }), class: it.artifactId === picked ? "here" : "", "aria-current": it.artifactId === picked ? "true" : undefined },
          h("span.canvas-name", { dir: "auto" }, it.title || it.artifactId),
          h("span.dim", Badge({}, [it.type]), " ", h(When, { at: it.updatedAt }), it.version > 1 ? ` · version ${it.version}` : ""),
        ),
      ),
    ),
  );
}

function Shown({ id, picked }) {
  const row = list.value.artifacts.find((it) => it.artifactId === picked);
  const { value, fault } = one.want(`${id} ${picked} ${row?.version}`, askOne(id, picked));
  if (fault) return h(ErrorNote, { why: fault, again: () => one.again(askOne(id, picked)) });
  const artifact = value?.artifact;
  if (!artifact || artifact.artifactId !== picked || artifact.sessionId !== id) return h(Loading);
  const actions = h(Sure, { what: picked, word: "Delete…", question: `Delete ${artifact.title || picked}?`, onyes: () => remove(id, picked) });
  return h(Artifact, { artifact, actions });
}

function Inside({ id }) {
  if (sessions.fault) return h(ErrorNote, { why: sessions.fault, again: () => sessions.again(askSessions) });
  if (!sessions.value) return h(Loading);
  if (!id) return h(Empty, { title: "There is no session yet" }, "A canvas belongs to a session.");
  list.want(id, askList(id));
  if (list.fault) return h(ErrorNote, { why: list.fault, again: () => list.again(askList(id)) });
  if (list.value?.sessionId !== id) return h(Loading);
  const { artifacts, total } = list.value;
  if (total === 0) return h(Empty, { title: "Nothing is on this canvas" }, "Programs and models put documents, tables and pictures there with ", h("code", "canvas.put"), ".");
  const picked = route.query.get("artifact") ?? artifacts[0]?.artifactId;
  return [
    h("div.canvas", h(List, { id, picked }), h(Shown, { id, picked })),
    artifacts.length < total ? h("p.dim", `The newest ${count(artifacts.length)} of ${count(total)}.`) : null,
  ];
}

export function Canvas() {
  if (live.can?.featureGates?.["ui.canvas"] === false) return h(Card, { title: "Canvas" }, h(Empty, { title: "The canvas is switched off" }, "It is on when ", h("code", "server.feature_gates"), " has ", h("code", '"ui.canvas" = true'), "."));
  sessions.want("sessions", askSessions);
  const id = canvasSession();
  const has = list.value?.sessionId === id && list.value.total > 0;
  const actions = [id ? h(Picker, { id }) : null, id ? h("a", { href: href("chat", id) }, "Open the chat") : null, has ? h(Sure, { what: "*", word: "Clear…", question: `Delete all ${list.value.total} artifacts of this session?`, onyes: () => remove(id) }) : null];
  return h(Card, { title: "Canvas", actions }, h(Inside, { id }));
}
