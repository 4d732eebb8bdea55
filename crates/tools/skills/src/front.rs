//! Reads a skill's file. Pure.

use serde::Deserialize;

/// Longest front matter; a longer one is an error.
const FRONT_BYTES_MAX: usize = 16 * 1024;
/// Longest name, in characters; a longer one is an error.
const NAME_CHARS_MAX: usize = 64;
/// Longest description, in characters; the rest is cut off.
const DESCRIPTION_CHARS_MAX: usize = 1024;

/// A skill's file, taken apart.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) body: String,
}

#[derive(Deserialize, Default)]
struct Front {
    name: Option<String>,
    description: Option<String>,
}

/// Takes a file apart, or says what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Parts, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = split(text).ok_or("it does not begin with front matter between two lines `---`")?;
    if front.len() > FRONT_BYTES_MAX {
        return Err(format!("its front matter has {} bytes, the limit is {FRONT_BYTES_MAX}", front.len()));
    }
    let front = match serde_yaml_ng::from_str::<Option<Front>>(front) {
        Ok(front) => front.unwrap_or_default(),
        // A colon in a description is no YAML, and yet what people write.
        Err(error) => line_by_line(front).ok_or_else(|| format!("its front matter cannot be read: {error}"))?,
    };
    let name = front.name.map(|name| name.trim().to_owned()).unwrap_or_default();
    check_name(&name)?;
    let description = one_paragraph(&front.description.unwrap_or_default());
    if description.is_empty() {
        return Err("its front matter has no `description`".into());
    }
    Ok(Parts { name, description, body: body.trim().to_owned() })
}

/// Front matter and the rest.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some((&text[first.len()..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// `key: rest of the line`, for the two keys we need; only when both are there.
fn line_by_line(front: &str) -> Option<Front> {
    let value = |key: &str| {
        let mut values = front.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let value = values.next()?.trim();
        // A block, a list or an anchor goes on in ways this does not understand.
        (!value.is_empty() && !value.starts_with(['|', '>', '[', '{', '&', '*', '!', '"', '\'']))
            .then(|| value.to_owned())
    };
    Some(Front { name: Some(value("name")?), description: Some(value("description")?) })
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("its front matter has no `name`".into());
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.chars().all(fits) || !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err(format!(
            "its name {name:.80?} may only have ASCII letters, digits, `-` and `_`, and begins with one of the first two"
        ));
    }
    if name.len() > NAME_CHARS_MAX {
        return Err(format!("its name has {} characters, the limit is {NAME_CHARS_MAX}", name.len()));
    }
    Ok(())
}

fn one_paragraph(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(DESCRIPTION_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(name: &str, description: &str, body: &str) -> Parts {
        Parts { name: name.into(), description: description.into(), body: body.into() }
    }

    #[test]
    fn a_file_has_a_name_a_description_and_a_body() {
        let text = "---\nname: pdf-forms\ndescription: >\n  Fills\n  forms.\nlicense: MIT\nmetadata: {a: [1, 2]}\n---\n\n# How\n---\ndo\n";
        assert_eq!(parse(text), Ok(parts("pdf-forms", "Fills forms.", "# How\n---\ndo")));
        assert_eq!(parse("\u{feff}---\r\nname: 'a'\r\ndescription: b\r\n---\r\nc"), Ok(parts("a", "b", "c")));
        assert_eq!(parse("---\nname: a\ndescription: b\n---"), Ok(parts("a", "b", "")));
        let colon = "---\nname: a\ndescription: Use when: somebody asks\n---\nc";
        assert_eq!(parse(colon), Ok(parts("a", "Use when: somebody asks", "c")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| parse(text).unwrap_err();
        assert!(error("# Title").contains("between two lines"));
        assert!(error("").contains("between two lines"));
        assert!(error("---\nname: a\ndescription: b\n").contains("between two lines"));
        assert!(error("---\n---\n").contains("no `name`"));
        assert!(error("---\nname: a\n---\n").contains("no `description`"));
        assert!(error("---\nname: a\ndescription: '  '\n---\n").contains("no `description`"));
        assert!(error("---\nname: [a\n---\n").contains("cannot be read"));
        for name in ["a b", "../x", "-a", "ä", "a/b", "a:b"] {
            assert!(error(&format!("---\nname: '{name}'\ndescription: b\n---\n")).contains("may only have"), "{name}");
        }
        assert!(error(&format!("---\nname: {}\ndescription: b\n---\n", "a".repeat(65))).contains("limit is 64"));
        assert!(error(&format!("---\nname: a\n# {}\n---\n", "x".repeat(FRONT_BYTES_MAX))).contains("limit is 16384"));
    }

    #[test]
    fn a_long_description_is_cut() {
        let text = format!("---\nname: a\ndescription: {}\n---\n", "ü".repeat(5000));
        assert_eq!(parse(&text).unwrap().description.chars().count(), DESCRIPTION_CHARS_MAX);
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "(---\n)?(name: [a&*!|>-]{0,4}\n)?\\PC{0,60}\n?(---\n)?\\PC*") {
            let _ = parse(&text);
        }
    }
}
