//! Every bound of the server, with what happens there.

use std::time::Duration;

use websocket::{Pings, WsLimits};

/// Connections at once; one more gets 503 and is closed.
pub const CONNECTIONS_MAX: usize = 20_000;
/// Of these from this machine: test suites and proxies open many.
pub const CONNECTIONS_PER_LOOPBACK_MAX: usize = 12_000;
/// From one address, or one network of IPv6, anywhere else.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 256;
/// Sockets of callers that nobody knows yet; one more gets 503. One has its place until it logs in or `LOGIN_MS_MAX` of the dialect
/// is over (1008); who does not answer that close keeps its socket for five seconds more (the pump's `CLOSING`), and its place with
/// it: it holds what it held before and nothing besides. Who comes with a wrong credential is told so and has [`ENDING`] to
/// answer, without such a place: those who log in must not wait for it, and there are [`FAILURES_PER_MIN`] of an address.
pub const STRANGERS_MAX: usize = 64;

/// A message of somebody who is known; a longer one closes with 1009.
pub const MESSAGE_BYTES_MAX: usize = dialect_gateway::services::system::FRAME_BYTES_MAX;
/// A line of a dialect that was made for lines: a message of the size that a socket takes at most is answered as too long.
pub const LINE_BYTES_MAX: usize = MESSAGE_BYTES_MAX - 1;
/// What waits for one that does not read, before it is let go; its cursor brings it back.
pub const UNSENT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// A message of somebody who is not.
pub const STRANGER_MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Frames of one message; more close with 1009. Clients that cut 4 MiB into pieces of 64 bytes are good clients.
pub const FRAGMENTS_MAX: u32 = 131_072;
/// Of a message of somebody who is not known: as many as pieces of 16 bytes need. A frame of no bytes costs the work of a frame.
pub const STRANGER_FRAGMENTS_MAX: u32 = 4_096;
/// Pings, pongs and closes of a second; more close with 1008.
pub const CONTROL_PER_S: u32 = 50;

/// For TLS, and for the head of a request; then the connection is closed.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long an HTTP/2 connection may be without a request under way; then it is told to end.
pub const IDLE: Duration = Duration::from_secs(60);
/// For a body; then 408.
pub const BODY: Duration = Duration::from_secs(60);
/// Between two pings.
pub const PING: Duration = Duration::from_secs(25);
/// Pings without an answer; then 1001.
pub const PONGS_MISSED_MAX: u32 = 2;
/// How long a write may get nowhere, whatever is spoken; then the connection is lost.
pub const NO_PROGRESS: Duration = Duration::from_secs(120);

/// Of a request's head; more is 431.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;
pub const HEADERS_MAX: usize = 100;
/// Of a request's body unless the configuration says otherwise; more is 413.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Pieces of a body (chunks of HTTP/1.1, frames of HTTP/2), however little is in them: who types sends a byte at a time.
pub const BODY_PIECES_FREE: usize = 16_384;
/// Bytes that have to come for each piece more; with fewer it is 400. Each costs the work of a piece, and a core is not to be had
/// for some bytes in crumbs.
pub const BODY_PIECE_BYTES_MIN: usize = 16;
/// What is read and thrown away of a body that was answered before it was read (401, 404, 405, 413, 415, ...), so that who
/// sends it comes to read the answer; then the connection is closed.
pub const DISCARDED_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// How long that may take; then the same.
pub const DISCARD: Duration = Duration::from_secs(5);
/// Bodies that this is done for at once, strangers' most of them; with one more, that of whoever sends longest is closed.
pub const DISCARDS_MAX: usize = 64;
/// Requests at once on one HTTP/2 connection.
pub const STREAMS_MAX: u32 = 200;
/// Streams that a peer opened and reset before we looked; more end the connection.
pub const RESET_STREAMS_MAX: usize = 20;

/// Wrong tokens, and as many wrong cookies, within a minute, of one address without a page, with our own, and with each that the
/// configuration lists; more of the same kind are answered 429 unread.
pub const FAILURES_PER_MIN: u32 = 20;
/// Addresses whose failures are counted; the oldest goes.
pub const FAILURES_TABLE_MAX: usize = 10_000;

/// Processes that ask the tailnet's daemon who somebody is; one more waits, and finds the answer there if it was about the same.
pub const WHOIS_AT_ONCE: usize = 4;

/// Wrong credentials and logins of browsers that operators can look at; the oldest goes.
pub const ATTEMPTS_MAX: usize = 200;
/// Of what such a request says of itself; the rest is cut off.
pub const ATTEMPT_TEXT_CHARS_MAX: usize = 200;

/// Browser sessions of one token; its own oldest ends, and nobody else's.
pub const COOKIES_PER_TOKEN_MAX: usize = 64;
pub const COOKIE_DAYS: u64 = 7;
/// Named tokens.
pub const TOKENS_MAX: usize = 256;
/// Browser sessions of all tokens, which follows from the two; of a file that has more the oldest are not read.
pub const COOKIES_MAX: usize = COOKIES_PER_TOKEN_MAX * (TOKENS_MAX + 1);
/// Cookies of our name in one request that are looked at: other servers of the same host may give theirs the same name.
pub const COOKIES_SHOWN_MAX: usize = 8;

/// How long `accept` rests when the system has no more descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections may take to end behind the drain.
pub const ENDING: Duration = Duration::from_secs(10);

pub(crate) const KNOWN: WsLimits =
    WsLimits { message_bytes_max: MESSAGE_BYTES_MAX, fragments_max: FRAGMENTS_MAX, control_per_s: CONTROL_PER_S };
pub(crate) const STRANGER: WsLimits =
    WsLimits { message_bytes_max: STRANGER_MESSAGE_BYTES_MAX, fragments_max: STRANGER_FRAGMENTS_MAX, ..KNOWN };
pub(crate) const PINGS: Pings = Pings { every: Some(PING), missed_max: PONGS_MISSED_MAX, no_progress: NO_PROGRESS };

/// Connections of the Agent Client Protocol over HTTP; one more gets 503.
pub const ACP_CONNECTIONS_MAX: usize = 1_024;
/// Streams of sessions on one connection, and of these of sessions that it has not opened; one more gets 404.
pub const ACP_STREAMS_MAX: usize = 256;
pub const ACP_UNKNOWN_STREAMS_MAX: usize = 16;
/// Requests of one connection without an answer; one more is refused in its answer.
pub const ACP_UNANSWERED_MAX: usize = 256;
/// Messages of one connection that were taken and not looked at; the next request waits for its 202.
pub const ACP_UNHEARD_MAX: usize = 64;
/// A connection's id, a session's, and that of a request; longer ones get 400.
pub const ACP_ID_BYTES_MAX: usize = 1_024;
/// What is kept of a stream for a client that comes back, in messages and in bytes; of more the oldest goes.
pub const ACP_KEPT_MAX: usize = 256;
pub const ACP_KEPT_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one session on their way to a client; what comes then waits in the log.
pub const ACP_WINDOW_BYTES: usize = 256 * 1024;
/// For the answer to `initialize`; then 504.
pub const ACP_INITIALIZE: Duration = Duration::from_secs(30);
/// How long a connection stays whose `initialize` was refused.
pub const ACP_REFUSED: Duration = Duration::from_secs(30);
/// Silence after which a stream says that it is there; over HTTP/2, where one of the clients waits for it, sooner.
pub const ACP_STILL_HERE: Duration = Duration::from_secs(15);
pub const ACP_STILL_HERE_HTTP2: Duration = Duration::from_secs(5);
