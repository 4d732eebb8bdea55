//! FAULTS S3: an agent cannot change the rules it runs under.

use std::os::unix::fs::symlink;

use builtin_tools::BuiltinOptions;
use serde_json::{Value, json};
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
    let bench = Bench::with(|options, root| BuiltinOptions {
        home: Some(root.to_owned()),
        protected: vec![root.join("data"), "tools/key.sh".into()],
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
        "tools/key.sh",
        ".tillerman.json",
        ".tillerman.yaml",
        ".tillerman.yml",
        ".pi/agent/settings.json",
        ".pi/agent/models.json",
        ".omp/agent/models.yml",
        ".agents/skills/x/SKILL.md",
        "sub/.agents/skills/x/SKILL.md",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".husky/pre-commit",
        ".envrc",
        ".mcp.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".cargo/config.toml",
        ".npmrc",
        ".local/bin/ls",
        ".vimrc",
        ".config/nvim/init.lua",
        ".tmux.conf",
        ".aws/credentials",
        ".netrc",
        ".docker/config.json",
        ".kube/config",
        ".gnupg/gpg.conf",
        "HEAD",
        "sub/HEAD",
    ] {
        for (tool, input) in writes(path) {
            let plan = bench.plan(tool, &input).unwrap();
            assert_eq!(plan.required, Required::DangerFullAccess, "{tool} {path}");
            assert!(plan.summary.contains("(asked because "), "{tool} {path}: {}", plan.summary);
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
    let bench = Bench::with(|options, root| BuiltinOptions { home: Some(root.to_owned()), ..options });
    for path in [
        ".gitignore",
        ".gitattributes",
        ".pre-commit-config.yaml",
        ".github/workflows/x.yml",
        ".config/app.toml",
        "sub/.bashrc",
        ".env",
    ] {
        let input = json!({"path": path, "content": "x"});
        assert_eq!(bench.plan("write_file", &input).unwrap().required, Required::WorkspaceWrite, "{path}");
        assert!(!bench.call("write_file", input).is_error, "{path}");
    }
}

/// Git finds its files by more than their name.
#[test]
fn git_directories_under_other_names_hooks_and_includes_need_full_access() {
    let bench = Bench::with(|options, root| BuiltinOptions { home: Some(root.join("home")), ..options });
    bench.put(".git", "gitdir: ./.bare\n");
    bench.put(".bare/HEAD", "ref: refs/heads/main\n");
    bench.put(".bare/config", "[core]\n\thooksPath = checks/hooks\n[include]\n\tpath = ../shared.config\n");
    bench.put("home/.gitconfig", "[core]\n\thooksPath = global-hooks\n");
    bench.put("tree/.git", "gitdir: ../.away/worktrees/tree\n");
    bench.put(".away/HEAD", "ref: refs/heads/main\n");
    bench.put("bare/HEAD", "ref: refs/heads/main\n");
    let needs = |path: &str| {
        let plan = bench.plan("write_file", &json!({"path": path, "content": "x"})).unwrap();
        assert_eq!(plan.required > Required::WorkspaceWrite, plan.summary.contains("asked because"), "{plan:?}");
        plan.required
    };
    for path in [
        ".bare/config",
        ".bare/hooks/post-checkout",
        ".bare/info/attributes",
        ".bare/worktrees/x/config.worktree",
        "checks/hooks/pre-commit",
        "shared.config",
        "global-hooks/pre-push",
        ".away/worktrees/tree/config",
        ".away/config",
        ".away/hooks/x",
        "bare/config",
        "bare/objects/x",
        "bare/refs/x",
        "bare/commondir",
    ] {
        assert_eq!(needs(path), Required::DangerFullAccess, "{path}");
    }
    for path in
        ["checks/other", "config", "objects/x", "refs/x", "bare/readme", "tree/a.rs", "src/head.rs", "hooks/use.ts"]
    {
        assert_eq!(needs(path), Required::WorkspaceWrite, "{path}");
    }
}

/// A link from a protected name in the home to a file of the workspace: dotfiles are often kept so.
#[test]
fn what_a_start_up_file_of_the_home_leads_to_needs_full_access() {
    let bench = Bench::with(|options, root| {
        std::fs::create_dir_all(root.join("dotfiles")).unwrap();
        std::fs::write(root.join("dotfiles/bashrc"), "").unwrap();
        let home = root.parent().unwrap().join("home");
        std::fs::create_dir(&home).unwrap();
        symlink(root.join("dotfiles/bashrc"), home.join(".bashrc")).unwrap();
        BuiltinOptions { home: Some(home), ..options }
    });
    let needs = |path: &str| bench.plan("write_file", &json!({"path": path, "content": "x"})).unwrap().required;
    assert_eq!(needs("dotfiles/bashrc"), Required::DangerFullAccess);
    assert_eq!(needs("dotfiles/readme"), Required::WorkspaceWrite);
}
