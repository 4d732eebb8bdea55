//! Where skills are looked for, which one wins, and what does not count.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use skills::{ERRORS_MAX, FILE_BYTES_MAX, Origin, Places, SKILLS_MAX, SkillScan, is_any, scan};
use tempfile::TempDir;

struct Disk {
    dir: TempDir,
}

impl Disk {
    /// A repository `repo` with us in `repo/a/b`, a data directory and a home.
    fn new() -> Self {
        let disk = Self { dir: tempfile::tempdir().unwrap() };
        for path in ["repo/.git", "repo/a/b", "data", "home"] {
            fs::create_dir_all(disk.path(path)).unwrap();
        }
        disk
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn places(&self) -> Places {
        Places {
            cwd: self.path("repo/a/b"),
            data_dir: Some(self.path("data")),
            home: Some(self.path("home")),
            trusted: Vec::new(),
        }
    }

    fn scan(&self) -> SkillScan {
        scan(&self.places())
    }

    /// A good skill in the directory.
    fn skill(&self, at: &str, name: &str, body: &str) {
        self.file(&format!("{at}/SKILL.md"), &format!("---\nname: {name}\ndescription: does {name}\n---\n{body}\n"));
    }

    fn file(&self, at: &str, text: &str) {
        let path = self.path(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn names(found: &SkillScan) -> Vec<&str> {
    found.skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn below(paths: &[PathBuf], dir: &Path) -> Vec<String> {
    paths.iter().map(|path| path.strip_prefix(dir).unwrap().display().to_string()).collect()
}

#[test]
fn roots_are_the_users_own_then_the_repository_down_to_us() {
    let disk = Disk::new();
    let found = disk.scan();
    assert_eq!(below(&found.directories, disk.dir.path()), ["data/skills", "home/.agents/skills"]);
    assert_eq!((found.skills.len(), found.errors), (0, vec![]));
    for (at, name) in [
        ("home/.agents/skills/x", "of-home"),
        ("data/skills/x", "of-data"),
        ("repo/a/b/.agents/skills/x", "of-b"),
        ("repo/.agents/skills/x", "of-repo"),
        (".agents/skills/x", "of-nobody"),
    ] {
        disk.skill(at, name, "text");
    }
    let found = disk.scan();
    assert_eq!(names(&found), ["of-data", "of-home", "of-repo", "of-b"], "and nothing from above the repository");
    let expected = ["data/skills", "home/.agents/skills", "repo/.agents/skills", "repo/a/b/.agents/skills"];
    assert_eq!(below(&found.directories, disk.dir.path()), expected);
    let origins: Vec<Origin> = found.skills.iter().map(|skill| skill.origin).collect();
    assert_eq!(origins, [Origin::Own, Origin::Own, Origin::Stranger, Origin::Stranger]);
    let trusting = scan(&Places { trusted: vec![disk.path("repo/a/../a/b"), disk.path("repo/a")], ..disk.places() });
    assert_eq!((trusting.skills[2].origin, trusting.skills[3].origin), (Origin::Stranger, Origin::Trusted));
    let first = &found.skills[2];
    assert_eq!((first.description.as_str(), first.body.as_str()), ("does of-repo", "text"));
    assert_eq!(first.source_path, disk.path("repo/.agents/skills/x/SKILL.md"));
    // A file is what a worktree has instead of the directory.
    disk.file("repo/a/.git", "gitdir: elsewhere");
    assert_eq!(names(&disk.scan()), ["of-data", "of-home", "of-b"]);
}

#[test]
fn without_a_repository_only_our_own_directory_counts() {
    let disk = Disk::new();
    fs::remove_dir(disk.path("repo/.git")).unwrap();
    disk.skill("repo/.agents/skills/x", "above", "");
    disk.skill("repo/a/b/.agents/skills/x", "here", "");
    let places = Places { data_dir: None, home: None, ..disk.places() };
    // The machine's own directories above may be a repository; then this says nothing about them.
    if !disk.dir.path().ancestors().any(|level| level.join(".git").exists()) {
        assert_eq!(names(&scan(&places)), ["here"]);
    }
}

#[test]
fn the_users_own_is_never_replaced_and_two_in_one_root_are_an_error() {
    let disk = Disk::new();
    disk.skill("repo/.agents/skills/x", "same", "second");
    disk.skill("data/skills/x", "Same", "first");
    disk.skill("data/skills/y", "twice", "first");
    disk.skill("data/skills/z", "TWICE", "second");
    let found = disk.scan();
    assert_eq!(names(&found), ["Same", "twice"]);
    assert_eq!((found.skills[0].body.as_str(), found.skills[1].body.as_str()), ("first", "first"));
    assert_eq!(found.errors.len(), 1, "{:?}", found.errors);
    assert!(found.errors[0].contains("data/skills/z/SKILL.md: another skill here is called twice"));
}

#[test]
fn what_is_wrong_is_told_and_costs_the_others_nothing() {
    let disk = Disk::new();
    disk.skill("data/skills/good", "good", "");
    disk.file("data/skills/bare/SKILL.md", "# no front matter");
    disk.file("data/skills/binary/SKILL.md", "");
    fs::write(disk.path("data/skills/binary/SKILL.md"), b"---\nname: \xff\n---\n").unwrap();
    disk.file("data/skills/large/SKILL.md", &"x".repeat(FILE_BYTES_MAX as usize + 1));
    fs::create_dir_all(disk.path("data/skills/odd/SKILL.md")).unwrap();
    disk.file("home/.agents/skills", "a file");
    let pipe = disk.path("data/skills/pipe/SKILL.md");
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let found = disk.scan();
    assert_eq!(names(&found), ["good"]);
    let expected = [
        ("bare/SKILL.md", "front matter"),
        ("binary/SKILL.md", "no UTF-8"),
        ("large/SKILL.md", "more than 262144 bytes"),
        ("odd/SKILL.md", "is no file"),
        ("pipe/SKILL.md", "is no file"),
        (".agents/skills", "is no directory"),
    ];
    assert_eq!(found.errors.len(), expected.len(), "{:#?}", found.errors);
    for (error, (path, what)) in found.errors.iter().zip(expected) {
        assert!(error.contains(path) && error.contains(what), "{error}");
    }
}

#[test]
fn links_that_lead_out_are_not_followed() {
    let disk = Disk::new();
    disk.skill("outside/x", "stolen", "secret");
    disk.skill("repo/.agents/skills/real", "real", "");
    let root = disk.path("repo/.agents/skills");
    symlink(disk.path("outside/x"), root.join("absolute")).unwrap();
    symlink("../../../outside", root.join("relative")).unwrap();
    fs::create_dir(root.join("file")).unwrap();
    symlink("../../../../outside/x/SKILL.md", root.join("file/SKILL.md")).unwrap();
    // A repository cannot make a place of ours a root of its own either.
    fs::create_dir_all(disk.path("repo/a/.agents")).unwrap();
    symlink("../../../outside", disk.path("repo/a/.agents/skills")).unwrap();
    let found = disk.scan();
    assert_eq!(names(&found), ["real"]);
    assert_eq!(found.errors.len(), 4, "{:#?}", found.errors);
    assert!(found.errors.iter().all(|error| error.contains("leads out") && !error.contains("secret")));
}

#[test]
fn links_inside_a_root_and_a_root_of_the_users_own_are_followed_once() {
    let disk = Disk::new();
    disk.skill("shelf/one", "one", "");
    symlink("one", disk.path("shelf/zwei")).unwrap();
    symlink(".", disk.path("shelf/round")).unwrap();
    fs::create_dir(disk.path("home/.agents")).unwrap();
    symlink(disk.path("shelf"), disk.path("home/.agents/skills")).unwrap();
    symlink(disk.path("shelf"), disk.path("data/skills")).unwrap();
    let found = disk.scan();
    assert_eq!((names(&found), found.errors.len()), (vec!["one"], 0), "{:?}", found.errors);
    assert!(found.skills[0].source_path.starts_with(disk.path("data/skills")));
}

#[test]
fn groups_are_entered_skills_are_not_and_depth_has_an_end() {
    let disk = Disk::new();
    disk.skill("data/skills/group/one", "one", "");
    disk.skill("data/skills/group/one/examples/inner", "inner", "");
    disk.skill("data/skills/a/b/c/d", "deepest", "");
    disk.skill("data/skills/a/b/c/e/f", "too-deep", "");
    disk.skill("data/skills/.hidden/x", "hidden", "");
    disk.skill("data/skills/node_modules/x", "package", "");
    disk.skill("data/skills", "the-root-itself", "");
    assert_eq!(names(&disk.scan()), ["deepest", "one"]);
}

#[test]
fn numbers_have_an_end_that_is_told() {
    let disk = Disk::new();
    for n in 0..SKILLS_MAX + 10 {
        disk.skill(&format!("data/skills/{n:04}"), &format!("s-{n:04}"), "");
    }
    let found = disk.scan();
    assert_eq!((found.skills.len(), names(&found)[SKILLS_MAX - 1]), (SKILLS_MAX, "s-0255"));
    assert!(found.errors.len() == 1 && found.errors[0].contains("more than 256 skills"), "{:?}", found.errors);
    let disk = Disk::new();
    for n in 0..ERRORS_MAX + 10 {
        disk.file(&format!("data/skills/{n:04}/SKILL.md"), "bad");
    }
    disk.skill("data/skills/zz", "good", "");
    let found = disk.scan();
    assert_eq!((found.errors.len(), names(&found)), (ERRORS_MAX + 1, vec!["good"]));
    assert_eq!(found.errors[ERRORS_MAX], "and 10 more errors");
}

#[test]
fn a_scan_sees_what_is_there_now() {
    let disk = Disk::new();
    disk.skill("data/skills/x", "x", "old");
    let before = disk.scan();
    disk.skill("data/skills/x", "x", "new");
    disk.skill("data/skills/y", "y", "");
    let after = disk.scan();
    assert_eq!((before.skills[0].body.as_str(), after.skills[0].body.as_str()), ("old", "new"));
    assert_eq!(names(&after), ["x", "y"]);
    fs::remove_dir_all(disk.path("data/skills")).unwrap();
    assert_eq!(disk.scan().skills, []);
}

#[test]
fn a_preview_is_one_short_line() {
    let disk = Disk::new();
    let long = "word ".repeat(50);
    disk.file("data/skills/x/SKILL.md", &format!("---\nname: x\ndescription: |\n  {long}\n  more\n---\n"));
    let found = disk.scan();
    let preview = found.skills[0].description_preview();
    assert!(preview.ends_with("word…") && preview.chars().count() <= 120 && !preview.contains('\n'), "{preview}");
    disk.skill("data/skills/x", "x", "");
    assert_eq!(disk.scan().skills[0].description_preview(), "does x");
}

#[test]
fn whether_there_is_any_place_is_known_without_reading() {
    for (at, any) in [
        (None, false),
        (Some("repo/.agents/skills"), true),
        (Some("repo/a/b/.agents/skills"), true),
        (Some("data/skills"), true),
        (Some("home/.agents/skills"), true),
        // Above the repository, and beside where skills are.
        (Some(".agents/skills"), false),
        (Some("repo/.agents/other"), false),
    ] {
        let disk = Disk::new();
        if let Some(at) = at {
            fs::create_dir_all(disk.path(at)).unwrap();
        }
        assert_eq!(is_any(&disk.places()), any, "{at:?}");
    }
}

#[test]
fn a_place_of_the_users_that_others_can_write_is_not_taken() {
    use std::os::unix::fs::PermissionsExt;
    let disk = Disk::new();
    disk.skill("data/skills/x", "planted", "");
    fs::set_permissions(disk.path("data/skills"), fs::Permissions::from_mode(0o777)).unwrap();
    let found = disk.scan();
    assert!(found.skills.is_empty(), "{found:?}");
    assert!(found.errors[0].contains("data/skills: can be written by others"), "{:?}", found.errors);
}
