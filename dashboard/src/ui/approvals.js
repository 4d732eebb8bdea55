// Open questions, on every page: what is to be run, whole, where, for whom, and until when.

import { serverNow, startClock } from "../lib/clock.js";
import { h, redraw } from "../lib/dom.js";
import { ago, ticking } from "../lib/format.js";
import { link } from "../lib/link.js";
import { answer, live, openAsks } from "../lib/live.js";
import { href } from "../lib/router.js";
import { act } from "./act.js";
import { isBudget, questionOf, wholeOf } from "./asked.js";
import { NotifyButton, startNotifying } from "./notify.js";
import { Badge, Button, toast } from "./parts.js";
import { kept } from "./plain.js";
import { a, code, div, input, p, span } from "./tags.js";

// Shown at once; the others are a number.
const SHOWN_MAX = 3;
// So long after the questions have moved nothing can be pressed: the click was meant for what was there before.
const STEADY_MS = 700;
const REASON_CHARS_MAX = 2000;
// So near its end a text was seen to its end.
const END_PX = 12;
const RISKS = { "read-only": ["info", "reads"], "workspace-write": ["warn", "changes files"], "danger-full-access": ["bad", "full access"] };

// By ask id, only of those that are open: why somebody says no, as it is typed; whether it was put aside. By question: what it shows.
const reasons = new Map();
const aside = new Set();
const wholes = new WeakMap();
// Texts that were seen to their end, and those that we listen to. By ask id: whose texts were not.
const seen = new WeakSet();
const watched = new WeakSet();
const unseen = new Set();
let isAllShown = false;
let isAnswering = false;
let lastOrder = "";
let steadyAt = 0;
let spoken = "";
let known = new Set();

const textsIn = (article) => [...article.querySelectorAll("div.fact > .code, div.fact > .diff")];

const isAtEnd = (text) => text.scrollHeight - text.scrollTop - text.clientHeight <= END_PX;
// What fits now may not after the next drawing, when a window is smaller: only who has scrolled has seen it for good.
const isSeen = (text) => seen.has(text) || isAtEnd(text);

// Nobody says yes to what they did not see: a text that scrolls has to be scrolled through. Asked after each drawing.
function watch(ask, article) {
  const texts = textsIn(article);
  for (const text of texts) {
    if (watched.has(text)) continue;
    watched.add(text);
    const onscroll = () => {
      if (isAtEnd(text)) seen.add(text);
      watch(ask, article);
    };
    text.addEventListener("scroll", onscroll, { passive: true });
  }
  const isUnseen = !texts.every(isSeen);
  if (isUnseen === unseen.has(ask.askId)) return;
  if (isUnseen) unseen.add(ask.askId);
  else unseen.delete(ask.askId);
  redraw();
}

function decide(ask, decision) {
  if (Date.now() < steadyAt || live.answered.has(ask.askId)) return;
  if (decision !== "deny" && unseen.has(ask.askId)) {
    const article = document.getElementById(`ask-${ask.askId}`).closest("article");
    textsIn(article).find((text) => !isSeen(text))?.focus();
    return toast("Scroll to the end of it first: what you allow is all of it.");
  }
  const reason = decision === "deny" ? reasons.get(ask.askId)?.trim() : undefined;
  isAnswering = !!document.activeElement?.closest(".approval");
  act("That answer did not arrive", async () => (await answer(ask, decision, reason)) || "Somebody else has answered that already, or its time was over.");
}

// The button is gone with its question; who works by keyboard stays among the questions, on no button.
function stay() {
  isAnswering = false;
  if (document.activeElement && document.activeElement !== document.body) return;
  (document.getElementById("open-questions") ?? document.getElementById("main"))?.focus();
}

// Made once: a redraw must not cost what a diff of 2,000 lines costs.
function Whole(ask) {
  return kept(wholes, ask, [], () => wholeOf(ask));
}

function Facts(ask) {
  const left = ask.expiresAt ? ask.expiresAt - serverNow() : undefined;
  const fact = (name, shown) => div(null, h("dt", name), h("dd", shown));
  return h("dl",
    fact("Session", a({ href: href("chat", ask.sessionId), dir: "auto" }, ask.title || ask.sessionId)),
    ask.cwd && fact("Directory", code(null, ask.cwd)),
    ask.askedBy && fact("For", ask.askedBy),
    ask.openedAt && fact("Asked", ago(ask.openedAt, serverNow())),
    left !== undefined && fact("A no in", left > 0 ? ticking(left) : "a moment"),
  );
}

