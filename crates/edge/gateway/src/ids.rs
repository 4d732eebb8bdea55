//! Names for connections and for one run of the server: UUIDs of version 4, which say nothing.

use ring::rand::{SecureRandom, SystemRandom};

pub(crate) fn connection() -> String {
    let mut bytes = [0u8; 16];
    // Without randomness there are no tokens either; nothing is allowed by this name.
    let _ = SystemRandom::new().fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
