// What the inside of a line becomes: a tree from a list of tokens, and which addresses may be links.

import { h } from "../lib/dom.js";
import { cut, visible } from "./plain.js";
import { a, span } from "./tags.js";

// Frames inside each other.
const DEPTH_MAX = 12;
export const URL_MAX = 2000;
// Characters of an address that is only shown.
const SHOWN_URL_MAX = 200;
// A closed list, and narrower than that of the document: nothing that a model writes leads into this page.
const LINK = /^(?:https?:\/\/[^\s/]|mailto:[^\s]+@)/i;

// Steps that reading took, for tests.
export const work = { steps: 0 };

// The address if it may be a link.
export function linkUrl(url) {
  return url.length <= URL_MAX && LINK.test(url) && !/[\u0000-\u0020\u007f-\u00a0\\\u202a-\u202e\u2066-\u2069]/.test(url) ? url : undefined;
}

function closed(frame) {
  const { tag, url, isImage, children } = frame;
  if (tag !== "a") return h(tag, {}, children);
  return a({ href: url, title: url, rel: "noopener noreferrer", target: "_blank", class: isImage && "md-image" }, isImage && "Image: ", children.length ? children : url);
}

// What is behind a label that is no link: a person sees where it would have led.
function told(frame) {
  const isSaid = frame.children.length === frame.from + 1 && frame.children[frame.from] === frame.told;
  return frame.told && !isSaid && span("md-told", ` (${visible(cut(frame.told, SHOWN_URL_MAX))})`);
}

// A tree from tokens, without recursion. A frame that is too deep, a link in a link, and a link that leads nowhere good have no
// element: their children belong to the one around them.
export function built(tokens) {
  const root = { children: [] };
  const frames = [root];
  let links = 0;
  const open = (tag, token) => {
    const parent = frames.at(-1);
    const url = token?.url === undefined ? undefined : linkUrl(token.url);
    const isShown = frames.length <= DEPTH_MAX && (tag !== "a" || (url !== undefined && links === 0));
    if (isShown && tag === "a") links += 1;
    const bare = { children: parent.children, from: parent.children.length, told: tag === "a" && url === undefined ? token.url : "" };
    frames.push(isShown ? { tag, url, isImage: token?.isImage, children: [] } : bare);
  };
  const close = () => {
    const frame = frames.pop();
    if (frame.tag === "a") links -= 1;
    const made = frame.tag ? closed(frame) : told(frame);
    if (made) frames.at(-1).children.push(made);
  };
  const say = (text) => {
    const { children } = frames.at(-1);
    const merges = typeof children.at(-1) === "string" && children.length > (frames.at(-1).from ?? 0);
    if (merges) children[children.length - 1] += text;
    else children.push(text);
  };
  for (const token of tokens) {
    work.steps += 1;
    if (typeof token === "string") say(token);
    else if (token.open) open(token.open, token);
    else if (token.close) close();
    else if (token.ch) {
      for (let n = 0; n < token.closes; n += 1) close();
      if (token.n) say(token.ch.repeat(token.n));
      for (const tag of token.opens.reverse()) open(tag);
    } else frames.at(-1).children.push(token);
  }
  while (frames.length > 1) close();
  return root.children;
}
