//! FAULTS S7: our own keys and conversations are no tool's to read, whatever was granted.

use std::os::unix::fs::symlink;

use builtin_tools::BuiltinOptions;
use serde_json::json;
use vocab::{Required, parts_text};

use crate::bench::Bench;

const KEY: &str = "sk-canary-0123456789";

/// A home as workspace: our own files lie in it.
fn home() -> Bench {
    let bench = Bench::with(|options, root| BuiltinOptions {
        home: Some(root.to_owned()),
        secret_paths: vec![root.join("conf/auth"), root.join("data/sessions.db"), root.join("keys/openai")],
        ..options
    });
    bench.put("conf/auth/credentials.json", KEY);
    bench.put("conf/config.toml", "model = \"x\"\n");
    bench.put("data/sessions.db", KEY);
    bench.put("keys/openai", KEY);
    bench.put("keys/other", "not ours\n");
    symlink("conf/auth", bench.root.join("a")).unwrap();
    symlink("keys/openai", bench.root.join("k")).unwrap();
    bench
}

#[test]
fn no_file_tool_reads_or_changes_them_at_any_rung() {
    let bench = home();
    let absolute = bench.root.join("keys/openai");
    for path in [
        "conf/auth/credentials.json",
        "conf/auth",
        "conf/auth/absent",
        "CONF/AUTH/credentials.json",
        "data/sessions.db",
        "keys/openai",
        "./keys/../keys/openai",
        absolute.to_str().unwrap(),
        "a/credentials.json",
        "k",
    ] {
        for (tool, input) in [
            ("read_file", json!({"path": path})),
            ("grep", json!({"pattern": "sk-", "path": path})),
            ("list_dir", json!({"path": path})),
            ("glob", json!({"pattern": "*", "path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_string": "sk", "new_string": "x"})),
            (
                "apply_patch",
                json!({"input": format!("*** Begin Patch\n*** Update File: {path}\n*** Move to: moved\n*** End Patch")}),
            ),
        ] {
            let refused = bench.plan(tool, &input).unwrap_err();
            assert!(refused.contains("tillerman keeps its own keys"), "{tool} {path}: {refused}");
            let outcome = bench.call_granted(tool, &input, Required::DangerFullAccess);
            let text = parts_text(&outcome.parts);
            assert!(outcome.is_error && text.contains("tillerman keeps its own keys"), "{tool} {path}: {text}");
        }
    }
    assert_eq!(bench.text("keys/openai"), KEY);
    assert!(!bench.call("read_file", json!({"path": "keys/other"})).is_error);
    assert!(!bench.call("read_file", json!({"path": "conf/config.toml"})).is_error);
}

#[test]
fn a_search_passes_by() {
    let bench = home();
    for input in [json!({"pattern": "canary"}), json!({"pattern": "canary", "path": "conf"})] {
        let outcome = bench.call_granted("grep", &input, Required::DangerFullAccess);
        assert!(!parts_text(&outcome.parts).contains(KEY), "{outcome:?}");
    }
}

#[test]
fn no_command_counts_as_reading_where_they_lie_in_the_workspace() {
    for command in
        ["cat keys/openai", "grep -r sk- .", "cat keys/*", "rg sk-", "head conf/auth/credentials.json", "pwd"]
    {
        let input = json!({"command": command});
        let bench = home();
        assert_eq!(bench.plan("bash", &input).unwrap().required, Required::DangerFullAccess, "{command}");
        assert!(bench.call("bash", input).is_error, "{command}");
    }
    assert_eq!(Bench::new().plan("bash", &json!({"command": "pwd"})).unwrap().required, Required::ReadOnly);
}

#[test]
fn what_this_session_spilled_stays_readable() {
    let bench = Bench::with(|options, _| BuiltinOptions { secret_paths: vec![options.spill_dir.clone()], ..options });
    let spill = bench.root.parent().unwrap().join("spill");
    std::fs::create_dir_all(spill.join("s1")).unwrap();
    std::fs::create_dir_all(spill.join("s2")).unwrap();
    std::fs::write(spill.join("s1/out"), "mine\n").unwrap();
    std::fs::write(spill.join("s2/out"), "another's\n").unwrap();
    let read = |path: &str| {
        let input = json!({"path": spill.join(path)});
        bench.call_granted("read_file", &input, Required::DangerFullAccess)
    };
    assert_eq!(parts_text(&read("s1/out").parts), "mine\n");
    assert!(read("s2/out").is_error);
}
