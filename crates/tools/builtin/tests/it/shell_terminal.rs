//! Background processes on a pseudo-terminal: interactive programs, keys, sizes, and the leash around them.

use std::time::Duration;

use serde_json::json;
use vocab::parts_text;

use crate::shell_support::{ShellSession, alive, listed, mark, read_until, start_with, wait_for, write};

async fn on_terminal(session: &ShellSession, command: &str) -> String {
    start_with(session, command, json!({ "pty": true })).await
}

#[tokio::test]
async fn a_command_leads_a_session_with_the_terminal_as_its_own() {
    let session = ShellSession::new();
    let id = on_terminal(
        &session,
        "tty; ps -o pid=,sid=,tpgid= -p $$; exec < /dev/tty; test -t 0 -a -t 1 -a -t 2 && echo yes",
    )
    .await;
    let text = read_until(&session, &id, "exit code").await;
    assert!(text.starts_with("/dev/pts/") && text.contains("\nyes\r\n"), "{text}");
    let numbers: Vec<u32> = text.lines().nth(1).unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers.iter().all(|n| *n == numbers[0]), "leader and in front: {text}");
}

#[tokio::test]
async fn python_asks_echoes_and_answers() {
    let session = ShellSession::new();
    // Python takes interrupts as its parent did, and whoever runs this test in the background ignores them.
    let hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)";
    let id = on_terminal(&session, &format!("PYTHON_BASIC_REPL=1 python3 -i -q -c '{hears}'")).await;
    read_until(&session, &id, ">>> ").await;
    write(&session, json!({ "id": id, "input": "6 * 7\n" })).await;
    let text = read_until(&session, &id, "42").await;
    assert!(text.contains("6 * 7"), "what is typed is echoed: {text}");
    // Short sleeps, and a word of its own when they begin: Python forgets an interrupt that comes while it reads the
    // line, and overlooks one that comes just before a long sleep.
    let sleeps = "import time; print('as' + 'leep'); [time.sleep(0.05) for _ in iter(int, 1)]";
    write(&session, json!({ "id": id, "input": sleeps, "key": "enter" })).await;
    read_until(&session, &id, "asleep").await;
    write(&session, json!({ "id": id, "key": ["ctrl+c"] })).await;
    read_until(&session, &id, "KeyboardInterrupt\r\n>>> ").await;
    write(&session, json!({ "id": id, "input": "print('still', 'here')\n" })).await;
    // Between two lines the terminal is not Python's: an end of input that comes then is lost.
    read_until(&session, &id, "still here\r\n>>> ").await;
    write(&session, json!({ "id": id, "eof": true })).await;
    read_until(&session, &id, "exit code 0").await;
}

#[tokio::test]
async fn a_new_size_reaches_the_program_with_a_signal() {
    let session = ShellSession::new();
    let line =
        "trap 'echo changed $(stty size)' WINCH; stty -echo; stty size; while :; do read line && stty size; done";
    let id = start_with(&session, line, json!({ "pty": true, "cols": 91, "rows": 17 })).await;
    read_until(&session, &id, "17 91").await;
    let outcome = session.call("bash_resize", json!({ "id": id, "cols": 132, "rows": 50 })).await;
    assert_eq!(parts_text(&outcome.parts), format!("The terminal of {id} is 132x50 now."));
    // The trap of a shell runs when what it waits for is over; a line ends the wait.
    write(&session, json!({ "id": id, "input": "\n" })).await;
    let text = read_until(&session, &id, "changed 50 132").await;
    assert!(!text.contains("17 91"), "{text}");
    assert_eq!(listed(&session, &id).await["pty"], json!({ "cols": 132, "rows": 50 }));
    for (cols, rows) in [(0, 10), (501, 10), (10, 301)] {
        let outcome = session.call("bash_resize", json!({ "id": id, "cols": cols, "rows": rows })).await;
        assert!(outcome.is_error && parts_text(&outcome.parts).contains("whole number from 1 to"));
    }
    assert_eq!(listed(&session, &id).await["pty"], json!({ "cols": 132, "rows": 50 }));
}

