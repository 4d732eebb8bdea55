import { GatewayError } from "./errors.js";
export const COMMANDS = new Set(["/queue", "/stop", "/cancel", "/context", "/status", "/model", "/compact", "/tools", "/reset", "/elevate", "/pair", "/subagents", "/runtime", "/backend", "/help"]);
export const LIMITS = {
burst: 500,
maxArtifactBytes: 1048576,
maxArtifacts: 500,
maxAttachmentBytes: 10485760,
maxAttachments: 10,
maxFrameBytes: 16777216,
maxInFlight: 1024,
maxMessageBytes: 1048576,
maxSubscriptions: 64,
perSecond: 100,
};
export class AuthFailedError extends GatewayError {
}
export class AuthRequiredError extends GatewayError {
}
export class MethodNotFoundError extends GatewayError {
}
export class InvalidRequestError extends GatewayError {
}
export class ParseError extends GatewayError {
}
export class SessionNotFoundError extends GatewayError {
}
export class ToolNotFoundError extends GatewayError {
}
export class AgentBusyError extends GatewayError {
}
export class RequestCancelledError extends GatewayError {
}
export class InternalError extends GatewayError {
}
const CLASSES = {
[-5]: AuthFailedError,
[-4]: AuthRequiredError,
[-3]: MethodNotFoundError,
[-2]: InvalidRequestError,
[-1]: ParseError,
[1]: SessionNotFoundError,
[2]: ToolNotFoundError,
[3]: AgentBusyError,
[4]: RequestCancelledError,
[5]: InternalError,
};
export function errorOf(code, message, data, method) {
return new (CLASSES[code] ?? GatewayError)(message, code, data ?? {}, method);
}
const FAMILIES = {
sessions: {
create: 0,
delete: 0,
patch: 0,
fork: 0,
list: 1,
get: 1,
search: 1,
},
agent: {
cancel: 0,
setToolUseCallback: 0,
confirmTool: 0,
wait: 1,
},
queue: {
list: 1,
remove: 0,
},
commands: {
list: 1,
},
tools: {
list: 1,
execute: 0,
},
events: {
replay: 1,
},
system: {
info: 1,
capabilities: 1,
presence: 1,
sessionAnalytics: 1,
contextUsage: 1,
metrics: 1,
latency: 1,
connections: 0,
closeConnection: 0,
nodes: 1,
location: 1,
},
auth: {
attempts: 0,
},
asks: {
list: 1,
},
lanes: {
list: 1,
history: 1,
},
canvas: {
put: 0,
get: 1,
list: 1,
delete: 0,
clear: 0,
},
memory: {
get: 1,
list: 1,
},
node: {
register: 0,
capabilities: {
get: 0,
},
location: {
set: 0,
get: 0,
},
status: {
set: 0,
},
push_token: {
set: 0,
},
},
config: {
get: 1,
schema: 1,
set: 0,
reload: 0,
},
pairing: {
generate: 0,
list: 0,
revoke: 0,
},
usage: {
report: 1,
runs: 1,
},
audit: {
query: 0,
},
rpc: {
discover: 1,
},
};
export function apiOf(request, families = FAMILIES, path = "") {
const calls = Object.entries(families).map(([name, it]) => {
const full = path + name;
const call = (params = {}, options) => request(full, params, options);
return [name, typeof it === "object" ? apiOf(request, it, `${full}.`) : call];
});
return Object.fromEntries(calls);
}
export function isRead(method) {
return method.split(".").reduce((at, part) => (typeof at === "object" ? at[part] : undefined), FAMILIES) === 1;
}
