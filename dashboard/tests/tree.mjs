// Trees as text, for tests: what the document would hold, without one. Handlers and hooks are left out.

const BARE = new Set(["br", "hr", "img", "input"]);
const UNSEEN = new Set(["key", "created", "updated", "removed"]);

function attribute([name, value]) {
  if (UNSEEN.has(name) || typeof value === "function" || value === undefined || value === null || value === false) return "";
  return value === true ? ` ${name}` : ` ${name}="${typeof value === "object" ? JSON.stringify(value) : value}"`;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// `keep`: names of attributes that are shown; all unless told.
export function show(node, keep) {
  if (Array.isArray(node)) return node.map((it) => show(it, keep)).join("");
  if (node === null || node === undefined) return "";
  if (typeof node !== "object") return escaped(String(node));
  if (node.tag === null) return escaped(node.text);
  const attrs = Object.entries(node.attrs).filter(([name]) => !keep || keep.includes(name)).map(attribute).join("");
  return BARE.has(node.tag) ? `<${node.tag}${attrs}>` : `<${node.tag}${attrs}>${show(node.children, keep)}</${node.tag}>`;
}

export function textOf(node) {
  if (typeof node !== "object") return String(node);
  return node.tag === null ? node.text : node.children.map(textOf).join("");
}

// Every element below, itself included. No recursion: it is used on trees that are meant to be too deep.
export function* elements(node) {
  const waiting = [node];
  while (waiting.length) {
    const it = waiting.pop();
    if (it.tag === null) continue;
    yield it;
    waiting.push(...it.children);
  }
}

export function depthOf(node) {
  let deepest = 0;
  const waiting = [[node, 1]];
  while (waiting.length) {
    const [it, depth] = waiting.pop();
    deepest = Math.max(deepest, depth);
    for (const child of it.children ?? []) waiting.push([child, depth + 1]);
  }
  return deepest;
}

export function find(node, test) {
  for (const it of elements(node)) if (test(it)) return it;
  return undefined;
}

// There is no document here: that something wants to be drawn anew is of no consequence.
export function neverDraw() {
  globalThis.document = { hidden: false, getElementById: () => null };
  globalThis.requestAnimationFrame = () => 0;
}
