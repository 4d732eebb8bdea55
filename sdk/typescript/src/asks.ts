/** Questions of the gateway whether a tool may run: each is put to the handler once, and its answer arrives once. */
import type { ConfirmResult, DecisionWord, ToolConfirmData } from "./generated.js";
import type { Wire } from "./wire.js";

/** A call that waits for a yes. */
export interface Ask extends ToolConfirmData {
  sessionId: string;
  /** Aborted when somebody else has answered, or nobody can any more. */
  signal: AbortSignal;
}
/** What is said to it. Nothing at all leaves it to others. */
export type Decision = DecisionWord | { decision: DecisionWord; reason?: string } | undefined | void;
export type AskHandler = (ask: Ask) => Decision | Promise<Decision>;

type Call = (method: string, params: object) => Promise<unknown>;

/** By the session and the question's own id: a call's name comes again in the next run. */
interface OpenAsk {
  sessionId: string;
  /** Runs and watches; when all of them are over so is this. */
  heardBy: Set<object>;
  over: AbortController;
  /** Decided here, and not known to have arrived. */
  answer?: object;
}

/** Answered questions that are remembered, lest a watch that comes back later put one again; beyond it the oldest are forgotten. */
const ANSWERED_MAX = 1024;

export class Asks {
  readonly #wire: Wire;
  readonly #call: Call;
  /** Who answers, and on which connection the gateway knows it. */
  readonly #sessions = new Map<string, { handlers: AskHandler[]; connection: number; ready?: Promise<void> | undefined }>();
  readonly #open = new Map<string, OpenAsk>();
  readonly #answered = new Map<string, object | undefined>();

  constructor(wire: Wire, call: Call) {
    this.#wire = wire;
    this.#call = call;
  }

  /** This client answers for the session until the returned function is called. */
  hold(sessionId: string, handler: AskHandler): () => void {
    const session = this.#sessions.get(sessionId) ?? { handlers: [], connection: -1 };
    this.#sessions.set(sessionId, session);
    session.handlers.push(handler);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      session.handlers.splice(session.handlers.indexOf(handler), 1);
      if (session.handlers.length > 0) return;
      this.#sessions.delete(sessionId);
      for (const [key, ask] of this.#open) if (ask.sessionId === sessionId) this.#drop(key);
      // Else the gateway would wait for answers that nobody gives.
      if (this.#wire.isOpen) this.#call("agent.setToolUseCallback", { sessionId, enabled: false }).catch(() => {});
    };
  }

  /** Says on this connection that questions are answered here. Nothing where that was said. */
  prepare(sessionId: string): Promise<void> | undefined {
    const session = this.#sessions.get(sessionId);
    const connection = this.#wire.connection;
    if (!session) return undefined;
    if (session.connection === connection) return session.ready;
    session.connection = connection;
    session.ready = this.#say(sessionId).then(
      () => {
        if (session.connection === connection) session.ready = undefined;
      },
      (why) => {
        if (session.connection === connection) session.connection = -1;
        throw why;
      },
    );
    return session.ready;
  }
  async #say(sessionId: string): Promise<void> {
    // A session that is not there yet is made, for only one that is there can be answered for.
    await this.#call("sessions.create", { sessionId });
    await this.#call("agent.setToolUseCallback", { sessionId, enabled: true });
    for (const [key, ask] of this.#open) if (ask.sessionId === sessionId) this.#tell(key, ask.answer);
  }

  /** To the handler of who heard it, or to another one of the session: one that waits for its run hears nothing of this one. */
  asked(sessionId: string, data: ToolConfirmData, own: AskHandler | undefined, who: object): void {
    const handler = own ?? this.#sessions.get(sessionId)?.handlers[0];
    if (!handler) return;
    const key = `${sessionId} ${data.askId}`;
    // A gateway that lost its answer is told once more; any other passes it over.
    if (this.#answered.has(key)) return this.#tell(key, this.#answered.get(key));
    const known = this.#open.get(key);
    known?.heardBy.add(who);
    if (known) return this.#tell(key, known.answer);
    const ask: OpenAsk = { sessionId, heardBy: new Set([who]), over: new AbortController() };
    this.#open.set(key, ask);
    const decided = (decision: Decision) => {
      if (decision === undefined || ask.over.signal.aborted) return;
      const { decision: word, reason } = typeof decision === "string" ? { decision, reason: undefined } : decision;
      ask.answer = { sessionId, callId: data.callId, askId: data.askId, decision: word, reason };
      this.#tell(key, ask.answer);
    };
    // No answer is never a yes.
    Promise.resolve({ ...data, sessionId, signal: ask.over.signal })
      // Somebody else may have been faster than this line.
      .then((question) => (ask.over.signal.aborted ? undefined : handler(question)))
      .then(decided, () => decided({ decision: "deny", reason: "whoever was asked could not answer" }));
  }
  #tell(key: string, answer: object | undefined): void {
    if (!answer) return;
    // Where it is lost on the way it is said again, when the question is.
    this.#call("agent.confirmTool", answer).then(
      (told) => (told as ConfirmResult).accepted && this.#over(key),
      () => {},
    );
  }
  /** Somebody has answered. */
  done(sessionId: string, askId: string): void {
    this.#over(`${sessionId} ${askId}`);
  }
  #over(key: string): void {
    if (!this.#answered.has(key)) this.#answered.set(key, this.#open.get(key)?.answer);
    for (const oldest of this.#answered.keys()) {
      if (this.#answered.size <= ANSWERED_MAX) break;
      this.#answered.delete(oldest);
    }
    this.#drop(key);
  }
  /** A run or a watch is over: what it alone had heard is nobody's question any more, and an answer to it nobody's. */
  settled(who: object): void {
    for (const [key, ask] of this.#open) if (ask.heardBy.delete(who) && ask.heardBy.size === 0) this.#drop(key);
  }
  #drop(key: string): void {
    this.#open.get(key)?.over.abort();
    this.#open.delete(key);
  }
}
