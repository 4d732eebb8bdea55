// Every frame in and out, and calls by hand.

import { h } from "../lib/dom.js";

export const consolePage = {
  name: "console",
  title: "Console",
  needs: ["rpc.discover"],
  view() {
    return h("div", {}, h("h1", {}, "Console"));
  },
};
