// Something that is there on demand. Whether it is open is the caller's state: the element's own would be undone by a redraw
// between the click and the word of it. `body()` is called only while it is open.

import { h, redraw } from "../lib/dom.js";

export function Fold({ open, onchange, title, key, class: more, body }) {
  const onclick = (event) => {
    event.preventDefault();
    onchange(!open);
    redraw();
  };
  return h("details", { class: `fold ${more ?? ""}`, open: !!open, key }, h("summary", { onclick }, title), open && body());
}
