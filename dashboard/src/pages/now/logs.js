// The end of the gateway's log, while somebody looks at it.

import { h, redraw } from "../../lib/dom.js";
import { setting } from "../../lib/fetching.js";
import { clock } from "../../lib/format.js";
import { gateway } from "../../lib/link.js";
import { Fold } from "../../ui/fold.js";
import { Small } from "../../ui/small.js";
import { Empty, ErrorNote, Search, Select } from "../../ui/parts.js";

const LINES_MAX = 500;
const LEVELS = { error: 0, warn: 1, info: 2, debug: 3, trace: 4 };

const log = { isOpen: false, lines: [], level: "trace", text: "", isHeld: false, number: 0 };

async function follow() {
  log.fault = null;
  const watch = (log.watch = gateway.listen(["logs"]));
  try {
    for await (const event of watch) {
      if (event.event !== "log") continue;
      log.lines.push({ ...event.data, number: ++log.number });
      if (log.lines.length > LINES_MAX) log.lines.splice(0, log.lines.length - LINES_MAX);
      if (!log.isHeld) redraw();
    }
  } catch (why) {
    if (log.watch === watch) log.fault = why;
  }
  redraw();
}

export function stopLog() {
  log.watch?.close();
  log.watch = null;
  log.isOpen = false;
}

function turn(isOpen) {
  if (!isOpen) return stopLog();
  log.isOpen = true;
  follow();
}

function isWanted(line) {
  const level = LEVELS[line.level] ?? LEVELS.info;
  return level <= LEVELS[log.level] && (!log.text || line.text.toLowerCase().includes(log.text.toLowerCase()));
}

// The end stays in sight while one looks at it.
function toEnd(box) {
  if (log.isHeld || (box.scrollTop !== 0 && box.scrollHeight - box.scrollTop - box.clientHeight > 80)) return;
  box.scrollTop = box.scrollHeight;
}

let held = [];
function Lines() {
  if (!log.isHeld) held = log.lines.filter(isWanted);
  if (held.length === 0) return h(Empty, { title: "No line yet" }, "Lines come here as they are written.");
  return h("div.code.now-log", { tabindex: "0", role: "log", "aria-live": "off", "aria-label": "Log", created: toEnd, updated: toEnd },
    held.map((line) => h("div", { class: `now-line now-line-${line.level}`, key: line.number }, h("span.dim", clock(line.ts)), " ", h("b", line.level), " ", h("span", { dir: "auto" }, line.text))));
}

export function LogTail() {
  return Fold({
    open: log.isOpen,
    onchange: turn,
    title: "Log of the gateway",
    class: "card",
    key: "log",
    body: () => h("div",
      log.fault ? h(ErrorNote, { why: log.fault, again: follow }) : [
        h("div.toolbar",
          Select({ label: "From", value: log.level, options: [["error", "errors"], ["warn", "warnings"], ["info", "info"], ["trace", "all"]], onchange: setting(log, "level") }),
          Search({ label: "Lines with", value: log.text, oninput: setting(log, "text") }),
          Small(log.isHeld ? "Go on" : "Hold still", () => setting(log, "isHeld")(!log.isHeld), { "aria-pressed": log.isHeld }),
        ),
        h(Lines),
      ],
    ),
  });
}
