// What holds, and what a change would do.

import { h } from "../lib/dom.js";

export const configPage = {
  name: "config",
  title: "Config",
  needs: ["config.get"],
  view() {
    return h("div", {}, h("h1", {}, "Config"));
  },
};
