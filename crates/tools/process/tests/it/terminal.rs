//! A command on a leash and on a terminal.

use std::path::Path;
use std::sync::Arc;

use process::leash::{LeashRequest, Report, Spare, TerminalSize};
use tokio::io::AsyncReadExt;

#[tokio::test]
async fn a_shell_that_takes_no_terminal_by_itself_has_one_all_the_same() {
    // bash makes the terminal its own when nobody did; the plain shell, which is used where there is no bash, does not.
    let request = LeashRequest {
        command: "exec < /dev/tty && echo yes".into(),
        cwd: process::leash::directory(Path::new("/")).unwrap(),
        env: vec![("PATH".into(), "/none".into())],
        pids_max: 100,
        terminal: Some(TerminalSize { cols: 80, rows: 24 }),
    };
    let leash = Spare::start(&std::env::current_exe().unwrap()).unwrap();
    let mut held = leash.hold(&request, false).await.unwrap();
    let mut text = Vec::new();
    // The end of a terminal is an error, after everything was read.
    let _ = held.output.read_to_end(&mut text).await;
    assert_eq!(String::from_utf8(text).unwrap(), "yes\r\n");
}

#[tokio::test]
async fn what_cannot_be_started_says_so_on_its_terminal() {
    let request = LeashRequest {
        command: "true".into(),
        cwd: Arc::new(std::fs::File::open("/dev/null").unwrap().into()),
        env: Vec::new(),
        pids_max: 100,
        terminal: Some(TerminalSize { cols: 80, rows: 24 }),
    };
    let leash = Spare::start(&std::env::current_exe().unwrap()).unwrap();
    let mut held = leash.hold(&request, false).await.unwrap();
    let mut text = Vec::new();
    let _ = held.output.read_to_end(&mut text).await;
    assert_eq!(String::from_utf8(text).unwrap(), "cannot be started: Not a directory (os error 20)\r\n");
    let reports = [held.control.report().await, held.control.report().await];
    assert!(
        matches!(reports, [Some(Report::Started(_)), Some(Report::Exited { code: 126, left: false })]),
        "{reports:?}"
    );
}
