//! Who hears what, and how a peer that reads the past joins the rest.

use std::task::Waker;

use vocab::{Along, Attached, BranchEntry, Entry, Mode, ModelInfo, NoteEntry, Reply, State, Stop, TurnEnd, TurnEntry};

use super::*;
use crate::outbox::{DROP_BYTES_MAX, Slow};

fn entry(seq: u64) -> Arc<Entry> {
    let body = Body::Note(NoteEntry::Recovered { text: "x".into() });
    Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None })
}

fn outbox(peer: u64) -> Arc<Outbox> {
    Outbox::new(PeerId(peer), Slow::DropAt(DROP_BYTES_MAX))
}

fn heard(outbox: &Outbox) -> Vec<Event> {
    let mut told = Vec::new();
    let _ = outbox.poll_drain(&mut Context::from_waker(Waker::noop()), &mut told);
    told.into_iter().map(|told| told.event).collect()
}

fn peers() -> Peers {
    Peers::new("s".into(), 0)
}

fn facts(name: &str, gate: Gate, level: Level) -> PeerFacts {
    PeerFacts { name: Some(name.into()), level, gate, tool_names: vocab::names::CANONICAL }
}

#[test]
fn each_peer_hears_what_its_level_has() {
    let mut peers = peers();
    let levels = [Level::Summaries, Level::Entries, Level::Deltas];
    let outboxes = (1..).zip(levels).map(|(id, level)| {
        let outbox = outbox(id);
        peers.know(PeerId(id), facts("x", Gate::Ladder, level));
        peers.go_live(outbox.clone());
        outbox
    });
    let outboxes: Vec<_> = outboxes.collect();
    peers.tell_all(Event::Delta(Delta::Text { turn: "t".into(), delta: "x".into() }));
    peers.tell_all(Event::Logged(entry(1)));
    peers.tell_all(Event::Settled);
    assert_eq!(outboxes.iter().map(|it| heard(it).len()).collect::<Vec<_>>(), [1, 2, 3]);
    peers.set_level(PeerId(1), Level::Deltas);
    peers.tell_all(Event::Logged(entry(2)));
    assert_eq!(heard(&outboxes[0]).len(), 1, "it wants to hear more now");
}

#[test]
fn the_strictest_gate_holds_while_its_peer_is_here() {
    let mut peers = peers();
    assert!(peers.gate().is_none(), "nobody has said anything");
    let gates = [(1, Gate::Ladder), (2, Gate::Proxy), (3, Gate::Alone)];
    for (id, gate) in gates {
        peers.know(PeerId(id), facts("x", gate, Level::Deltas));
    }
    let mut held = Vec::new();
    for leaves in [2, 3, 1] {
        held.extend(peers.gate().map(|(gate, _)| gate));
        peers.leave(PeerId(leaves));
    }
    assert_eq!(held, [Gate::Proxy, Gate::Alone, Gate::Ladder]);
}

#[test]
fn extensions_hear_what_concerns_them() {
    let mut peers = peers();
    let (peer, all, quiet, deaf) = (outbox(1), outbox(2), outbox(3), outbox(4));
    peers.go_live(peer.clone());
    let extensions = [(&all, Hears::Flow), (&quiet, Hears::Log), (&deaf, Hears::Questions)];
    peers.set_extensions(extensions.map(|(outbox, hears)| (outbox.clone(), hears)).into());
    peers.tell_all(Event::Delta(Delta::Text { turn: "t".into(), delta: "x".into() }));
    peers.tell_all(Event::Queue(QueueEvent::Waiting(Vec::new())));
    peers.tell_all(Event::Settled);
    assert_eq!([&peer, &all, &quiet, &deaf].map(|it| heard(it).len()), [3, 2, 1, 0]);
    assert!(peers.is_here(PeerId(3)), "one can write to an extension");
    assert_eq!(peers.all().count(), 1, "but it is no peer");
}

