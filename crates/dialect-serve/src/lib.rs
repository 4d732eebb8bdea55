//! dialect-serve
