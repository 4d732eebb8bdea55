// One artifact of a canvas, shown as what it is. It is data from outside: Markdown becomes a tree without markup of its own, HTML
// is in a frame that may nothing, and everything else is text.

import { h, redraw, safeUrl } from "../../lib/dom.js";
import { setting } from "../../lib/fetching.js";
import { download } from "../../lib/csv.js";
import { bytes, count, pretty } from "../../lib/format.js";
import { highlight } from "../../ui/highlight.js";
import { Markdown, MarkdownCache } from "../../ui/markdown.js";
import { Badge, Choice, When, copyText } from "../../ui/parts.js";
import { Small, Code } from "../../ui/small.js";

// Characters that are in the document at once.
const SHOWN_MAX = 100_000;
const COLOURED_MAX = 50_000;
const state = { isRaw: false, isWhole: false, of: "" };

// What kind of thing it is: by its type, and by what it holds.
export function kindOf({ type, content }) {
  const name = String(type).toLowerCase();
  if (imageUrl(type, content)) return "image";
  if (typeof content !== "string") return "json";
  if (/markdown|^md$/.test(name)) return "markdown";
  if (/html|svg/.test(name)) return "html";
  if (/json/.test(name)) return "json";
  return "text";
}

// Pictures by value only: nothing is fetched for them.
export function imageUrl(type, content) {
  const text = typeof content === "string" ? content.trim() : "";
  if (/^data:image\//i.test(text)) return safeUrl(text);
  const mime = /^image\/(png|jpeg|gif|webp)$/i.test(type) ? type : typeof content === "object" && content !== null ? content.mimeType : undefined;
  const data = text || content?.data;
  if (typeof mime !== "string" || typeof data !== "string" || !/^[A-Za-z0-9+/=\s]+$/.test(data)) return undefined;
  return safeUrl(`data:${mime};base64,${data.replace(/\s+/g, "")}`);
}

export function rawText(content) {
  return typeof content === "string" ? content : pretty(content);
}

function prettyJson(content) {
  try {
    return rawText(typeof content === "string" ? JSON.parse(content) : content);
  } catch {
    return content;
  }
}

// What would be refused anyway, and links, which a frame that may nothing cannot follow. The frame and the policy of the page hold
// without this; it is so that nothing is even tried.
const LEFT_OUT = "script, x-style, x-base, link, meta, iframe, frame, object, embed, template, noscript";
// A document that is only read tries styles, handlers and an address to begin at, too: they are called something else before it is.
const TRIED_TAG = /<(\/?)(?=(?:style|base)\b)/gi;
const TAG = /<[a-z](?:"[^"]*"|'[^']*'|[^<>"'])*/gi;
const TRIED = /([\s"'/])(?=(?:style|on[a-z]+)\s*=)/gi;
const cleaned = new WeakMap();
const caches = new WeakMap();

export function untried(html) {
  return html.replace(TRIED_TAG, "<$1x-").replace(TAG, (tag) => tag.replace(TRIED, "$1data-"));
}

function quiet(it) {
  if (cleaned.has(it)) return cleaned.get(it);
  const page = new DOMParser().parseFromString(untried(it.content), "text/html");
  for (const element of page.querySelectorAll(LEFT_OUT)) element.remove();
  for (const element of page.querySelectorAll("*")) {
    for (const { name, value } of [...element.attributes]) {
      const isPicture = name === "src" && /^data:image\//i.test(value.trim());
      if (/^on|^style$|^autofocus$|src|href|action|^background$|^ping$|^data$|^poster$/i.test(name) && !isPicture) element.removeAttribute(name);
    }
  }
  const text = new XMLSerializer().serializeToString(page);
  cleaned.set(it, text);
  return text;
}

// The language of a program by what its writer says, or by the ending of its name.
function languageOf(it) {
  const said = it.metadata?.language;
  return typeof said === "string" ? said : /\.([a-z0-9]{1,8})$/i.exec(it.artifactId)?.[1] ?? String(it.type).replace(/^.*[/-]/, "");
}

function Text({ text, label, language }) {
  const isCut = text.length > SHOWN_MAX && !state.isWhole;
  const shown = isCut ? text.slice(0, SHOWN_MAX) : text;
  return h("div",
    h("pre.code.canvas-text", { dir: language ? "ltr" : "auto", tabindex: "0", role: "group", "aria-label": label }, language && shown.length <= COLOURED_MAX ? highlight(shown, language) : shown),
    isCut ? Small(`Show all ${count(text.length)} characters`, () => ((state.isWhole = true), redraw())) : null,
  );
}

const nameOf = (it) => it.title || it.artifactId;

function Body({ it }) {
  const name = nameOf(it);
  const kind = state.isRaw ? "raw" : kindOf(it);
  if (kind === "image") return h("img.boxed.canvas-image", { src: imageUrl(it.type, it.content), alt: name });
  if (kind === "json") return h(Text, { text: prettyJson(it.content), label: name, language: "json" });
  if (kind === "markdown") {
    if (!caches.has(it)) caches.set(it, new MarkdownCache());
    return h("div", h(Markdown, { text: it.content, cache: caches.get(it) }));
  }
  if (kind === "html") {
    return h("div",
      h("iframe", { key: `${it.artifactId} ${it.version}`, class: "boxed canvas-frame", sandbox: "", title: name, referrerpolicy: "no-referrer", srcdoc: quiet(it) }),
      h("p.dim", "Shown without scripts, styles, links and what it would fetch; Raw has all of it."),
    );
  }
  return h(Text, { text: rawText(it.content), label: name, language: kind === "text" ? languageOf(it).toLowerCase() : undefined });
}

const ENDINGS = { markdown: "md", html: "html", json: "json", text: "txt" };

function save(it) {
  const name = it.artifactId;
  download(name.includes(".") ? name : `${name}.${ENDINGS[kindOf(it)] ?? "txt"}`, rawText(it.content), "text/plain");
}

export function Artifact({ artifact: it, actions }) {
  if (state.of !== it.artifactId) Object.assign(state, { of: it.artifactId, isRaw: false, isWhole: false });
  const raw = rawText(it.content);
  const hasMore = it.metadata && Object.keys(it.metadata).length > 0;
  return h(
    "article.canvas-one",
    { "aria-label": nameOf(it) },
    h("h3", { dir: "auto" }, nameOf(it)),
    h("p.strip.small.dim", Badge({}, [it.type]), h("span", h("code", it.artifactId)), h("span", `version ${it.version}`), h("span", "changed ", h(When, { at: it.updatedAt })), h("span", "made ", h(When, { at: it.createdAt })), h("span", bytes(new TextEncoder().encode(raw).length))),
    h("div.toolbar",
      h(Choice, { label: "View", value: state.isRaw, options: [[false, "As it is meant"], [true, "Raw"]], onchange: setting(state, "isRaw") }),
      Small("Copy", () => copyText(raw, "The artifact")),
      Small("Save as file", () => save(it)),
      actions,
    ),
    h(Body, { it }),
    hasMore ? h("details", h("summary", "Metadata"), Code(pretty(it.metadata))) : null,
  );
}
