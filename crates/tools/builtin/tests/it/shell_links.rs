//! Commands that only read stay in the workspace as the file tools do: every word that could be a path is followed, and
//! where it leads outside the command is no reading.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use vocab::{Required, parts_text};

use crate::bench::{Bench, CANARY, context, runtime};
use crate::race::SetOnDrop;

/// A workspace as a stranger may hand it over.
fn bench() -> Bench {
    let bench = Bench::holding(&[
        ("a.txt", "inside\n"),
        ("src/b.txt", "inside\n"),
        ("src/deep/c.txt", "inside\n"),
        ("plain/canary.txt", "inside\n"),
    ]);
    symlink(&bench.outside, bench.root.join("out")).unwrap();
    symlink("../../outside/canary.txt", bench.root.join("src/link.txt")).unwrap();
    symlink("../out", bench.root.join("src/again")).unwrap();
    symlink("src", bench.root.join("inward")).unwrap();
    symlink("b.txt", bench.root.join("src/near.txt")).unwrap();
    symlink(&bench.outside, bench.root.join("src/deep/x*")).unwrap();
    symlink(&bench.outside, bench.root.join("-fout")).unwrap();
    symlink(&bench.outside, bench.root.join("c:d")).unwrap();
    bench
}

fn required(bench: &Bench, command: &str, cwd: &str) -> Required {
    bench.plan("bash", &json!({"command": command, "cwd": cwd})).unwrap().required
}

#[test]
fn words_that_lead_out_are_no_reading() {
    let bench = bench();
    for (command, cwd) in [
        ("cat out/canary.txt", "."),
        ("cat ./out/canary.txt", "."),
        ("cat 'out'/canary.txt", "."),
        ("cat src/link.txt", "."),
        ("cat src/again/canary.txt", "."),
        ("cat inward/link.txt", "."),
        ("cat link.txt", "src"),
        ("cat again/canary.txt", "src"),
        ("cat link.txt", "inward"),
        ("head -n 1 out/canary.txt", "."),
        ("ls out", "."),
        ("ls out/", "."),
        ("ls -la src/again/.", "."),
        ("grep -f out/canary.txt a.txt", "."),
        ("grep -fout/canary.txt a.txt", "."),
        ("grep -nfout/canary.txt a.txt", "."),
        ("grep -e x --regexp=y -f src/link.txt a.txt", "."),
        ("wc -l c:d/canary.txt", "."),
        ("stat -c %s out/canary.txt", "."),
        ("find out/ -name x", "."),
        ("find . -newer src/link.txt", "."),
        ("test -f out/canary.txt", "."),
        ("diff a.txt src/link.txt", "."),
        ("date -r src/link.txt", "."),
        ("rg canary out", "."),
        ("ls; cat out/canary.txt", "."),
        ("ls | cat - src/link.txt", "."),
        ("cat /dev/null out/canary.txt", "."),
        ("ls", "out"),
        ("ls", "src/again"),
        // What the shell makes of a pattern
        ("cat src/*", "."),
        ("cat src/*.txt", "."),
        ("cat src/l*", "."),
        ("cat src/?ink.txt", "."),
        ("cat src/[k-m]ink.txt", "."),
        ("cat */canary.txt", "."),
        ("cat o?t/canary.txt", "."),
        ("cat src/*/canary.txt", "."),
        ("echo */*", "."),
        ("ls *", "."),
        ("cat *", "src"),
        ("cat 'src/deep/x*'/canary.txt", "."),
        ("grep -f* inside", "."),
        // Options that follow links
        ("grep -R canary .", "."),
        ("grep -rR canary .", "."),
        ("grep --dereference-recursive canary .", "."),
        ("ls -L src", "."),
        ("ls -LR", "."),
        ("ls -H src", "."),
        ("ls --dereference src", "."),
        ("du -L .", "."),
        ("du -D .", "."),
        ("du -H .", "."),
        ("du --dereference .", "."),
        ("find -L . -name x", "."),
        ("find -H . -name x", "."),
        ("diff -r src plain", "."),
        ("diff src plain", "."),
        ("diff src a.txt", "."),
        ("diff src/* a.txt", "."),
        ("rg -L canary", "."),
        ("tree -l", "."),
        ("tail -F a.txt", "."),
        ("tail --follow=name a.txt", "."),
    ] {
        assert_eq!(required(&bench, command, cwd), Required::DangerFullAccess, "{command} in {cwd}");
        for granted in [Required::ReadOnly, Required::WorkspaceWrite] {
            let outcome = bench.call_granted("bash", &json!({"command": command, "cwd": cwd}), granted);
            let text = parts_text(&outcome.parts);
            assert!(outcome.is_error && !text.contains(CANARY.trim()), "{command}: {text}");
        }
    }
}