#[tokio::test]
async fn a_process_without_a_terminal_has_no_size_and_no_keys() {
    let session = ShellSession::new();
    let id = start_with(&session, "cat", json!({})).await;
    for (tool, input) in [
        ("bash_resize", json!({ "id": id, "cols": 10, "rows": 10 })),
        ("bash_write", json!({ "id": id, "key": "ctrl+c" })),
    ] {
        let outcome = session.call(tool, input).await;
        let text = parts_text(&outcome.parts);
        assert!(outcome.is_error && text.contains("has no terminal") && text.contains("`pty`"), "{text}");
    }
    for (input, why) in [
        (json!({ "id": id, "key": "hyper+x" }), "there is no key `hyper+x`"),
        (json!({ "id": id, "keys": vec!["up"; 257] }), "at most 256 keys"),
        (json!({ "id": id }), "nothing to write"),
    ] {
        let outcome = session.call("bash_write", input).await;
        assert!(outcome.is_error && parts_text(&outcome.parts).contains(why), "{}", parts_text(&outcome.parts));
    }
}

#[tokio::test]
async fn a_full_screen_program_can_be_driven_with_keys() {
    // A little pager of our own: raw keyboard, arrow keys, redraw at a new size; no program needs to be installed.
    const PAGER: &str = r#"
import os, signal, sys, termios, tty
fd = 0
old = termios.tcgetattr(fd)
tty.setraw(fd)
at = 0
def draw(*_):
    size = os.get_terminal_size(fd)
    os.write(1, b"\x1b[2J\x1b[Hat %d of %dx%d;" % (at, size.columns, size.lines))
signal.signal(signal.SIGWINCH, draw)
draw()
while True:
    key = os.read(fd, 3)
    if key == b"\x1b[B": at += 1
    elif key == b"\x1b[A": at -= 1
    elif key == b"q": break
    draw()
termios.tcsetattr(fd, termios.TCSADRAIN, old)
"#;
    let session = ShellSession::new();
    std::fs::write(session.dir.path().join("ws/pager.py"), PAGER).unwrap();
    let id = on_terminal(&session, "echo $TERM; COLUMNS= LINES= python3 pager.py").await;
    let text = read_until(&session, &id, "at 0 of 80x24;").await;
    assert!(text.contains("xterm-256color") && text.contains("\x1b[2J"), "{text}");
    write(&session, json!({ "id": id, "key": "down" })).await;
    read_until(&session, &id, "at 1 of 80x24;").await;
    session.call("bash_resize", json!({ "id": id, "cols": 40, "rows": 10 })).await;
    read_until(&session, &id, "at 1 of 40x10;").await;
    write(&session, json!({ "id": id, "key": "up" })).await;
    read_until(&session, &id, "at 0 of 40x10;").await;
    write(&session, json!({ "id": id, "input": "q" })).await;
    read_until(&session, &id, "exit code 0").await;
}

#[tokio::test]
async fn every_byte_of_a_terminal_arrives_before_its_end() {
    let session = ShellSession::new();
    for _ in 0..20 {
        let id = on_terminal(&session, "stty -opost; seq 1 20000; printf end").await;
        let all = read_until(&session, &id, "exit code 0").await;
        let digits: String = all.split_whitespace().collect();
        assert!(digits.contains("1999819999") && digits.contains("20000end"), "{}", &all[all.len() - 300..]);
        assert!(!all.contains("dropped"));
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_says_so_on_its_terminal() {
    let session = ShellSession::new();
    let id = on_terminal(&session, "no_such_program_here").await;
    let text = read_until(&session, &id, "exit code 127").await;
    assert!(text.contains("not found"), "{text}");
}

#[tokio::test]
async fn killing_the_leash_frees_nobody_on_the_terminal() {
    let session = ShellSession::new();
    let mark = mark();
    let id =
        on_terminal(&session, &format!("trap '' HUP; set -m; sleep {mark} & sleep 0.1; kill -9 $PPID; sleep {mark}"))
            .await;
    read_until(&session, &id, "supervisor was killed").await;
    wait_for(Duration::from_secs(2), || alive(&mark).is_empty()).await;
}
