//! The published JSON Schema (draft 2020-12) of the dialect, written by hand beside the decoder and the writers; tests hold it
//! against both.

/// Every frame: `#/$defs/inbound` is what a controller writes, `#/$defs/outbound` what it reads; the root accepts either.
pub fn schema() -> &'static str {
    include_str!("../schema.json")
}
