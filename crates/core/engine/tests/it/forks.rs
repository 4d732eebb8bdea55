//! New sessions from the beginning of others.

use std::sync::Arc;

use expect_test::expect;
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn fork(actor: &mut Actor, at: Option<u64>) -> Result<(SessionId, String), Fault> {
    match ask_for(actor, Verb::Fork { at }).await? {
        Reply::Forked { session, text } => Ok((session, text)),
        other => panic!("not a fork: {other:?}"),
    }
}

/// Writes a log that another process left behind.
async fn left_behind(stage: &Stage, id: &str, bodies: Vec<Body>) {
    let workspace = stage.workspace().to_owned();
    let new = NewSession {
        id: id.into(),
        workspace: workspace.clone(),
        model: "m1".into(),
        mode: Mode::Prompt,
        at_ms: 1,
        parent: None,
    };
    let lease = stage.store.create(new);
    let opened = Body::Opened { workspace, model: "m1".into(), mode: Mode::Prompt, forked_from: None, child_of: None };
    let entry = |(at, body): (usize, Body)| {
        let seq = at as u64 + 1;
        let parent = match body {
            Body::Branch(BranchEntry::Moved { to }) => to,
            _ => seq - 1,
        };
        Arc::new(Entry { seq, parent, at_ms: 1, body, by: None })
    };
    let entries = [opened].into_iter().chain(bodies).enumerate().map(entry).collect();
    stage.store.append(&lease, entries, Durability::Now).await.unwrap();
    stage.store.release(lease).await.unwrap();
}

