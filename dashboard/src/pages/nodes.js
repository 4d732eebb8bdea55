// Companions that are here, and what was put on the canvas.

import { h } from "../lib/dom.js";

export const nodesPage = {
  name: "nodes",
  title: "Nodes & canvas",
  needs: ["system.nodes", "canvas.list"],
  view() {
    return h("div", {}, h("h1", {}, "Nodes & canvas"));
  },
};
