//! FAULTS S3: an agent cannot change the rules it runs under.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tools::Options;
use vocab::{Required, parts_text};

use crate::bench::Bench;

/// The ways to change a file.
fn writes(path: &str) -> [(&'static str, Value); 6] {
    [
        ("write_file", json!({"path": path, "content": "evil"})),
        ("edit_file", json!({"path": path, "old_string": "", "new_string": "evil"})),
        ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch")})),
        ("apply_patch", json!({"input": format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+evil\n")})),
        (
            "apply_patch",
            json!({"input": format!("*** Begin Patch\n*** Update File: plain.txt\n*** Move to: {path}\n*** End Patch")}),
        ),
        ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch")})),
    ]
}

#[test]
fn what_steers_git_the_shell_or_us_needs_full_access_even_before_it_exists() {
    let bench = Bench::with(|options, root| Options {
        home: Some(root.to_owned()),
        protected: vec![root.join("data")],
        ..options
    });
    bench.put("plain.txt", "x\n");
    bench.put("hooks/existing", "x\n");
    bench.put(".git/HEAD", "x\n");
    symlink(".git", bench.root.join("g")).unwrap();
    symlink("../hooks", bench.root.join(".git/hooks")).unwrap();
    let absolute = bench.root.join(".git/config");
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/info/attributes",
        "g/config",
        "./.git//config",
        "sub/../.git/config",
        absolute.to_str().unwrap(),
        "hooks/pre-push",
        ".GIT/config",
        "sub/.git/config",
        "other/.git",
        ".tillerman.toml",
        ".tillerman/anything",
        "sub/.tillerman.toml",
        ".bashrc",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".bash_profile",
        ".config/fish/config.fish",
        ".ssh/authorized_keys",
        ".gitconfig",
        "data/sessions.db",
    ] {
        for (tool, input) in writes(path) {
            let plan = bench.plan(tool, &input).unwrap();
            assert_eq!(plan.required, Required::DangerFullAccess, "{tool} {path}");
            let outcome = bench.call(tool, input);
            assert!(outcome.is_error && outcome.edits.is_empty(), "{tool} {path}: {outcome:?}");
            let text = parts_text(&outcome.parts);
            assert!(text.contains("needs danger-full-access"), "{tool} {path}: {text}");
        }
        let allowed = bench.call_granted("write_file", &writes(path)[0].1, Required::DangerFullAccess);
        assert!(!allowed.is_error, "{path}: {allowed:?}");
        assert!(!bench.call("read_file", json!({"path": path})).is_error, "reading {path} is not restricted");
    }
    assert_eq!(bench.text("plain.txt"), "x\n");
}

#[test]
fn ordinary_dot_files_are_ordinary() {
    let bench = Bench::with(|options, root| Options { home: Some(root.to_owned()), ..options });
    for path in [".gitignore", ".github/workflows/x.yml", ".config/app.toml", "sub/.bashrc", ".env"] {
        let input = json!({"path": path, "content": "x"});
        assert_eq!(bench.plan("write_file", &input).unwrap().required, Required::WorkspaceWrite, "{path}");
        assert!(!bench.call("write_file", input).is_error, "{path}");
    }
}
