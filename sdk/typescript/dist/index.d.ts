/** A client of the tillerman gateway for Node and pages, without dependencies. */
export type { Ask, AskHandler, Decision } from "./asks.js";
export { GatewayClient, type ClientOptions } from "./client.js";
export { CallTimeoutError, ClientClosedError, ConnectError, ConnectionLostError, GatewayError, WireError } from "./errors.js";
export * from "./generated.js";
export { Run, type SendOptions } from "./run.js";
export type { SocketConstructor, SocketLike, TokenBy } from "./socket.js";
export { textAfter } from "./text.js";
export { Watch, type WatchOptions } from "./watch.js";
export type { ConnectionState } from "./wire.js";