#[test]
fn a_peer_that_comes_again_hears_everything_once() {
    let mut peers = peers();
    let (first, again) = (outbox(1), outbox(1));
    peers.go_live(first.clone());
    peers.go_live(again.clone());
    peers.tell_all(Event::Settled);
    assert_eq!((heard(&first).len(), heard(&again).len()), (0, 1));
    peers.know(PeerId(1), facts("editor", Gate::Ladder, Level::Deltas));
    peers.leave(PeerId(1));
    assert!(peers.is_empty() && peers.name_of(PeerId(1)).is_none());
}

fn opened() -> Opened {
    let model = ModelInfo::named("m", 100);
    let state = State {
        session: "s".into(),
        workspace: "/w".into(),
        model: "m".into(),
        mode: Mode::Plan,
        thinking: None,
        context_window: 100,
        max_tokens: 10,
        context_tokens: 0,
        gadgets: Vec::new(),
        title: None,
        turn: None,
        messages: 0,
        results: 0,
        last_seq: 3,
        model_info: Arc::new(model),
        todos: Arc::new([]),
        file: None,
        lane: vocab::LanePolicy::default(),
        lane_is_own: false,
        elevated_until_ms: None,
        model_called: None,
        works_for: None,
    };
    let (tools, notices, present) = Default::default();
    Opened { session: "s".into(), resumed: true, state, tools, notices, present }
}

/// Reads until it is over; two entries a page, and one that is not committed yet.
fn read_all(peers: &mut Peers, entry: impl Fn(u64) -> Arc<Entry>) -> CaughtUp {
    let read = |after: u64| -> Later<'static, Result<Page, Fault>> {
        let entries = (after + 1..=(after + 2).min(4)).map(&entry).collect();
        Box::pin(std::future::ready(Ok(Page { entries, recovered: None })))
    };
    loop {
        let steps = peers.poll_catching_up((3, 3), read, &mut Context::from_waker(Waker::noop()));
        let Poll::Ready(mut steps) = steps else { panic!("it does not go on") };
        match steps.pop().unwrap() {
            CaughtUp::Further => {}
            over => return over,
        }
    }
}

fn attached(event: &Event) -> &Attached {
    match event {
        Event::Reply { result: Ok(Reply::Opened(opened)), .. } => &opened.present.attached,
        other => panic!("not an opening: {other:?}"),
    }
}

#[test]
fn the_past_is_read_page_by_page_and_ends_where_the_present_begins() {
    for (after, want) in [(0, 3), (1, 2), (3, 0)] {
        let mut peers = peers();
        let reader = outbox(1);
        peers.catch_up(reader.clone(), Cursor::at(after), Tag(1), opened(), 0);
        assert!(!peers.is_empty() && !peers.is_anybody_live());
        let over = read_all(&mut peers, entry);
        assert!(matches!(over, CaughtUp::Whole(ReadAll { at: Position { seq: 3, offset: 0 }, .. })));
        let heard = heard(&reader);
        assert_eq!(*attached(&heard[0]), Attached::After(Position::at(after)));
        assert_eq!(heard.len(), 1 + want, "entry 4 is not committed yet: it comes live");
    }
}

#[test]
fn whoever_has_what_does_not_hold_any_more_starts_anew() {
    let moved = |seq: u64| {
        let body = if seq == 3 { Body::Branch(BranchEntry::Moved { to: 1 }) } else { entry(seq).body.clone() };
        Arc::new(Entry { body, ..(*entry(seq)).clone() })
    };
    let elsewhere = Cursor { along: Along::Branch, session: Some("other".into()), at: Position::at(99) };
    for (after, is_stale) in [(Cursor::at(2), true), (Cursor::at(3), false), (elsewhere, true)] {
        let mut peers = peers();
        let reader = outbox(1);
        peers.catch_up(reader.clone(), after, Tag(1), opened(), 0);
        read_all(&mut peers, moved);
        let heard = heard(&reader);
        assert_eq!(matches!(attached(&heard[0]), Attached::Anew { .. }), is_stale, "{heard:?}");
        assert_eq!(heard.len(), if is_stale { 4 } else { 1 }, "all of it, or nothing");
    }
}

