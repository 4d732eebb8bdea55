//! WebSockets: frames as a pure codec, and a socket on it that is a pipe of messages, for both sides of a connection.
