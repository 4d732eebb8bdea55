// All sessions.

import { h } from "../lib/dom.js";

export const sessionsPage = {
  name: "sessions",
  title: "Sessions",
  needs: ["sessions.list"],
  view() {
    return h("div", {}, h("h1", {}, "Sessions"));
  },
};
