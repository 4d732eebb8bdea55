//! Everything in any order: an engine that answers late, twice or nonsense, a controller that does not care. Nothing
//! panics, every line is of the schema (the harness checks), and a forced end always ends.

use std::sync::Arc;

use vocab::{AskEntry, Body, Event, Fault, FaultKind, Reply, Stop, Tag};
use wire::Parting;

use crate::talk::{
    Talk, busy, call_ended, call_started, cleared, ended, logged, opened, permission, renamed, slash, slash_reply,
    started, state, text, turn_reply,
};
use testkit::odd::Dice;

const LABELS: &[&str] = &["a", "b"];
const SESSIONS: &[&str] = &["s1", "s2", "s3"];
const TURNS: &[&str] = &["t1", "t2"];

fn line(dice: &mut Dice, multi: bool) -> String {
    let body = *dice.pick(&[
        r#""prompt","text":"x""#,
        r#""prompt","text":"""#,
        r#""slash","command":"clear""#,
        r#""slash","command":"exit""#,
        r#""interrupt""#,
        r#""permission_response","request_id":"r1","decision":"allow""#,
        r#""permission_response","request_id":"r2","decision":"deny""#,
        r#""open""#,
        r#""close""#,
        r#""nonsense""#,
    ]);
    let session = if multi { format!(r#","session":"{}""#, dice.pick(LABELS)) } else { String::new() };
    if dice.below(40) == 0 {
        let null = if multi { r#","session":null"# } else { "" };
        return format!(r#"{{"type":"shutdown"{null}}}"#);
    }
    format!(r#"{{"type":{body}{session}}}"#)
}

fn reply(dice: &mut Dice) -> Result<Reply, Fault> {
    let done = slash("rename", renamed("x"));
    match dice.below(8) {
        0 => Ok(Reply::Done),
        1 => Ok(opened(dice.pick::<&str>(SESSIONS))),
        2 => turn_reply(dice.pick::<&str>(TURNS)),
        3 => busy(),
        4 => Err(Fault::new(FaultKind::Internal, "no")),
        5 => Ok(Reply::Interrupted { was_running: false }),
        6 => slash_reply(cleared(dice.pick::<&str>(SESSIONS))),
        _ => {
            let exit = slash("exit", vocab::SlashOutcome::Exit);
            slash_reply(if dice.below(3) == 0 { exit } else { done })
        }
    }
}

fn event(dice: &mut Dice, tags: u64) -> Event {
    let turn = *dice.pick(TURNS);
    match dice.below(12) {
        0..4 => Event::Reply { tag: Tag(1 + dice.below(tags as usize + 1) as u64), result: reply(dice) },
        4 => logged(started(turn)),
        5 => logged(ended(turn, *dice.pick(&[Stop::EndTurn, Stop::Error]))),
        6 => logged(permission(dice.pick::<&str>(&["r1", "r2"]), turn)),
        7 => logged(Body::Ask(AskEntry::Closed { ask: "r1".into(), end: vocab::AskEnd::Withdrawn })),
        8 => logged(call_started(turn, "c", "bash", "{}")),
        9 => logged(call_ended(turn, "c", "x")),
        10 => {
            let mut now = state("s1");
            now.context_tokens = dice.below(128_000) as u64;
            Event::State(Arc::new(now))
        }
        _ if dice.below(20) == 0 => Event::Gone { fault: Fault::new(FaultKind::Store, "gone") },
        _ => text(turn, "x"),
    }
}

#[test]
fn no_order_of_events_panics_or_hangs() {
    let mut ends = 0;
    for seed in 0..1000 {
        let mut dice = Dice(seed);
        let multi = seed % 2 == 1;
        let mut talk = if multi { Talk::multi() } else { Talk::open() };
        let mut tags = 1;
        for _ in 0..40 {
            if talk.out.close.is_some() {
                break;
            }
            talk.on = dice.pick::<&str>(SESSIONS);
            match dice.below(20) {
                0..9 => tags += talk.hear_bytes(line(&mut dice, multi).as_bytes()).0 as u64,
                9..19 => tags += talk.told(event(&mut dice, tags)).0 as u64,
                _ if dice.below(8) == 0 => {
                    talk.part(*dice.pick(&[
                        Parting::Eof,
                        Parting::Deaf,
                        Parting::Asked { by: "sigterm" },
                        Parting::GraceOver,
                    ]));
                }
                _ => {}
            }
        }
        ends += usize::from(talk.out.close.is_some());
        // Twice: the first may still wait for a turn to be interrupted, the second waits for nothing.
        talk.part(Parting::GraceOver).part(Parting::GraceOver);
        assert!(talk.out.close.is_some(), "seed {seed}:\n{}", talk.log);
    }
    assert!(ends > 30, "only {ends} conversations ended by themselves");
}
