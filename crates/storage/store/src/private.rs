//! Private files, with this crate's words for what can go wrong. How one is written safely is `safefile`'s job.

use std::path::Path;

use vocab::Fault;

use crate::faults;

/// Replaces a small file whole or not at all; see [`safefile::replace`].
pub fn private_write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    safefile::replace(path, bytes).map_err(|error| faults::from_io("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_named() {
        let fault = private_write(Path::new("/nowhere/at/all/config.toml"), b"x").unwrap_err();
        assert!(fault.message.contains("/nowhere/at/all/config.toml"), "{fault}");
    }
}
