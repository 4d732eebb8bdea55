export class Asks {
#wire;
#call;
#sessions = new Map();
#open = new Map();
constructor(wire, call) {
this.#wire = wire;
this.#call = call;
}
hold(sessionId, handler) {
const session = this.#sessions.get(sessionId) ?? { handlers: [], connection: -1 };
this.#sessions.set(sessionId, session);
session.handlers.push(handler);
let isHeld = true;
return () => {
if (!isHeld)
return;
isHeld = false;
session.handlers.splice(session.handlers.indexOf(handler), 1);
if (session.handlers.length > 0)
return;
this.#sessions.delete(sessionId);
for (const [key, ask] of this.#open)
if (ask.sessionId === sessionId)
this.#over(key);
if (this.#wire.isOpen)
this.#call("agent.setToolUseCallback", { sessionId, enabled: false }).catch(() => { });
};
}
prepare(sessionId) {
const session = this.#sessions.get(sessionId);
const connection = this.#wire.connection;
if (!session)
return undefined;
if (session.connection === connection)
return session.ready;
session.connection = connection;
session.ready = this.#say(sessionId).then(() => {
if (session.connection === connection)
session.ready = undefined;
}, (why) => {
if (session.connection === connection)
session.connection = -1;
throw why;
});
return session.ready;
}
async #say(sessionId) {
await this.#call("sessions.create", { sessionId });
await this.#call("agent.setToolUseCallback", { sessionId, enabled: true });
for (const [key, ask] of this.#open)
if (ask.sessionId === sessionId && ask.answer)
this.#tell(key, ask);
}
asked(sessionId, data, own) {
const handler = own ?? this.#sessions.get(sessionId)?.handlers[0];
if (!handler)
return;
const key = `${sessionId} ${data.callId}`;
const known = this.#open.get(key);
if (known) {
if (known.answer)
this.#tell(key, known);
return;
}
const ask = { sessionId, over: new AbortController() };
this.#open.set(key, ask);
const decided = (decision) => {
if (decision === undefined || !this.#open.has(key))
return;
const { decision: word, reason } = typeof decision === "string" ? { decision, reason: undefined } : decision;
ask.answer = { sessionId, callId: data.callId, decision: word, reason };
this.#tell(key, ask);
};
Promise.resolve({ ...data, sessionId, signal: ask.over.signal })
.then((ask) => (this.#open.has(key) ? handler(ask) : undefined))
.then(decided, () => decided({ decision: "deny", reason: "whoever was asked could not answer" }));
}
#tell(key, ask) {
this.#call("agent.confirmTool", ask.answer).then(() => this.#over(key), () => { });
}
done(sessionId, callId) {
this.#over(`${sessionId} ${callId}`);
}
#over(key) {
this.#open.get(key)?.over.abort();
this.#open.delete(key);
}
}