#[test]
fn an_opening_is_answered_whatever_becomes_of_it() {
    let mut peers = peers();
    let reader = outbox(1);
    peers.catch_up(reader.clone(), Cursor::at(0), Tag(1), opened(), 0);
    peers.leave(PeerId(1));
    assert_eq!(heard(&reader).len(), 1);
}

#[test]
fn who_leaves_before_the_session_is_saved_was_not_let_into_it() {
    let leave = |peers: &mut Peers| peers.leave(PeerId(1));
    let end = |peers: &mut Peers| peers.answer_all(&Fault::new(FaultKind::ShuttingDown, "over"));
    for goes in [leave, end] {
        for is_saved in [false, true] {
            let (mut peers, reader) = (peers(), outbox(1));
            peers.catch_up(reader.clone(), Cursor::at(0), Tag(1), opened(), 1);
            if is_saved {
                peers.tell_all(Event::Logged(entry(1)));
            }
            goes(&mut peers);
            let heard = heard(&reader);
            assert!(
                matches!(&heard[..], [Event::Reply { tag: Tag(1), result }] if result.is_ok() == is_saved),
                "{heard:?}"
            );
        }
    }
}

#[test]
fn a_log_that_ends_too_early_or_cannot_be_read_loses_its_reader() {
    let empty = || -> Result<Page, Fault> { Ok(Page { entries: Vec::new(), recovered: None }) };
    for page in [empty(), Err(Fault::new(FaultKind::Store, "broken"))] {
        let (mut peers, reader) = (peers(), outbox(1));
        peers.catch_up(reader.clone(), Cursor::at(1), Tag(1), opened(), 0);
        peers.tell_one(&reader, Event::Reply { tag: Tag(2), result: Ok(Reply::Done) });
        let read = |_: u64| -> Later<'static, Result<Page, Fault>> { Box::pin(std::future::ready(page.clone())) };
        let steps = peers.poll_catching_up((3, 3), read, &mut Context::from_waker(Waker::noop()));
        assert!(matches!(steps, Poll::Ready(steps) if matches!(steps[..], [CaughtUp::Lost(..)])));
        assert!(peers.is_empty());
        let (failed, other) = (Tag(1), Tag(2));
        assert!(matches!(&heard(&reader)[..], [
            Event::Reply { tag, result: Err(_) },
            Event::Reply { tag: behind, result: Ok(_) },
        ] if (*tag, *behind) == (failed, other)));
    }
}

#[test]
fn nothing_is_told_before_the_opening_is_answered() {
    let (mut peers, reader) = (peers(), outbox(1));
    peers.catch_up(reader.clone(), Cursor::at(1), Tag(1), opened(), 0);
    peers.tell_one(&reader, Event::ShellProgress { tag: Tag(2), text: "on it".into() });
    peers.tell_one(&reader, Event::Reply { tag: Tag(2), result: Ok(Reply::Done) });
    assert!(heard(&reader).is_empty());
    read_all(&mut peers, entry);
    let heard = heard(&reader);
    assert_eq!(*attached(&heard[0]), Attached::After(Position::at(1)));
    assert!(matches!(heard[1], Event::Reply { tag: Tag(2), .. }), "and of what is only shown nothing: {heard:?}");
    assert_eq!(heard.len(), 4);
}

#[test]
fn a_turn_that_is_lost_meanwhile_is_told_at_the_end_unless_the_past_says_so() {
    let lost = |turn: &str| TurnEnd {
        turn: turn.into(),
        stop: Stop::Error,
        iterations: 0,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault: None,
    };
    let ended = |seq: u64| {
        let body = if seq == 3 { Body::Turn(TurnEntry::Ended(lost("t1"))) } else { entry(seq).body.clone() };
        Arc::new(Entry { body, ..(*entry(seq)).clone() })
    };
    for (turn, is_told) in [("t1", false), ("t2", true)] {
        let mut peers = peers();
        peers.catch_up(outbox(1), Cursor::at(1), Tag(1), opened(), 0);
        peers.tell_all(Event::TurnLost(lost(turn)));
        let CaughtUp::Whole(ReadAll { lost, .. }) = read_all(&mut peers, ended) else { panic!("it is not over") };
        assert_eq!(lost.is_some(), is_told, "{turn}");
    }
}
