/** A client of the gateway: typed methods, runs, subscriptions, on a connection that comes back. */
import { type AskHandler, Asks } from "./asks.js";
import { CallTimeoutError } from "./errors.js";
import { type Api, apiOf, type CallOptions, isRead, type LoginResult, type MethodName, type Methods } from "./generated.js";
import { Run, type SendOptions } from "./run.js";
import { freshName, isPage, type SocketConstructor, type TokenBy } from "./socket.js";
import { Watch, type WatchOptions } from "./watch.js";
import { type ConnectionState, type Operation, Wire } from "./wire.js";

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

/** Methods that go on in the gateway until they are told not to. */
const ENDED_BY_CANCEL = new Set(["tools.execute", "agent.wait"]);

export interface GatewayClient extends Api {}
export class GatewayClient {
  /** The session of messages that name none. */
  readonly sessionId: string;
  readonly #wire: Wire;
  readonly #asks: Asks;
  readonly #options: ClientOptions;

  constructor(url: string, options: ClientOptions = {}) {
    Object.assign(this, apiOf((method, params, more) => this.#request(method, params, more ?? {}, isRead(method))));
    this.#options = options;
    this.sessionId = options.sessionId ?? `ws:${freshName()}`;
    this.#wire = new Wire({
      url,
      token: options.token,
      tokenBy: options.tokenBy ?? (isPage() ? "protocol" : "header"),
      WebSocket: options.WebSocket,
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      backoffMinMs: options.backoffMinMs ?? 250,
      backoffMaxMs: options.backoffMaxMs ?? 10_000,
      heartbeatMs: options.heartbeatMs ?? 60_000,
      onState: options.onState,
    });
    this.#asks = new Asks(this.#wire, (method, params) => this.#request(method, params, { timeoutMs: 0 }, false));
  }

  get state(): ConnectionState {
    return this.#wire.state;
  }
  /** Connects now, and says where that fails. Without it the first request does, and tries until its time is over. */
  connect(): Promise<void> {
    return this.#wire.connect();
  }
  /** Ends the connection. What runs in the gateway goes on; whoever waits here is told so. */
  close(): void {
    this.#wire.close();
  }

  /** Any method, by its name. */
  call<M extends MethodName>(method: M, params?: Methods[M]["params"], options?: CallOptions): Promise<Methods[M]["result"]> {
    return this.#request(method, params ?? {}, options ?? {}, isRead(method)) as Promise<Methods[M]["result"]>;
  }
  /** Says who this is, on a connection that was let in without a token. It holds for that connection: a token in the options is
   * shown on each. */
  login(token: string, options?: CallOptions): Promise<LoginResult> {
    return this.call("auth.login", { token }, options);
  }
  /** A message for the model, or a slash command. It is taken once, whatever happens to the connection. */
  send(message: string, options: SendOptions = {}): Run {
    const confirm = options.confirm ?? this.#options.confirm;
    return new Run(this.#wire, this.#asks, options.sessionId ?? this.sessionId, message, confirm ? { ...options, confirm } : options);
  }
  /** Everything that happens in a session, from a cursor on or from now on. */
  watch(sessionId: string, options: WatchOptions = {}): Watch {
    return new Watch(this.#wire, this.#asks, [`session:${sessionId}`], options);
  }
  /** News of the services: `sessions`, `asks`, `lanes`, `nodes`, `metrics`, `logs`. They have no cursor: what happens while the connection is
   * away is not told. */
  listen(topics: ("sessions" | "asks" | "lanes" | "nodes" | "metrics" | "logs")[], options: { signal?: AbortSignal } = {}): Watch {
    return new Watch(this.#wire, this.#asks, topics, options);
  }

  #request(method: string, params: object, options: CallOptions, isRead: boolean): Promise<unknown> {
    const { signal } = options;
    const usual = this.#options.timeoutMs ?? 30_000;
    // What may take its time there may take it here.
    const patience = ENDED_BY_CANCEL.has(method) && usual > 0 ? usual + ((params as { timeoutMs?: number }).timeoutMs ?? 120_000) : usual;
    const timeoutMs = options.timeoutMs ?? patience;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      const giveUp = (why: unknown) => {
        const requestId = operation.id;
        this.#wire.withdraw(operation);
        if (requestId !== undefined && ENDED_BY_CANCEL.has(method)) this.#request("agent.cancel", { requestId }, {}, false).catch(() => {});
        leave();
        reject(why);
      };
      const abort = () => giveUp(signal?.reason);
      const timer = timeoutMs > 0 ? setTimeout(() => giveUp(new CallTimeoutError(`${method} was not answered within ${timeoutMs} ms`)), timeoutMs) : undefined;
      signal?.addEventListener("abort", abort, { once: true });
      const operation: Operation = {
        method,
        params: () => params,
        onResult: (result) => (leave(), resolve(result)),
        onFailed: (why) => (leave(), reject(why)),
        // What only looks is asked again; anything else may have been done.
        again: () => isRead,
      };
      this.#wire.submit(operation);
    });
  }
}
