// The frames of this page's own connection, newest first.

import { h, redraw } from "../../lib/dom.js";
import { setting } from "../../lib/fetching.js";
import { bytes, clock, pretty } from "../../lib/format.js";
import { frames } from "../../lib/link.js";
import { Badge, Card, Choice, copyText, Empty, Search } from "../../ui/parts.js";
import { Small, Code } from "../../ui/small.js";

// In the document at once; the filter finds the others.
const SHOWN_MAX = 200;

const state = { filter: "", direction: "all", kind: "all", open: new Set() };

// What a frame is, for people: a request by its method, an event by its name, an answer by its id.
function read(frame) {
  if (frame.read) return frame.read;
  let value = null;
  try {
    value = JSON.parse(frame.text);
  } catch {
    // Cut short, or not ours.
  }
  const [, cutId, cutKind] = value ? [] : /^\{"id":(\d+),"(result|event|error)"/.exec(frame.text) ?? [];
  const kind = !value ? cutKind ?? "other" : value.method ? "request" : value.event ? "event" : value.error ? "error" : "result";
  const name = value?.method ?? value?.event ?? (value?.error ? `error ${value.error.code}` : kind);
  frame.read = { value, kind, name, id: value?.id ?? cutId ?? "" };
  return frame.read;
}

function isShown(frame) {
  if (state.direction !== "all" && frame.out !== (state.direction === "out")) return false;
  if (state.kind !== "all" && read(frame).kind !== state.kind) return false;
  return state.filter === "" || frame.text.toLowerCase().includes(state.filter.toLowerCase());
}

function Row({ frame }) {
  const { value, kind, name, id } = read(frame);
  const isOpen = state.open.has(frame);
  const toggle = () => {
    if (!state.open.delete(frame)) state.open.add(frame);
    redraw();
  };
  return h(
    "li.frame",
    { key: frame.id },
    h("button.text-button.strip.frame-head", { type: "button", "aria-expanded": isOpen, onclick: toggle },
      h("span.dim.numeric", clock(frame.at)),
      Badge({ tone: frame.out ? "info" : kind === "error" ? "bad" : "none" }, [frame.out ? "out" : "in"]),
      h("strong", name),
      h("span.dim", id === "" ? "" : `id ${id}`),
      h("span.dim.frame-size", bytes(frame.text.length)),
    ),
    isOpen ? Code(value ? pretty(value) : frame.text, frame.cut ? "\n… the rest was not kept" : "") : null,
  );
}

export function FrameList() {
  const found = frames.list.filter(isShown);
  const shown = found.slice(-SHOWN_MAX).reverse();
  const pause = () => {
    frames.isOn = !frames.isOn;
    redraw();
  };
  const clear = () => {
    frames.list.length = 0;
    state.open.clear();
    redraw();
  };
  const actions = [
    Small(frames.isOn ? "Pause" : "Go on", pause),
    Small("Copy as JSONL", () => copyText(found.map((frame) => JSON.stringify({ at: frame.at, dir: frame.out ? "c>s" : "s>c", frame: read(frame).value ?? frame.text })).join("\n"), `${found.length} frames as JSON lines`)),
    Small("Clear", clear),
  ];
  return h(
    Card,
    { title: `Frames (${found.length})`, actions, key: "frames" },
    h("div.toolbar",
      h(Search, { label: "Filter frames", value: state.filter, oninput: setting(state, "filter") }),
      h(Choice, { label: "Direction", value: state.direction, options: [["all", "Both"], ["in", "In"], ["out", "Out"]], onchange: setting(state, "direction") }),
      h(Choice, { label: "Kind", value: state.kind, options: [["all", "All"], ["request", "Requests"], ["result", "Results"], ["event", "Events"], ["error", "Errors"]], onchange: setting(state, "kind") }),
    ),
    shown.length === 0
      ? h(Empty, { title: "No frame fits" }, "The last 500 frames of this page are kept.")
      : h("ol.bare", { "aria-label": "Frames, newest first" }, shown.map((frame) => h(Row, { frame }))),
    found.length > SHOWN_MAX ? h("p.dim", `${found.length - SHOWN_MAX} older ones are not shown.`) : null,
  );
}
