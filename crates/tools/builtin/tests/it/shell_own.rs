//! Commands of the user's own: nobody judges them, and only their owner ends them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use builtin_tools::{Builtin, BuiltinOptions};
use tempfile::TempDir;
use tokio::sync::oneshot;
use vocab::{Later, SessionId, Shell, Tool, Toolbox};

use crate::shell_support::{alive, mark};

struct OwnShell {
    dir: TempDir,
    builtin: Builtin,
    tools: Vec<Arc<dyn Tool>>,
    told: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl OwnShell {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut BuiltinOptions)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        let exe = std::env::current_exe().unwrap();
        let mut options = BuiltinOptions { home: None, exe, ..BuiltinOptions::new(dir.path().join("spill")) };
        change(&mut options);
        let builtin = Builtin::new(options);
        let tools = builtin.open(&SessionId::new("s1"), &dir.path().join("ws")).unwrap();
        Self { dir, builtin, tools, told: Arc::default() }
    }

    fn workspace(&self) -> PathBuf {
        self.dir.path().join("ws").canonicalize().unwrap()
    }

    fn start(&self, command: &str, stop: Later<'static, ()>) -> Later<'static, Shell> {
        self.start_in(&self.workspace(), command, stop)
    }

    fn start_in(&self, workspace: &Path, command: &str, stop: Later<'static, ()>) -> Later<'static, Shell> {
        let told = self.told.clone();
        let told = Arc::new(move |text: &str| told.lock().unwrap().push((Instant::now(), text.to_owned())));
        self.builtin.shell(&SessionId::new("s1"), workspace, command, told, stop)
    }

    async fn run(&self, command: &str) -> Shell {
        self.start(command, Box::pin(std::future::pending())).await
    }
}

/// Waits until `done` while everything else goes on; fails after `limit`.
async fn within(limit: Duration, what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Something to stop a command with.
fn stopper() -> (oneshot::Sender<()>, Later<'static, ()>) {
    let (stop, stopped) = oneshot::channel();
    (stop, Box::pin(async move { drop(stopped.await) }))
}

#[tokio::test]
async fn both_outputs_come_in_order_and_a_failure_is_an_ordinary_end() {
    let desk = OwnShell::new();
    let done = desk.run("echo hi; echo err >&2; exit 3").await;
    assert_eq!((&*done.output, done.exit_code, done.cancelled, done.truncated), ("hi\nerr\n", Some(3), false, false));
    assert_eq!((done.total_lines, done.total_bytes), (3, 7), "the text behind the last line feed is a line too");
    let silent = desk.run("true").await;
    assert_eq!((&*silent.output, silent.exit_code, silent.total_lines, silent.total_bytes), ("", Some(0), 1, 0));
    let open = desk.run("printf 'a\nb'").await;
    assert_eq!((open.total_lines, open.total_bytes), (2, 3));
}

#[tokio::test]
async fn it_runs_in_the_workspace_without_our_secrets() {
    let home = std::env::var("HOME").expect("tests have a home");
    let desk = OwnShell::with(|options| options.secrets = [home].into_iter().collect());
    let done = desk.run("pwd; echo \"${HOME-none} $TERM\"").await;
    assert_eq!(&*done.output, format!("{}\nnone dumb\n", desk.workspace().display()));
}

#[tokio::test]
async fn a_command_that_dies_of_a_signal_exits_as_shells_say() {
    let done = OwnShell::new().run("kill -SEGV $$").await;
    assert_eq!((done.exit_code, done.cancelled), (Some(128 + 11), false));
}

#[tokio::test]
async fn long_output_is_shown_from_both_ends_and_counted_whole() {
    let desk = OwnShell::new();
    let done = desk.run("seq 1 100000").await;
    assert!(done.truncated && done.output.len() < 40_000, "{}", done.output.len());
    assert!(done.output.starts_with("1\n2\n") && done.output.ends_with("99999\n100000\n"));
    assert_eq!((done.total_lines, done.total_bytes), (100_001, 588_895));
    let spilled = done.spilled.expect("all of it is somewhere");
    assert_eq!(std::fs::read_to_string(&*spilled).unwrap().len(), 588_895);
}

#[tokio::test]
async fn many_short_lines_are_cut_too() {
    let desk = OwnShell::new();
    let done = desk.run("seq 1 5000").await;
    assert_eq!((done.truncated, done.total_lines, done.total_bytes), (true, 5001, 23_893));
    assert!(done.output.starts_with("1\n") && done.output.ends_with("\n5000\n"));
    assert_eq!(done.output.lines().count(), 2001, "and one that says what is missing");
    assert_eq!(std::fs::read_to_string(&*done.spilled.unwrap()).unwrap().len(), 23_893);
}

#[tokio::test]
async fn what_it_leaves_running_holds_neither_the_result_nor_is_it_lost() {
    let desk = OwnShell::new();
    let mark = mark();
    let start = Instant::now();
    let done = desk.run(&format!("sleep {mark} & echo started")).await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!((&*done.output, done.exit_code), ("started\n", Some(0)));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!alive(&mark).is_empty(), "a server that the user started goes on");
    let OwnShell { tools, dir, .. } = desk;
    drop(tools);
    within(Duration::from_secs(3), "it ended with the session", || alive(&mark).is_empty()).await;
    drop(dir);
}

#[tokio::test]
async fn a_stop_ends_it_with_the_output_so_far() {
    let desk = OwnShell::new();
    let mark = mark();
    let (stop, stopped) = stopper();
    let running = tokio::spawn(desk.start(&format!("echo one; sleep {mark}; echo two"), stopped));
    within(Duration::from_secs(5), "it runs", || !alive(&mark).is_empty()).await;
    let start = Instant::now();
    stop.send(()).unwrap();
    let done = running.await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!((&*done.output, done.exit_code, done.cancelled), ("one\n", None, true));
    assert_eq!((done.total_lines, done.total_bytes), (2, 4));
    within(Duration::from_secs(2), "nothing of it runs", || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn what_ignores_the_stop_is_answered_in_time_and_killed() {
    let desk = OwnShell::new();
    let mark = mark();
    let (stop, stopped) = stopper();
    let running = tokio::spawn(desk.start(&format!("trap '' TERM INT HUP; echo up; sleep {mark}"), stopped));
    within(Duration::from_secs(5), "it runs", || !alive(&mark).is_empty()).await;
    let start = Instant::now();
    stop.send(()).unwrap();
    let done = running.await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!((&*done.output, done.exit_code, done.cancelled), ("up\n", None, true));
    within(Duration::from_secs(3), "it was killed", || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn letting_go_of_it_ends_it() {
    let desk = OwnShell::new();
    let mark = mark();
    let running = tokio::spawn(desk.start(&format!("sleep {mark}"), Box::pin(std::future::pending())));
    within(Duration::from_secs(5), "it runs", || !alive(&mark).is_empty()).await;
    running.abort();
    let _ = running.await;
    within(Duration::from_secs(3), "it ended", || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn the_output_so_far_is_told_now_and_then() {
    let desk = OwnShell::new();
    let done = desk.run("for i in 1 2 3 4 5 6; do echo $i; sleep 0.06; done").await;
    assert_eq!(done.exit_code, Some(0));
    let told = desk.told.lock().unwrap();
    assert!((2..=6).contains(&told.len()), "{told:?}");
    assert!(told.iter().all(|(_, text)| done.output.starts_with(text)), "{told:?}");
    assert!(told.windows(2).all(|pair| pair[1].0 - pair[0].0 >= Duration::from_millis(90)), "{told:?}");
}

#[tokio::test]
async fn a_workspace_that_is_gone_is_said_and_not_a_panic() {
    let desk = OwnShell::new();
    let gone = desk.dir.path().join("gone");
    let done = desk.start_in(&gone, "echo hi", Box::pin(std::future::pending())).await;
    assert_eq!(done.exit_code, Some(126));
    assert!(done.output.contains("/gone: no such file or directory"), "{}", done.output);
}

#[tokio::test]
async fn many_run_at_once() {
    let desk = OwnShell::new();
    let start = Instant::now();
    let all =
        (0..6).map(|n| tokio::spawn(desk.start(&format!("sleep 0.5; echo {n}"), Box::pin(std::future::pending()))));
    for (n, running) in all.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(&*running.await.unwrap().output, format!("{n}\n"));
    }
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}
