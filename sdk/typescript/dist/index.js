export { GatewayClient } from "./client.js";
export { CallTimeoutError, ClientClosedError, ConnectError, ConnectionLostError, GatewayError, WireError } from "./errors.js";
export * from "./generated.js";
export { Run } from "./run.js";
export { textAfter } from "./text.js";
export { Watch } from "./watch.js";
