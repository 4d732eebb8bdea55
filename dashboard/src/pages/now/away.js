// What happened since somebody last looked at this page, by the clock of this browser.

import { h, redraw } from "../../lib/dom.js";
import { Fetched, every } from "../../lib/fetching.js";
import { ago, moment, sessionName } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { openAsks } from "../../lib/live.js";
import { remember, remembered } from "../../lib/remember.js";
import { ChatLink, Small } from "../../ui/small.js";

// Shorter than this is not away.
const AWAY_MS = 2 * 60_000;
const STAMP_MS = 15_000;
const WINDOW_MINUTES_MAX = 1440;
const RUNS_MAX = 2000;
const NAMED_MAX = 5;

// `from`: since when, where somebody was away.
const away = { from: undefined, runs: new Fetched() };

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
  const end = every(STAMP_MS, stamp);
  const seen = () => document.hidden || look();
  document.addEventListener("visibilitychange", seen);
  return () => {
    stamp();
    end();
    document.removeEventListener("visibilitychange", seen);
  };
}

// So many of a kind; each session is named once.
function part(word, all) {
  if (all.length === 0) return null;
  const sessions = [...new Map(all.map((it) => [it.sessionId, it])).values()];
  const links = sessions.slice(0, NAMED_MAX).map((it, at) => [at ? ", " : "", ChatLink(it.sessionId, sessionName(it))]);
  return h("li", h("strong", `${all.length} ${word}`), ": ", links, sessions.length > NAMED_MAX ? ` and ${sessions.length - NAMED_MAX} more` : "");
}

export function Away() {
  if (away.from === undefined) return null;
  const windowMinutes = Math.min(WINDOW_MINUTES_MAX, Math.max(1, Math.ceil((Date.now() - away.from) / 60_000)));
  away.runs.want(away.from, () => rpc("lanes.history", { windowMinutes, limit: RUNS_MAX }));
  if (!away.runs.value) return null;
  const { runs, since } = away.runs.value;
  const ended = runs.filter((run) => run.endedAt >= away.from);
  const asked = openAsks().filter((ask) => ask.openedAt >= away.from);
  const of = (state) => ended.filter((run) => run.state === state);
  const parts = [part("failed", of("error")), part("finished", of("complete")), part("stopped", of("cancelled")), part(asked.length === 1 ? "asks" : "ask", asked)].filter(Boolean);
  // The gateway remembers runs since its start, and for a day.
  const from = Math.max(away.from, since, Date.now() - WINDOW_MINUTES_MAX * 60_000);
  const limit = from > away.from ? ` Runs are known since ${moment(from)}.` : "";
  return h("section.note.now-away", { "aria-label": "While you were away", key: "away" },
    h("div",
      h("p", h("strong", "While you were away"), ` (you last looked ${ago(away.from)})${parts.length ? ":" : ": nothing ended and nothing asks."}${limit}`),
      parts.length ? h("ul", parts) : null,
    ),
    Small("Seen", () => ((away.from = undefined), redraw())),
  );
}
