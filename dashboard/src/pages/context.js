// How full are the contexts?

import { h, redraw } from "../lib/dom.js";
import { Fetched, every, setting } from "../lib/fetching.js";
import { count, moment, sessionName, short } from "../lib/format.js";
import { may, rpc } from "../lib/link.js";
import { live } from "../lib/live.js";
import { href, replaceQuery, route } from "../lib/router.js";
import { act } from "../ui/act.js";
import { Awaited } from "../ui/awaited.js";
import { Rows } from "../ui/listed.js";
import { Badge, Button, Card, Empty, Loading, Search, When } from "../ui/parts.js";
import { Meter } from "../ui/plot.js";
import { ChatLink, Small, figure } from "../ui/small.js";

const REFRESH_MS = 10_000;
const ROWS_SHOWN = 50;

const pickedId = () => route.query.get("session");
const all = new Fetched(() => rpc("system.contextUsage"));
const one = new Fetched(() => rpc("system.contextUsage", { sessionId: pickedId() }));
// `working`: sessions that are being compacted.
const state = { find: "", isAll: false, working: new Set() };

function refresh() {
  all.again();
  if (pickedId()) one.again();
}

function nameOf(row) {
  return row.title || live.lanes.get(row.sessionId)?.title || sessionName(row);
}

// In words what the bar shows, and its tone.
function verdict(budget) {
  if (!budget.contextWindow) return ["none", "window not known"];
  if (budget.shouldCompact) return ["bad", "due to be compacted"];
  const left = budget.thresholdTokens - budget.estimatedTokens;
  return left < budget.contextWindow * 0.1 ? ["warn", "nearly full"] : ["good", "room"];
}

function toGo(budget) {
  if (!budget.contextWindow) return "";
  if (budget.shouldCompact) return `Over ${budget.thresholdPct} % (${count(budget.thresholdTokens)}): older messages are summarised before the next answer.`;
  return `${short(budget.thresholdTokens - budget.estimatedTokens)} tokens until it is compacted at ${budget.thresholdPct} %.`;
}

function compact(row) {
  const { sessionId } = row;
  state.working.add(sessionId);
  const run = async () => {
    const { command, content } = await rpc("agent.send", { sessionId, message: "/compact" }, { timeoutMs: 300_000 });
    if (command?.ok === false) throw new Error(content);
    return `${nameOf(row)}: ${content || "compacted."}`;
  };
  act(`${nameOf(row)} was not compacted`, run, () => (state.working.delete(sessionId), refresh()));
}

function Row({ row }) {
  const { budget } = row;
  const [tone, word] = verdict(budget);
  const isBusy = live.lanes.get(row.sessionId)?.state === "running";
  const isPicked = pickedId() === row.sessionId;
  const isCompacting = state.working.has(row.sessionId);
  const shown = `${count(budget.estimatedTokens)} of ${count(budget.contextWindow)} tokens`;
  const compactWord = isCompacting ? "Compacting…" : "Compact now";
  const historyWord = isPicked ? "Hide history" : "History";
  return h(
    "li.rule.context-row",
    { key: row.sessionId },
    h("div.strip",
      h("span.named", ChatLink(row.sessionId, nameOf(row))),
      row.model ? h("span.dim", row.model) : null,
      isBusy ? Badge({ tone: "info" }, ["working"]) : null,
      Badge({ tone }, [word]),
      h("strong.numeric.context-pct", budget.contextWindow ? `${budget.usagePct} %` : "–"),
    ),
    h(Meter, { value: budget.estimatedTokens, max: budget.contextWindow, mark: budget.thresholdTokens, markLabel: `Compacted at ${budget.thresholdPct} %`, label: `Context of ${nameOf(row)}`, text: `${shown}, ${word}`, tone }),
    h("div.strip.small.context-foot",
      h("span.dim", `About ${shown}. ${toGo(budget)}`),
      h("span.card-actions",
        may("chat") && Small(compactWord, () => compact(row), { busy: isCompacting, label: `${compactWord}: ${nameOf(row)}`, title: isBusy ? "It is done when the run is over" : "Older messages become a summary; the whole history stays stored" }),
        Small(historyWord, () => replaceQuery(isPicked ? {} : { session: row.sessionId }), { label: `${historyWord}: ${nameOf(row)}`, "aria-expanded": isPicked }),
      ),
    ),
    isPicked ? h(History) : null,
  );
}

// What was summarised before in the session that is looked at.
function History() {
  const id = pickedId();
  return Awaited(one.want(id), ({ sessions, compactions = [] }) => {
    const row = sessions.find((it) => it.sessionId === id);
    if (!row) return h(Loading);
    if (compactions.length === 0) return h(Empty, { title: "It was never compacted" }, `It is when its context is ${row.budget.thresholdPct} % full, or when you say so.`);
    const columns = [
      ["When", (it) => [h(When, { at: it.at }), " ", h("span.dim", moment(it.at))]],
      ["Before", (it) => count(it.tokensBefore), true],
      ["After", (it) => count(it.tokensAfter), true],
      ["Freed", (it) => (it.tokensAfter === undefined || !it.tokensBefore ? "–" : `${Math.round((1 - it.tokensAfter / it.tokensBefore) * 100)} %`), true],
      ["Where", (it) => ChatLink(id, `message ${it.seq}`, it.seq)],
    ];
    return h("div.boxed.context-history", Rows({ columns, rows: compactions, keyOf: (it) => it.seq, caption: "Compactions, newest first" }));
  });
}

function List({ rows }) {
  const found = rows.filter((row) => !state.find || `${nameOf(row)} ${row.sessionId} ${row.model ?? ""}`.toLowerCase().includes(state.find.toLowerCase()));
  // The fullest first; one that is looked at stays in the list.
  const sorted = [...found].sort((a, b) => b.budget.usagePct - a.budget.usagePct || a.sessionId.localeCompare(b.sessionId));
  const shown = state.isAll ? sorted : sorted.filter((row, at) => at < ROWS_SHOWN || row.sessionId === pickedId());
  if (found.length === 0) return h(Empty, { title: "No session is called so" });
  return h("div",
    h("ul.bare", shown.map((row) => h(Row, { row }))),
    shown.length < sorted.length ? Button({ onclick: () => ((state.isAll = true), redraw()) }, [`Show all ${sorted.length}`]) : null,
  );
}

export const contextPage = {
  name: "context",
  title: "Context",
  view() {
    const shown = ({ sessions: rows }) => {
      if (rows.length === 0) return h(Empty, { title: "No session is in memory" }, "A session is here from its first message until it was idle for a while. ", h("a", { href: href("sessions") }, "All sessions"));
      const due = rows.filter((row) => row.budget.shouldCompact).length;
      const fullest = Math.max(...rows.map((row) => row.budget.usagePct));
      return [
        h("div.figures",
          figure("sessions in memory", count(rows.length)),
          figure("due to be compacted", count(due), undefined, due > 0 ? "warn" : ""),
          figure("the fullest", `${fullest} %`),
        ),
        h(Card, { title: "Sessions, the fullest first", actions: rows.length > 8 ? h(Search, { label: "Find a session", value: state.find, oninput: setting(state, "find") }) : null }, h(List, { rows })),
        h("p.dim", "Only sessions in memory are listed. Sizes are what the model last reported, and an estimate of what came after."),
      ];
    };
    return h("div", h("h1", "Context"), Awaited(all.want("all"), shown));
  },
  arrive: () => [all.keep(REFRESH_MS), every(REFRESH_MS, () => pickedId() && one.value && one.again()), () => one.stale()],
};
