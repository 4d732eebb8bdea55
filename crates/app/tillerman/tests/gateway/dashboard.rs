//! The dashboard in a real browser, on the real binary. Without Chromium, Node or the registry once, a test says `SKIP` and why.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::clients::{WS, or_skip};
use crate::peers_install::{node, npm, run, script};
use crate::process::{Place, TOKEN};
use crate::sdk::Stand;

const PLAYWRIGHT: &str = "playwright-core@1.65.1";
const AXE: &str = "axe-core@4.14.0";
/// All checks of one script together, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);
const CONFIG: &str = "server:\n  nodes: {enabled: true, location: {enabled: true}}\n  queue:\n    resume_after_restart: true\ntools:\n  confirm: [shell.exec]\n";
/// The user's own file, which can be changed.
const WORK_CONFIG: &str = r#"[server]
token = "TOKEN"
[tools]
confirm = ["shell.exec"]
[[models]]
slug = "mock/alpha"
images = true
prices = { input = 3.0, output = 15.0 }
[budget.day]
usd = 20.0
"#;
/// Sixteen by sixteen, of one colour.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAGUlEQVR4nGM8YaPBQApgIkn1qIZRDUNKAwDJRQFM191z5AAAAABJRU5ErkJggg==";

fn chromium() -> Result<&'static str, String> {
    let known = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    known.into_iter().find(|path| Path::new(path).exists()).ok_or_else(|| "no Chromium is installed".to_owned())
}

/// A script in `tests/peers/dashboard`.
fn browser_script(name: &str) -> Result<Command, String> {
    node()?;
    let chromium = chromium()?;
    let modules = npm("dashboard", &[PLAYWRIGHT.to_owned(), AXE.to_owned(), WS.to_owned()])?;
    let mut command = Command::new("node");
    command.arg(script(&format!("dashboard/{name}"))).env("PEER_MODULES", modules).env("PEER_CHROMIUM", chromium);
    if std::env::var_os("TILLERMAN_FULL").is_some() {
        command.env("PEER_FULL", "1");
    }
    Ok(command)
}

/// Runs the checks of one.
fn browser_checks(name: &str, checks_min: usize) {
    let checks = || {
        let mut command = browser_script(name)?;
        Stand::with("mock/alpha", CONFIG).checks_within(&mut command, checks_min, PATIENCE)
    };
    or_skip(name, checks());
}

#[test]
fn its_frame() {
    browser_checks("shell.mjs", 19);
}

#[test]
fn its_conversations() {
    browser_checks("chat.mjs", 18);
}

#[test]
fn its_numbers() {
    browser_checks("numbers.mjs", 15);
}

/// A model that sees pictures and costs something, tokens that may do little.
#[test]
fn what_people_do_with_it() {
    let checks = || {
        let mut command = browser_script("work.mjs")?;
        let own_config = Some(WORK_CONFIG.replace("TOKEN", TOKEN));
        let stand = Stand::at(Place { own_config, ..Place::with("") });
        command
            .env("PEER_READER", stand.token("reader", "read"))
            .env("PEER_TALKER", stand.token("talker", "read,chat"))
            .env("PEER_PICTURE", PICTURE);
        stand.checks_within(&mut command, 12, PATIENCE)?;
        // Pasted, dropped, read by a tool: each one reached the model whole.
        let pictures = |chat: &serde_json::Value| chat.to_string().matches("data:image/png;base64,").count();
        let asked = stand.asked();
        assert_eq!(asked.iter().map(pictures).max(), Some(2), "a message with both pictures");
        assert!(asked.iter().filter(|chat| chat.to_string().contains(PICTURE)).count() >= 2, "the bytes of the file");
        Ok(())
    };
    or_skip("work.mjs", checks());
}

#[test]
fn what_comes_from_outside_stays_text() {
    browser_checks("xss.mjs", 6);
}

#[test]
fn much_of_everything() {
    browser_checks("load.mjs", 4);
}

/// What of its modules needs no browser, in Node's own runner.
#[test]
fn its_modules() {
    let checks = || {
        node()?;
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dashboard/tests");
        let entries = std::fs::read_dir(&tests).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
        files.sort();
        let ended = run(Command::new("node").arg("--test").args(&files), PATIENCE)?;
        assert!(ended.well && files.len() >= 10, "{}\n{}", ended.said.join("\n"), ended.complaint);
        Ok(())
    };
    or_skip("its_modules", checks());
}

/// The runner of all checks in Node: one that takes too long is over, and nothing runs beside it.
#[test]
fn a_check_that_takes_too_long_runs_beside_no_other() {
    let checks = || {
        node()?;
        let text = format!(
            "import {{ runChecks }} from {:?};\n\
             const sleep = (ms) => new Promise((done) => setTimeout(done, ms));\n\
             let closed = () => console.log('closed');\n\
             await runChecks({{\n\
               async first() {{}},\n\
               async fails() {{ throw new Error('wrong'); }},\n\
               async long() {{ for (;;) {{ await sleep(10); console.log('long goes on'); }} }},\n\
               async beside() {{ console.log('begun'); await sleep(100); }},\n\
             }}, async () => closed(), 300, async () => console.log('after'));",
            script("runner.mjs").display().to_string()
        );
        let mut command = Command::new("node");
        command.args(["--input-type=module", "-e", &text]);
        let ended = run(&mut command, PATIENCE)?;
        let said: Vec<&str> = ended.said.iter().map(String::as_str).filter(|line| *line != "long goes on").collect();
        let expected = [
            "after",
            "ok first",
            "after",
            "FAIL fails: wrong",
            "FAIL long: still running after 300 ms",
            "FAIL beside: not begun, because the one before it does not end",
            "closed",
        ];
        assert_eq!((said, ended.well), (expected.to_vec(), false), "{}", ended.complaint);
        Ok(())
    };
    or_skip("runner.mjs", checks());
}
