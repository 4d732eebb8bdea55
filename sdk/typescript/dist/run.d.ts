/** One message and all that comes of it, told once however often the connection is lost. */
import type { AskHandler, Asks } from "./asks.js";
import { type AnyEvent, type SendParams, type SendResult } from "./generated.js";
import type { Wire } from "./wire.js";
export interface SendOptions extends Omit<SendParams, "message" | "session" | "sessionId"> {
    /** The session; the client's own where none is named. */
    sessionId?: string;
    /** Cancels the run. */
    signal?: AbortSignal;
    /** Answers whether tools may run. */
    confirm?: AskHandler;
}
/** A run. Iterate over it for its events, one reader at a time; `result` is what came of it. Leaving the loop leaves the run alone:
 * `cancel()` or the signal ends it. */
export declare class Run implements AsyncIterable<AnyEvent> {
    #private;
    readonly sessionId: string;
    /** By which the gateway knows the message again. */
    readonly idempotencyKey: string;
    /** What came of it; rejects with why nothing did. */
    readonly result: Promise<SendResult>;
    constructor(wire: Wire, asks: Asks, sessionId: string, message: string, options: SendOptions);
    /** Asks the gateway to end the run. `result` is rejected with what it says to that. */
    cancel(): void;
    [Symbol.asyncIterator](): AsyncIterator<AnyEvent>;
}
