// What is it doing?

import { h } from "../lib/dom.js";
import { live } from "../lib/live.js";

export const nowPage = {
  name: "now",
  title: "Now",
  needs: ["lanes.list"],
  view() {
    return h("div", {}, h("h1", {}, "Now"), h("p", {}, `${live.lanes.size} sessions in memory`));
  },
};
