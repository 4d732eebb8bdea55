// Open questions, on every page: what is to be run, whole, where, for whom, and until when.

import { h, redraw } from "../lib/dom.js";
import { duration } from "../lib/format.js";
import { answer, live, openAsks } from "../lib/live.js";
import { href } from "../lib/router.js";
import { Diff, looksLikeDiff } from "./diff.js";
import { Badge, Button, toast } from "./parts.js";

// Shown at once; the others are a number.
const SHOWN_MAX = 3;
const RISKS = { "read-only": ["info", "reads"], "workspace-write": ["warn", "changes files"], "danger-full-access": ["bad", "full access"] };

// Why somebody says no, by ask: kept while it is typed.
const reasons = new Map();
let isAllShown = false;

async function decide(ask, decision) {
  const reason = decision === "deny" ? reasons.get(ask.askId)?.trim() : undefined;
  try {
    const isTaken = await answer(ask, decision, reason);
    if (!isTaken) toast("Somebody else has answered that already.", { tone: "info" });
    reasons.delete(ask.askId);
  } catch (why) {
    toast(`That answer did not arrive: ${why.message}`, { tone: "bad" });
  }
}

// Everything that the call was given, as it was given. Nothing is cut: who says yes must be able to see all of it.
function Whole({ ask }) {
  const facts = ask.preview ?? [];
  const shown = facts.map((fact) =>
    h("div", { class: "fact" }, h("div", { class: "fact-label" }, fact.label), looksLikeDiff(fact.text) ? h(Diff, { text: fact.text }) : h("pre", { class: "code", dir: "auto", tabindex: "0" }, fact.text)),
  );
  const args = JSON.stringify(ask.args, null, 2);
  return h("div", { class: "facts" }, shown, h("details", { class: "fact", open: facts.length === 0 }, h("summary", {}, "Arguments"), h("pre", { class: "code", dir: "auto", tabindex: "0" }, args)));
}

export function Approval({ ask }) {
  const [tone, risk] = RISKS[ask.risk] ?? ["warn", ask.risk];
  const left = ask.expiresAt ? ask.expiresAt - Date.now() : undefined;
  const busy = live.answered.has(ask.askId);
  const id = `ask-${ask.askId}`;
  return h(
    "article",
    { class: "approval", key: ask.askId, "aria-labelledby": id },
    h("header", {},
      h("h3", { id }, "Allow ", h("code", {}, ask.tool), "? ", h("span", { class: "approval-what", dir: "auto" }, ask.summary)),
      Badge({ tone }, [risk]),
    ),
    ask.mayHaveRun ? h("p", { class: "note note-warn" }, "This call was begun before a restart and may have run. A yes may run it a second time.") : null,
    h(Whole, { ask }),
    h("dl", { class: "approval-facts" },
      h("div", {}, h("dt", {}, "Session"), h("dd", {}, h("a", { href: href("chat", ask.sessionId), dir: "auto" }, ask.title || ask.sessionId))),
      ask.cwd ? h("div", {}, h("dt", {}, "Directory"), h("dd", {}, h("code", {}, ask.cwd))) : null,
      ask.askedBy ? h("div", {}, h("dt", {}, "For"), h("dd", {}, ask.askedBy)) : null,
      left !== undefined ? h("div", {}, h("dt", {}, "A no in"), h("dd", {}, left > 0 ? duration(left) : "a moment")) : null,
    ),
    h("div", { class: "approval-buttons" },
      Button({ kind: "main", busy, onclick: () => decide(ask, "allow") }, ["Allow once"]),
      Button({ busy, onclick: () => decide(ask, "allow_session"), title: "What is like it runs without a question in this session" }, ["Allow for this session"]),
      h("span", { class: "approval-deny" },
        h("input", { type: "text", "aria-label": "Why not (the model is told)", placeholder: "Why not (the model is told)", maxlength: 2000, value: reasons.get(ask.askId) ?? "", oninput: (event) => reasons.set(ask.askId, event.target.value) }),
        Button({ kind: "danger", busy, onclick: () => decide(ask, "deny") }, ["Deny"]),
      ),
    ),
  );
}

export function Approvals() {
  const asks = openAsks();
  if (asks.length === 0) return h("div", { class: "approvals", hidden: true, "aria-live": "assertive" });
  const shown = isAllShown ? asks : asks.slice(0, SHOWN_MAX);
  const more = asks.length - shown.length;
  return h(
    "div",
    { class: "approvals", role: "region", "aria-label": "Open questions", "aria-live": "assertive" },
    shown.map((ask) => h(Approval, { ask })),
    more > 0 ? Button({ onclick: () => ((isAllShown = true), redraw()) }, [`${more} more open question${more === 1 ? "" : "s"}`]) : null,
  );
}

// The time that is left is told anew each second.
export function startApprovals() {
  setInterval(() => live.asks.size > 0 && redraw(), 1000);
}
