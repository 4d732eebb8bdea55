// What happened beside what was said, in a sentence.

import { duration, short } from "../../lib/format.js";
import { cut } from "../../ui/plain.js";

const SETTINGS = { model: "The model was changed.", mode: "The permission mode was changed.", thinking: "How much the model thinks was changed.", queue: "The rules of the lane were changed.", elevation: "Whether questions are asked was changed." };
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
const SHOWN_CHARS = 160;

// Who it was: nothing where nobody in particular has come in.
export function personOf(by) {
  const name = (by ?? "").replace(/^[a-z]+:/, "");
  return name === "gateway" ? "" : name;
}

function by(row) {
  const name = personOf(row.by);
  return name ? ` by ${name}` : "";
}

// { tone, text, quote? }: the quote is somebody's words.
export function noticeOf(row) {
  switch (row.what) {
    case "opened":
      return { text: `${row.parent ? "A sub-agent" : "The session"} began in ${row.cwd}, with ${row.model}.`, link: row.parent && { sessionId: row.parent.sessionId, text: "The session that it works for" } };
    case "retrying":
      return { tone: "warn", text: `The model did not answer; try ${row.attempt + 1} of ${row.of} in ${duration(row.waitMs)}:`, quote: row.message };
    case "fell_back":
      return { tone: "warn", text: `${row.from} did not answer: ${row.to} goes on.` };
    case "compacted":
      return { text: `Older messages were summarised: ${short(row.tokensBefore)} tokens became ${short(row.tokensAfter)}.` };
    case "setting":
      return { text: SETTINGS[row.name] ?? `A setting was changed: ${row.name}.` };
    case "answered":
      return { tone: row.decision === "deny" && "warn", text: `${DECISIONS[row.decision] ?? row.decision}${by(row)}${row.about ? `: ${row.about}` : ""}` };
    case "settled":
      return { tone: "warn", text: `A waiting message ${ENDS[row.end] ?? row.end}${WHYS[row.why] ? `, because ${WHYS[row.why]}` : ""}${row.text ? ":" : "."}`, quote: row.text ? cut(row.text, SHOWN_CHARS) : undefined };
    case "taken":
      return { text: `${row.count} waiting messages became one turn.` };
    case "shell_done":
      return { tone: row.exitCode ? "warn" : undefined, text: `Run by hand, ended with ${row.exitCode ?? "a signal"}:`, quote: row.command };
    case "call":
      return { text: `${row.tool} was called by hand.` };
    case "moved":
      return { tone: "warn", text: row.to > 1 ? "The conversation went back. What stands between is not part of it any more." : "The conversation was started over. What stands before is not part of it any more." };
    case "restored":
      return { tone: "warn", text: `${row.files} file${row.files === 1 ? " was" : "s were"} put back as before.` };
    case "context":
      return { tone: "warn", text: row.text };
    case "note":
      return { text: row.text };
    default:
      return { text: row.what.replaceAll("_", " ") };
  }
}
