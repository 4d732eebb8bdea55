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
export declare function isPage(): boolean;
/** A name that nobody else has. (`crypto.randomUUID` is not for pages that came without TLS.) */
export declare function freshName(): string;
/** The constructor to use, or why there is none. */
export declare function socketConstructor(given: SocketConstructor | undefined): SocketConstructor;
/** Opens one; the promise is kept when it is open. Its hooks are called from then on. */
export declare function openSocket(url: string, token: string | undefined, by: TokenBy, given: SocketConstructor | undefined, timeoutMs: number, hooks: SocketHooks): Promise<SocketLike>;
