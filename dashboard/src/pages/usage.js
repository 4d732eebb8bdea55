// What does it cost, and which run was it?

import { h } from "../lib/dom.js";

export const usagePage = {
  name: "usage",
  title: "Usage",
  needs: ["usage.report"],
  view() {
    return h("div", {}, h("h1", {}, "Usage"));
  },
};
