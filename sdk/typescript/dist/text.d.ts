/** What a run has said so far, from its events. */
import type { AnyEvent } from "./generated.js";
/** The text with this event: `content` adds to it, `retract` takes its last bytes back. */
export declare function textAfter(text: string, event: AnyEvent): string;
export declare function bytesOf(text: string): number;
/** How long both begin alike, never in the middle of a character. */
export declare function commonLength(one: string, other: string): number;
