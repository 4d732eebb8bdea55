//! Models that are files: what such a file says is done, so whoever names one says what is run. How their names are spelled is
//! known here alone.

/// Behind it stands the file.
pub const SCRIPT_PREFIX: &str = "script:";
/// A name may be spelled with the provider that has it.
pub const TOUR_PREFIX: &str = "tour/";

/// Whether a name, however it is spelled, is that of a file which is played as a model.
pub fn is_script(name: &str) -> bool {
    let name = name.trim_start();
    name.strip_prefix(TOUR_PREFIX).unwrap_or(name).trim_start().starts_with(SCRIPT_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_however_it_is_spelled() {
        for name in ["script:x", "script:", " script:/etc/passwd", "tour/script:x", "\ttour/script:x", "tour/ script:x"]
        {
            assert!(is_script(name), "{name:?}");
        }
        for name in ["tour", "tour/tour-mini", "scripted", "lab/script:x", "script", ""] {
            assert!(!is_script(name), "{name:?}");
        }
    }
}
