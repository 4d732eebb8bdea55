/** What a run has said so far, from its events. */
import type { AnyEvent } from "./generated.js";

/** The text with this event: `content` adds to it, `retract` takes its last bytes back. */
export function textAfter(text: string, event: AnyEvent): string {
  if (event.event === "content") return event.data.transient ? text : text + event.data.text;
  if (event.event === "retract") return withoutBytes(text, event.data.bytes);
  return text;
}

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function withoutBytes(text: string, bytes: number): string {
  const all = new TextEncoder().encode(text);
  return new TextDecoder().decode(all.subarray(0, Math.max(0, all.length - bytes)));
}

/** How long both begin alike, never in the middle of a character. */
export function commonLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  const isHigh = at > 0 && (one.charCodeAt(at - 1) & 0xfc00) === 0xd800;
  return isHigh ? at - 1 : at;
}
