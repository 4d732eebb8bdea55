// Deleting, with a way back: what is deleted is hidden at once and goes a little later. A page that is closed before deletes
// nothing, and says so.

import { redraw } from "../../lib/dom.js";
import { sessionName } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { dropToast, toast } from "../../ui/parts.js";
import { dropRow, hidden, laneOf } from "./rows.js";

const UNDO_MS = 8_000;
const AT_ONCE = 4;

// All that is on its way; whoever deletes more within the time has one way back for all of it.
let batch = null;

export function deleteRows(rows) {
  if (rows.length === 0) return;
  const all = [...(batch?.rows ?? []), ...rows];
  if (batch) clearTimeout(batch.timer), dropToast(batch.toast);
  for (const row of rows) hidden.add(row.id);
  const it = (batch = { rows: all, timer: setTimeout(() => finish(it), UNDO_MS), toast: null });
  const what = all.length === 1 ? `“${sessionName(all[0])}” is` : `${all.length} sessions are`;
  const running = all.filter((row) => laneOf(row).state !== "idle").length;
  const stops = running ? ` ${running === 1 ? "One works" : `${running} work`} and will be stopped.` : "";
  it.toast = toast(`${what} deleted in ${UNDO_MS / 1000} s.${stops} If this page is closed before, nothing is deleted.`, { ms: UNDO_MS, undo: () => undo(it) });
  redraw();
}

function undo(it) {
  clearTimeout(it.timer);
  if (batch === it) batch = null;
  for (const row of it.rows) hidden.delete(row.id);
  redraw();
}

async function finish(it) {
  if (batch === it) batch = null;
  const faults = [];
  const left = it.rows.slice();
  const one = async () => {
    for (let row = left.shift(); row; row = left.shift()) {
      try {
        await rpc("sessions.delete", { sessionId: row.id });
        dropRow(row.id);
      } catch (why) {
        // One that is gone already is what was wanted.
        if (why?.code === 1) dropRow(row.id);
        else faults.push(why);
      }
      hidden.delete(row.id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  if (faults.length) {
    toast(`${faults.length === 1 ? "One session was" : `${faults.length} sessions were`} not deleted: ${faults[0].message}`, { tone: "bad" });
  }
  redraw();
}
