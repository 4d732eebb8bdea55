/** The connection that comes back: requests go out when it is open, and what a lost one leaves open is sent again where that is safe. */
import { ClientClosedError, ConnectError, ConnectionLostError, GatewayError } from "./errors.js";
import { type AnyEvent, errorOf, LIMITS } from "./generated.js";
import { openSocket, type SocketConstructor, type SocketLike, type TokenBy } from "./socket.js";

/** Requests without an answer; more wait here. The gateway takes a few more. */
const IN_FLIGHT_MAX = LIMITS.maxInFlight - 24;
/** As fast as requests go out, below what the gateway takes, so that it never refuses one for that. */
const BURST = LIMITS.burst * 0.8;
const PER_SECOND = LIMITS.perSecond * 0.9;
/** Characters that the socket holds; more wait here. */
const UNSENT_MAX = 1024 * 1024;
const UNSENT_STEP_MS = 10;
/** A gateway that says it ends has closed by then, or we do. */
const ENDING_MS = 15_000;
/** A refusal for being too fast says for how long; where it does not, this long. */
const BUSY_MS = 1_000;
/** Lists and objects within each other in what a request takes; the gateway reads little more, and could not say whose it was. */
const DEPTH_MAX = 120;

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

const isDeeper = (value: unknown, most: number): boolean =>
  typeof value === "object" && value !== null && (most === 0 || Object.values(value).some((it) => isDeeper(it, most - 1)));

type Frame = { id: number | null; result?: unknown; error?: { code: number; message: string; data?: Record<string, unknown> }; event?: string };

export class Wire {
  readonly #options: WireOptions;
  #socket: SocketLike | undefined;
  #state: ConnectionState = "idle";
  /** Counts connections; whatever comes of an older one is passed over. */
  connection = 0;
  #ids = 0;
  #places = 0;
  #waiting: Operation[] = [];
  readonly #sent = new Map<number, Operation>();
  #attempt = 0;
  #tokens = BURST;
  #filledAt = 0;
  #heardAt = 0;
  #probe: number | undefined;
  /** The gateway ends: nothing more goes out on this connection. */
  #isEnding = false;
  #refused: Error | undefined;
  #timers: { [name in "backoff" | "pace" | "heart" | "ending"]?: ReturnType<typeof setTimeout> } = {};
  #connecting: { resolve: () => void; reject: (why: Error) => void }[] = [];

  constructor(options: WireOptions) {
    this.#options = options;
  }

  get state(): ConnectionState {
    return this.#state;
  }
  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Resolves when the connection is open; rejects where this attempt fails. */
  connect(): Promise<void> {
    if (this.#state === "open") return Promise.resolve();
    if (this.#state === "closed") return Promise.reject(this.#why());
    const opened = new Promise<void>((resolve, reject) => this.#connecting.push({ resolve, reject }));
    if (this.#state !== "connecting") this.#open();
    return opened;
  }
  submit(operation: Operation): void {
    operation.isWithdrawn = false;
    operation.place = ++this.#places;
    this.#queue(operation);
    if (this.#state === "idle") this.#open();
  }
  /** At the end, or where it was: before all that were made after it. */
  #queue(operation: Operation, place = Infinity): void {
    if (operation.isWithdrawn) return;
    if (this.#state === "closed") return operation.onFailed(this.#why());
    const later = place === Infinity ? -1 : this.#waiting.findIndex((it) => (it.place ?? 0) > place);
    this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, operation);
    this.#flush();
  }
  /** Nobody wants its answer any more. */
  withdraw(operation: Operation): void {
    operation.isWithdrawn = true;
    this.#waiting = this.#waiting.filter((it) => it !== operation);
    if (operation.id !== undefined) this.#sent.delete(operation.id);
    operation.id = undefined;
    this.#flush();
  }
  close(why: Error = new ClientClosedError("the client is closed")): void {
    if (this.#state === "closed") return;
    this.#refused = why;
    this.#turn("closed", why);
    this.connection += 1;
    this.#clear("backoff", "pace", "heart", "ending");
    this.#socket?.close(1000);
    this.#socket = undefined;
    const left = [...this.#sent.values(), ...this.#waiting];
    this.#sent.clear();
    this.#waiting = [];
    for (const operation of left) {
      operation.id = undefined;
      operation.onFailed(why);
    }
    for (const it of this.#connecting.splice(0)) it.reject(why);
  }

  #why(): Error {
    return this.#refused ?? new ClientClosedError("the client is closed");
  }
  #turn(state: ConnectionState, why?: Error): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState?.(state, why);
  }
  #clear(...names: ("backoff" | "pace" | "heart" | "ending")[]): void {
    for (const name of names) {
      clearTimeout(this.#timers[name]);
      delete this.#timers[name];
    }
  }
  #later(name: "backoff" | "pace" | "heart" | "ending", ms: number, what: () => void): void {
    this.#timers[name] ??= setTimeout(() => {
      delete this.#timers[name];
      what();
    }, ms);
  }

  async #open(): Promise<void> {
    this.#clear("backoff");
    this.#turn("connecting");
    const number = ++this.connection;
    const { url, token, tokenBy, WebSocket, connectTimeoutMs } = this.#options;
    const hooks = {
      heard: (text: string) => number === this.connection && this.#heard(text),
      closed: (code: number, reason: string) => number === this.connection && this.#lost(`closed with ${code} ${reason}`.trim()),
    };
    try {
      const word = typeof token === "function" ? await token() : token;
      const socket = await openSocket(url, word, tokenBy, WebSocket, connectTimeoutMs, hooks);
      // Closed meanwhile, by us or by the gateway.
      if (number !== this.connection) return socket.close(1000);
      this.#socket = socket;
      this.#isEnding = false;
      [this.#tokens, this.#filledAt, this.#heardAt, this.#probe] = [BURST, performance.now(), performance.now(), undefined];
      if (tokenBy === "login" && word !== undefined) await this.#login(word);
      if (number !== this.connection) return;
    } catch (error) {
      if (number === this.connection) this.#notOpened(error instanceof Error ? error : new ConnectError(String(error)));
      return;
    }
    this.#turn("open");
    this.#beat();
    for (const it of this.#connecting.splice(0)) it.resolve();
    this.#flush();
  }

  /** As the first request of a connection. */
  #login(token: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#send({ method: "auth.login", params: () => ({ token }), onResult: () => resolve(), onFailed: reject, again: () => false });
    });
  }

