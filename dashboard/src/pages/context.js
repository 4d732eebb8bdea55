// How full are the contexts?

import { h } from "../lib/dom.js";

export const contextPage = {
  name: "context",
  title: "Context",
  needs: ["system.contextUsage"],
  view() {
    return h("div", {}, h("h1", {}, "Context"));
  },
};
