import { EventBuffer } from "./buffer.js";
import { GatewayError } from "./errors.js";
const WAITING_MAX = 4096;
const WAITING_SIZE_MAX = 4 * 1024 * 1024;
const LAG_MS = 300;
export class Watch {
cursor;
#told;
ready;
#settle;
#wire;
#asks;
#sessionId;
#events = new EventBuffer();
#operation;
#release;
#unhook;
#number;
#isPaused = false;
#wasThere = false;
#timer;
constructor(wire, asks, topics, options) {
const session = topics.length === 1 && topics[0]?.startsWith("session:") ? topics[0].slice("session:".length) : undefined;
const { after, confirm, signal, thinking } = options;
this.#wire = wire;
this.#asks = asks;
this.#sessionId = session;
this.cursor = this.#told = after;
this.ready = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
this.ready.catch(() => { });
this.#release = confirm && session !== undefined ? asks.hold(session, confirm) : undefined;
this.#operation = {
method: "events.subscribe",
stays: true,
params: () => ({ topics, afterSeq: this.#told, thinking }),
before: () => (this.#release && session !== undefined ? asks.prepare(session) : undefined),
onEvent: (event, size) => this.#event(event, size, confirm),
onResult: (result) => this.#began(result),
onFailed: (why) => this.#failed(why),
again: () => true,
};
this.#events.onRead = (event) => (this.cursor = event.cursor ?? this.cursor);
this.#events.onEmpty = () => this.#goOn();
this.#events.onLeft = () => this.#leave();
const abort = () => this.close();
signal?.addEventListener("abort", abort, { once: true });
this.#unhook = () => signal?.removeEventListener("abort", abort);
if (signal?.aborted)
this.close();
else
wire.submit(this.#operation);
}
close() {
if (this.#events.isOver)
return;
this.#events.end();
this.#leave();
}
[Symbol.asyncIterator]() {
return this.#events;
}
#began(result) {
this.#number = result.subscriptionId;
this.#wasThere = true;
if (this.#sessionId !== undefined) {
this.cursor ??= result.cursor;
this.#told ??= result.cursor;
}
this.#settle.resolve(result);
}
#event(event, size, confirm) {
const session = this.#sessionId;
if (event.event === "lag") {
if (session !== undefined)
this.#told = event.cursor ?? this.#told;
this.#stop();
this.#timer = setTimeout(() => this.#wire.submit(this.#operation), LAG_MS);
return;
}
if (session !== undefined && event.event === "tool_confirm")
this.#asks.asked(session, event.data, confirm, this);
if (session !== undefined && event.event === "tool_confirm_done")
this.#asks.done(session, event.data.askId);
const isFull = this.#events.length >= WAITING_MAX || this.#events.size >= WAITING_SIZE_MAX;
if (isFull && session === undefined)
return;
if (event.cursor !== undefined && session !== undefined)
this.#told = event.cursor;
this.#events.push(event, size);
if (isFull) {
this.#isPaused = true;
this.#stop();
}
}
#goOn() {
if (!this.#isPaused || this.#events.isOver)
return;
this.#isPaused = false;
this.#wire.submit(this.#operation);
}
#stop() {
const isThere = this.#operation.id !== undefined;
this.#wire.withdraw(this.#operation);
const subscriptionId = this.#number;
this.#number = undefined;
if (!isThere || subscriptionId === undefined || !this.#wire.isOpen)
return;
this.#wire.submit({ method: "events.unsubscribe", params: () => ({ subscriptionId }), onResult: () => { }, onFailed: () => { }, again: () => false });
}
#failed(why) {
this.#settle.reject(why);
this.#events.end(this.#wasThere && why instanceof GatewayError && why.code === 1 ? undefined : why);
this.#leave();
}
#leave() {
clearTimeout(this.#timer);
this.#stop();
this.#unhook();
this.#release?.();
this.#asks.settled(this);
}
}