function Answers(ask) {
  if (link.lacks.has("tools")) return p("dim", "Your token may look, and not answer: it lacks the scope tools.");
  const busy = live.answered.has(ask.askId);
  const reason = input({
    type: "text",
    "aria-label": `Why not ${ask.tool} (the model is told)`,
    placeholder: "Why not (the model is told)",
    maxlength: REASON_CHARS_MAX,
    dir: "auto",
    value: reasons.get(ask.askId) ?? "",
    oninput: (event) => reasons.set(ask.askId, event.target.value),
  });
  // Not `disabled`: whoever stands on one would lose their place.
  const isMoving = Date.now() < steadyAt;
  const still = { busy, "aria-disabled": isMoving && "true" };
  const yes = { busy, "aria-disabled": (isMoving || unseen.has(ask.askId)) && "true" };
  return div("approval-buttons",
    unseen.has(ask.askId) && p({ class: "approval-more", key: "more" }, "There is more of it than is seen: scroll to its end to allow it."),
    Button({ ...yes, kind: "main", onclick: () => decide(ask, "allow") }, "Allow once"),
    Button({ ...yes, onclick: () => decide(ask, "allow_session"), title: "What is like it runs without a question in this session" }, "Allow for this session"),
    span("approval-deny", reason, Button({ ...still, kind: "danger", onclick: () => decide(ask, "deny") }, "Deny")),
  );
}

function Approval(ask) {
  const [tone, risk] = RISKS[ask.risk] ?? ["warn", ask.risk];
  const id = `ask-${ask.askId}`;
  const isAside = aside.has(ask.askId);
  const word = isAside ? "Show" : "Later";
  const turn = () => (isAside ? aside.delete(ask.askId) : aside.add(ask.askId), redraw());
  return h(
    "article",
    { class: isAside ? "approval approval-aside" : "approval", key: ask.askId, "aria-labelledby": id, created: (element) => watch(ask, element), updated: (element) => watch(ask, element) },
    h("header",
      h("h3", { id }, isBudget(ask) ? "Spend more? " : ["Allow ", code(null, ask.tool), "? "], span({ dir: "auto", title: ask.summary }, ask.summary)),
      span("approval-side",
        isBudget(ask) || Badge({ tone }, risk),
        Button({ kind: "quiet", label: `${word}: ${ask.tool}`, "aria-expanded": String(!isAside), onclick: turn }, word),
      ),
    ),
    isAside ? null : [
      ask.mayHaveRun && p({ class: "note note-warn", key: "again" }, "This call was begun before a restart and may have run. A yes may run it a second time."),
      Whole(ask),
      Facts(ask),
      Answers(ask),
    ],
  );
}

// What is kept of questions that are gone goes; a new one is told once to who listens, and everything holds still for a moment.
function follow(asks, shown) {
  const open = new Set(asks.map((ask) => ask.askId));
  for (const told of [reasons, aside, unseen]) for (const id of told.keys()) if (!open.has(id)) told.delete(id);
  const fresh = asks.filter((ask) => !known.has(ask.askId));
  known = open;
  if (fresh.length === 1) spoken = `Question: ${questionOf(fresh[0])} ${fresh[0].summary.slice(0, 200)}`;
  else if (fresh.length > 1) spoken = `${fresh.length} new questions are open.`;
  else if (asks.length === 0) spoken = "";
  const order = shown.map((ask) => ask.askId).join(" ");
  if (order === lastOrder) return;
  lastOrder = order;
  steadyAt = Date.now() + STEADY_MS;
  setTimeout(redraw, STEADY_MS);
  if (isAnswering) setTimeout(stay);
}

export function Approvals() {
  const asks = openAsks();
  const shown = isAllShown ? asks : asks.slice(0, SHOWN_MAX);
  follow(asks, shown);
  const more = asks.length - SHOWN_MAX;
  const onmore = () => ((isAllShown = !isAllShown), redraw());
  return [
    // Only this is told to who listens: the time that is left changes each second.
    p({ class: "unseen", role: "alert", key: "spoken" }, spoken),
    asks.length === 0 ? null : h("section.approvals", { "aria-labelledby": "open-questions", key: "asks" },
      h("header",
        h("h2", { id: "open-questions", tabindex: "-1" }, asks.length === 1 ? "1 open question" : `${asks.length} open questions`),
        NotifyButton(),
      ),
      shown.map(Approval),
      more > 0 && Button({ "aria-expanded": String(isAllShown), onclick: onmore }, isAllShown ? `Show only the ${SHOWN_MAX} oldest` : `${more} more open question${more === 1 ? "" : "s"}`),
    ),
  ];
}

// The time that is left is told anew each second.
export function startApprovals() {
  startNotifying();
  startClock();
  setInterval(() => live.asks.size > 0 && redraw(), 1000);
}
