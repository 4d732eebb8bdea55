//! Formats that a command obeys: conversions that only write text out, as closed lists. There are others that assign
//! variables (`%n`) or start programs (`%G?`), with a dozen spellings each.

/// Whether this format of the shell's `printf` is made of known conversions.
pub(super) fn printf(format: &str) -> bool {
    each_conversion(format, |rest| {
        let rest = rest.trim_start_matches(['-', '+', ' ', '0', '#']);
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        rest.strip_prefix(['s', 'b', 'q', 'c', 'd', 'i', 'u', 'o', 'x', 'X', 'f', 'e', 'g'])
    })
}

/// Whether this format of `git log` is a name that git knows itself, or is made of known placeholders.
pub(super) fn git(format: &str) -> bool {
    const NAMES: [&str; 9] = ["oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw"];
    let own = format.strip_prefix("format:").or_else(|| format.strip_prefix("tformat:"));
    match own {
        None if NAMES.contains(&format) => true,
        // Any other word is a name that a configuration gives to a format.
        None if !format.contains('%') => false,
        _ => each_conversion(own.unwrap_or(format), placeholder),
    }
}

/// Cuts one placeholder of git's off, without its `%`.
fn placeholder(rest: &str) -> Option<&str> {
    const PERSON: [char; 14] = ['n', 'N', 'e', 'E', 'l', 'L', 'd', 'D', 'r', 't', 'i', 'I', 's', 'h'];
    const COLOURS: [&str; 4] = ["red", "green", "blue", "reset"];
    if let Some(rest) = rest.strip_prefix(['a', 'c']) {
        return rest.strip_prefix(PERSON);
    }
    if let Some(rest) = rest.strip_prefix('C') {
        if let Some(rest) = rest.strip_prefix('(') {
            let (colour, rest) = rest.split_once(')')?;
            return colour.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ,#-".contains(&byte)).then_some(rest);
        }
        return COLOURS.iter().find_map(|colour| rest.strip_prefix(colour));
    }
    if let Some(rest) = rest.strip_prefix('x') {
        let (code, rest) = rest.split_at_checked(2)?;
        return code.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(rest);
    }
    rest.strip_prefix(['H', 'h', 'T', 't', 'P', 'p', 'd', 'D', 's', 'f', 'b', 'B', 'n', 'm'])
}

/// Hands what stands behind each `%` to `known`, which cuts its conversion off or does not know it.
fn each_conversion(format: &str, known: impl Fn(&str) -> Option<&str>) -> bool {
    let mut rest = format;
    while let Some((_, behind)) = rest.split_once('%') {
        match behind.strip_prefix('%').or_else(|| known(behind)) {
            Some(next) => rest = next,
            None => return false,
        }
    }
    true
}
