//! What whoever comes in in mid-turn is told, and what becomes of what nobody who came can see to.

use vocab::*;

use crate::continuing::{cut_off, faulty, on, on_with, resume};
use crate::recovery::life;
use crate::support::*;

/// Which entries of the open round were told, by name.
fn round(opened: &Opened) -> Vec<String> {
    let name = |entry: &std::sync::Arc<Entry>| match &entry.body {
        Body::Assistant { .. } => "reply".to_owned(),
        Body::Call(CallEntry::Started { call, .. }) => format!("{} started", call.id),
        Body::Call(CallEntry::Ended { result, .. }) => format!("{} ended", result.call),
        other => format!("{other:?}"),
    };
    opened.present.round.iter().map(name).collect()
}

#[test]
fn whoever_comes_in_is_told_of_the_reply_whose_calls_have_not_ended_also_after_a_restart() {
    let store = faulty();
    let wanted = ["reply", "c1 started", "c1 ended", "c2 started"];
    life(&store, async || {
        let stage = on(&store, [calls(&[("look", "{}"), ("change", "{}"), ("look", "{}")])], "ask1");
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.ask().await;
        let (_other, opened) = resume(&stage).await;
        assert_eq!(round(&opened), wanted);
    });
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask2");
        let (mut actor, opened) = resume(&stage).await;
        assert_eq!(round(&opened), wanted);
        let ask = actor.ask().await;
        crate::continuing::answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        actor.turn_end().await;
        let (_other, opened) = resume(&stage).await;
        assert!(opened.present.round.is_empty(), "it is over");
    });
}

#[test]
fn a_question_of_before_that_nobody_who_came_can_answer_is_a_no() {
    for unanswered in [Unanswered::Deny, Unanswered::Keep] {
        let store = faulty();
        cut_off(&store, [calls(&[("change", "{}")])], async |actor| {
            actor.ask().await;
        });
        life(&store, async || {
            let deny: fn(&mut Settings) = |settings| settings.unanswered = Some(Unanswered::Deny);
            let keep: fn(&mut Settings) = |settings| settings.unanswered = Some(Unanswered::Keep);
            let tune = if unanswered == Unanswered::Deny { deny } else { keep };
            let stage = on_with(&store, &Player::new([say("so be it")]), "ask2", tune);
            let mut actor = stage.actor();
            let abilities = Abilities { answers: false, ..Abilities::default() };
            actor.open(Open { abilities, ..Open::new(Which::Id("s1".into())) }).await.unwrap();
            if unanswered == Unanswered::Keep {
                let never = std::time::Duration::from_secs(100);
                assert!(tokio::time::timeout(never, actor.turn_end()).await.is_err(), "it waits for somebody else");
                return;
            }
            assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
            let log = log(&stage).await;
            assert!(log.contains("nobody can be asked in permission mode prompt"), "{log}");
        });
    }
}

#[test]
fn a_follow_up_whose_turn_never_came_goes_on_by_itself() {
    let store = faulty();
    cut_off(&store, [say("one")], async |actor| {
        actor.turn_end().await;
        let tag = actor.deliver("later", Delivery::FollowUp).await;
        actor.reply(tag).await.unwrap();
    });
    life(&store, async || {
        let stage = on(&store, [say("two")], "ask2");
        let (mut actor, _) = resume(&stage).await;
        actor.until(|event| *event == Event::Settled).await;
        let log = log(&stage).await;
        assert!(log.contains("later\n  assistant: two"), "{log}");
    });
}

#[test]
fn a_new_prompt_runs_behind_what_was_taken_in_before_a_restart() {
    for delivery in [Delivery::Enqueue, Delivery::FollowUp] {
        let store = faulty();
        cut_off(&store, [held("w")], async |actor| {
            text_of(actor, "w").await;
            for text in ["first", "second"] {
                let tag = actor.deliver(text, delivery).await;
                actor.reply(tag).await.unwrap();
            }
        });
        life(&store, async || {
            let close = |settings: &mut Settings| settings.on_restart = OnRestart::Close;
            let stage = on_with(&store, &Player::new([say("1"), say("2"), say("3")]), "ask2", close);
            let (mut actor, _) = resume(&stage).await;
            let tag = actor.deliver("new", Delivery::RejectIfBusy).await;
            assert!(matches!(actor.reply(tag).await, Ok(Reply::Waiting { .. })), "it is told that it waits");
            actor.until(|event| *event == Event::Settled).await;
            let log = log(&stage).await;
            let at = |text: &str| log.rfind(&format!(": {text}\n")).unwrap_or_else(|| panic!("no {text} in {log}"));
            assert!(at("first") < at("second") && at("second") < at("new"), "{delivery:?}: {log}");
        });
    }
}

#[test]
fn a_copy_of_a_session_that_nobody_is_on_leaves_its_turn_where_it_is() {
    let store = faulty();
    cut_off(&store, [held("w")], async |actor| {
        text_of(actor, "w").await;
    });
    life(&store, async || {
        let stage = on(&store, [say("never")], "ask2");
        let mut actor = stage.actor();
        let before = log(&stage).await;
        let found = ask_for(&mut actor, Verb::Directory(DirectoryVerb::Find(Which::Id("s1".into())))).await.unwrap();
        assert_eq!(found, Reply::Found("s1".into()));
        // Counted ids begin anew in each life, and the first one is taken.
        for taken in [true, false] {
            let tag = actor.send_to(Target::Session("s1".into()), Verb::Fork { at: None }).await;
            assert_eq!(matches!(actor.reply(tag).await, Ok(Reply::Forked { .. })), !taken);
        }
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        assert_eq!(log(&stage).await, before);
        assert!(stage.engine.live().is_empty(), "nothing was opened");
    });
}
