export class GatewayError extends Error {
code;
reason;
data;
method;
constructor(message, code, data = {}, method) {
super(message);
this.name = new.target.name;
this.code = code;
this.reason = typeof data["reason"] === "string" ? data["reason"] : undefined;
this.data = data;
this.method = method;
}
}
export class WireError extends Error {
constructor(message, options) {
super(message, options);
this.name = new.target.name;
}
}
export class ConnectError extends WireError {
}
export class ConnectionLostError extends WireError {
}
export class CallTimeoutError extends WireError {
}
export class ClientClosedError extends WireError {
}
