/** Questions of the gateway whether a tool may run: each is put to the handler once, and its answer arrives once. */
import type { DecisionWord, ToolConfirmData } from "./generated.js";
import type { Wire } from "./wire.js";
/** A call that waits for a yes. */
export interface Ask extends ToolConfirmData {
    sessionId: string;
    /** Aborted when somebody else has answered, or nobody can any more. */
    signal: AbortSignal;
}
/** What is said to it. Nothing at all leaves it to others. */
export type Decision = DecisionWord | {
    decision: DecisionWord;
    reason?: string;
} | undefined | void;
export type AskHandler = (ask: Ask) => Decision | Promise<Decision>;
type Call = (method: string, params: object) => Promise<unknown>;
export declare class Asks {
    #private;
    constructor(wire: Wire, call: Call);
    /** This client answers for the session until the returned function is called. */
    hold(sessionId: string, handler: AskHandler): () => void;
    /** Says on this connection that questions are answered here. Nothing where that was said. */
    prepare(sessionId: string): Promise<void> | undefined;
    /** To the handler of who heard it, or to another one of the session: one that waits for its run hears nothing of this one. */
    asked(sessionId: string, data: ToolConfirmData, own: AskHandler | undefined, who: object): void;
    /** Somebody has answered. */
    done(sessionId: string, askId: string): void;
    /** A run or a watch is over: what it alone had heard is nobody's question any more, and an answer to it nobody's. */
    settled(who: object): void;
}
export {};
