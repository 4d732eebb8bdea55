import { ConnectError } from "./errors.js";
const PROTOCOL = "tillerman.v1";
export function isPage() {
return typeof globalThis.document !== "undefined" || typeof globalThis.importScripts === "function";
}
export function freshName() {
return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function base64url(text) {
const bytes = new TextEncoder().encode(text);
return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
export function socketConstructor(given) {
const found = given ?? globalThis.WebSocket;
if (found)
return found;
throw new ConnectError("there is no WebSocket here: Node below 22 has none, install npm's `ws` and pass `{ WebSocket: (await import('ws')).WebSocket }`");
}
function make(url, token, by, given) {
const constructor = socketConstructor(given);
if (token === undefined || by === "login")
return new constructor(url, [PROTOCOL]);
if (by === "protocol")
return new constructor(url, [PROTOCOL, `bearer.${base64url(token)}`]);
const headers = { Authorization: `Bearer ${token}` };
const isOwn = constructor === globalThis.WebSocket;
return isOwn ? new constructor(url, { protocols: [PROTOCOL], headers }) : new constructor(url, [PROTOCOL], { headers });
}
export function openSocket(url, token, by, given, timeoutMs, hooks) {
return new Promise((resolve, reject) => {
let socket;
try {
socket = make(url, token, by, given);
}
catch (cause) {
return reject(cause instanceof ConnectError ? cause : new ConnectError(`no connection to ${url}`, { cause }));
}
let why = "";
const refuse = (text) => {
clearTimeout(timer);
socket.onopen = socket.onmessage = socket.onclose = null;
socket.onerror = () => { };
reject(new ConnectError(`no connection to ${url}: ${text}`));
};
const timer = setTimeout(() => {
refuse(`nothing for ${timeoutMs} ms`);
socket.close();
}, timeoutMs);
socket.onerror = (event) => (why = String(event?.message ?? event?.error?.message ?? ""));
socket.onclose = (event) => refuse(why || `closed with ${event?.code}`);
socket.onopen = () => {
clearTimeout(timer);
socket.onerror = () => { };
socket.onmessage = (event) => hooks.heard(typeof event.data === "string" ? event.data : String(event.data));
socket.onclose = (event) => hooks.closed(event?.code ?? 1006, String(event?.reason ?? ""));
resolve(socket);
};
});
}
