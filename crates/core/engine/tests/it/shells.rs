//! Commands of users beside the conversation.

use std::sync::Arc;

use expect_test::expect;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

fn shell(command: &str) -> Verb {
    Verb::Session(SessionVerb::Shell { command: command.into(), aside: false })
}

async fn ran(actor: &mut Actor, tag: Tag) -> Shell {
    match actor.reply(tag).await {
        Ok(Reply::Shell(shell)) => *shell,
        other => panic!("no shell: {other:?}"),
    }
}

/// The order in which these tags were answered.
fn answered(actor: &Actor) -> Vec<u64> {
    let tags = actor.told.iter().filter_map(|told| match &told.event {
        Event::Reply { tag, .. } => Some(tag.0),
        _ => None,
    });
    tags.collect()
}

#[tokio::test(start_paused = true)]
async fn a_command_is_logged_before_it_is_told_and_the_model_reads_it_with_the_next_prompt() {
    let player = Player::new([]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    let tag = actor.send(shell("wait")).await;
    let done = ran(&mut actor, tag).await;
    assert_eq!((&*done.output, done.exit_code, done.cancelled, done.aside), ("started\nwait\n", Some(0), false, false));
    let events: Vec<&Event> = actor.told.iter().map(|told| &told.event).collect();
    let logged = events.iter().position(
        |event| matches!(event, Event::Logged(entry) if matches!(entry.body, Body::Shell(ShellEntry::Ended(_)))),
    );
    let replied = events.iter().position(|event| matches!(event, Event::Reply { tag: got, .. } if *got == tag));
    assert!(logged.unwrap() < replied.unwrap());
    let progress = events.iter().position(
        |event| matches!(event, Event::ShellProgress { tag: got, text } if *got == tag && text == "started\n"),
    );
    assert!(progress.unwrap() < replied.unwrap());
    actor.prompt("what is there?").await;
    actor.turn_end().await;
    expect![[r#"
        opened m1 danger-full-access
        shell "wait" starts
        shell "wait" Some(0) "started\nwait\n"
        t1 started
          user (Prompt): what is there?
          assistant: ok (Stop)
        t1 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    expect![[r#"
        m1: user The user ran `wait` in the workspace.
        ```
        started
        wait
        ``` | user what is there?"#]]
    .assert_eq(&player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_aside_is_in_the_log_and_not_for_the_model() {
    let player = Player::new([]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    let done = ask_for(&mut actor, Verb::Session(SessionVerb::Shell { command: "ls".into(), aside: true })).await;
    assert!(matches!(done, Ok(Reply::Shell(shell)) if shell.aside));
    actor.prompt("hi").await;
    actor.turn_end().await;
    assert!(log(&stage).await.contains("shell \"ls\""));
    assert_eq!(player.last_sent(), "m1: user hi");
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_for_a_command_that_runs() {
    let player = Player::new([say("hello")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    let slow = actor.send(shell("wait")).await;
    let prompt = actor.prompt("hi").await;
    actor.turn_end().await;
    let look = actor.send(Verb::Session(SessionVerb::Inspect)).await;
    actor.reply(look).await.unwrap();
    assert_eq!(answered(&actor), [1, prompt.0, look.0], "the turn and the look did not wait");
    ran(&mut actor, slow).await;
    assert_eq!(answered(&actor), [1, prompt.0, look.0, slow.0]);
}

/// The calls of a reply, a command that ends while the second runs, and the history before and after a reload.
#[tokio::test(start_paused = true)]
async fn no_command_stands_between_a_call_and_its_result_and_a_reload_sees_the_same() {
    let plays = [calls(&[("look", "{}"), ("look", r#"{"slow":1}"#), ("look", "{}")]), say("done"), say("again")];
    let player = Player::new(plays);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { call, .. }) if call.as_str() == "c2")).await;
    let tag = actor.send(shell("ls")).await;
    ran(&mut actor, tag).await;
    let tag = actor.deliver("and look at that", Delivery::Steer).await;
    actor.reply(tag).await.unwrap();
    // Reads the log in the middle of the batch: the new history must hold the command back too.
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Inspect)).await.unwrap();
    actor.turn_end().await;
    let middle =
        "| result c1 Ran done | result c2 Ran done | result c3 Ran done | user The user ran `ls` in the workspace.";
    let live = player.last_sent();
    assert!(live.contains(middle) && live.ends_with("| user and look at that"), "{live}");
    actor.forget();
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m1".into())))).await.unwrap();
    actor.prompt("more").await;
    actor.turn_end().await;
    let reloaded = player.last_sent();
    assert_eq!(
        reloaded.strip_prefix("m1: "),
        Some(format!("{} | assistant done | user more", live.strip_prefix("m2: ").unwrap()).as_str())
    );
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_while_the_model_speaks_keeps_its_place_over_a_reload() {
    let player = Player::new([vec![text("one "), Step::Wait(5000), text("two"), done(Finish::Stop)]]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "one ").await;
    let tag = actor.send(shell("ls")).await;
    ran(&mut actor, tag).await;
    actor.turn_end().await;
    actor.forget();
    actor.prompt("next").await;
    actor.turn_end().await;
    let live = player.last_sent();
    actor.forget();
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    actor.prompt("next").await;
    actor.turn_end().await;
    assert_eq!(player.last_sent(), live, "undo reads the log anew");
    assert!(live.contains("The user ran `ls`"), "{live}");
}

/// The command ends while the summary is made, or before the job has even read what it is to summarise.
#[tokio::test(start_paused = true)]
async fn a_command_that_ends_during_a_compaction_is_neither_lost_nor_there_twice() {
    for reads_ms in [0, 2500] {
        let summary = vec![Step::Wait(3000), text("summary"), done(Finish::Stop)];
        let player = Player::new([say(&"a".repeat(900)), say("b"), summary, say("c")]);
        let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
        let kept = store.clone();
        let stage = stage_with(&player, |options| {
            options.store = kept;
            options.tune = Box::new(|settings| settings.compaction.auto = false);
        });
        let mut actor = stage.open().await;
        for text in ["one", "two"] {
            actor.prompt(text).await;
            actor.turn_end().await;
            actor.forget();
        }
        store.slow_reads(reads_ms);
        let compact = actor.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
        let tag = actor.send(shell("wait")).await;
        ran(&mut actor, tag).await;
        let compacted = actor.reply(compact).await;
        assert!(matches!(&compacted, Ok(Reply::Compacted(done)) if done.messages_after == 4), "{compacted:?}");
        store.slow_reads(0);
        actor.prompt("three").await;
        actor.turn_end().await;
        let live = player.last_sent();
        assert!(live.contains("compacted):\n\nsummary | user two | assistant b | user The user ran `wait`"), "{live}");
        assert_eq!(live.matches("The user ran").count(), 1, "{live}");
        actor.forget();
        ask_for(&mut actor, slash("undo", "")).await.unwrap();
        actor.prompt("three").await;
        actor.turn_end().await;
        assert_eq!(player.last_sent(), live);
    }
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_every_one_with_what_it_said_so_far() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    let hanging = [actor.send(shell("hang")).await, actor.send(shell("hang")).await];
    actor.settle().await;
    let abort = actor.send(Verb::Session(SessionVerb::AbortShell)).await;
    assert_eq!(actor.reply(abort).await, Ok(Reply::Done));
    for tag in hanging {
        let done = ran(&mut actor, tag).await;
        assert_eq!((&*done.output, done.exit_code, done.cancelled), ("started\n", None, true));
    }
    assert_eq!(
        ask_for(&mut actor, Verb::Session(SessionVerb::AbortShell)).await,
        Ok(Reply::Done),
        "with nothing to abort it does nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_hear_the_abort_is_let_go_in_time() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    let deaf = actor.send(shell("deaf")).await;
    actor.settle().await;
    let start = tokio::time::Instant::now();
    actor.send(Verb::Session(SessionVerb::AbortShell)).await;
    let done = ran(&mut actor, deaf).await;
    assert_eq!((&*done.output, done.exit_code, done.cancelled, done.total_lines), ("started\n", None, true, 2));
    assert!(start.elapsed().as_secs() < 5);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_leaves_commands_alone() {
    let stage = stage(&Player::new([held("x")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "x").await;
    let tag = actor.send(shell("wait")).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    assert!(!ran(&mut actor, tag).await.cancelled);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_run_is_refused_and_said() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    for empty in ["", " \n"] {
        assert_eq!(ask_for(&mut actor, shell(empty)).await.unwrap_err().kind, FaultKind::Invalid);
    }
    assert_eq!(ask_for(&mut actor, shell("bang")).await.unwrap_err().kind, FaultKind::Internal);
    let hanging: Vec<Tag> = {
        let mut tags = Vec::new();
        for _ in 0..8 {
            tags.push(actor.send(shell("hang")).await);
        }
        tags
    };
    let refused = ask_for(&mut actor, shell("one more")).await.unwrap_err();
    assert_eq!((refused.kind, &*refused.message), (FaultKind::QueueFull, "8 commands are running already"));
    actor.send(Verb::Session(SessionVerb::AbortShell)).await;
    for tag in hanging {
        ran(&mut actor, tag).await;
    }
    assert!(ask_for(&mut actor, shell("one more")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn progress_is_for_the_one_who_started_it() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    let mut other = stage.actor();
    other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    ask_for(&mut actor, shell("wait")).await.unwrap();
    other.settle().await;
    let heard = |actor: &Actor| actor.told.iter().any(|told| matches!(told.event, Event::ShellProgress { .. }));
    assert!(heard(&actor) && !heard(&other));
    assert!(other.told.iter().any(
        |told| matches!(&told.event, Event::Logged(entry) if matches!(entry.body, Body::Shell(ShellEntry::Ended(_))))
    ));
}

#[tokio::test(start_paused = true)]
async fn who_leaves_takes_their_commands_along_and_nobody_elses() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    let mut other = stage.actor();
    other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    let mine = actor.send(shell("hang")).await;
    let theirs = other.send(shell("wait")).await;
    actor.settle().await;
    actor.send(Verb::Leave).await;
    assert!(ran(&mut actor, mine).await.cancelled);
    assert!(!ran(&mut other, theirs).await.cancelled);
    let log = log(&stage).await;
    assert!(log.contains("shell \"hang\" None \"started\\n\""), "what it did is known all the same: {log}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_ends_its_commands_and_logs_them() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    let tag = actor.send(shell("hang")).await;
    actor.settle().await;
    stage.engine.shutdown().await;
    assert!(ran(&mut actor, tag).await.cancelled);
    assert!(log(&stage).await.contains("shell \"hang\" None"));
    assert!(stage.engine.live().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_dropped_leaves_no_command_behind() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    actor.send(shell("hang")).await;
    actor.settle().await;
    drop(actor);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(stage.engine.live().is_empty(), "the session would live as long as the command");
    assert!(log(&stage).await.contains("shell \"hang\" None"));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_cannot_be_written_is_not_told_as_one() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([]), |options| options.store = kept);
    let mut actor = stage.open().await;
    // That it begins is the first write, what came of it the second.
    store.fail_append(2);
    assert_eq!(ask_for(&mut actor, shell("ls")).await.unwrap_err().kind, FaultKind::Store);
    assert!(ask_for(&mut actor, shell("ls")).await.is_ok());
    let log = log(&stage).await;
    assert_eq!((log.matches("\"ls\" Some(0)").count(), log.matches("\"ls\" None").count()), (1, 1), "{log}");
}

#[tokio::test(start_paused = true)]
async fn undo_takes_back_the_prompt_and_not_the_command_before_it() {
    let player = Player::new([]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    ask_for(&mut actor, shell("before")).await.unwrap();
    actor.prompt("one").await;
    actor.turn_end().await;
    ask_for(&mut actor, shell("after")).await.unwrap();
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    actor.forget();
    actor.prompt("two").await;
    actor.turn_end().await;
    let sent = player.last_sent();
    assert!(sent.contains("`before`") && !sent.contains("`after`") && !sent.contains("user one"), "{sent}");
}