  #notOpened(why: Error): void {
    this.#drop();
    for (const it of this.#connecting.splice(0)) it.reject(why);
    // What is wrong with the credentials or the address is not better a second later.
    if (why instanceof GatewayError || /server response: 4(?!08|29)\d\d/.test(why.message)) return this.close(why);
    this.#comeBack(why);
  }

  #comeBack(why: Error): void {
    if (this.#waiting.length === 0 && this.#attempt === 0 && this.#state === "connecting") return this.#turn("idle", why);
    const { backoffMinMs, backoffMaxMs } = this.#options;
    const most = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(this.#attempt++, 20));
    this.#turn("waiting", why);
    this.#later("backoff", most * (0.5 + Math.random() / 2), () => this.#open());
  }

  /** The socket is gone, whatever it still says. */
  #drop(): void {
    this.connection += 1;
    this.#clear("pace", "heart", "ending");
    const socket = this.#socket;
    this.#socket = undefined;
    // `ws` waits for the other side to say good-bye, and keeps Node alive meanwhile.
    socket?.terminate ? socket.terminate() : socket?.close();
  }

  #lost(reason: string): void {
    this.#drop();
    const why = new ConnectionLostError(`the connection was lost (${reason})`);
    const sent = [...this.#sent.values()];
    this.#sent.clear();
    const again: Operation[] = [];
    const over: Operation[] = [];
    for (const operation of sent) {
      operation.id = undefined;
      (operation.again() ? again : over).push(operation);
    }
    this.#waiting = [...again, ...this.#waiting];
    const refused = this.#refused;
    if (refused) return this.close(refused);
    this.#comeBack(why);
    for (const operation of over) operation.onFailed(new ConnectionLostError(`${why.message}; ${operation.method} may have been carried out`));
  }

