//! The JSON Schema of the dialect.

/// Every inbound and outbound frame.
pub fn schema() -> String {
    String::new()
}
