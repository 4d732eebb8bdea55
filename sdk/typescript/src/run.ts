/** One message and all that comes of it, told once however often the connection is lost. */
import type { AskHandler, Asks } from "./asks.js";
import { EventBuffer } from "./buffer.js";
import { type AnyEvent, COMMANDS, errorOf, type SendParams, type SendResult } from "./generated.js";
import { freshName } from "./socket.js";
import { bytesOf, commonLength } from "./text.js";
import type { Operation, Wire } from "./wire.js";

/** A gateway that was asked to cancel has answered by then, or the run is given up here. */
const CANCEL_MS = 10_000;

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
export class Run implements AsyncIterable<AnyEvent> {
  readonly sessionId: string;
  /** By which the gateway knows the message again. */
  readonly idempotencyKey: string;
  /** What came of it; rejects with why nothing did. */
  readonly result: Promise<SendResult>;
  #settle!: { resolve: (result: SendResult) => void; reject: (why: Error) => void };
  readonly #wire: Wire;
  readonly #asks: Asks;
  readonly #confirm: AskHandler | undefined;
  readonly #release: (() => void) | undefined;
  readonly #events = new EventBuffer<AnyEvent>();
  readonly #operation: Operation;
  readonly #unhook: () => void;
  /** The text that the reader was given, and the text of this telling; the gateway tells a run from its start to who comes back. */
  #told = "";
  #heard = "";
  /** This telling says what the reader has. */
  #isAgain = false;
  /** How often each other event was given, and came in this telling. */
  readonly #given = new Map<string, number>();
  #came = new Map<string, number>();
  #lastCall = "";
  #tellings = 0;
  #isCancelled = false;
  #giveUp: ReturnType<typeof setTimeout> | undefined;

  constructor(wire: Wire, asks: Asks, sessionId: string, message: string, options: SendOptions) {
    const { signal, confirm, sessionId: _, ...more } = options;
    this.#wire = wire;
    this.#asks = asks;
    this.sessionId = sessionId;
    this.idempotencyKey = more.idempotencyKey ?? freshName();
    this.result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    // Who reads the events is told by them.
    this.result.catch(() => {});
    this.#confirm = confirm;
    this.#release = confirm && asks.hold(sessionId, confirm);
    // The gateway keeps no key of a command: a second one would be carried out a second time.
    const isCommand = (more.attachments ?? []).length === 0 && COMMANDS.has(String(message).trimStart().split(/\s/, 1)[0] ?? "");
    const params: SendParams = { ...more, message, sessionId, idempotencyKey: this.idempotencyKey };
    const endsAt = more.timeoutMs === undefined ? undefined : performance.now() + more.timeoutMs;
    this.#operation = {
      method: "agent.send",
      params: () => (endsAt === undefined ? params : { ...params, timeoutMs: Math.max(1, Math.round(endsAt - performance.now())) }),
      before: () => (this.#confirm ? this.#asks.prepare(sessionId) : undefined),
      onSent: () => this.#sent(),
      onEvent: (event, size) => this.#event(event, size),
      onResult: (result) => this.#over(result as SendResult),
      onFailed: (why) => this.#failed(why),
      again: () => !isCommand,
    };
    const abort = () => this.cancel();
    signal?.addEventListener("abort", abort, { once: true });
    this.#unhook = () => signal?.removeEventListener("abort", abort);
    if (signal?.aborted) this.cancel();
    else wire.submit(this.#operation);
  }

  /** Asks the gateway to end the run. `result` is rejected with what it says to that. */
  cancel(): void {
    if (this.#isCancelled || this.#events.isOver) return;
    this.#isCancelled = true;
    const given = (reason: string) => errorOf(4, "it was cancelled", { reason, content: this.#told }, "agent.send");
    if (this.#tellings === 0) {
      this.#wire.withdraw(this.#operation);
      return this.#failed(given("cancelled_before_start"));
    }
    this.#giveUp = setTimeout(() => {
      this.#wire.withdraw(this.#operation);
      this.#failed(given("cancelled"));
    }, CANCEL_MS);
    this.#askToCancel();
  }
  #askToCancel(): void {
    const requestId = this.#operation.id;
    // On the next connection it is asked again.
    if (requestId === undefined) return;
    this.#wire.submit({ method: "agent.cancel", params: () => ({ requestId }), onResult: () => {}, onFailed: () => {}, again: () => false });
  }

  [Symbol.asyncIterator](): AsyncIterator<AnyEvent> {
    return this.#events;
  }

  #sent(): void {
    this.#isAgain = this.#tellings > 0;
    this.#tellings += 1;
    this.#heard = "";
    this.#came = new Map();
    if (this.#isCancelled) this.#askToCancel();
  }

  #event(event: AnyEvent, size: number): void {
    // Asks come anew to who comes back, and are known again by what they are about.
    if (event.event === "tool_confirm") this.#asks.asked(this.sessionId, event.data, this.#confirm, this);
    if (event.event === "tool_confirm_done") this.#asks.done(this.sessionId, event.data.askId);
    if (event.event === "content") {
      if (event.data.transient) return this.#events.push(event, size);
      return this.#isAgain ? this.#saysAgain(event.data.text) : this.#says(event.data.text);
    }
    const data = event.data as { callId?: string; state?: string };
    if (event.event === "tool_end") this.#lastCall = data.callId ?? "";
    const key = `${event.event} ${data.callId ?? data.state ?? (event.event === "attachment" ? this.#lastCall : "")}`;
    const count = (this.#came.get(key) ?? 0) + 1;
    this.#came.set(key, count);
    if (count <= (this.#given.get(key) ?? 0)) return;
    this.#given.set(key, count);
    // A call follows the text before it: of that there is no more.
    if (event.event === "tool_start" && this.#isAgain) this.#becomes(this.#heard);
    this.#events.push(event, size);
  }

  #says(text: string): void {
    this.#told += text;
    const newest = this.#events.newest;
    // Who reads slowly is given longer pieces.
    if (newest?.event === "content" && !newest.data.transient) {
      newest.data.text += text;
      this.#events.grew(text.length);
    } else {
      this.#events.push({ event: "content", data: { text } }, text.length);
    }
  }
  #saysAgain(text: string): void {
    this.#heard += text;
    if (this.#told.length > this.#heard.length && this.#told.startsWith(this.#heard)) return;
    this.#becomes(this.#heard);
  }
  /** What the reader has becomes this text. */
  #becomes(text: string): void {
    const common = text.startsWith(this.#told) ? this.#told.length : commonLength(this.#told, text);
    const gone = this.#told.slice(common);
    if (gone) this.#events.push({ event: "retract", data: { bytes: bytesOf(gone) } }, 0);
    this.#told = text.slice(0, common);
    if (text.length > common) this.#says(text.slice(common));
    this.#isAgain = false;
  }

  #over(result: SendResult): void {
    // A run that ended meanwhile is told by its result alone.
    if (this.#tellings > 1) {
      this.#becomes(result.content);
      if (!this.#given.has("done ")) this.#events.push({ event: "done", data: { content: result.content, usage: result.usage } }, 0);
    }
    this.#end();
    this.#events.end();
    this.#settle.resolve(result);
  }
  #failed(why: Error): void {
    this.#end();
    this.#events.end(why);
    this.#settle.reject(why);
  }
  #end(): void {
    clearTimeout(this.#giveUp);
    this.#unhook();
    this.#release?.();
    this.#asks.settled(this);
  }
}
