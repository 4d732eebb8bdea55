//! The manual and the table of keys say the same.

use super::*;

#[test]
fn the_manual_says_of_every_key_what_a_workspace_can_do_with_it() {
    let manual = include_str!("../../../../../docs/config.md");
    let section =
        manual.split("## What a workspace can do").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    for key in KEYS {
        let group = key.name.split_once('.').map_or(key.name, |(group, _)| group);
        let named = [key.name, group].iter().any(|name| section.contains(&format!("`{name}`")));
        assert!(named, "{} is missing", key.name);
    }
}

#[test]
fn the_manual_names_every_key_and_its_example_is_read_without_complaint() {
    let manual = include_str!("../../../../../docs/config.md");
    for key in KEYS {
        assert!(manual.contains(&format!("| `{}` |", key.name)), "{} is missing in docs/config.md", key.name);
    }
    let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let config = place(&[("user/config.toml", example)]).load(None).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!((config.mode(), config.models().len()), (Some(Mode::WorkspaceWrite), 1));
    let example = manual.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next()).expect("a second one");
    let config = place(&[("user/config.toml", example)]).load(None).unwrap();
    assert_eq!((config.warnings.len(), config.providers().len(), config.slugs("tiers").len()), (0, 2, 2));
}

/// What stands on a page can be put into the file as it is.
#[test]
fn the_settings_on_the_pages_are_taken_without_a_word() {
    let pages = [include_str!("../../../../../docs/config.md"), include_str!("../../../../../docs/models.md")];
    let blocks = pages.iter().flat_map(|page| page.split("```toml\n").skip(1));
    let blocks: Vec<&str> = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 6, "{} examples", blocks.len());
    for block in blocks {
        let config =
            place(&[("user/config.toml", block)]).load(None).unwrap_or_else(|fault| panic!("{fault}\n{block}"));
        assert_eq!(config.warnings, [""; 0], "{block}");
    }
}
