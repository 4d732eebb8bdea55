/** A subscription that outlives its connection: it goes on where it was, without a gap and without a repeat. */
import type { AskHandler, Asks } from "./asks.js";
import { EventBuffer } from "./buffer.js";
import { GatewayError } from "./errors.js";
import type { AnyEvent, EventCursor, SubscribeResult } from "./generated.js";
import type { Operation, Wire } from "./wire.js";

/** Events that wait for the reader, and their characters together. At the bound the gateway is told to stop; when all of them were
 * read the subscription goes on from there. Topics without a cursor have no such place: of those the newest are dropped. */
const WAITING_MAX = 4096;
const WAITING_SIZE_MAX = 4 * 1024 * 1024;
/** A session that was lost is asked for again after this. */
const LAG_MS = 300;

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
export class Watch implements AsyncIterable<AnyEvent> {
  /** How far the reader is: keep it, and bring it back as `after`. Only a session's events have one. */
  cursor: EventCursor | undefined;
  /** How far the gateway has told it. */
  #told: EventCursor | undefined;
  /** Resolves when the gateway has taken it, with where it begins. */
  readonly ready: Promise<SubscribeResult>;
  #settle!: { resolve: (result: SubscribeResult) => void; reject: (why: Error) => void };
  readonly #wire: Wire;
  readonly #asks: Asks;
  readonly #sessionId: string | undefined;
  readonly #events = new EventBuffer<AnyEvent>();
  readonly #operation: Operation;
  readonly #release: (() => void) | undefined;
  readonly #unhook: () => void;
  #number: number | undefined;
  #isPaused = false;
  #wasThere = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(wire: Wire, asks: Asks, topics: string[], options: WatchOptions) {
    const session = topics.length === 1 && topics[0]?.startsWith("session:") ? topics[0].slice("session:".length) : undefined;
    const { after, confirm, signal, thinking } = options;
    this.#wire = wire;
    this.#asks = asks;
    this.#sessionId = session;
    this.cursor = this.#told = after;
    this.ready = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.ready.catch(() => {});
    this.#release = confirm && session !== undefined ? asks.hold(session, confirm) : undefined;
    this.#operation = {
      method: "events.subscribe",
      stays: true,
      params: () => ({ topics, afterSeq: this.#told, thinking }),
      before: () => (this.#release && session !== undefined ? asks.prepare(session) : undefined),
      onEvent: (event, size) => this.#event(event, size, confirm),
      onResult: (result) => this.#began(result as SubscribeResult),
      onFailed: (why) => this.#failed(why),
      again: () => true,
    };
    this.#events.onRead = (event) => (this.cursor = event.cursor ?? this.cursor);
    this.#events.onEmpty = () => this.#goOn();
    this.#events.onLeft = () => this.#leave();
    const abort = () => this.close();
    signal?.addEventListener("abort", abort, { once: true });
    this.#unhook = () => signal?.removeEventListener("abort", abort);
    if (signal?.aborted) this.close();
    else wire.submit(this.#operation);
  }

  /** Ends it; a reader that waits is told that there is no more. */
  close(): void {
    if (this.#events.isOver) return;
    this.#events.end();
    this.#leave();
  }
  [Symbol.asyncIterator](): AsyncIterator<AnyEvent> {
    return this.#events;
  }

  #began(result: SubscribeResult): void {
    this.#number = result.subscriptionId;
    this.#wasThere = true;
    if (this.#sessionId !== undefined) {
      this.cursor ??= result.cursor;
      this.#told ??= result.cursor;
    }
    this.#settle.resolve(result);
  }
  #event(event: AnyEvent, size: number, confirm: AskHandler | undefined): void {
    const session = this.#sessionId;
    // Nothing more comes of it here: the session was lost, is deleted, or cannot be read now.
    if (event.event === "lag") {
      if (session !== undefined) this.#told = event.cursor ?? this.#told;
      this.#stop();
      this.#timer = setTimeout(() => this.#wire.submit(this.#operation), LAG_MS);
      return;
    }
    if (session !== undefined && event.event === "tool_confirm") this.#asks.asked(session, event.data, confirm, this);
    if (session !== undefined && event.event === "tool_confirm_done") this.#asks.done(session, event.data.askId);
    const isFull = this.#events.length >= WAITING_MAX || this.#events.size >= WAITING_SIZE_MAX;
    if (isFull && session === undefined) return;
    if (event.cursor !== undefined && session !== undefined) this.#told = event.cursor;
    this.#events.push(event, size);
    if (isFull) {
      this.#isPaused = true;
      this.#stop();
    }
  }
  #goOn(): void {
    if (!this.#isPaused || this.#events.isOver) return;
    this.#isPaused = false;
    this.#wire.submit(this.#operation);
  }
  /** The gateway need not tell more. What is on its way is passed over. */
  #stop(): void {
    const isThere = this.#operation.id !== undefined;
    this.#wire.withdraw(this.#operation);
    const subscriptionId = this.#number;
    this.#number = undefined;
    if (!isThere || subscriptionId === undefined || !this.#wire.isOpen) return;
    this.#wire.submit({ method: "events.unsubscribe", params: () => ({ subscriptionId }), onResult: () => {}, onFailed: () => {}, again: () => false });
  }
  #failed(why: Error): void {
    this.#settle.reject(why);
    // One that was watched and is not there any more was deleted: that is the end, not an error.
    this.#events.end(this.#wasThere && why instanceof GatewayError && why.code === 1 ? undefined : why);
    this.#leave();
  }
  #leave(): void {
    clearTimeout(this.#timer);
    this.#stop();
    this.#unhook();
    this.#release?.();
    this.#asks.settled(this);
  }
}
