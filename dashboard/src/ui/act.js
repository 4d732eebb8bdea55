// Something that somebody does: what is said when it is done (what `run` gives), what is said when it failed, and what comes then.

import { redraw } from "../lib/dom.js";
import { toast } from "./parts.js";

export async function act(bad, run, then) {
  try {
    const said = await run();
    if (typeof said === "string") toast(said);
  } catch (why) {
    toast(`${bad}: ${why.message}`, { tone: "bad" });
  }
  then?.();
  redraw();
}
