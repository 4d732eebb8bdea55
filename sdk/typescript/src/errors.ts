/** Whatever goes wrong here is one of these: a refusal of the gateway ({@link GatewayError} and its classes in `generated.ts`), or
 * the wire itself ({@link WireError} and its classes). */

/** The gateway refused or ended a request. `code` is one of a closed set, and each code has a class; `reason` says more. */
export class GatewayError extends Error {
  readonly code: number;
  /** `rate_limited`, `model_error`, `cancelled`, ...: what `data.reason` says. */
  readonly reason: string | undefined;
  readonly data: Record<string, unknown>;
  /** What was asked. */
  readonly method: string | undefined;
  constructor(message: string, code: number, data: Record<string, unknown> = {}, method?: string) {
    super(message);
    this.name = new.target.name;
    this.code = code;
    this.reason = typeof data["reason"] === "string" ? data["reason"] : undefined;
    this.data = data;
    this.method = method;
  }
}

/** It did not come to an answer. */
export class WireError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
/** No connection could be made. */
export class ConnectError extends WireError {}
/** The connection was lost before the answer. The request may have been carried out or not; it is not one that is safe to repeat. */
export class ConnectionLostError extends WireError {}
/** No answer came in time. */
export class CallTimeoutError extends WireError {}
/** `close()` was called. */
export class ClientClosedError extends WireError {}
