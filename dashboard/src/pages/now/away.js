// What happened since somebody last looked at this page, by the clock of this browser.

import { h, redraw } from "../../lib/dom.js";
import { Fetched } from "../../lib/fetching.js";
import { ago, moment, sessionName } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { has, openAsks } from "../../lib/live.js";
import { remember, remembered } from "../../lib/remember.js";
import { href } from "../../lib/router.js";
import { Button } from "../../ui/parts.js";

// Shorter than this is not away.
const AWAY_MS = 2 * 60_000;
const STAMP_MS = 15_000;
const WINDOW_MINUTES_MAX = 1440;
const RUNS_MAX = 2000;
const NAMED_MAX = 5;

// `from`: since when, where somebody was away.
const away = { from: undefined, runs: new Fetched(), isWatching: false };

function look() {
  const last = remembered("now.seen", 0);
  if (last && Date.now() - last >= AWAY_MS) {
    away.from = last;
    away.runs.stale();
  }
  stamp();
}

function stamp() {
  if (!document.hidden) remember("now.seen", Date.now());
}

export function startAway() {
  look();
  const timer = setInterval(stamp, STAMP_MS);
  const seen = () => document.hidden || look();
  document.addEventListener("visibilitychange", seen);
  return () => {
    stamp();
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}

// By state, one entry per session, the newest first.
function named(runs, state) {
  const all = runs.filter((run) => run.state === state);
  const sessions = new Map();
  for (const run of all) if (!sessions.has(run.sessionId)) sessions.set(run.sessionId, run);
  return { count: all.length, sessions: [...sessions.values()] };
}

function links(sessions) {
  const shown = sessions.slice(0, NAMED_MAX).map((run, at) => [at ? ", " : "", h("a", { href: href("chat", run.sessionId), dir: "auto" }, sessionName(run))]);
  return sessions.length > NAMED_MAX ? [shown, ` and ${sessions.length - NAMED_MAX} more`] : shown;
}

function part(word, one) {
  return one.count === 0 ? null : h("li", h("strong", `${one.count} ${word}`), ": ", links(one.sessions));
}

export function Away() {
  if (away.from === undefined || !has("lanes.history")) return null;
  const windowMinutes = Math.min(WINDOW_MINUTES_MAX, Math.max(1, Math.ceil((Date.now() - away.from) / 60_000)));
  away.runs.want(away.from, () => rpc("lanes.history", { windowMinutes, limit: RUNS_MAX }));
  if (!away.runs.value) return null;
  const { runs, since } = away.runs.value;
  const ended = runs.filter((run) => run.endedAt >= away.from);
  const asked = openAsks().filter((ask) => ask.openedAt >= away.from);
  const parts = [part("failed", named(ended, "error")), part("finished", named(ended, "complete")), part("stopped", named(ended, "cancelled")), part(asked.length === 1 ? "asks" : "ask", { count: asked.length, sessions: asked })].filter(Boolean);
  // The gateway remembers runs since its start, and for a day.
  const from = Math.max(away.from, since, Date.now() - WINDOW_MINUTES_MAX * 60_000);
  const limit = from > away.from ? ` Runs are known since ${moment(from)}.` : "";
  return h("section.note.now-away", { "aria-label": "While you were away", key: "away" },
    h("div",
      h("p", h("strong", "While you were away"), ` (you last looked ${ago(away.from)})${parts.length ? ":" : ": nothing ended and nothing asks."}${limit}`),
      parts.length ? h("ul", parts) : null,
    ),
    Button({ kind: "small", onclick: () => ((away.from = undefined), redraw()) }, ["Seen"]),
  );
}
