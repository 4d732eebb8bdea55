//! The conversations on the page for authors of controllers are run, and must be what the page says.
//! `UPDATE_EXPECT=1` rewrites them.

use crate::golden::{paused, repository, serve};

const START: &str = "```talk\n";
const END: &str = "```";

/// One example, played. An example may leave `ready` out.
fn fresh(example: &str) -> String {
    let played = paused(testkit::golden::play(example, serve));
    let shows_ready = example.lines().find(|line| line.starts_with('<')).is_some_and(|line| line.contains("\"ready\""));
    let keep = |line: &&str| shows_ready || !line.starts_with("< {\"type\":\"ready\"");
    played.lines().filter(keep).filter(|line| !line.starts_with("exit ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_examples_on_the_page_are_what_serve_says() {
    let path = repository().join("docs/dialects/serve.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut examples = 0;
    let mut parts = page.split(START);
    let mut told = parts.next().expect("split yields at least one piece").to_owned();
    for part in parts {
        let (example, rest) = part.split_once(END).expect("a fence is closed");
        told.push_str(START);
        told.push_str(&fresh(example));
        told.push_str(END);
        told.push_str(rest);
        examples += 1;
    }
    assert!(examples >= 4, "{examples} examples");
    expect_test::expect_file![path].assert_eq(&told);
}
