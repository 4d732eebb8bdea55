//! What a model calls the tools of servers. Pure.

use std::collections::HashSet;

/// The longest name that model APIs take.
const NAME_CHARS_MAX: usize = 64;

/// Names that no two tools share.
#[derive(Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// `mcp__SERVER__TOOL`, with nothing in it that a model API forbids.
    pub(crate) fn name(&mut self, server: &str, tool: &str) -> String {
        let mut name = format!("mcp__{}__{}", plain(server), plain(tool));
        name.truncate(NAME_CHARS_MAX);
        let mut count = 2;
        while !self.0.insert(name.clone()) {
            let mark = format!("_{count}");
            // The mark of the round before is overwritten or stays in the middle; either way the name is a new one.
            name.truncate(NAME_CHARS_MAX - mark.len());
            name.push_str(&mark);
            count += 1;
        }
        name
    }
}

fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_ascii_alphanumeric() || it == '_' || it == '-' { it } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_different() {
        let mut names = Names::default();
        assert_eq!(names.name("files", "read"), "mcp__files__read");
        assert_eq!(names.name("files", "read"), "mcp__files__read_2");
        assert_eq!(names.name("My Server", "a.b/c"), "mcp__My_Server__a_b_c");
        let long: HashSet<String> = (0..100).map(|_| names.name("s", &"x".repeat(100))).collect();
        assert_eq!(long.len(), 100);
        assert!(long.iter().all(|name| name.len() <= NAME_CHARS_MAX && name.is_ascii()));
    }
}
