//! `glob`, `grep` and `list_dir`.

use std::os::unix::fs::symlink;

use expect_test::expect;
use serde_json::json;
use vocab::Required;

use crate::bench::Bench;

fn tree() -> Bench {
    Bench::holding(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("a.py", "import os\nprint('x')\n"),
        ("a/z.py", "print('deep')\n"),
        ("a-b.py", ""),
        ("b.py", "# TODO one\n# todo two\nx = 1\n"),
        ("sub/c.py", "TODO three\n"),
        ("sub/.hidden.py", "TODO hidden\n"),
        (".github/w.yml", "TODO workflow\n"),
        ("target/gen.py", "TODO generated\n"),
        ("x.log", "TODO log\n"),
        ("keep.log", "TODO kept\n"),
    ])
}

#[test]
fn glob_lists_sorted_paths_one_per_line() {
    let bench = Bench::holding(&[("b.py", ""), ("a.py", "")]);
    assert_eq!(bench.answer("glob", json!({"pattern": "**/*.py"})), "a.py\nb.py\n");
    assert_eq!(bench.answer("glob", json!({"pattern": "*.rs"})), "no files match *.rs\n");
    let plan = bench.plan("glob", &json!({"pattern": "**/*.py"})).unwrap();
    assert_eq!((plan.required, plan.mutation), (Required::ReadOnly, None));
}

#[test]
fn glob_knows_ignored_and_hidden_files() {
    let bench = tree();
    let glob = |pattern: &str| bench.answer("glob", json!({"pattern": pattern}));
    assert_eq!(glob("**/*.py"), "a-b.py\na.py\na/z.py\nb.py\nsub/c.py\n");
    assert_eq!(glob("*.py"), "a-b.py\na.py\nb.py\n");
    assert_eq!(glob("*.log"), "keep.log\n");
    assert_eq!(glob("**/.*.py"), "sub/.hidden.py\n");
    assert_eq!(glob(".github/**"), ".github/w.yml\n");
    assert_eq!(glob("**/*.yml"), "no files match **/*.yml\n");
    assert_eq!(glob("{a,sub}/*.py"), "a/z.py\nsub/c.py\n");
    assert_eq!(glob("target/*.py"), "target/gen.py\n", "named by the pattern itself");
    assert_eq!(glob("nowhere/*.py"), "no files match nowhere/*.py\n");
    let absolute = bench.root.join("sub/*.py");
    assert_eq!(glob(absolute.to_str().unwrap()), "sub/c.py\n");
    assert_eq!(bench.answer("glob", json!({"pattern": "*.py", "path": "sub"})), "sub/c.py\n");
}

#[test]
fn glob_shows_links_to_files_inside_and_follows_none() {
    let bench = tree();
    symlink("a.py", bench.root.join("in.py")).unwrap();
    symlink(bench.outside.join("canary.txt"), bench.root.join("out.py")).unwrap();
    symlink(&bench.outside, bench.root.join("dir")).unwrap();
    symlink(".", bench.root.join("loop")).unwrap();
    assert_eq!(bench.answer("glob", json!({"pattern": "**/{in,out}.py"})), "in.py\n");
    assert_eq!(bench.answer("glob", json!({"pattern": "**/*.txt"})), "no files match **/*.txt\n");
}

#[test]
fn glob_stops_at_two_thousand_paths() {
    let bench = Bench::new();
    for n in 0..2001 {
        bench.put(&format!("f{n:04}"), "");
    }
    let answer = bench.answer("glob", json!({"pattern": "*"}));
    assert!(answer.ends_with("f1999\n[more than 2000 files match; narrow the pattern or the path]\n"));
    assert_eq!(answer.lines().count(), 2001);
}

