//! FAULTS S1: nothing outside the workspace changes or is seen, whatever a path looks like.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vocab::{Outcome, Part, Required};

use crate::bench::{Bench, CANARY};

const SECRET: &str = "canary-7f3a9c";
/// A name that exists only outside: a listing must not show it.
const SECRET_NAME: &str = "only-outside-name";

/// Every way we know to name a file or directory outside. Absolute ones are made from the bench.
fn attempts(bench: &Bench) -> Vec<String> {
    let out = bench.outside.to_str().unwrap();
    let root = bench.root.to_str().unwrap();
    let up = "../".repeat(40);
    let held = std::fs::File::open(&bench.outside).unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&held);
    std::mem::forget(held); // The number must stay valid while the attempts run.
    let mut all: Vec<String> = [
        // Dots.
        "../outside",
        "./../outside",
        "sub/../../outside",
        "sub/./.././../outside",
        "..//outside",
        "../outside/",
        ".././outside//",
        "sub/../sub/../../outside",
        "missing/../../outside",
        "file.txt/../../outside",
        "../ws/../outside",
        "..",
        "../",
        "sub/../..",
        "../../",
        "...//../../outside",
        // Symlinked directories, alone and in chains.
        "dirlink",
        "dirlink/",
        "dirlink/.",
        "dirlink/../outside",
        "./dirlink",
        "sub/back/dirlink",
        "abslink",
        "chain1",
        "chain1/.",
        "sub/rel",
        "sub/rel/../outside",
        "up/outside",
        "up",
        "up/ws/dirlink",
        "uproot/outside",
        "longup",
        "dirlink/loop",
        "dirlink/inner",
        // Magic links and the like.
        "procroot",
        "procfd",
        "/proc/self/cwd/../outside",
        "self/root",
        "dev",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend([
        out.to_owned(),
        format!("{out}/"),
        format!("/{out}"),
        format!("//{out}"),
        format!("/.{out}"),
        format!("{root}/../outside"),
        format!("{root}/./../outside"),
        format!("{root}/dirlink"),
        format!("{root}/sub/../../outside"),
        format!("{up}{}", &out[1..]),
        format!("sub/{up}{}", &out[1..]),
        format!("/proc/self/root{out}"),
        format!("/proc/{}/root{out}", std::process::id()),
        format!("/proc/self/fd/{fd}"),
        format!("/dev/fd/{fd}"),
        format!("/proc/thread-self/fd/{fd}"),
        format!("/proc/self/fd/{fd}/."),
        format!("/proc/self/task/../root{out}"),
        format!("{out}/../outside"),
        format!("{root}x/../outside"),
        format!("{root}/../ws/../outside"),
    ]);
    all
}

/// Names that are strange but stay inside, or name nothing at all: they must do no harm either.
fn oddities() -> Vec<String> {
    let mut all: Vec<String> = [
        "~",
        "~root",
        "~/../../outside",
        "$HOME",
        "${PWD}/../outside",
        "..\\outside",
        "%2e%2e/outside",
        "..%2foutside",
        "\u{2025}/outside",
        "\u{ff0e}\u{ff0e}/outside",
        "..\u{200b}/outside",
        "\u{202e}sdrawkcab",
        "OUTSIDE",
        "../OUTSIDE",
        "file://../outside",
        "a\nb",
        "-rf",
        "--",
        " ..",
        ".. /outside",
        "con",
        "sub/\u{7f}",
        "loop",
        "loop/x",
        "selfloop",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend([
        "a".repeat(300),
        "d/".repeat(3000),
        "x".repeat(5000),
        "a\0b".to_owned(),
        "../outside\0.txt".to_owned(),
        String::new(),
    ]);
    all
}

fn bench() -> Bench {
    let bench = Bench::holding(&[("file.txt", "inside\n"), ("sub/file.txt", "inside\n")]);
    std::fs::write(bench.outside.join(SECRET_NAME), CANARY).unwrap();
    std::fs::create_dir(bench.outside.join("inner")).unwrap();
    std::fs::write(bench.outside.join("inner").join(SECRET_NAME), CANARY).unwrap();
    symlink(".", bench.outside.join("loop")).unwrap();
    let link = |target: &Path, name: &str| symlink(target, bench.root.join(name)).unwrap();
    link(Path::new("../outside"), "dirlink");
    link(&bench.outside, "abslink");
    link(Path::new("chain2"), "chain1");
    link(Path::new("sub/chain3"), "chain2");
    link(Path::new("../dirlink"), "sub/chain3");
    link(Path::new("../../outside"), "sub/rel");
    link(Path::new(".."), "sub/back");
    link(Path::new(".."), "up");
    link(bench.root.parent().unwrap(), "uproot");
    link(&PathBuf::from("../".repeat(60)).join(&bench.outside.to_str().unwrap()[1..]), "longup");
    link(&PathBuf::from(format!("/proc/self/root{}", bench.outside.display())), "procroot");
    link(Path::new("/proc/self/fd"), "procfd");
    link(Path::new("/proc/self"), "self");
    link(Path::new("/dev"), "dev");
    link(&bench.outside.join("canary.txt"), "lastabs");
    link(Path::new("../outside/canary.txt"), "lastrel");
    link(Path::new("lastrel"), "lastchain");
    link(&bench.outside.join("not-there"), "dangling");
    link(Path::new("../outside/new-dir/x"), "dangling2");
    link(Path::new("loop"), "loop");
    link(Path::new("selfloop/x"), "selfloop");
    bench
}

/// Everything about a directory that a write could change.
fn picture(dir: &Path) -> BTreeMap<PathBuf, (String, u64)> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let inode = std::os::unix::fs::MetadataExt::ino(&meta);
        let text =
            if meta.is_file() { std::fs::read_to_string(&path).unwrap() } else { format!("{:?}", meta.file_type()) };
        if meta.is_dir() {
            all.extend(picture(&path));
        }
        all.insert(path, (text, inode));
    }
    all
}

