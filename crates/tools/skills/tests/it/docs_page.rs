//! The page about skills: its example is a skill, and its numbers are ours.

use std::path::Path;

use skills::{APPLIED_MAX, FILE_BYTES_MAX, FILE_NAME, Places, SKILLS_MAX, TEXT_BYTES_MAX, matching, scan};

#[test]
fn the_page_about_skills_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/skills.md");
    let page = std::fs::read_to_string(page).unwrap();
    let example = page.split("```skill\n").nth(1).unwrap().split("```\n").next().unwrap();
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join(".git")).unwrap();
    let directory = place.path().join(".agents/skills/any");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(FILE_NAME), example).unwrap();
    let found =
        scan(&Places { cwd: place.path().into(), data_dir: None, home: None, trusted: vec![place.path().into()] });
    assert!(found.errors.is_empty(), "{:?}", found.errors);
    let calls: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for call in calls.iter().filter(|call| call.ends_with("pdf-forms")) {
        assert_eq!(matching(call, &found.skills).applied.len(), 1, "{call}");
    }
    assert_eq!(calls.iter().filter(|call| call.ends_with("pdf-forms")).count(), 3, "{calls:?}");
    for line in [
        format!("one `{FILE_NAME}` | {FILE_BYTES_MAX} bytes"),
        format!("skills in all places | {SKILLS_MAX};"),
        format!("skills of one prompt | {APPLIED_MAX};"),
        format!("their text together | {TEXT_BYTES_MAX} bytes"),
    ] {
        assert!(page.contains(&line), "the page does not say: {line}");
    }
}
