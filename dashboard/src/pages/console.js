// Every frame in and out, and calls by hand. What the page does, a script can do: here one can see how.

import { h, redraw } from "../lib/dom.js";
import { frames } from "../lib/link.js";
import { Caller } from "./console/caller.js";
import { FrameList } from "./console/frames.js";

export const consolePage = {
  name: "console",
  title: "Console",
  view() {
    frames.watching = redraw;
    return h("div", h("h1", "Console"), h(Caller), h(FrameList));
  },
  leave() {
    frames.watching = null;
  },
};
