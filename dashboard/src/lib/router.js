// Where we are: `#/page/argument?name=value`. A link is an ordinary link, so that back, forward, copy and open-in-a-tab work.

import { redraw } from "./dom.js";

export const route = { page: "now", arg: "", query: new URLSearchParams() };

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const at = (path ?? "").indexOf("/");
  route.page = (at < 0 ? path : path.slice(0, at)) || "now";
  try {
    route.arg = at < 0 ? "" : decodeURIComponent(path.slice(at + 1));
  } catch {
    route.arg = "";
  }
  route.query = new URLSearchParams(query ?? "");
}

export function href(page, arg, query) {
  const shown = new URLSearchParams(query ?? {}).toString();
  return `#/${page}${arg ? `/${encodeURIComponent(arg)}` : ""}${shown ? `?${shown}` : ""}`;
}

// At once: the browser tells of it later, and what is drawn until then would be the place before.
export function go(page, arg, query) {
  location.hash = href(page, arg, query);
  read();
  redraw();
}

// The same place with another query, without a step for the back button.
export function replaceQuery(query) {
  history.replaceState(null, "", href(route.page, route.arg, query));
  read();
  redraw();
}

export function startRouter() {
  read();
  addEventListener("hashchange", () => {
    read();
    redraw();
  });
}
