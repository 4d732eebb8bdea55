// Who can talk to it, and who did what.

import { h } from "../lib/dom.js";

export const accessPage = {
  name: "access",
  title: "Access",
  needs: ["audit.query"],
  view() {
    return h("div", {}, h("h1", {}, "Access"));
  },
};
