// Something that is there on demand. Whether it is open is the caller's state: the element's own would be undone by a redraw
// between the click and the word of it. `body()` is called only while it is open. `look`: a class instead of the usual ones.

import { h, redraw } from "../lib/dom.js";

export function Fold({ open, onchange, title, key, class: more, look, body }) {
  const turn = (isOpen) => {
    onchange(isOpen);
    redraw();
  };
  const onclick = (event) => {
    event.preventDefault();
    turn(!open);
  };
  // The browser opens it too, where it finds a word inside.
  const ontoggle = (event) => event.target.open !== !!open && turn(event.target.open);
  return h("details", { class: look ?? `fold ${more ?? ""}`, open: !!open, key, ontoggle }, h("summary", { onclick }, title), open && body());
}
