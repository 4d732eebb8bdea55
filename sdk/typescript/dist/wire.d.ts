import { type AnyEvent } from "./generated.js";
import { type SocketConstructor, type TokenBy } from "./socket.js";
export type ConnectionState = "idle" | "connecting" | "open" | "waiting" | "closed";
/** One request, over as many connections as it takes. */
export interface Operation {
    readonly method: string;
    /** The id on this connection; none where it was not sent on it. */
    id?: number | undefined;
    params(): object;
    /** What has to be done on a new connection first. */
    before?(): Promise<void> | undefined;
    onSent?(): void;
    onEvent?(event: AnyEvent, size: number): void;
    onResult(result: unknown): void;
    onFailed(why: Error): void;
    /** The connection was lost behind it. Whether it is sent again. */
    again(): boolean;
    /** Events follow its result. */
    readonly stays?: boolean;
    /** Nobody wants it any more, wherever it is. */
    isWithdrawn?: boolean;
    /** In the order in which requests were made. */
    place?: number;
    /** Something came of it on this connection. */
    isHeard?: boolean;
}
export interface WireOptions {
    url: string;
    token?: string | (() => string | Promise<string>) | undefined;
    tokenBy: TokenBy;
    WebSocket?: SocketConstructor | undefined;
    connectTimeoutMs: number;
    backoffMinMs: number;
    backoffMaxMs: number;
    heartbeatMs: number;
    onState?: ((state: ConnectionState, why?: Error) => void) | undefined;
}
export declare class Wire {
    #private;
    /** Counts connections; whatever comes of an older one is passed over. */
    connection: number;
    constructor(options: WireOptions);
    get state(): ConnectionState;
    get isOpen(): boolean;
    /** Resolves when the connection is open; rejects where this attempt fails. */
    connect(): Promise<void>;
    submit(operation: Operation): void;
    /** Nobody wants its answer any more. */
    withdraw(operation: Operation): void;
    close(why?: Error): void;
}
