/** A client of the gateway: typed methods, runs, subscriptions, on a connection that comes back. */
import { type AskHandler } from "./asks.js";
import { type Api, type CallOptions, type LoginResult, type MethodName, type Methods } from "./generated.js";
import { Run, type SendOptions } from "./run.js";
import { type SocketConstructor, type TokenBy } from "./socket.js";
import { Watch, type WatchOptions } from "./watch.js";
import { type ConnectionState } from "./wire.js";
export interface ClientOptions {
    /** Or a function that is asked before each connection. */
    token?: string | (() => string | Promise<string>);
    /** `header` in Node, `protocol` in pages, which cannot set headers. */
    tokenBy?: TokenBy;
    /** In Node below 22: the constructor of npm's `ws`. */
    WebSocket?: SocketConstructor;
    /** The session of messages that name none. It is the client's, not the connection's, and so survives a reconnect. */
    sessionId?: string;
    /** Answers for every message of this client that has no handler of its own. */
    confirm?: AskHandler;
    /** For methods other than runs, connecting included: 30 seconds. 0: for ever. */
    timeoutMs?: number;
    connectTimeoutMs?: number;
    /** The waits between attempts double from the one to the other, each half of it by chance. */
    backoffMinMs?: number;
    backoffMaxMs?: number;
    /** After so long without a word the connection is asked whether it is there, and given up. 0: never. */
    heartbeatMs?: number;
    onState?: (state: ConnectionState, why?: Error) => void;
}
export interface GatewayClient extends Api {
}
export declare class GatewayClient {
    #private;
    /** The session of messages that name none. */
    readonly sessionId: string;
    constructor(url: string, options?: ClientOptions);
    get state(): ConnectionState;
    /** Connects now, and says where that fails. Without it the first request does, and tries until its time is over. */
    connect(): Promise<void>;
    /** Ends the connection. What runs in the gateway goes on; whoever waits here is told so. */
    close(): void;
    /** Any method, by its name. */
    call<M extends MethodName>(method: M, params?: Methods[M]["params"], options?: CallOptions): Promise<Methods[M]["result"]>;
    /** Says who this is, on a connection that was let in without a token. It holds for that connection: a token in the options is
     * shown on each. */
    login(token: string, options?: CallOptions): Promise<LoginResult>;
    /** A message for the model, or a slash command. It is taken once, whatever happens to the connection. */
    send(message: string, options?: SendOptions): Run;
    /** Everything that happens in a session, from a cursor on or from now on. */
    watch(sessionId: string, options?: WatchOptions): Watch;
    /** News of the services: `sessions`, `asks`, `lanes`, `nodes`, `metrics`, `logs`. They have no cursor: what happens while the connection is
     * away is not told. */
    listen(topics: ("sessions" | "asks" | "lanes" | "nodes" | "metrics" | "logs")[], options?: {
        signal?: AbortSignal;
    }): Watch;
}
