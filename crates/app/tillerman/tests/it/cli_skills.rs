//! Skills beside the real binary: where they are looked for, who hears of them.

use std::path::Path;

use crate::cli::Place;

fn skill(root: &Path, name: &str) {
    let directory = root.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("SKILL.md"), format!("---\nname: {name}\ndescription: About it.\n---\nDo it.\n"))
        .unwrap();
}

/// A workspace that is a repository, and a user with a home.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.file(".git")).unwrap();
    let user = place.home().join("user");
    place.env("HOME", &user.display().to_string())
}

#[test]
fn a_run_applies_what_its_prompt_names_from_every_place() {
    let place = place();
    skill(&place.file(".agents/skills"), "pdf-forms");
    skill(&place.home().join("skills"), "kept");
    skill(&place.home().join("user/.agents/skills"), "own");
    let ran = place.run(&["run", "$own, /skill:kept and $pdf-forms: list the rust files"]);
    assert!(ran.err.contains("skills applied: own, kept, pdf-forms (from this workspace)"), "{}", ran.err);
    ran.ok();
    let ran = place.run(&["run", "/skill:nope list the rust files"]);
    assert!(
        ran.err.contains("unknown skill: nope; there are: kept, own, pdf-forms (from this workspace)"),
        "{}",
        ran.err
    );
    ran.ok();
    let ran = place.run(&["run", "list the rust files"]);
    assert!(!ran.err.contains("skill"), "{}", ran.err);
}

#[test]
fn a_call_for_a_skill_is_no_command_of_the_repl() {
    let place = place();
    skill(&place.file(".agents/skills"), "pdf-forms");
    let ran = place.run_with(&["repl"], "/skill:pdf-forms list the rust files\n/skills\n/exit\n");
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains("skills applied: pdf-forms"), "{all}");
    assert!(all.contains("unknown command: /skills") && !all.contains("unknown command: /skill:"), "{all}");
    ran.ok();
}

#[test]
fn serve_is_as_it_was() {
    let place = place();
    skill(&place.file(".agents/skills"), "pdf-forms");
    let ran = place.run_with(&["serve"], "{\"type\":\"prompt\",\"text\":\"$pdf-forms list the rust files\"}\n");
    assert!(ran.out.contains("turn_complete") && !ran.out.contains("skills applied"), "{}", ran.out);
}

#[test]
fn a_skill_that_came_with_the_code_never_stands_in_for_the_users_own_and_is_named_as_what_it_is() {
    let place = place();
    let write = |root: &Path, name: &str, body: &str| {
        skill(root, name);
        std::fs::write(root.join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: d\n---\n{body}\n"))
            .unwrap();
    };
    write(&place.home().join("skills"), "code-review", "MINE");
    write(&place.file(".agents/skills"), "code-review", "THEIRS");
    write(&place.file(".agents/skills"), "build-it", "THEIRS");
    let ran = place.run(&["run", "a code-review please"]);
    assert!(ran.err.contains("skills applied: code-review\n"), "{}", ran.err);
    let ran = place.run(&["run", "now build-it"]);
    assert!(ran.err.contains("build-it is a skill that came with this workspace; $build-it applies it"), "{}", ran.err);
    assert!(!ran.err.contains("skills applied"), "{}", ran.err);
    let ran = place.run(&["run", "now $build-it"]);
    assert!(ran.err.contains("skills applied: build-it (from this workspace)"), "{}", ran.err);
    let trusting = format!("trusted_workspaces = ['{}']\n", place.work().display());
    std::fs::write(place.home().join("config.toml"), trusting).unwrap();
    let ran = place.run(&["run", "now build-it"]);
    assert!(ran.err.contains("skills applied: build-it (from this workspace)"), "{}", ran.err);
}
