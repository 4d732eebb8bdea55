// Elements by their names, for the most common ones: `div("card", …)` is a `div` with that class, `div({ … }, …)` one with these
// attributes, `div(null, …)` one without any.

import { h } from "../lib/dom.js";

const tag = (name) => (attrs, ...children) => h(name, typeof attrs === "string" ? { class: attrs } : attrs || {}, ...children);

export const div = tag("div");
export const span = tag("span");
export const p = tag("p");
export const a = tag("a");
export const pre = tag("pre");
export const ul = tag("ul");
export const li = tag("li");
export const input = tag("input");
export const code = tag("code");
