import { Asks } from "./asks.js";
import { CallTimeoutError } from "./errors.js";
import { apiOf, isRead } from "./generated.js";
import { Run } from "./run.js";
import { freshName, isPage } from "./socket.js";
import { Watch } from "./watch.js";
import { Wire } from "./wire.js";
const ENDED_BY_CANCEL = new Set(["tools.execute", "agent.wait"]);
export class GatewayClient {
sessionId;
#wire;
#asks;
#options;
constructor(url, options = {}) {
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
get state() {
return this.#wire.state;
}
connect() {
return this.#wire.connect();
}
close() {
this.#wire.close();
}
call(method, params, options) {
return this.#request(method, params ?? {}, options ?? {}, isRead(method));
}
login(token, options) {
return this.call("auth.login", { token }, options);
}
send(message, options = {}) {
const confirm = options.confirm ?? this.#options.confirm;
return new Run(this.#wire, this.#asks, options.sessionId ?? this.sessionId, message, confirm ? { ...options, confirm } : options);
}
watch(sessionId, options = {}) {
return new Watch(this.#wire, this.#asks, [`session:${sessionId}`], options);
}
listen(topics, options = {}) {
return new Watch(this.#wire, this.#asks, topics, options);
}
#request(method, params, options, isRead) {
const { signal } = options;
const usual = this.#options.timeoutMs ?? 30_000;
const patience = ENDED_BY_CANCEL.has(method) && usual > 0 ? usual + (params.timeoutMs ?? 120_000) : usual;
const timeoutMs = options.timeoutMs ?? patience;
return new Promise((resolve, reject) => {
if (signal?.aborted)
return reject(signal.reason);
const leave = () => {
clearTimeout(timer);
signal?.removeEventListener("abort", abort);
};
const giveUp = (why) => {
const requestId = operation.id;
this.#wire.withdraw(operation);
if (requestId !== undefined && ENDED_BY_CANCEL.has(method))
this.#request("agent.cancel", { requestId }, {}, false).catch(() => { });
leave();
reject(why);
};
const abort = () => giveUp(signal?.reason);
const timer = timeoutMs > 0 ? setTimeout(() => giveUp(new CallTimeoutError(`${method} was not answered within ${timeoutMs} ms`)), timeoutMs) : undefined;
signal?.addEventListener("abort", abort, { once: true });
const operation = {
method,
params: () => params,
onResult: (result) => (leave(), resolve(result)),
onFailed: (why) => (leave(), reject(why)),
again: () => isRead,
};
this.#wire.submit(operation);
});
}
}
