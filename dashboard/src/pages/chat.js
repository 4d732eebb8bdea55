// One session.

import { h } from "../lib/dom.js";
import { route } from "../lib/router.js";

export const chatPage = {
  name: "chat",
  title: "Chat",
  needs: ["agent.send", "events.subscribe"],
  view() {
    return h("div", {}, h("h1", {}, "Chat"), h("p", {}, route.arg));
  },
};
