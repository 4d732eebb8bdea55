import { EventBuffer } from "./buffer.js";
import { COMMANDS, errorOf } from "./generated.js";
import { freshName } from "./socket.js";
import { bytesOf, commonLength } from "./text.js";
const CANCEL_MS = 10_000;
export class Run {
sessionId;
idempotencyKey;
result;
#settle;
#wire;
#asks;
#confirm;
#release;
#events = new EventBuffer();
#operation;
#unhook;
#told = "";
#heard = "";
#isAgain = false;
#given = new Map();
#came = new Map();
#lastCall = "";
#tellings = 0;
#isCancelled = false;
#giveUp;
constructor(wire, asks, sessionId, message, options) {
const { signal, confirm, sessionId: _, ...more } = options;
this.#wire = wire;
this.#asks = asks;
this.sessionId = sessionId;
this.idempotencyKey = more.idempotencyKey ?? freshName();
this.result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
this.result.catch(() => { });
this.#confirm = confirm;
this.#release = confirm && asks.hold(sessionId, confirm);
const isCommand = (more.attachments ?? []).length === 0 && COMMANDS.has(String(message).trimStart().split(/\s/, 1)[0] ?? "");
const params = { ...more, message, sessionId, idempotencyKey: this.idempotencyKey };
const endsAt = more.timeoutMs === undefined ? undefined : performance.now() + more.timeoutMs;
this.#operation = {
method: "agent.send",
params: () => (endsAt === undefined ? params : { ...params, timeoutMs: Math.max(1, Math.round(endsAt - performance.now())) }),
before: () => (this.#confirm ? this.#asks.prepare(sessionId) : undefined),
onSent: () => this.#sent(),
onEvent: (event, size) => this.#event(event, size),
onResult: (result) => this.#over(result),
onFailed: (why) => this.#failed(why),
again: () => !isCommand,
};
const abort = () => this.cancel();
signal?.addEventListener("abort", abort, { once: true });
this.#unhook = () => signal?.removeEventListener("abort", abort);
if (signal?.aborted)
this.cancel();
else
wire.submit(this.#operation);
}
cancel() {
if (this.#isCancelled || this.#events.isOver)
return;
this.#isCancelled = true;
const given = (reason) => errorOf(4, "it was cancelled", { reason, content: this.#told }, "agent.send");
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
#askToCancel() {
const requestId = this.#operation.id;
if (requestId === undefined)
return;
this.#wire.submit({ method: "agent.cancel", params: () => ({ requestId }), onResult: () => { }, onFailed: () => { }, again: () => false });
}
[Symbol.asyncIterator]() {
return this.#events;
}
#sent() {
this.#isAgain = this.#tellings > 0;
this.#tellings += 1;
this.#heard = "";
this.#came = new Map();
if (this.#isCancelled)
this.#askToCancel();
}
#event(event, size) {
if (event.event === "tool_confirm")
this.#asks.asked(this.sessionId, event.data, this.#confirm, this);
if (event.event === "tool_confirm_done")
this.#asks.done(this.sessionId, event.data.askId);
if (event.event === "content") {
if (event.data.transient)
return this.#events.push(event, size);
return this.#isAgain ? this.#saysAgain(event.data.text) : this.#says(event.data.text);
}
const data = event.data;
if (event.event === "tool_end")
this.#lastCall = data.callId ?? "";
const key = `${event.event} ${data.callId ?? data.state ?? (event.event === "attachment" ? this.#lastCall : "")}`;
const count = (this.#came.get(key) ?? 0) + 1;
this.#came.set(key, count);
if (count <= (this.#given.get(key) ?? 0))
return;
this.#given.set(key, count);
if (event.event === "tool_start" && this.#isAgain)
this.#becomes(this.#heard);
this.#events.push(event, size);
}
#says(text) {
this.#told += text;
const newest = this.#events.newest;
if (newest?.event === "content" && !newest.data.transient) {
newest.data.text += text;
this.#events.grew(text.length);
}
else {
this.#events.push({ event: "content", data: { text } }, text.length);
}
}
#saysAgain(text) {
this.#heard += text;
if (this.#told.length > this.#heard.length && this.#told.startsWith(this.#heard))
return;
this.#becomes(this.#heard);
}
#becomes(text) {
const common = text.startsWith(this.#told) ? this.#told.length : commonLength(this.#told, text);
const gone = this.#told.slice(common);
if (gone)
this.#events.push({ event: "retract", data: { bytes: bytesOf(gone) } }, 0);
this.#told = text.slice(0, common);
if (text.length > common)
this.#says(text.slice(common));
this.#isAgain = false;
}
#over(result) {
if (this.#tellings > 1) {
this.#becomes(result.content);
if (!this.#given.has("done "))
this.#events.push({ event: "done", data: { content: result.content, usage: result.usage } }, 0);
}
this.#end();
this.#events.end();
this.#settle.resolve(result);
}
#failed(why) {
this.#end();
this.#events.end(why);
this.#settle.reject(why);
}
#end() {
clearTimeout(this.#giveUp);
this.#unhook();
this.#release?.();
this.#asks.settled(this);
}
}