  /** Sends what may be sent now. */
  #flush(): void {
    while (this.#state === "open" && !this.#isEnding && this.#sent.size < IN_FLIGHT_MAX) {
      if (this.#waiting.length === 0) return;
      const now = performance.now();
      this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#filledAt) * PER_SECOND) / 1000);
      this.#filledAt = now;
      if (this.#tokens < 1) return this.#later("pace", 1000 / PER_SECOND, () => this.#flush());
      if ((this.#socket?.bufferedAmount ?? 0) > UNSENT_MAX) return this.#later("pace", UNSENT_STEP_MS, () => this.#flush());
      const operation = this.#waiting.shift() as Operation;
      const before = operation.before?.();
      if (before) {
        const number = this.connection;
        const back = () => this.#queue(operation, operation.place);
        // Where the connection was lost meanwhile, it begins again on the next one.
        before.then(back, (why: Error) => (number === this.connection && !operation.isWithdrawn && !(why instanceof ConnectionLostError) ? operation.onFailed(why) : back()));
        continue;
      }
      this.#tokens -= 1;
      this.#send(operation);
    }
  }

  #send(operation: Operation): void {
    const id = ++this.#ids;
    const refuse = (reason: string, message: string) => operation.onFailed(errorOf(-2, message, { reason }, operation.method));
    let text: string;
    try {
      const params = operation.params();
      text = JSON.stringify({ id, method: operation.method, params });
      if (isDeeper(params, DEPTH_MAX)) throw new Error(`more than ${DEPTH_MAX} lists and objects are within each other`);
    } catch (why) {
      return refuse("not_json", `this cannot be sent as JSON: ${why instanceof Error ? why.message : why}`);
    }
    if (text.length * 3 > LIMITS.maxFrameBytes && new TextEncoder().encode(text).length > LIMITS.maxFrameBytes) {
      return refuse("frame_too_long", `a request has at most ${LIMITS.maxFrameBytes} bytes`);
    }
    operation.id = id;
    operation.isHeard = false;
    this.#sent.set(id, operation);
    this.#socket?.send(text);
    operation.onSent?.();
  }

  #heard(text: string): void {
    this.#heardAt = performance.now();
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
    } catch {
      return this.#lost("what came is not JSON");
    }
    if (frame.id === null) return frame.error && this.#unnamed(frame.error);
    const operation = this.#sent.get(frame.id);
    if (operation) operation.isHeard = true;
    if (frame.event !== undefined) return operation?.onEvent?.(frame as unknown as AnyEvent, text.length);
    if (frame.id === this.#probe) this.#probe = undefined;
    if (frame.error) return this.#refusal(operation, frame.error);
    if (!operation) return;
    this.#attempt = 0;
    if (operation.method === "auth.login") this.#refused = undefined;
    if (!operation.stays) {
      this.#sent.delete(frame.id as number);
      operation.id = undefined;
    }
    operation.onResult(frame.result);
    this.#flush();
  }

  /** The gateway refuses something and cannot say under whose id. Nobody is left waiting for that. */
  #unnamed(error: NonNullable<Frame["error"]>): void {
    const { code, data } = error;
    const named = this.#sent.get(data?.["id"] as number);
    // It names one whose id is in use: that one is well. Who is not known is closed, and told so by that.
    if (code === -4 || code === -5 || data?.["reason"] === "duplicate_id") return this.#refusal(undefined, error);
    const meant = named ? [named] : [...this.#sent.values()].filter((it) => !it.isHeard);
    const message = meant.length > 1 ? `${error.message} (the gateway means one of ${meant.length} requests)` : error.message;
    for (const operation of meant) this.#refusal(operation, { ...error, message });
  }

  #refusal(operation: Operation | undefined, { code, message, data }: NonNullable<Frame["error"]>): void {
    const error = errorOf(code, message, data, operation?.method);
    // Whoever is not known here is closed, and need not come back.
    if ((code === -4 || code === -5) && error.reason !== "scope") this.#refused = error;
    if (!operation) return;
    this.#sent.delete(operation.id as number);
    operation.id = undefined;
    if (code === 3 && error.reason === "rate_limited") {
      const wait = Number(data?.["retryAfterMs"] ?? BUSY_MS);
      setTimeout(() => this.#queue(operation), wait * (1 + Math.random() / 2));
    } else if (code === 4 && error.reason === "shutdown" && data?.["replayed"] !== true && operation.again()) {
      // What was not finished goes on when the gateway is there again.
      this.#isEnding = true;
      this.#waiting.push(operation);
      this.#later("ending", ENDING_MS, () => this.#lost("the gateway ended"));
    } else {
      operation.onFailed(error);
    }
    this.#flush();
  }

  /** A connection that is silent is asked whether it is there: a page is not told of the gateway's pings. */
  #beat(): void {
    const { heartbeatMs } = this.#options;
    if (heartbeatMs <= 0) return;
    this.#later("heart", heartbeatMs / 2, () => {
      const silent = performance.now() - this.#heardAt;
      if (this.#probe !== undefined && silent > heartbeatMs) return this.#lost("it is silent");
      if (this.#probe === undefined && silent >= heartbeatMs / 2) {
        this.#probe = ++this.#ids;
        this.#socket?.send(JSON.stringify({ id: this.#probe, method: "system.info" }));
      }
      this.#beat();
    });
  }
}