/// Each tool, pointed at a directory outside and at a file in it.
fn calls(dir: &str, file: &str) -> Vec<(&'static str, Value)> {
    let patch = |body: String| json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")});
    vec![
        ("read_file", json!({"path": file})),
        ("read_file", json!({"path": dir})),
        ("write_file", json!({"path": file, "content": "overwritten"})),
        ("write_file", json!({"path": format!("{dir}/new-dir/new.txt"), "content": "new"})),
        ("edit_file", json!({"path": file, "old_string": "canary", "new_string": "dead"})),
        ("edit_file", json!({"path": file, "old_string": "kanary-7f3a9c sekret", "new_string": "dead"})),
        ("edit_file", json!({"path": format!("{dir}/created"), "old_string": "", "new_string": "new"})),
        ("apply_patch", patch(format!("*** Add File: {dir}/created\n+new\n"))),
        ("apply_patch", patch(format!("*** Delete File: {file}\n"))),
        ("apply_patch", patch(format!("*** Update File: {file}\n@@\n-canary-7f3a9c secret\n+dead\n"))),
        ("apply_patch", patch(format!("*** Update File: {file}\n@@\n-kanary secret\n+dead\n"))),
        ("apply_patch", patch(format!("*** Update File: {file}\n*** Move to: stolen.txt\n"))),
        ("apply_patch", patch(format!("*** Update File: file.txt\n*** Move to: {dir}/moved\n"))),
        (
            "apply_patch",
            json!({"input": format!("--- {file}\n+++ {file}\n@@ -1 +1 @@\n-canary-7f3a9c secret\n+dead\n")}),
        ),
        ("glob", json!({"pattern": "**/*", "path": dir})),
        ("glob", json!({"pattern": format!("{dir}/**/*")})),
        ("glob", json!({"pattern": format!("{dir}/**/only*")})),
        ("grep", json!({"pattern": "canary", "path": dir})),
        ("grep", json!({"pattern": ".", "path": file})),
        ("list_dir", json!({"path": dir, "depth": 3})),
        ("list_dir", json!({"path": file})),
    ]
}

/// The answer must not hold the secret. A name the caller gave himself may come back in an error.
fn assert_nothing_leaks(bench: &Bench, tool: &str, input: &Value, outcome: &Outcome) {
    let asked = input.to_string();
    for part in &outcome.parts {
        let Part::Text(text) = part else { panic!("{tool} {asked}: a picture") };
        assert!(!text.contains(SECRET) || asked.contains(SECRET), "{tool} {asked}: {text}");
        let told = outcome.is_error && asked.contains(SECRET_NAME);
        assert!(!text.contains(SECRET_NAME) || told, "{tool} {asked}: {text}");
    }
    let edits = format!("{:?}", outcome.edits);
    assert!(!edits.contains(SECRET) && !edits.contains(bench.outside.to_str().unwrap()), "{tool} {asked}: {edits}");
}

