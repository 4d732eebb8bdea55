// The frame around every page: where one can go, whether what is seen is true, and what waits for an answer.

import { h, redraw } from "./lib/dom.js";
import { busy } from "./lib/fetching.js";
import { ago, duration } from "./lib/format.js";
import { link, login, logout } from "./lib/link.js";
import { live, openAsks, refresh } from "./lib/live.js";
import { href, route } from "./lib/router.js";
import { act } from "./ui/act.js";
import { Approvals } from "./ui/approvals.js";
import { Button, Empty, ErrorNote, Toasts } from "./ui/parts.js";

const state = { isMenuOpen: false, loginFault: null, isBusy: false, shown: null, ends: null };

// Rows of the menu: { name, title, view(), arrive?(), leave?(), tab?() }. `tab` gives the words on the tab where the title says too
// little. `arrive` is called when the page is gone to, and gives a list of
// functions that are called when it is left.
let pages = [];

export function setPages(list) {
  pages = list;
}

const STATES = {
  live: ["good", "live"],
  behind: ["warn", "behind"],
  connecting: ["warn", "connecting"],
  offline: ["bad", "offline"],
  login: ["warn", "logged out"],
};

function LinkState() {
  const [tone, word] = STATES[link.state];
  const age = link.heardAt && link.state !== "live" ? `, last word ${ago(link.heardAt)}` : "";
  const trip = link.state === "live" && link.tripMs !== undefined ? `answers in ${duration(link.tripMs)}` : link.why;
  return h("span", { class: `link link-${tone}`, role: "status", title: trip, id: "link-state" }, h("span.dot", { "aria-hidden": "true" }), `${word}${age}`);
}

function Menu({ current }) {
  const asks = openAsks().length;
  const running = [...live.lanes.values()].filter((lane) => lane.state === "running" || lane.state === "asking").length;
  return h(
    "nav",
    { class: state.isMenuOpen ? "menu menu-open" : "menu", id: "menu", "aria-label": "Pages" },
    h("ul",
      pages.map((page) =>
        h("li", { key: page.name },
          h("a", { href: href(page.name), class: page === current ? "here" : "", "aria-current": page === current ? "page" : undefined, onclick: () => (state.isMenuOpen = false) },
            page.title,
            page.name === "now" && running ? h("span.menu-count", { title: "working" }, running) : null,
          ),
        ),
      ),
    ),
    h("div.menu-foot",
      asks ? h("p.menu-asks", `${asks} open question${asks === 1 ? "" : "s"}`) : null,
      live.info ? h("p.dim", `tillerman ${live.info.version}`) : null,
      Button({ kind: "quiet", onclick: () => act("You are still logged in", () => logout(false)) }, ["Log out"]),
    ),
  );
}

function submitLogin(event) {
  event.preventDefault();
  const token = new FormData(event.target).get("token").trim();
  busy(state, () => login(token)).catch((why) => (state.loginFault = why));
}

function Login() {
  return h(
    "main.login",
    { id: "main" },
    h("h1", "tillerman"),
    h("p", "This gateway wants to know who you are. ", h("code", "tillerman gateway token"), " prints the token."),
    h("form", { onsubmit: submitLogin },
      h("label.field", h("span", "Token"), h("input", { name: "token", type: "password", required: true, autocomplete: "current-password", autofocus: true })),
      Button({ type: "submit", kind: "main", busy: state.isBusy }, ["Log in"]),
    ),
    h(ErrorNote, { why: state.loginFault }),
  );
}

// A page that fails takes nothing else with it.
function shownPage(page) {
  // No page has asked for anything yet, so none would come to an end: the note above says why, and has a button.
  if (!live.can && live.fault) return h("h1", page.title);
  try {
    return page.view();
  } catch (why) {
    console.error(why);
    return h(ErrorNote, { why: `This page could not be shown: ${why.message}`, again: redraw });
  }
}

export function Shell() {
  if (link.state === "login") return h("div.shell.shell-login", Login(), Toasts());
  const current = pages.find((page) => page.name === route.page);
  if (current !== state.shown) {
    for (const end of state.ends ?? []) end();
    state.shown?.leave?.();
    Object.assign(state, { shown: current, ends: null });
  }
  if (live.can) state.ends ??= current?.arrive?.() ?? [];
  // With each drawing: a question that opens is to be seen on the tab.
  const title = `${live.asks.size ? `(${live.asks.size}?) ` : ""}${current?.tab?.() || (current?.title ?? "Not found")} · tillerman`;
  if (document.title !== title) document.title = title;
  return h(
    "div.shell",
    h("a.skip", { href: "#main", onclick: (event) => (event.preventDefault(), document.getElementById("main")?.focus()) }, "Skip to the page"),
    h("header.top",
      h("button.menu-button", { type: "button", "aria-expanded": state.isMenuOpen, "aria-controls": "menu", onclick: () => ((state.isMenuOpen = !state.isMenuOpen), redraw()) }, "Menu"),
      h("a.brand", { href: href("now") }, "tillerman"),
      h("span.top-page", current?.title ?? ""),
      h(LinkState),
    ),
    h(Menu, { current }),
    h("div.body",
      link.state === "offline" ? h("p.note.note-bad.banner", { role: "alert" }, "The gateway cannot be reached. ", link.heardAt ? `Its last word came ${ago(link.heardAt)}. ` : null, "Messages you send are kept and go out when it is back.") : null,
      live.fault ? h(ErrorNote, { why: live.fault, again: refresh }) : null,
      h(Approvals),
      h("main", { id: "main", tabindex: "-1", "aria-busy": !live.can && !live.fault, class: `page page-${current?.name ?? "none"}` }, current ? shownPage(current) : h(Empty, { title: "There is no such page" }, h("a", { href: href("now") }, "Go to Now"))),
    ),
    Toasts(),
  );
}
