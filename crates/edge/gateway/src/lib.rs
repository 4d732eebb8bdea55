//! The server: accepts connections, guards them, finds out who comes, and hands each one's messages to what answers its path.