#[test]
fn glob_explains_mistakes() {
    let bench = tree();
    for (input, error) in [
        (json!({}), expect![[r#"ERROR missing required argument "pattern""#]]),
        (
            json!({"pattern": "[a"}),
            expect!["ERROR not a glob pattern: error parsing glob '[a': unclosed character class; missing ']'"],
        ),
        (
            json!({"pattern": "*/../*"}),
            expect![[r#"ERROR "*/../*": ".." can stand only at the start of a pattern; use "path" instead"#]],
        ),
        (json!({"pattern": "*", "path": "nowhere"}), expect!["ERROR nowhere: no such file or directory"]),
        (json!({"pattern": "*", "path": "a.py"}), expect![[r#"ERROR a.py: is a file; "path" must be a directory"#]]),
    ] {
        error.assert_eq(&bench.answer("glob", input));
    }
    assert_eq!(bench.plan("glob", &json!({"pattern": "/etc/*"})).unwrap().required, Required::DangerFullAccess);
    assert_eq!(bench.plan("glob", &json!({"pattern": "../*"})).unwrap().required, Required::DangerFullAccess);
}

#[test]
fn grep_tells_path_line_and_text() {
    let bench = tree();
    expect![[r#"
        b.py:1:# TODO one
        keep.log:1:TODO kept
        sub/c.py:1:TODO three
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "TODO"})));
    expect![[r#"
        b.py:1:# TODO one
        b.py:2:# todo two
        sub/c.py:1:TODO three
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "todo", "-i": true, "glob": "*.py"})));
    expect![[r#"
        b.py:2
        sub/c.py:1
    "#]]
    .assert_eq(
        &bench
            .answer("grep", json!({"pattern": "todo", "ignore_case": true, "include": "*.py", "output_mode": "count"})),
    );
    expect![[r#"
        b.py
        keep.log
        sub/c.py
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "TODO", "output_mode": "files_with_matches"})));
    expect![[r#"
        sub/.hidden.py:1:TODO hidden
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "TODO", "path": "sub/.hidden.py"})));
    expect!["no matches for nothing like it\n"].assert_eq(&bench.answer("grep", json!({"pattern": "nothing like it"})));
}

#[test]
fn grep_shows_context_and_limits() {
    let bench = Bench::holding(&[("f", "1\n2\nhit\n4\n5\n6\nhit\n8\n"), ("g", "hit\n")]);
    expect![[r#"
        f-2-2
        f:3:hit
        f-4-4
        --
        f-6-6
        f:7:hit
        f-8-8
        --
        g:1:hit
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "hit", "-C": 1})));
    expect![[r#"
        f:hit
        [stopped after 1 match, there are more; narrow the pattern, the path or the glob]
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "hit", "head_limit": 1, "-n": false})));
    expect![[r#"
        f:3:hit
        f:4:4
        f:5:5
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "hit\\n4.5", "multiline": true})));
    expect![[r#"
        f
        [stopped after 1 file, there are more; narrow the pattern, the path or the glob]
    "#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "hit", "head_limit": 1, "output_mode": "files_with_matches"})));
}

#[test]
fn grep_bounds_lines_matches_and_bytes() {
    let bench = Bench::holding(&[("long", &format!("{}hit{}\n", "é".repeat(300), "é".repeat(300)))]);
    let answer = bench.answer("grep", json!({"pattern": "hit"}));
    assert_eq!(answer.trim_end().strip_prefix("long:1:").unwrap().chars().count(), 403);
    bench.put("many", "hit\n".repeat(501));
    let answer = bench.answer("grep", json!({"pattern": "hit", "path": "many"}));
    assert!(answer.contains("many:500:hit\n[stopped after 500 matches"), "{answer}");
    bench.put("exact", "hit\n".repeat(500));
    assert!(!bench.answer("grep", json!({"pattern": "hit", "path": "exact"})).contains("stopped"));
    bench.put("wide", format!("hit {}\n", "x".repeat(390)).repeat(400));
    let answer = bench.answer("grep", json!({"pattern": "hit", "path": "wide"}));
    assert!(answer.len() < 66 * 1024 && answer.contains("[stopped after"), "{}", answer.len());
}

#[test]
fn grep_explains_a_bad_pattern() {
    let bench = tree();
    expect![[r#"
        ERROR not a regular expression: regex parse error:
            (?:foo()
            ^
        error: unclosed group
        Set literal to true to search for the text as it is"#]]
    .assert_eq(&bench.answer("grep", json!({"pattern": "foo("})));
    bench.put("lit", "foo(bar\n");
    assert_eq!(bench.answer("grep", json!({"pattern": "foo(", "literal": true})), "lit:1:foo(bar\n");
    assert!(
        bench
            .answer("grep", json!({"pattern": "a\\nb"}))
            .ends_with("Set multiline to true for matches that span lines")
    );
    expect![[r#"ERROR unknown output_mode "x"; use content, files_with_matches or count"#]]
        .assert_eq(&bench.answer("grep", json!({"pattern": "a", "output_mode": "x"})));
    expect!["ERROR nowhere: no such file or directory"]
        .assert_eq(&bench.answer("grep", json!({"pattern": "a", "path": "nowhere"})));
}

#[test]
fn binary_files_end_at_their_first_nul() {
    let bench = Bench::new();
    bench.put("bin", b"hit\n\0\nhit\n");
    assert!(!bench.answer("grep", json!({"pattern": "hit"})).contains("bin:3"));
}

/// A terabyte to skip through would keep the thread, and the end of the runtime, busy for minutes.
#[test]
fn a_dropped_call_stops_its_thread() {
    let bench = Bench::new();
    bench.put("endless", "text ".repeat(2_000));
    let file = std::fs::OpenOptions::new().write(true).open(bench.root.join("endless")).unwrap();
    file.set_len(1 << 40).unwrap();
    let runtime = crate::bench::runtime();
    let input = vocab::Json::trusted(json!({"path": "endless", "offset": 2}).to_string());
    let later = bench.tool("read_file").run(input, crate::bench::context(Required::ReadOnly));
    let waited = runtime.block_on(async { tokio::time::timeout(std::time::Duration::from_millis(20), later).await });
    assert!(waited.is_err(), "it was still reading");
    let started = std::time::Instant::now();
    runtime.shutdown_timeout(std::time::Duration::from_secs(10));
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
