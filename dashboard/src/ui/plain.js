// Small things that the parts of a conversation share: what a person has opened, and text that hides nothing.

import { h } from "../lib/dom.js";
import { copyText } from "./parts.js";

// Remembered for things that are not objects; the oldest go.
const NAMES_MAX = 500;

// Whether somebody has opened or closed a thing. By object where there is one: it is forgotten together with it.
export class Opened {
  #objects = new WeakMap();
  #names = new Map();

  // `undefined`: nobody has said.
  get(of) {
    return Object(of) === of ? this.#objects.get(of) : this.#names.get(of);
  }

  set(of, isOpen) {
    if (Object(of) === of) return void this.#objects.set(of, isOpen);
    this.#names.delete(of);
    this.#names.set(of, isOpen);
    if (this.#names.size > NAMES_MAX) this.#names.delete(this.#names.keys().next().value);
  }
}

// Marks that turn the direction of text around let a line look like another one: they are shown as what they are.
export function visible(text) {
  return String(text).replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, (it) => `‹${it.charCodeAt(0).toString(16).toUpperCase()}›`);
}

export function cut(text, max) {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}

// `text` may be a function: it is called when it is wanted.
export function CopyButton({ text, what, label }) {
  const copy = () => copyText(typeof text === "function" ? text() : text, what);
  return h("button", { type: "button", class: "button button-small copy", "aria-label": label ?? `Copy ${what.toLowerCase()}`, onclick: copy }, "Copy");
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
  if (addresses.has(attachment)) return addresses.get(attachment);
  const { mimeType, data } = attachment;
  const isShown = isPicture(mimeType) && typeof data === "string" && data.length <= PICTURE_MAX && /^[A-Za-z0-9+/=]+$/.test(data);
  const url = isShown ? `data:${mimeType};base64,${data}` : undefined;
  addresses.set(attachment, url);
  return url;
}
