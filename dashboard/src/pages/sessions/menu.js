// What can be done with one session, over the list. The browser closes it with Escape and with a click beside it.

import { h, redraw } from "../../lib/dom.js";
import { sessionName } from "../../lib/format.js";
import { may, rpc } from "../../lib/link.js";
import { go, href } from "../../lib/router.js";
import { act } from "../../ui/act.js";
import { Button, copyText } from "../../ui/parts.js";
import { deleteRows } from "./deleting.js";

const TITLE_CHARS_MAX = 200;
const EDGE_PX = 8;
const FORMATS = [["html", "a page (HTML)"], ["md", "Markdown"], ["jsonl", "JSON Lines"]];

// While it is open: { row, button, isRenaming, title }.
const menu = {};

export function openMenu(row, button, isRenaming) {
  Object.assign(menu, { row, button, isRenaming: !!isRenaming, title: row.title ?? "" });
  redraw();
}

// Under its button, as far as it fits into the window: how large it is is known when it is there.
function place(box) {
  box.showPopover?.();
  const { right, bottom } = menu.button.getBoundingClientRect();
  const put = (name, at, most) => box.style.setProperty(name, `${Math.max(EDGE_PX, Math.min(at, most - EDGE_PX))}px`);
  put("left", right - box.offsetWidth, innerWidth - box.offsetWidth);
  put("top", bottom + 4, innerHeight - box.offsetHeight);
}

export function closeMenu() {
  menu.row = null;
  // Back to where it was opened from, unless that is gone.
  if (document.activeElement === document.body || document.activeElement?.closest(".sessions-menu")) menu.button?.focus({ preventScroll: true });
  menu.button = null;
  redraw();
}

function rename(event) {
  event.preventDefault();
  const { row } = menu;
  const title = menu.title.trim();
  if (!title) return;
  closeMenu();
  act("It could not be renamed", async () => {
    row.title = (await rpc("sessions.patch", { sessionId: row.id, title })).title ?? title;
  });
}

function fork(row) {
  closeMenu();
  act("It could not be copied", async () => {
    go("chat", (await rpc("sessions.fork", { sessionId: row.id })).sessionId);
    return `This is a copy of “${sessionName(row)}”.`;
  });
}

function Rename() {
  return h("form.sessions-rename", { onsubmit: rename },
    h("label.field", h("span", "Title"), h("input", { type: "text", dir: "auto", required: true, maxlength: TITLE_CHARS_MAX, value: menu.title, oninput: (event) => (menu.title = event.target.value), created: (input) => (input.focus(), input.select()) })),
    Button({ type: "submit", kind: "main" }, ["Rename"]),
  );
}

function Actions({ row }) {
  const save = ([format, word]) => h("a.button", { key: format, href: `/api/sessions/export?session=${encodeURIComponent(row.id)}&format=${format}`, download: "", onclick: () => setTimeout(closeMenu) }, `Save as ${word}`);
  return [
    h("a.button", { href: href("chat", row.id), created: (link) => link.focus(), key: "open" }, "Open"),
    may("chat") && Button({ onclick: () => ((menu.isRenaming = true), redraw()), key: "rename" }, ["Rename"]),
    may("chat") && Button({ onclick: () => fork(row), key: "fork" }, ["Copy as a new session"]),
    FORMATS.map(save),
    Button({ onclick: () => (copyText(row.id, "The id"), closeMenu()), key: "id" }, ["Copy its id"]),
    may("admin") && Button({ kind: "danger", onclick: () => (deleteRows([row]), closeMenu()), key: "delete" }, ["Delete"]),
  ];
}

export function Menu() {
  const { row } = menu;
  if (!row) return null;
  const ontoggle = (event) => event.newState === "closed" && menu.row === row && closeMenu();
  return h("div.sessions-menu", { popover: "auto", role: "dialog", "aria-label": sessionName(row), key: `menu ${row.id}`, ontoggle, created: place },
    h("p.sessions-menu-name", { dir: "auto" }, sessionName(row)),
    menu.isRenaming ? h(Rename) : Actions({ row }),
  );
}
