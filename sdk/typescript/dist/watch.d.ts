/** A subscription that outlives its connection: it goes on where it was, without a gap and without a repeat. */
import type { AskHandler, Asks } from "./asks.js";
import type { AnyEvent, EventCursor, SubscribeResult } from "./generated.js";
import type { Wire } from "./wire.js";
export interface WatchOptions {
    /** A cursor of an earlier event, or 0 for everything. Without it, what comes from now on. */
    after?: EventCursor;
    /** Answers whether tools may run, whoever sent the message. */
    confirm?: AskHandler;
    /** With what the models think. */
    thinking?: boolean;
    signal?: AbortSignal;
}
/** Events of a session, or of the gateway's services. Iterate over it, one reader at a time; leaving the loop ends it. */
export declare class Watch implements AsyncIterable<AnyEvent> {
    #private;
    /** How far the reader is: keep it, and bring it back as `after`. Only a session's events have one. */
    cursor: EventCursor | undefined;
    /** Resolves when the gateway has taken it, with where it begins. */
    readonly ready: Promise<SubscribeResult>;
    constructor(wire: Wire, asks: Asks, topics: string[], options: WatchOptions);
    /** Ends it; a reader that waits is told that there is no more. */
    close(): void;
    [Symbol.asyncIterator](): AsyncIterator<AnyEvent>;
}
