//! Keys of a terminal by name, as the bytes a terminal sends for them. Pure.

/// Names for error texts; `ctrl+` goes with every letter.
pub(super) const KNOWN: &str = "enter, tab, esc, space, backspace, delete, insert, up, down, left, right, home, end, \
pageup, pagedown, f1 to f12, ctrl+a to ctrl+z, ctrl+space, ctrl+\\, ctrl+]";

/// The bytes of a key; `None` for an unknown name. Case and `-` or `+` do not matter.
pub(super) fn bytes(name: &str) -> Option<Vec<u8>> {
    let name = name.trim().to_ascii_lowercase().replace('-', "+");
    if let Some(letter) = name.strip_prefix("ctrl+").or_else(|| name.strip_prefix("c+")) {
        return control(letter).map(|byte| vec![byte]);
    }
    let text = match name.as_str() {
        "enter" | "return" => "\r",
        "tab" => "\t",
        "esc" | "escape" => "\x1b",
        "space" => " ",
        "backspace" => "\x7f",
        "delete" | "del" => "\x1b[3~",
        "insert" => "\x1b[2~",
        "up" => "\x1b[A",
        "down" => "\x1b[B",
        "right" => "\x1b[C",
        "left" => "\x1b[D",
        "home" => "\x1b[H",
        "end" => "\x1b[F",
        "pageup" | "pgup" => "\x1b[5~",
        "pagedown" | "pgdown" | "pgdn" => "\x1b[6~",
        "f1" => "\x1bOP",
        "f2" => "\x1bOQ",
        "f3" => "\x1bOR",
        "f4" => "\x1bOS",
        "f5" => "\x1b[15~",
        "f6" => "\x1b[17~",
        "f7" => "\x1b[18~",
        "f8" => "\x1b[19~",
        "f9" => "\x1b[20~",
        "f10" => "\x1b[21~",
        "f11" => "\x1b[23~",
        "f12" => "\x1b[24~",
        _ => return None,
    };
    Some(text.into())
}

fn control(letter: &str) -> Option<u8> {
    match letter.as_bytes() {
        [letter @ b'a'..=b'z'] => Some(letter - b'a' + 1),
        [b'@'] | b"space" => Some(0),
        [sign @ (b'[' | b'\\' | b']' | b'^' | b'_')] => Some(sign - b'@'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_told_is_known() {
        for name in KNOWN.split(", ") {
            for name in name.split(" to ") {
                assert!(bytes(name).is_some(), "{name}");
            }
        }
        for name in ["", "ctrl+", "ctrl+ü", "ctrl+ab", "f13", "hyper+x"] {
            assert_eq!(bytes(name), None, "{name}");
        }
    }

    #[test]
    fn keys_send_what_a_terminal_sends() {
        assert_eq!(bytes("ctrl+c"), Some(vec![3]));
        assert_eq!(bytes("Ctrl-D"), Some(vec![4]));
        assert_eq!(bytes("ctrl+\\"), Some(vec![28]));
        assert_eq!(bytes("UP"), Some(b"\x1b[A".to_vec()));
        assert_eq!(bytes("Enter"), Some(b"\r".to_vec()));
    }
}
