import { ClientClosedError, ConnectError, ConnectionLostError, GatewayError } from "./errors.js";
import { errorOf, LIMITS } from "./generated.js";
import { openSocket } from "./socket.js";
const IN_FLIGHT_MAX = LIMITS.maxInFlight - 24;
const BURST = LIMITS.burst * 0.8;
const PER_SECOND = LIMITS.perSecond * 0.9;
const UNSENT_MAX = 1024 * 1024;
const UNSENT_STEP_MS = 10;
const ENDING_MS = 15_000;
const BUSY_MS = 1_000;
const DEPTH_MAX = 120;
const isDeeper = (value, most) => typeof value === "object" && value !== null && (most === 0 || Object.values(value).some((it) => isDeeper(it, most - 1)));
export class Wire {
#options;
#socket;
#state = "idle";
connection = 0;
#ids = 0;
#places = 0;
#waiting = [];
#sent = new Map();
#attempt = 0;
#tokens = BURST;
#filledAt = 0;
#heardAt = 0;
#probe;
#isEnding = false;
#refused;
#timers = {};
#connecting = [];
constructor(options) {
this.#options = options;
}
get state() {
return this.#state;
}
get isOpen() {
return this.#state === "open";
}
connect() {
if (this.#state === "open")
return Promise.resolve();
if (this.#state === "closed")
return Promise.reject(this.#why());
const opened = new Promise((resolve, reject) => this.#connecting.push({ resolve, reject }));
if (this.#state !== "connecting")
this.#open();
return opened;
}
submit(operation) {
operation.isWithdrawn = false;
operation.place = ++this.#places;
this.#queue(operation);
if (this.#state === "idle")
this.#open();
}
#queue(operation, place = Infinity) {
if (operation.isWithdrawn)
return;
if (this.#state === "closed")
return operation.onFailed(this.#why());
const later = place === Infinity ? -1 : this.#waiting.findIndex((it) => (it.place ?? 0) > place);
this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, operation);
this.#flush();
}
withdraw(operation) {
operation.isWithdrawn = true;
this.#waiting = this.#waiting.filter((it) => it !== operation);
if (operation.id !== undefined)
this.#sent.delete(operation.id);
operation.id = undefined;
this.#flush();
}
close(why = new ClientClosedError("the client is closed")) {
if (this.#state === "closed")
return;
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
for (const it of this.#connecting.splice(0))
it.reject(why);
}
#why() {
return this.#refused ?? new ClientClosedError("the client is closed");
}
#turn(state, why) {
if (this.#state === state)
return;
this.#state = state;
this.#options.onState?.(state, why);
}
#clear(...names) {
for (const name of names) {
clearTimeout(this.#timers[name]);
delete this.#timers[name];
}
}
#later(name, ms, what) {
this.#timers[name] ??= setTimeout(() => {
delete this.#timers[name];
what();
}, ms);
}
async #open() {
this.#clear("backoff");
this.#turn("connecting");
const number = ++this.connection;
const { url, token, tokenBy, WebSocket, connectTimeoutMs } = this.#options;
const hooks = {
heard: (text) => number === this.connection && this.#heard(text),
closed: (code, reason) => number === this.connection && this.#lost(`closed with ${code} ${reason}`.trim()),
};
try {
const word = typeof token === "function" ? await token() : token;
const socket = await openSocket(url, word, tokenBy, WebSocket, connectTimeoutMs, hooks);
if (number !== this.connection)
return socket.close(1000);
this.#socket = socket;
this.#isEnding = false;
[this.#tokens, this.#filledAt, this.#heardAt, this.#probe] = [BURST, performance.now(), performance.now(), undefined];
if (tokenBy === "login" && word !== undefined)
await this.#login(word);
if (number !== this.connection)
return;
}
catch (error) {
if (number === this.connection)
this.#notOpened(error instanceof Error ? error : new ConnectError(String(error)));
return;
}
this.#turn("open");
this.#beat();
for (const it of this.#connecting.splice(0))
it.resolve();
this.#flush();
}
#login(token) {
return new Promise((resolve, reject) => {
this.#send({ method: "auth.login", params: () => ({ token }), onResult: () => resolve(), onFailed: reject, again: () => false });
});
}
#notOpened(why) {
this.#drop();
for (const it of this.#connecting.splice(0))
it.reject(why);
if (why instanceof GatewayError || /server response: 4(?!08|29)\d\d/.test(why.message))
return this.close(why);
this.#comeBack(why);
}
#comeBack(why) {
if (this.#waiting.length === 0 && this.#attempt === 0 && this.#state === "connecting")
return this.#turn("idle", why);
const { backoffMinMs, backoffMaxMs } = this.#options;
const most = Math.min(backoffMaxMs, backoffMinMs * 2 ** Math.min(this.#attempt++, 20));
this.#turn("waiting", why);
this.#later("backoff", most * (0.5 + Math.random() / 2), () => this.#open());
}
#drop() {
this.connection += 1;
this.#clear("pace", "heart", "ending");
const socket = this.#socket;
this.#socket = undefined;
socket?.terminate ? socket.terminate() : socket?.close();
}
#lost(reason) {
this.#drop();
const why = new ConnectionLostError(`the connection was lost (${reason})`);
const sent = [...this.#sent.values()];
this.#sent.clear();
const again = [];
const over = [];
for (const operation of sent) {
operation.id = undefined;
(operation.again() ? again : over).push(operation);
}
this.#waiting = [...again, ...this.#waiting];
const refused = this.#refused;
if (refused)
return this.close(refused);
this.#comeBack(why);
for (const operation of over)
operation.onFailed(new ConnectionLostError(`${why.message}; ${operation.method} may have been carried out`));
}
#flush() {
while (this.#state === "open" && !this.#isEnding && this.#sent.size < IN_FLIGHT_MAX) {
if (this.#waiting.length === 0)
return;
const now = performance.now();
this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#filledAt) * PER_SECOND) / 1000);
this.#filledAt = now;
if (this.#tokens < 1)
return this.#later("pace", 1000 / PER_SECOND, () => this.#flush());
if ((this.#socket?.bufferedAmount ?? 0) > UNSENT_MAX)
return this.#later("pace", UNSENT_STEP_MS, () => this.#flush());
const operation = this.#waiting.shift();
const before = operation.before?.();
if (before) {
const number = this.connection;
const back = () => this.#queue(operation, operation.place);
before.then(back, (why) => (number === this.connection && !operation.isWithdrawn && !(why instanceof ConnectionLostError) ? operation.onFailed(why) : back()));
continue;
}
this.#tokens -= 1;
this.#send(operation);
}
}
#send(operation) {
const id = ++this.#ids;
const refuse = (reason, message) => operation.onFailed(errorOf(-2, message, { reason }, operation.method));
let text;
try {
const params = operation.params();
text = JSON.stringify({ id, method: operation.method, params });
if (isDeeper(params, DEPTH_MAX))
throw new Error(`more than ${DEPTH_MAX} lists and objects are within each other`);
}
catch (why) {
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
#heard(text) {
this.#heardAt = performance.now();
let frame;
try {
frame = JSON.parse(text);
}
catch {
return this.#lost("what came is not JSON");
}
if (frame.id === null)
return frame.error && this.#unnamed(frame.error);
const operation = this.#sent.get(frame.id);
if (operation)
operation.isHeard = true;
if (frame.event !== undefined)
return operation?.onEvent?.(frame, text.length);
if (frame.id === this.#probe)
this.#probe = undefined;
if (frame.error)
return this.#refusal(operation, frame.error);
if (!operation)
return;
this.#attempt = 0;
if (operation.method === "auth.login")
this.#refused = undefined;
if (!operation.stays) {
this.#sent.delete(frame.id);
operation.id = undefined;
}
operation.onResult(frame.result);
this.#flush();
}
#unnamed(error) {
const { code, data } = error;
const named = this.#sent.get(data?.["id"]);
if (code === -4 || code === -5 || data?.["reason"] === "duplicate_id")
return this.#refusal(undefined, error);
const meant = named ? [named] : [...this.#sent.values()].filter((it) => !it.isHeard);
const message = meant.length > 1 ? `${error.message} (the gateway means one of ${meant.length} requests)` : error.message;
for (const operation of meant)
this.#refusal(operation, { ...error, message });
}
#refusal(operation, { code, message, data }) {
const error = errorOf(code, message, data, operation?.method);
if ((code === -4 || code === -5) && error.reason !== "scope")
this.#refused = error;
if (!operation)
return;
this.#sent.delete(operation.id);
operation.id = undefined;
if (code === 3 && error.reason === "rate_limited") {
const wait = Number(data?.["retryAfterMs"] ?? BUSY_MS);
setTimeout(() => this.#queue(operation), wait * (1 + Math.random() / 2));
}
else if (code === 4 && error.reason === "shutdown" && data?.["replayed"] !== true && operation.again()) {
this.#isEnding = true;
this.#waiting.push(operation);
this.#later("ending", ENDING_MS, () => this.#lost("the gateway ended"));
}
else {
operation.onFailed(error);
}
this.#flush();
}
#beat() {
const { heartbeatMs } = this.#options;
if (heartbeatMs <= 0)
return;
this.#later("heart", heartbeatMs / 2, () => {
const silent = performance.now() - this.#heardAt;
if (this.#probe !== undefined && silent > heartbeatMs)
return this.#lost("it is silent");
if (this.#probe === undefined && silent >= heartbeatMs / 2) {
this.#probe = ++this.#ids;
this.#socket?.send(JSON.stringify({ id: this.#probe, method: "system.info" }));
}
this.#beat();
});
}
}