fn started(turn: &str) -> Body {
    Body::Turn(TurnEntry::Started { turn: turn.into() })
}
fn user(turn: &str, text: &str, from: UserFrom) -> Body {
    Body::User { turn: Some(turn.into()), parts: vec![Part::text(text)], from }
}
fn assistant(turn: &str, text: &str, calls: &[&str]) -> Body {
    let call = |id: &&str| {
        Block::Call(Call {
            id: (*id).into(),
            name: "look".into(),
            input: CallInput::Object(Json::empty_object()),
            seal: None,
        })
    };
    let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolUse };
    let message = AssistantMessage {
        blocks: [Block::Text(text.into())].into_iter().chain(calls.iter().map(call)).collect(),
        model: "m1".into(),
        usage: Usage { input: 10, output: 2, ..Usage::default() },
        end: MessageEnd::Finished(finish),
    };
    Body::Assistant { turn: Some(turn.into()), message }
}
fn result(turn: &str, id: &str) -> Body {
    Body::Call(CallEntry::Ended {
        turn: turn.into(),
        result: engine::synthetic(id.into(), "look".into(), CallEnd::Ran, "seen"),
    })
}
fn ended(turn: &str) -> Body {
    Body::Turn(TurnEntry::Ended(TurnEnd {
        turn: turn.into(),
        stop: Stop::EndTurn,
        iterations: 0,
        usage: Usage { input: 10, output: 2, ..Usage::default() },
        mutations: Vec::new(),
        fault: None,
    }))
}
fn todos(content: &str) -> Body {
    let task = TodoTask { id: "1".into(), content: content.into(), status: TodoStatus::Pending, notes: None };
    Body::Setting(SettingEntry::Todos {
        phases: vec![TodoPhase { id: "p".into(), name: "n".into(), tasks: vec![task] }],
    })
}
fn shell(command: &str) -> Body {
    Body::Shell(ShellEntry::Ended(Shell {
        command: command.into(),
        output: "out".into(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        total_lines: 1,
        total_bytes: 3,
        spilled: None,
        aside: false,
    }))
}

async fn on(stage: &Stage, id: &str) -> Actor {
    let mut actor = stage.actor();
    actor.open(Open::new(Which::Id(id.into()))).await.unwrap();
    actor
}

#[tokio::test(start_paused = true)]
async fn what_is_saved_and_not_open_can_be_forked() {
    let stage = stage(&Player::new([]));
    left_behind(&stage, "old", vec![started("t1"), user("t1", "a", UserFrom::Prompt), ended("t1")]).await;
    let mut actor = stage.actor();
    for (id, forks) in [("old", true), ("never", false)] {
        let tag = actor.send_to(Target::Session(id.into()), Verb::Fork { at: None }).await;
        match actor.reply(tag).await {
            Ok(Reply::Forked { session, .. }) if forks => {
                assert!(log_of(&stage, session.as_str()).await.contains("user (Prompt): a"));
            }
            Err(fault) if !forks => assert_eq!(fault.kind, FaultKind::UnknownSession),
            other => panic!("{id}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_of_everything_has_the_whole_active_path_and_goes_on() {
    let player = Player::new([say("one"), say("two"), say("three")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    for text in ["a", "b"] {
        actor.prompt(text).await;
        actor.turn_end().await;
        actor.forget();
    }
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Shell { command: "ls".into(), aside: false })).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Todos(Vec::new())))).await.unwrap();
    let before = log(&stage).await;
    let (copy, text) = fork(&mut actor, None).await.unwrap();
    assert_eq!((text.as_str(), &log(&stage).await), ("", &before));
    expect![[r#"
        opened m1 danger-full-access, from s1 at 14
        t1 started
          user (Prompt): a
          assistant: one (Stop)
        t1 ended: EndTurn, 0 rounds
        shell "ls" Some(0) "started\nls\n"
        todos 0 open 0
    "#]]
    .assert_eq(&log_of(&stage, copy.as_str()).await);
    let mut there = on(&stage, copy.as_str()).await;
    there.prompt("c").await;
    there.turn_end().await;
    assert!(
        player.last_sent().starts_with("m1: user a | assistant one | user The user ran `ls`"),
        "{}",
        player.last_sent()
    );
}

#[tokio::test(start_paused = true)]
async fn a_fork_in_the_middle_of_a_turn_closes_it() {
    let player = Player::new([calls(&[("look", "{}"), ("look", r#"{"slow":1}"#)]), say("done"), say("there")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { call, .. }) if call.as_str() == "c2")).await;
    let (copy, _) = fork(&mut actor, None).await.unwrap();
    expect![[r#"
        opened m1 danger-full-access, from s1 at 8
        t1 started
          user (Prompt): go
          assistant:  [c1 look] [c2 look] (ToolUse)
          c1 look starts
          c1 Ran: done
          c2 look starts
          c2 Interrupted: interrupted
        t1 ended: Interrupted, 0 rounds
    "#]]
    .assert_eq(&log_of(&stage, copy.as_str()).await);
    let tag = actor.deliver("and then", Delivery::Steer).await;
    actor.reply(tag).await.unwrap();
    actor.turn_end().await;
    // At the steering message: its turn is cut behind the results.
    let entries = stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries;
    let steer =
        entries.iter().find(|entry| matches!(entry.body, Body::User { from: UserFrom::Steer, .. })).unwrap().seq;
    let (copy, text) = fork(&mut actor, Some(steer)).await.unwrap();
    assert_eq!(text, "and then");
    let copied = log_of(&stage, copy.as_str()).await;
    assert!(copied.ends_with("  c2 Ran: done\nt1 ended: Interrupted, 0 rounds\n"), "{copied}");
    let mut there = on(&stage, copy.as_str()).await;
    there.prompt("on").await;
    there.turn_end().await;
    assert!(!log_of(&stage, copy.as_str()).await.contains("recovered"), "there was nothing to repair");
    assert!(player.last_sent().ends_with("result c2 Ran done | user on"), "{}", player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn what_points_at_entries_points_at_the_copies() {
    let stage = stage(&Player::new([]));
    let compaction = Compaction {
        reason: CompactReason::Manual,
        summary: "before".into(),
        first_kept: 9,
        tokens_before: 1,
        tokens_after: 1,
        messages_before: 4,
        messages_after: 3,
        usage: Usage::default(),
        model: "".into(),
    };
    let bodies = vec![
        Body::Note(NoteEntry::Imported {
            file: None,
            names: vec![(4, "aaaa".into()), (5, "bbbb".into()), (99, "gone".into())],
            raws: Vec::new(),
        }), // 2
        started("t1"),                                                           // 3
        user("t1", "one", UserFrom::Prompt),                                     // 4
        assistant("t1", "eins", &[]),                                            // 5
        ended("t1"),                                                             // 6
        Body::Setting(SettingEntry::Title { title: "a title".into() }),          // 7
        started("t2"),                                                           // 8
        user("t2", "two", UserFrom::Prompt),                                     // 9
        assistant("t2", "zwei", &[]),                                            // 10
        ended("t2"),                                                             // 11
        Body::Branch(BranchEntry::Compacted(compaction)),                        // 12
        Body::Note(NoteEntry::Label { target: 4, label: Some("start".into()) }), // 13
        Body::Note(NoteEntry::Label { target: 7, label: Some("of a title, which is not copied".into()) }), // 14
        Body::Branch(BranchEntry::Summary { from: Some(3), summary: "elsewhere".into() }), // 15
        shell("ls"),                                                             // 16
        todos("left"),                                                           // 17
        started("t3"),                                                           // 18
        user("t3", "three", UserFrom::Prompt),                                   // 19
    ];
    left_behind(&stage, "old", bodies).await;
    let mut actor = on(&stage, "old").await;
    let (copy, text) = fork(&mut actor, Some(19)).await.unwrap();
    assert_eq!(text, "three");
    expect![[r#"
        opened m1 prompt, from old at 19
        imported 2 names
        t1 started
          user (Prompt): one
          assistant: eins (Stop)
        t1 ended: EndTurn, 0 rounds
        t2 started
          user (Prompt): two
          assistant: zwei (Stop)
        t2 ended: EndTurn, 0 rounds
          compacted (Manual), 4 -> 3
        label 4 Some("start")
        branch summary "elsewhere"
        shell "ls" Some(0) "out"
        todos 1 open 1
    "#]]
    .assert_eq(&log_of(&stage, copy.as_str()).await);
    let entries = stage.store.read(&copy, 0, usize::MAX).await.unwrap().entries;
    assert_eq!(
        entries[1].body,
        Body::Note(NoteEntry::Imported {
            file: None,
            names: vec![(4, "aaaa".into()), (5, "bbbb".into())],
            raws: Vec::new()
        })
    );
    assert!(
        matches!(&entries[10].body, Body::Branch(BranchEntry::Compacted(it)) if it.first_kept == 8),
        "the second prompt is 8 there"
    );
    assert!(matches!(&entries[12].body, Body::Branch(BranchEntry::Summary { from: None, .. })));
    let mut there = on(&stage, copy.as_str()).await;
    let Ok(Reply::Inspected(seen)) = ask_for(&mut there, Verb::Session(SessionVerb::Inspect)).await else {
        panic!("not seen")
    };
    assert_eq!(
        (seen.state.todos.len(), seen.state.messages),
        (1, 5),
        "summary, two, zwei, the other branch, the command"
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_an_undo_cut_in_two_is_closed_in_the_copy() {
    let stage = stage(&Player::new([]));
    let bodies = vec![
        started("t1"),                              // 2
        user("t1", "one", UserFrom::Prompt),        // 3
        assistant("t1", "", &["c1"]),               // 4
        result("t1", "c1"),                         // 5
        user("t1", "steered", UserFrom::Steer),     // 6
        assistant("t1", "eins", &[]),               // 7
        ended("t1"),                                // 8
        Body::Branch(BranchEntry::Moved { to: 5 }), // 9
        started("t2"),                              // 10
        user("t2", "two", UserFrom::Prompt),        // 11
        assistant("t2", "zwei", &[]),               // 12
        ended("t2"),                                // 13
    ];
    left_behind(&stage, "old", bodies).await;
    let mut actor = on(&stage, "old").await;
    let (copy, _) = fork(&mut actor, None).await.unwrap();
    expect![[r#"
        opened m1 prompt, from old at 14
        t1 started
          user (Prompt): one
          assistant:  [c1 look] (ToolUse)
          c1 Ran: seen
        t1 ended: Interrupted, 0 rounds
        t2 started
          user (Prompt): two
          assistant: zwei (Stop)
        t2 ended: EndTurn, 0 rounds
    "#]]
    .assert_eq(&log_of(&stage, copy.as_str()).await);
}

#[tokio::test(start_paused = true)]
async fn nothing_can_be_forked_where_nothing_is() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    assert_eq!(fork(&mut actor, None).await.unwrap_err().kind, FaultKind::NothingToDo);
    assert_eq!(fork(&mut actor, Some(3)).await.unwrap_err().kind, FaultKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_what_was_asked_for_before_it() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    actor.send(Verb::Session(SessionVerb::Set(Change::Todos(Vec::new())))).await;
    let (copy, _) = fork(&mut actor, None).await.unwrap();
    assert!(log_of(&stage, copy.as_str()).await.contains("todos 0"), "the list was set before, answered or not");
}

#[tokio::test(start_paused = true)]
async fn a_saved_session_is_forked_without_being_open() {
    let stage = stage(&Player::new([]));
    let turn = vec![started("t9"), user("t9", "hello", UserFrom::Prompt), assistant("t9", "hi", &[]), ended("t9")];
    left_behind(&stage, "old", turn).await;
    let mut actor = stage.actor();
    let tag = actor.send_to(Target::Session("old".into()), Verb::Fork { at: None }).await;
    let Ok(Reply::Forked { session, .. }) = actor.reply(tag).await else { panic!("not forked") };
    assert!(log_of(&stage, session.as_str()).await.starts_with("opened m1 prompt, from old at 6\nt9 started\n"));
    assert!(stage.engine.live().is_empty(), "nothing was opened for it");
    let tag = actor.send_to(Target::Session("never".into()), Verb::Fork { at: None }).await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::UnknownSession);
    let tag = actor.send_to(Target::Session("old".into()), Verb::Fork { at: Some(99) }).await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn a_fork_of_somebody_elses_session_has_what_was_asked_for_before() {
    let stage = stage(&Player::new([say("hi")]));
    let mut other = stage.open().await;
    other.prompt("hello").await;
    other.turn_end().await;
    let mut actor = stage.actor();
    let tag = actor.send_to(Target::Session("s1".into()), Verb::Fork { at: None }).await;
    let Ok(Reply::Forked { session, .. }) = actor.reply(tag).await else { panic!("not forked") };
    assert!(log_of(&stage, session.as_str()).await.contains("assistant: hi"));
}
