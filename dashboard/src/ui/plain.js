// Small things that the parts of a conversation share.

import { Button, copyText } from "./parts.js";

// What was made for `holder` the last time, as long as it is made `of` the same.
export function kept(map, holder, of, make) {
  const last = map.get(holder);
  if (last?.of.every((it, at) => it === of[at])) return last.made;
  const made = make();
  if (holder) map.set(holder, { of, made });
  return made;
}

// What scrolls by itself can be reached by the keyboard, and says what it is.
export function scrolls(label) {
  return { tabindex: "0", role: "group", "aria-label": label };
}

export function joined(parts, between = ", ") {
  return parts.filter(Boolean).join(between);
}

// Marks that turn the direction of text around let a line look like another one: they are shown as what they are.
export function visible(text) {
  return String(text).replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, (it) => `‹${it.charCodeAt(0).toString(16).toUpperCase()}›`);
}

export function cut(text, max) {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}

// `text` may be a function: it is called when it is wanted.
export function CopyButton({ text, what }) {
  const copy = () => copyText(typeof text === "function" ? text() : text, what);
  return Button({ kind: "small copy", label: `Copy ${what.toLowerCase()}`, onclick: copy }, "Copy");
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
// Base64 characters of a picture that is shown.
const PICTURE_MAX = 16 * 1024 * 1024;
// The same string each time: comparing two long ones with each drawing would cost more than all the rest.
const addresses = new WeakMap();

export function isPicture(mimeType) {
  return PICTURES.has(mimeType);
}

// `undefined` where it is not one of the four kinds that are shown.
export function pictureUrl(attachment) {
  const { mimeType, data } = attachment;
  const isShown = () => isPicture(mimeType) && typeof data === "string" && data.length <= PICTURE_MAX && /^[A-Za-z0-9+/=]+$/.test(data);
  return kept(addresses, attachment, [], () => (isShown() ? `data:${mimeType};base64,${data}` : undefined));
}
