// Is it getting slow?

import { h } from "../lib/dom.js";

export const latencyPage = {
  name: "latency",
  title: "Latency",
  needs: ["system.latency"],
  view() {
    return h("div", {}, h("h1", {}, "Latency"));
  },
};
