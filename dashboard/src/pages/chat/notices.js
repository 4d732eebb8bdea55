// What happened beside what was said, in a sentence.

import { duration, short } from "../../lib/format.js";

const SETTINGS = { model: "The model", mode: "The permission mode", thinking: "How much the model thinks", queue: "How the lane takes messages", elevation: "Whether questions are asked" };
const DECISIONS = { allow: "Allowed", allow_session: "Allowed for this session", deny: "Denied", answered: "Answered", withdrawn: "Withdrawn" };
const ENDS = { superseded: "was superseded", dropped: "was dropped", cancelled: "was taken out" };
const WHYS = {
  takenback: "somebody took it back",
  overflow: "the queue was full",
  newer: "a newer message took its place",
  interrupted: "somebody interrupted",
  toolate: "the run that it was for had ended",
  noroom: "more waited when the gateway ended than a queue holds",
  deleted: "the session was deleted",
  restarted: "it waited when the gateway ended",
};

// Who it was: nothing where nobody in particular has come in.
export function personOf(by) {
  const name = (by ?? "").replace(/^[a-z]+:/, "");
  return name === "gateway" ? "" : name;
}

function by(row) {
  const name = personOf(row.by);
  return name ? ` by ${name}` : "";
}

// The quote is somebody's words.
const say = (text, quote) => ({ text, quote });
const warn = (text, quote) => ({ tone: "warn", text, quote });

const NOTICES = {
  opened: (row) => ({ text: `${row.parent ? "A sub-agent" : "The session"} began in ${row.cwd}, with ${row.model}.`, link: row.parent && { sessionId: row.parent.sessionId, text: "The session that it works for" } }),
  retrying: (row) => warn(`The model did not answer; try ${row.attempt + 1} of ${row.of} in ${duration(row.waitMs)}:`, row.message),
  fell_back: (row) => warn(`${row.from} did not answer: ${row.to} goes on.`),
  compacted: (row) => say(`Older messages were summarised: ${short(row.tokensBefore)} tokens became ${short(row.tokensAfter)}.`),
  setting: (row) => say(`${SETTINGS[row.name] ?? `A setting (${row.name})`} was changed.`),
  answered: (row) => (row.decision === "deny" ? warn : say)(`${DECISIONS[row.decision] ?? row.decision}${by(row)}${row.about ? `: ${row.about}` : ""}`),
  settled: (row) => warn(`A waiting message ${ENDS[row.end] ?? row.end}${WHYS[row.why] ? `, because ${WHYS[row.why]}` : ""}${row.text ? ":" : "."}`, row.text),
  taken: (row) => say(`${row.count} waiting messages became one turn.`),
  shell_done: (row) => (row.exitCode ? warn : say)(`Run by hand, ended with ${row.exitCode ?? "a signal"}:`, row.command),
  call: (row) => say(`${row.tool} was called by hand.`),
  moved: (row) => warn(`The conversation ${row.to > 1 ? "went back. What stands between" : "was started over. What stands before"} is not part of it any more.`),
  restored: (row) => warn(`${row.files} file${row.files === 1 ? " was" : "s were"} put back as before.`),
  context: (row) => warn(row.text),
  note: (row) => say(row.text),
};

// { tone?, text, quote?, link? }
export function noticeOf(row) {
  return NOTICES[row.what]?.(row) ?? say(row.what.replaceAll("_", " "));
}
