/** One WebSocket, whoever made it: the browser, Node, or npm's `ws`. */
import { ConnectError } from "./errors.js";

/** As much of a WebSocket as is used here. */
export interface SocketLike {
  readonly readyState: number;
  readonly bufferedAmount: number;
  onopen: ((event: any) => unknown) | null;
  onmessage: ((event: any) => unknown) | null;
  onclose: ((event: any) => unknown) | null;
  onerror: ((event: any) => unknown) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  terminate?(): void;
}
/** The global one, or the constructor of npm's `ws`. */
export type SocketConstructor = new (url: string, ...more: any[]) => SocketLike;

/** How a token is shown: in a header (not possible for pages), as a sub-protocol, or by `auth.login` as the first request. */
export type TokenBy = "header" | "protocol" | "login";

export interface SocketHooks {
  heard(text: string): void;
  closed(code: number, reason: string): void;
}

const PROTOCOL = "tillerman.v1";

export function isPage(): boolean {
  return typeof (globalThis as { document?: unknown }).document !== "undefined" || typeof (globalThis as { importScripts?: unknown }).importScripts === "function";
}

/** A name that nobody else has. (`crypto.randomUUID` is not for pages that came without TLS.) */
export function freshName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function base64url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** The constructor to use, or why there is none. */
export function socketConstructor(given: SocketConstructor | undefined): SocketConstructor {
  const found = given ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
  if (found) return found;
  throw new ConnectError("there is no WebSocket here: Node below 22 has none, install npm's `ws` and pass `{ WebSocket: (await import('ws')).WebSocket }`");
}

function make(url: string, token: string | undefined, by: TokenBy, given: SocketConstructor | undefined): SocketLike {
  const constructor = socketConstructor(given);
  if (token === undefined || by === "login") return new constructor(url, [PROTOCOL]);
  if (by === "protocol") return new constructor(url, [PROTOCOL, `bearer.${base64url(token)}`]);
  const headers = { Authorization: `Bearer ${token}` };
  // Node's own takes options in the place of the protocols, `ws` behind them.
  const isOwn = constructor === (globalThis as { WebSocket?: unknown }).WebSocket;
  return isOwn ? new constructor(url, { protocols: [PROTOCOL], headers }) : new constructor(url, [PROTOCOL], { headers });
}

/** Opens one; the promise is kept when it is open. Its hooks are called from then on. */
export function openSocket(url: string, token: string | undefined, by: TokenBy, given: SocketConstructor | undefined, timeoutMs: number, hooks: SocketHooks): Promise<SocketLike> {
  return new Promise((resolve, reject) => {
    let socket: SocketLike;
    try {
      socket = make(url, token, by, given);
    } catch (cause) {
      return reject(cause instanceof ConnectError ? cause : new ConnectError(`no connection to ${url}`, { cause }));
    }
    let why = "";
    const refuse = (text: string) => {
      clearTimeout(timer);
      socket.onopen = socket.onmessage = socket.onclose = null;
      // What a socket that is given up still has to say is nobody's affair.
      socket.onerror = () => {};
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
      socket.onerror = () => {};
      socket.onmessage = (event) => hooks.heard(typeof event.data === "string" ? event.data : String(event.data));
      socket.onclose = (event) => hooks.closed(event?.code ?? 1006, String(event?.reason ?? ""));
      resolve(socket);
    };
  });
}
