// The canvas of a session: what was put there, and taking it away.

import { h, redraw } from "../../lib/dom.js";
import { Fetched, busy } from "../../lib/fetching.js";
import { count, sessionName } from "../../lib/format.js";
import { may, rpc } from "../../lib/link.js";
import { live } from "../../lib/live.js";
import { go, href, replaceQuery, route } from "../../lib/router.js";
import { act } from "../../ui/act.js";
import { Awaited } from "../../ui/awaited.js";
import { Badge, Button, Card, Empty, Loading, Select, When } from "../../ui/parts.js";
import { Small } from "../../ui/small.js";
import { Artifact } from "./artifact.js";

// Sessions that can be chosen, those of them that are asked whether they have anything, and artifacts in the list.
const SESSIONS_MAX = 200;
const LOOKED_AT_MAX = 30;
const LISTED_MAX = 500;

const sessions = new Fetched(askSessions);
const list = new Fetched();
const one = new Fetched();
// How many artifacts a session has, by its id; `picked`: the session that is shown where the address names none; `sure`: what somebody
// has to say yes to.
const state = { counts: new Map(), picked: "", sure: "", isBusy: false };

async function askSessions() {
  const found = (await rpc("sessions.list", { includePersisted: true, limit: SESSIONS_MAX })).sessions;
  lookAt(found.slice(0, LOOKED_AT_MAX));
  return found;
}

// One after the other: it is a courtesy, and must not hold up anything. The first that has something is picked, else the newest;
// once, so that nothing else is under the pointer of who has emptied it.
async function lookAt(some) {
  try {
    for (const { id } of some) {
      const { total } = await rpc("canvas.list", { sessionId: id, limit: 1, includeContent: false });
      state.counts.set(id, total);
      if (total > 0) state.picked ||= id;
    }
  } catch {
    // The list of the one that is picked says why.
  }
  state.picked ||= some[0]?.id ?? "";
  redraw();
}

async function askList(sessionId) {
  const found = await rpc("canvas.list", { sessionId, limit: LISTED_MAX, includeContent: false });
  state.counts.set(sessionId, found.total);
  return { sessionId, ...found };
}

export function refreshCanvas() {
  if (list.value) list.again();
}

export function leaveCanvas() {
  sessions.stale();
  list.stale();
  one.stale();
  state.sure = state.picked = "";
}

function remove(sessionId, artifactId) {
  const run = async () => {
    await busy(state, () => (artifactId ? rpc("canvas.delete", { sessionId, artifactId }) : rpc("canvas.clear", { sessionId })));
    replaceQuery({});
    return artifactId ? `${artifactId} is gone.` : "The canvas is empty.";
  };
  act("Nothing was deleted", run, () => {
    state.sure = "";
    refreshCanvas();
  });
}

// A button that asks once more, in its place.
function Sure({ what, word, question, onyes }) {
  if (!may("chat")) return null;
  if (state.sure !== what) return Small(word, () => ((state.sure = what), redraw()));
  return h("span.card-actions", { role: "group", "aria-label": question }, h("span", question), Button({ kind: "danger", busy: state.isBusy, onclick: onyes, created: (button) => button.focus() }, ["Delete"]), Button({ onclick: () => ((state.sure = ""), redraw()) }, ["Keep"]));
}

function Picker({ id }) {
  const all = sessions.value ?? [];
  const name = (it) => `${sessionName(it)}${state.counts.get(it.id) ? ` (${state.counts.get(it.id)})` : ""}`;
  const options = all.map((it) => [it.id, name(it)]);
  if (id && !all.some((it) => it.id === id)) options.unshift([id, id]);
  return h(Select, { label: "Session", value: id, options, onchange: (it) => go("nodes", it) });
}

function List({ id, picked }) {
  const { artifacts } = list.value;
  return h(
    "ul.bare.canvas-list",
    { "aria-label": "Artifacts, the newest first" },
    artifacts.map((it) =>
      h("li", { key: it.artifactId },
        h("a", { href: href("nodes", id, { artifact: it.artifactId }), class: it.artifactId === picked ? "here" : "", "aria-current": it.artifactId === picked ? "true" : undefined },
          h("span.named", { dir: "auto" }, it.title || it.artifactId),
          h("span.dim", Badge({}, [it.type]), " ", h(When, { at: it.updatedAt }), it.version > 1 ? ` · version ${it.version}` : ""),
        ),
      ),
    ),
  );
}

function Shown({ id, picked }) {
  const row = list.value.artifacts.find((it) => it.artifactId === picked);
  one.want(`${id} ${picked} ${row?.version}`, () => rpc("canvas.get", { sessionId: id, artifactId: picked }));
  const shown = ({ artifact }) => {
    if (artifact.artifactId !== picked || artifact.sessionId !== id) return h(Loading);
    const actions = h(Sure, { what: picked, word: "Delete…", question: `Delete ${artifact.title || picked}?`, onyes: () => remove(id, picked) });
    return h(Artifact, { artifact, actions });
  };
  return h("div", Awaited(one, shown));
}

function Inside({ id }) {
  if (!id && sessions.value.length) return h(Loading);
  if (!id) return h(Empty, { title: "There is no session yet" }, "A canvas belongs to a session.");
  list.want(id, () => askList(id));
  return Awaited(list, ({ sessionId, artifacts, total }) => {
    if (sessionId !== id) return h(Loading);
    if (total === 0) return h(Empty, { title: "Nothing is on this canvas" }, "Programs and models put documents, tables and pictures there with ", h("code", "canvas.put"), ".");
    const picked = route.query.get("artifact") ?? artifacts[0].artifactId;
    return [
      h("div.canvas", h(List, { id, picked }), h(Shown, { id, picked })),
      artifacts.length < total ? h("p.dim", `The newest ${count(artifacts.length)} of ${count(total)}.`) : null,
    ];
  });
}

export function Canvas() {
  if (live.can?.featureGates?.["ui.canvas"] === false) return h(Card, { title: "Canvas" }, h(Empty, { title: "The canvas is switched off" }, "It is on when ", h("code", "server.feature_gates"), " has ", h("code", '"ui.canvas" = true'), "."));
  sessions.want("sessions");
  const id = route.arg || state.picked;
  const has = list.value?.sessionId === id && list.value.total > 0;
  const actions = [id ? [h(Picker, { id }), h("a", { href: href("chat", id) }, "Open the chat")] : null, has ? h(Sure, { what: "*", word: "Clear…", question: `Delete all ${list.value.total} artifacts of this session?`, onyes: () => remove(id) }) : null];
  return h(Card, { title: "Canvas", actions }, Awaited(sessions, () => h(Inside, { id })));
}
