const ANSWERED_MAX = 1024;
export class Asks {
#wire;
#call;
#sessions = new Map();
#open = new Map();
#answered = new Map();
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
this.#drop(key);
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
if (ask.sessionId === sessionId)
this.#tell(key, ask.answer);
}
asked(sessionId, data, own, who) {
const handler = own ?? this.#sessions.get(sessionId)?.handlers[0];
if (!handler)
return;
const key = `${sessionId} ${data.askId}`;
if (this.#answered.has(key))
return this.#tell(key, this.#answered.get(key));
const known = this.#open.get(key);
known?.heardBy.add(who);
if (known)
return this.#tell(key, known.answer);
const ask = { sessionId, heardBy: new Set([who]), over: new AbortController() };
this.#open.set(key, ask);
const decided = (decision) => {
if (decision === undefined || ask.over.signal.aborted)
return;
const { decision: word, reason } = typeof decision === "string" ? { decision, reason: undefined } : decision;
ask.answer = { sessionId, callId: data.callId, askId: data.askId, decision: word, reason };
this.#tell(key, ask.answer);
};
Promise.resolve({ ...data, sessionId, signal: ask.over.signal })
.then((question) => (ask.over.signal.aborted ? undefined : handler(question)))
.then(decided, () => decided({ decision: "deny", reason: "whoever was asked could not answer" }));
}
#tell(key, answer) {
if (!answer)
return;
this.#call("agent.confirmTool", answer).then((told) => told.accepted && this.#over(key), () => { });
}
done(sessionId, askId) {
this.#over(`${sessionId} ${askId}`);
}
#over(key) {
if (!this.#answered.has(key))
this.#answered.set(key, this.#open.get(key)?.answer);
for (const oldest of this.#answered.keys()) {
if (this.#answered.size <= ANSWERED_MAX)
break;
this.#answered.delete(oldest);
}
this.#drop(key);
}
settled(who) {
for (const [key, ask] of this.#open)
if (ask.heardBy.delete(who) && ask.heardBy.size === 0)
this.#drop(key);
}
#drop(key) {
this.#open.get(key)?.over.abort();
this.#open.delete(key);
}
}