#[test]
fn no_path_leads_out() {
    let bench = bench();
    let before = picture(&bench.outside);
    let attempts = attempts(&bench);
    assert!(attempts.len() >= 60, "{}", attempts.len());
    let mut refused = 0;
    for dir in &attempts {
        for file in ["canary.txt", SECRET_NAME] {
            for (tool, input) in calls(dir, &format!("{dir}/{file}")) {
                if bench.plan(tool, &input).is_ok_and(|plan| plan.required < Required::DangerFullAccess) {
                    // Only where the name is not outside at all (`sub/x` of a file, a missing inside name).
                    let outcome = bench.call(tool, input.clone());
                    assert_nothing_leaks(&bench, tool, &input, &outcome);
                    continue;
                }
                let outcome = bench.call(tool, input.clone());
                assert!(outcome.is_error, "{tool} {input}: {outcome:?}");
                assert_nothing_leaks(&bench, tool, &input, &outcome);
                refused += 1;
            }
        }
    }
    assert!(refused > 2_000, "the plans saw through the names: {refused}");
    assert_eq!(picture(&bench.outside), before);
    assert!(!bench.root.join("stolen.txt").exists());
}

#[test]
fn links_as_the_last_part_and_odd_names_do_no_harm() {
    let bench = bench();
    let before = picture(bench.root.parent().unwrap().join("outside").as_path());
    let lasts = [
        "lastabs",
        "lastrel",
        "lastchain",
        "sub/../lastabs",
        "sub/back/lastrel",
        "dangling",
        "dangling2",
        "dangling/",
        "lastabs/",
        "lastabs/.",
    ];
    for file in lasts {
        for (tool, input) in calls(file, file) {
            let outcome = bench.call(tool, input.clone());
            if !input.to_string().contains("*/**") && tool != "apply_patch" {
                assert!(outcome.is_error || tool == "glob", "{tool} {input}: {outcome:?}");
            }
            assert_nothing_leaks(&bench, tool, &input, &outcome);
        }
    }
    for name in oddities() {
        for (tool, input) in calls(&name, &name) {
            let outcome = bench.call(tool, input.clone());
            assert_nothing_leaks(&bench, tool, &input, &outcome);
        }
    }
    assert_eq!(picture(&bench.outside), before);
    assert!(!bench.outside.join("not-there").exists() && !bench.outside.join("new-dir").exists());
}

#[test]
fn walks_do_not_follow_links() {
    let bench = bench();
    for (tool, input) in [
        ("glob", json!({"pattern": "**/*"})),
        ("glob", json!({"pattern": "**/.*"})),
        ("grep", json!({"pattern": "canary|inside"})),
        ("list_dir", json!({"depth": 8})),
    ] {
        let outcome = bench.call(tool, input.clone());
        assert!(!outcome.is_error, "{outcome:?}");
        assert_nothing_leaks(&bench, tool, &input, &outcome);
    }
}

#[test]
fn an_ignore_file_outside_is_not_read() {
    let bench = Bench::holding(&[("a.txt", ""), ("b.txt", "")]);
    std::fs::write(bench.outside.join("rules"), "a.txt\n").unwrap();
    symlink("../outside/rules", bench.root.join(".gitignore")).unwrap();
    assert_eq!(bench.answer("glob", json!({"pattern": "*.txt"})), "a.txt\nb.txt\n");
}

/// A hard link reads as the file inside that it is, but no write reaches its other name.
#[test]
fn a_hard_link_is_broken_by_writing() {
    let writes = [
        ("write_file", json!({"path": "hard", "content": "changed\n"})),
        ("edit_file", json!({"path": "hard", "old_string": "secret", "new_string": "changed"})),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Update File: hard\n@@\n-canary-7f3a9c secret\n+changed\n*** End Patch"}),
        ),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Delete File: hard\n*** End Patch"})),
    ];
    for (tool, input) in writes {
        let bench = bench();
        std::fs::hard_link(bench.outside.join("canary.txt"), bench.root.join("hard")).unwrap();
        let before = picture(&bench.outside);
        let outcome = bench.call(tool, input);
        assert!(!outcome.is_error, "{tool}: {outcome:?}");
        assert_eq!(picture(&bench.outside), before, "{tool}");
    }
}
