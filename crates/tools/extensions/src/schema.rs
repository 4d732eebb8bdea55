//! The published JSON Schema of the protocol.

/// JSON Schema of every frame: `#/$defs/fromHost` and `#/$defs/fromExtension` are what a line is checked against.
pub fn schema() -> &'static str {
    include_str!("../schema.json")
}