#[test]
fn words_that_stay_inside_are_reading() {
    let bench = bench();
    for (command, cwd) in [
        ("cat a.txt", "."),
        ("cat src/near.txt", "."),
        ("cat inward/b.txt", "."),
        ("cat src/b*", "."),
        ("cat src/ne*.txt plain/*", "."),
        ("cat b.txt deep/c.txt", "src"),
        ("cat b.txt", "inward"),
        ("ls src", "."),
        ("ls -la", "."),
        ("grep -rn inside src", "."),
        ("grep -r --include=*.txt inside src", "."),
        ("find . -name '*.txt'", "."),
        ("rg inside", "."),
        ("du -sh .", "."),
        ("diff a.txt src/b.txt", "."),
        ("cat missing.txt", "."),
    ] {
        assert_eq!(required(&bench, command, cwd), Required::ReadOnly, "{command} in {cwd}");
    }
    let read = |command: &str, cwd: &str| {
        let outcome = bench.call_granted("bash", &json!({"command": command, "cwd": cwd}), Required::ReadOnly);
        parts_text(&outcome.parts)
    };
    assert_eq!(read("cat src/b* inward/near.txt", "."), "inside\ninside\n");
    assert_eq!(read("cat near.txt", "inward"), "inside\n");
    assert!(read("pwd", "inward").ends_with("/ws/src\n"));
    let searched = read("grep -rn canary .", ".");
    assert!(!searched.contains(CANARY.trim()), "{searched}");
}

#[test]
fn a_pattern_that_could_mean_too_much_is_no_reading() {
    let bench = Bench::new();
    for number in 0..5_000 {
        bench.put(&format!("many/{number}"), "");
    }
    assert_eq!(required(&bench, "cat many/*", "."), Required::DangerFullAccess);
    assert_eq!(required(&bench, "ls many", "."), Required::ReadOnly);
}

/// Commands that must have run among the swaps; those that met the link when they were judged are refused and do not count.
const COMMANDS_MIN: usize = 200;

fn swap(root: &Path, one: &str, two: &str) {
    renameat_with(CWD, root.join(one), CWD, root.join(two), RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn a_directory_that_is_swapped_for_a_link_leads_no_command_out() {
    let bench = Bench::holding(&[("dir/canary.txt", "inside\n"), ("dir/below/canary.txt", "inside\n")]);
    symlink(&bench.outside, bench.root.join("link")).unwrap();
    std::fs::create_dir(bench.outside.join("below")).unwrap();
    std::fs::write(bench.outside.join("below/canary.txt"), CANARY).unwrap();
    let done = AtomicBool::new(false);
    let runtime = runtime();
    let (mut ran, begun) = (0_usize, std::time::Instant::now());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&bench.root, "dir", "link");
                // Long enough for a check, short enough to fall between it and the start of the command.
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        let _end = SetOnDrop(&done);
        while ran < COMMANDS_MIN {
            for cwd in ["dir", "dir/below"] {
                let input = json!({"command": "cat canary.txt", "cwd": cwd}).to_string();
                let run = bench.tool("bash").run(vocab::Json::trusted(input), context(Required::ReadOnly));
                let outcome = runtime.block_on(run);
                let text = parts_text(&outcome.parts);
                assert!(!text.contains(CANARY.trim()), "{cwd}: {text}");
                assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{ran} commands ran; {cwd}: {text}");
                ran += usize::from(!outcome.is_error);
            }
        }
    });
}
