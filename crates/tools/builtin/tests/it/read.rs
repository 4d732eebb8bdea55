//! `read_file`: windows, long lines, and files that are no text.

use std::io::Write as _;

use expect_test::expect;
use serde_json::json;
use vocab::{Part, Required};

use crate::bench::Bench;

#[test]
fn a_file_is_read_exactly_as_it_is() {
    let text = "\u{feff}first\r\n\ttab\nno end";
    let bench = Bench::holding(&[("a.txt", text)]);
    for key in ["path", "file_path", "filePath"] {
        assert_eq!(bench.answer("read_file", json!({key: "a.txt"})), text);
    }
    assert_eq!(bench.answer("read_file", json!({"path": bench.root.join("a.txt")})), text);
    assert_eq!(bench.answer("read_file", json!({"path": "./x/../a.txt"})), text);
}

#[test]
fn a_window_says_where_to_read_on() {
    let text: String = (1..=10).map(|n| format!("line {n}\n")).collect();
    let bench = Bench::holding(&[("a.txt", &text)]);
    expect![[r#"
        line 3
        line 4
        [lines 3-4 of 10; read on with offset 5]"#]]
    .assert_eq(&bench.answer("read_file", json!({"path": "a.txt", "offset": 3, "limit": 2})));
    expect![[r#"
        line 9
        line 10
    "#]]
    .assert_eq(&bench.answer("read_file", json!({"path": "a.txt", "offset": 9, "limit": 2})));
    expect!["ERROR a.txt: offset 11 is past the end; the file has 10 lines"]
        .assert_eq(&bench.answer("read_file", json!({"path": "a.txt", "offset": 11})));
}

#[test]
fn two_thousand_lines_are_the_most() {
    let text: String = (1..=2001).map(|n| format!("{n}\n")).collect();
    let bench = Bench::holding(&[("a.txt", &text)]);
    let answer = bench.answer("read_file", json!({"path": "a.txt", "limit": 100_000}));
    assert!(answer.ends_with("\n2000\n[lines 1-2000 of 2001; read on with offset 2001]"), "{answer}");
}

#[test]
fn a_huge_file_is_not_read_whole() {
    let bench = Bench::new();
    let mut file = std::fs::File::create(bench.root.join("huge.txt")).unwrap();
    file.write_all("x".repeat(300 * 1024).as_bytes()).unwrap();
    file.write_all(b"\nsecond\n").unwrap();
    // A hole: a gigabyte to look at, nothing on the disk.
    file.set_len(1 << 30).unwrap();
    let started = std::time::Instant::now();
    let answer = bench.answer("read_file", json!({"path": "huge.txt", "limit": 1}));
    assert!(answer.len() < 300 * 1024, "{}", answer.len());
    expect![[r#"
        [line 1 is longer than 262144 bytes; only its start is shown]
        [lines 1-1, the file has 1073741824 bytes; read on with offset 2]"#]]
    .assert_eq(answer.trim_start_matches('x').trim_start());
    let second = bench.answer("read_file", json!({"path": "huge.txt", "offset": 2, "limit": 1}));
    assert!(second.starts_with("second\n[lines 2-2"), "{second}");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

#[test]
fn a_missing_file_names_similar_ones() {
    let bench = Bench::holding(&[("src/main.rs", ""), ("src/mail.rs", ""), ("src/other.txt", "")]);
    expect!["ERROR src/man.rs: no such file or directory; similar names in src: main.rs, mail.rs"]
        .assert_eq(&bench.answer("read_file", json!({"path": "src/man.rs"})));
    expect!["ERROR lib/a.rs: no such file or directory; the directory lib does not exist either"]
        .assert_eq(&bench.answer("read_file", json!({"path": "lib/a.rs"})));
    expect!["ERROR ~/a.rs: no such file or directory; ~ is not expanded, write the path out; the directory ~ does not exist either"]
        .assert_eq(&bench.answer("read_file", json!({"path": "~/a.rs"})));
}

#[test]
fn what_is_not_text_is_named() {
    let bench = Bench::holding(&[("dir/a", ""), ("empty", "")]);
    bench.put("prog", b"\x7fELF\x02\x01\x01\0\0");
    bench.put("latin", b"caf\xe9\n");
    expect!["ERROR dir: is a directory; use list_dir to see what is in it"]
        .assert_eq(&bench.answer("read_file", json!({"path": "dir"})));
    expect!["ERROR prog: not text but an ELF program or library (9 bytes); read_file cannot show it"]
        .assert_eq(&bench.answer("read_file", json!({"path": "prog"})));
    expect![[r#"
        caf�
        [not valid UTF-8: the bytes that are none are shown as �]"#]]
    .assert_eq(&bench.answer("read_file", json!({"path": "latin"})));
    expect!["[the file is empty]"].assert_eq(&bench.answer("read_file", json!({"path": "empty"})));
    assert!(std::process::Command::new("mkfifo").arg(bench.root.join("pipe")).status().unwrap().success());
    expect!["ERROR pipe: not a regular file (a device, pipe or socket)"]
        .assert_eq(&bench.answer("read_file", json!({"path": "pipe"})));
}

#[test]
fn an_image_comes_as_an_image() {
    let bench = Bench::new();
    bench.put("p.bin", b"\x89PNG\r\n\x1a\n rest");
    let outcome = bench.call("read_file", json!({"path": "p.bin"}));
    let [Part::Text(note), Part::Image(image)] = &*outcome.parts else { panic!("{outcome:?}") };
    assert_eq!(
        (&**note, &*image.mime, &*image.base64),
        ("p.bin (image/png, 13 bytes)", "image/png", "iVBORw0KGgogcmVzdA==")
    );
    let large = std::fs::OpenOptions::new().write(true).open(bench.root.join("p.bin")).unwrap();
    large.set_len(9 << 20).unwrap();
    expect!["ERROR p.bin: a picture of 9437184 bytes; at most 8388608 can be shown"]
        .assert_eq(&bench.answer("read_file", json!({"path": "p.bin"})));
}

#[test]
fn bad_arguments_are_explained_by_plan_and_run_alike() {
    let bench = Bench::new();
    for (input, error) in [
        (json!({}), "missing required argument \"path\""),
        (json!({"path": 3}), "argument \"path\" must be a string"),
        (json!({"path": "a", "limit": "ten"}), "argument \"limit\" must be an integer"),
        (json!({"path": "a", "limit": 0}), "argument \"limit\" must be at least 1"),
        (json!({"path": ""}), "the path is empty; name a file, or \".\" for the workspace"),
        (json!({"path": "a\0b"}), "the path holds a NUL character; no file name can"),
    ] {
        assert_eq!(bench.plan("read_file", &input).unwrap_err(), error);
        assert_eq!(bench.answer("read_file", input), format!("ERROR {error}"));
    }
}

#[test]
fn outside_is_read_only_with_full_access() {
    let bench = Bench::new();
    let input = json!({"path": bench.outside.join("canary.txt")});
    let plan = bench.plan("read_file", &input).unwrap();
    assert_eq!(plan.required, Required::DangerFullAccess);
    assert!(bench.call_granted("read_file", &input, Required::WorkspaceWrite).is_error);
    let outcome = bench.call_granted("read_file", &input, Required::DangerFullAccess);
    assert_eq!(vocab::parts_text(&outcome.parts), crate::bench::CANARY);
}

#[test]
fn spilled_output_of_the_own_session_reads_like_the_workspace() {
    let bench = Bench::new();
    let spill = bench.root.parent().unwrap().join("spill");
    for session in ["s1", "s2"] {
        std::fs::create_dir_all(spill.join(session)).unwrap();
        std::fs::write(spill.join(session).join("c1.txt"), "long output\n").unwrap();
    }
    std::os::unix::fs::symlink(bench.outside.join("canary.txt"), spill.join("s1/link")).unwrap();
    let own = json!({"path": spill.join("s1/c1.txt")});
    assert_eq!(bench.plan("read_file", &own).unwrap().required, Required::ReadOnly);
    assert_eq!(bench.answer("read_file", own.clone()), "long output\n");
    assert_eq!(
        bench.plan("write_file", &json!({"path": own["path"], "content": ""})).unwrap().required,
        Required::DangerFullAccess
    );
    for other in ["s2/c1.txt", "s1/link", "s1/../s2/c1.txt"] {
        let input = json!({"path": spill.join(other)});
        assert_eq!(bench.plan("read_file", &input).unwrap().required, Required::DangerFullAccess, "{other}");
        assert!(bench.call("read_file", input).is_error, "{other}");
    }
}
