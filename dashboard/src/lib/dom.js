// The page is a function of its state: a view returns a tree of plain objects, and `patch` makes the document equal to it.
// Text only ever becomes text nodes and attributes, never markup, so nothing that came from outside can be read as HTML.

const SVG = "http://www.w3.org/2000/svg";
// Set as properties: their attributes are only where they begin.
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "open", "indeterminate", "srcdoc", "tabIndex", "scrollTop"]);
// Ours: the document never sees them.
const OWN = new Set(["key", "created", "updated", "removed"]);
// Where "false" says something, too; anything else that is false is not there.
const STATES = /^aria-(?:expanded|pressed|selected|checked|disabled|busy)$/;
const SAFE_URL = /^(?:https?:|mailto:|blob:|#|\/(?!\/)|data:image\/(?:png|jpeg|gif|webp);base64,)/i;

// A node of the tree. `tag`: the name of an element and its classes, as in `p.dim`. `attrs`, which may be left out: attributes,
// `on…` handlers, `class`, `style` as an object, `key` among its brothers, and three hooks: `created(element)`,
// `updated(element)`, `removed(element)`. A function in the place of a tag is a part: it is called with its attributes and children.
export function h(tag, attrs, ...children) {
  if (!attrs || typeof attrs !== "object" || Array.isArray(attrs) || "dom" in attrs) return h(tag, {}, attrs, ...children);
  const list = flat(children, []);
  if (typeof tag === "function") return tag(attrs, list);
  const [name, ...classes] = tag.split(".");
  return { tag: name, key: attrs.key, attrs: classes.length ? { class: classes.join(" "), ...attrs } : attrs, children: list, dom: null };
}

function flat(children, into) {
  for (const child of children) {
    if (child == null || typeof child === "boolean") continue;
    if (Array.isArray(child)) flat(child, into);
    else if (typeof child === "object") into.push(child);
    else into.push({ tag: null, text: String(child), dom: null });
  }
  return into;
}

export function safeUrl(url) {
  return typeof url === "string" && SAFE_URL.test(url.trim()) ? url : undefined;
}

function isSame(one, two) {
  return one.tag === two.tag && one.key === two.key;
}

function create(node, isSvg) {
  if (node.tag === null) return (node.dom = document.createTextNode(node.text));
  const svg = isSvg || node.tag === "svg";
  const dom = svg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  node.dom = dom;
  for (const child of node.children) dom.append(create(child, svg));
  // Behind the children: the value of a select is one of them.
  for (const name in node.attrs) setAttribute(dom, name, undefined, node.attrs[name]);
  if (node.attrs.created) hooks.push(() => node.attrs.created(dom));
  return dom;
}

function setAttribute(dom, name, before, now) {
  if (OWN.has(name)) return;
  if (name === "style") return setStyle(dom, before ?? {}, now ?? {});
  if (name.startsWith("on")) {
    // What a handler gives back is nobody's: a `false` would forbid what the browser does by itself, such as following a link.
    if (before !== now || !dom[name]) dom[name] = now ? (event) => void now(event) : null;
    return;
  }
  if (PROPERTIES.has(name) && name in dom) {
    if (dom[name] !== now) dom[name] = now ?? (typeof dom[name] === "boolean" ? false : "");
    return;
  }
  const value = name === "href" || name === "src" ? safeUrl(now) : now;
  if (typeof value === "boolean" && STATES.test(name)) dom.setAttribute(name, value);
  else if (value == null || value === false) dom.removeAttribute(name);
  else if (before !== now) dom.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
}

// Through the object model: the policy of the page forbids style attributes.
function setStyle(dom, before, now) {
  for (const name in before) if (!(name in now)) dom.style.removeProperty(name);
  for (const name in now) if (before[name] !== now[name]) dom.style.setProperty(name, String(now[name]));
}

function update(before, node, isSvg) {
  const dom = (node.dom = before.dom);
  if (node.tag === null) {
    if (before.text !== node.text) dom.nodeValue = node.text;
    return;
  }
  // The same object twice: nothing can have changed.
  if (before === node) return;
  for (const name in before.attrs) if (!(name in node.attrs)) setAttribute(dom, name, before.attrs[name], undefined);
  patchChildren(dom, before.children, node.children, isSvg || node.tag === "svg");
  for (const name in node.attrs) setAttribute(dom, name, before.attrs[name], node.attrs[name]);
  if (node.attrs.updated) hooks.push(() => node.attrs.updated(dom));
}

function remove(node, element) {
  forget(node);
  element.remove();
}

function forget(node) {
  if (node.tag === null) return;
  for (const child of node.children) forget(child);
  if (node.attrs.removed) node.attrs.removed(node.dom);
}

function patchChildren(parent, given, now, isSvg) {
  const keyed = new Map();
  for (const node of given) if (node.key !== undefined) keyed.set(node.key, node);
  // Those that nobody wants any more go first: what is moved around one of them would lose its focus and where it was scrolled to.
  const wanted = new Set(now.map((node) => node.key));
  const isLeft = (node) => node.key === undefined || wanted.has(node.key);
  const before = given.filter((node) => isLeft(node) || remove(node, node.dom));
  const kept = new Set();
  // A tree that is used again may get new elements below; those that go are the old ones.
  const elements = before.map((node) => node.dom);
  let at = 0;
  let place = before.length > 0 ? before[0].dom : null;
  for (const node of now) {
    while (at < before.length && kept.has(before[at])) at += 1;
    let old = node.key === undefined ? before[at] : keyed.get(node.key);
    if (old && (kept.has(old) || !isSame(old, node))) old = undefined;
    if (!old) {
      parent.insertBefore(create(node, isSvg), place);
      continue;
    }
    kept.add(old);
    update(old, node, isSvg);
    if (node.dom === place) place = place.nextSibling;
    else parent.insertBefore(node.dom, place);
  }
  before.forEach((node, nth) => kept.has(node) || remove(node, elements[nth]));
}

let hooks = [];
let root = null;
let view = null;
let tree = [];
let isWaiting = false;

// Shows `view()` in `element`, and again after each `redraw`.
export function mount(element, what) {
  root = element;
  root.replaceChildren();
  view = what;
  redrawNow();
  // A frame that was asked for does not come to a page that is hidden before it: what waits for it is drawn now.
  document.addEventListener("visibilitychange", () => isWaiting && redrawNow());
}

export function redrawNow() {
  isWaiting = false;
  const now = flat([view()], []);
  const focused = document.activeElement;
  patchChildren(root, tree, now, false);
  tree = now;
  // A browser takes the focus from what is moved among its brothers; whoever was there stays there.
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
  const due = hooks;
  hooks = [];
  for (const hook of due) hook();
}

// The state has changed. All changes of one frame are drawn together; a page that nobody sees is drawn once a second.
export function redraw() {
  if (isWaiting) return;
  isWaiting = true;
  if (document.hidden) setTimeout(redrawNow, 1000);
  else requestAnimationFrame(redrawNow);
}
