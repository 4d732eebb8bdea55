//! What fits into a box, what is merged, and what is dropped.

use std::task::{Context, Poll, Waker};

use vocab::{
    Body, Delta, Entry, Event, ExtensionEvent, Notice, NoticeLevel, Part, PeerId, QueueEvent, Reply, SessionId, Tag,
    Told, UserFrom,
};

use super::{MERGE_FROM, OUTBOX_BYTES_MAX, Outbox, SHOWN_BYTES_MAX, Slow, WATCH_BYTES_MAX};

fn told(event: Event) -> Told {
    Told::new(SessionId::from("s"), event)
}

fn entries(bytes: usize) -> Reply {
    let body = Body::User { turn: None, parts: vec![Part::text("x".repeat(bytes))], from: UserFrom::Prompt };
    Reply::Entries(vec![Entry { seq: 1, parent: 0, at_ms: 0, body, by: None }.into()])
}

fn reply(tag: u64, reply: Reply) -> Told {
    told(Event::Reply { tag: Tag(tag), result: Ok(reply) })
}

fn may(outbox: &Outbox, costly: Option<u64>) -> bool {
    outbox.poll_turn(&mut Context::from_waker(Waker::noop()), costly.map(Tag)).is_ready()
}

fn drained(outbox: &Outbox) -> Vec<Told> {
    let mut into = Vec::new();
    let polled = outbox.poll_drain(&mut Context::from_waker(Waker::noop()), &mut into);
    assert!(matches!(polled, Poll::Ready(true) | Poll::Pending));
    into
}

#[test]
fn a_long_answer_fills_it_and_one_is_on_its_way_at_a_time() {
    let outbox = Outbox::new(PeerId(1), Slow::Wait);
    assert!(may(&outbox, Some(1)));
    assert!(!may(&outbox, Some(2)), "the first has no answer yet");
    assert!(may(&outbox, None), "a short one may go");
    outbox.push(reply(7, Reply::Done));
    assert!(!may(&outbox, Some(2)), "that was somebody else's");
    outbox.push(reply(1, entries(OUTBOX_BYTES_MAX)));
    assert!(!may(&outbox, Some(2)) && !may(&outbox, None), "nobody has read it");
    assert_eq!(drained(&outbox).len(), 2);
    assert!(may(&outbox, Some(2)));
    outbox.push(told(Event::Gone { fault: vocab::Fault::new(vocab::FaultKind::Internal, "gone") }));
    assert!(may(&outbox, Some(3)), "its session cannot answer any more");
    outbox.close();
    assert!(may(&outbox, Some(4)), "nobody waits for a peer that is gone");
}

#[test]
fn what_is_kept_back_takes_room_until_it_is_told_and_read() {
    let outbox = Outbox::new(PeerId(1), Slow::Wait);
    let long = reply(1, entries(OUTBOX_BYTES_MAX));
    outbox.keep_back(&long.event);
    assert!(drained(&outbox).is_empty() && !may(&outbox, None));
    outbox.admit(&long.event);
    outbox.push(long);
    assert!(!may(&outbox, None), "it is told, and nobody has read it");
    assert_eq!(drained(&outbox).len(), 1);
    assert!(may(&outbox, None));
}

#[test]
fn what_is_only_shown_is_left_out_where_nobody_reads_and_counted() {
    let outbox = Outbox::new(PeerId(1), Slow::Wait);
    let say = || {
        let text = "n".repeat(1000).into();
        told(Event::Extension(ExtensionEvent::Notice(Notice::Say { text, level: NoticeLevel::Info })))
    };
    (0..10_000).for_each(|_| outbox.push(say()));
    outbox.push(told(Event::Extension(ExtensionEvent::Notice(Notice::Exit))));
    let seen = drained(&outbox);
    assert!(seen.len() < 2 * SHOWN_BYTES_MAX / 1000, "{}", seen.len());
    assert!(
        seen.iter().any(|told| matches!(told.event, Event::Extension(ExtensionEvent::Notice(Notice::Exit)))),
        "that one means something"
    );
    let Some(Event::Extension(ExtensionEvent::Trouble { text, .. })) = seen.last().map(|told| &told.event) else {
        panic!("{:?}", seen.last())
    };
    let left_out = 10_000 - (seen.len() - 2);
    assert!(text.starts_with(&format!("{left_out} of ")), "{text}");
    outbox.push(say());
    assert_eq!(drained(&outbox).len(), 1, "who reads is shown everything");
}

#[test]
fn of_two_lists_of_what_waits_a_reader_that_lags_gets_the_newer_one() {
    let outbox = Outbox::new(PeerId(1), Slow::Wait);
    outbox.push(told(Event::Queue(QueueEvent::Waiting(Vec::new()))));
    outbox.push(told(Event::Queue(QueueEvent::Waiting(Vec::new()))));
    outbox.push(reply(1, entries(OUTBOX_BYTES_MAX)));
    (0..100).for_each(|_| outbox.push(told(Event::Queue(QueueEvent::Waiting(Vec::new())))));
    let queues =
        drained(&outbox).iter().filter(|told| matches!(told.event, Event::Queue(QueueEvent::Waiting(_)))).count();
    assert_eq!(queues, 2, "the first from before it lagged, and the newest");
}

#[test]
fn a_joined_delta_has_bytes_of_its_own() {
    let outbox = Outbox::new(PeerId(1), Slow::Wait);
    for seq in 0..=MERGE_FROM as u64 {
        let event = Event::Delta(Delta::Text { turn: "t".into(), delta: "x".into() });
        let at = vocab::Position { seq, offset: 0 };
        outbox.push(Told { at, shared: Some(vocab::EncodedOnce::default()), ..told(event) });
    }
    let mut into = Vec::new();
    let _ = outbox.poll_drain(&mut Context::from_waker(Waker::noop()), &mut into);
    let last = into.last().unwrap();
    assert_eq!((into.len(), last.at.seq, last.shared.is_none()), (MERGE_FROM, MERGE_FROM as u64, true));
    assert!(into[0].shared.is_some());
}

#[test]
fn what_a_peer_watches_takes_no_room_from_what_it_is_on() {
    let outbox = Outbox::new(PeerId(1), Slow::Wait);
    let has_room = || outbox.poll_room(&mut Context::from_waker(Waker::noop())).is_ready();
    let delta = || Event::Delta(Delta::Text { turn: "t".into(), delta: "x".repeat(1000).into() });
    let watched = |number: usize| Told::new(SessionId::from(format!("w{number}")), delta());
    let many = 2 * WATCH_BYTES_MAX / 1000;
    (0..many).for_each(|number| outbox.push_watched(watched(number)));
    assert!(has_room() && may(&outbox, None), "its own session and its commands go on");
    (0..OUTBOX_BYTES_MAX / 1000).for_each(|_| outbox.push(told(delta())));
    assert!(!has_room() && !may(&outbox, None), "what it is on fills it");
    let seen = drained(&outbox);
    let is_own = |told: &&Told| told.session == SessionId::from("s");
    assert_eq!(
        seen.iter()
            .filter(is_own)
            .map(|told| match &told.event {
                Event::Delta(Delta::Text { delta, .. }) => delta.len(),
                other => panic!("{other:?}"),
            })
            .sum::<usize>(),
        OUTBOX_BYTES_MAX / 1000 * 1000
    );
    let is_missed = |told: &&Told| matches!(told.event, Event::Watch(vocab::WatchEvent::Missed));
    let (missed, told) = (seen.iter().filter(is_missed).count(), seen.len());
    assert!(missed > 0 && told < many + 10, "beyond its bound the watched is left out: {missed} of {told}");
    assert!(has_room());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_may_be_dropped_is_waited_for_while_it_reads_and_no_longer() {
    let outbox = Outbox::new(PeerId(1), Slow::DropAt(4 * OUTBOX_BYTES_MAX));
    let mut context = Context::from_waker(Waker::noop());
    outbox.push(reply(1, entries(OUTBOX_BYTES_MAX)));
    assert!(outbox.poll_room(&mut context).is_pending(), "it may just be slower than a model");
    drained(&outbox);
    assert!(outbox.poll_room(&mut context).is_ready());
    outbox.push(reply(1, entries(OUTBOX_BYTES_MAX)));
    assert!(outbox.poll_room(&mut context).is_pending());
    tokio::time::advance(super::HELD).await;
    assert!(outbox.poll_room(&mut context).is_ready(), "it takes nothing");
    assert!(outbox.poll_room_to_read(&mut context).is_pending(), "the past waits for every reader");
    assert!(outbox.is_open());
    (0..4).for_each(|_| outbox.push(reply(1, entries(OUTBOX_BYTES_MAX))));
    assert!(!outbox.is_open(), "it has a cursor to come back with");
}

#[test]
fn one_long_event_drops_nobody_who_reads() {
    let most = 1000;
    let outbox = Outbox::new(PeerId(1), Slow::DropAt(most));
    outbox.push(reply(1, entries(10)));
    outbox.push(reply(1, entries(10 * most)));
    assert!(outbox.is_open(), "what waited before it was short");
    assert_eq!(drained(&outbox).len(), 2);
    outbox.push(reply(1, entries(10 * most)));
    outbox.push(reply(1, entries(10)));
    assert!(!outbox.is_open(), "it takes nothing");
    assert!(matches!(&drained(&outbox).last().unwrap().event, Event::Gone { fault } if fault.is_too_slow()));
}

#[test]
fn whoever_waits_for_room_hears_at_once_that_the_peer_was_let_go() {
    struct Heard(std::sync::atomic::AtomicBool);
    impl std::task::Wake for Heard {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let outbox = Outbox::new(PeerId(1), Slow::DropAt(2 * OUTBOX_BYTES_MAX));
    outbox.push(reply(1, entries(OUTBOX_BYTES_MAX)));
    let heard = std::sync::Arc::new(Heard(Default::default()));
    let waker = Waker::from(heard.clone());
    assert!(outbox.poll_room_to_read(&mut Context::from_waker(&waker)).is_pending());
    outbox.push(reply(2, entries(2 * OUTBOX_BYTES_MAX)));
    outbox.push(reply(3, entries(1)));
    assert!(!outbox.is_open() && heard.0.load(std::sync::atomic::Ordering::Relaxed));
}

#[test]
fn a_page_of_the_past_drops_nobody() {
    let most = 1000;
    let outbox = Outbox::new(PeerId(1), Slow::DropAt(most));
    (0..5).for_each(|_| outbox.push_past(reply(1, entries(most))));
    outbox.push(reply(1, entries(10)));
    assert!(outbox.is_open(), "what is new waits behind it");
    outbox.push(reply(1, entries(most)));
    outbox.push(reply(1, entries(10)));
    assert!(!outbox.is_open(), "what is new was not taken");
}

#[test]
fn a_long_event_and_the_short_ones_behind_it_drop_nobody() {
    let most = 2 * 1024 * 1024;
    let outbox = Outbox::new(PeerId(1), Slow::DropAt(most));
    for tag in 0..3 {
        outbox.push(reply(tag, entries(2 * most)));
        outbox.push(reply(tag, Reply::Done));
    }
    assert!(outbox.is_open());
    outbox.push(reply(3, entries(2 * most)));
    outbox.push(reply(4, Reply::Done));
    assert!(!outbox.is_open(), "who takes none of four long ones does not read");
    let outbox = Outbox::new(PeerId(1), Slow::DropAt(most));
    for tag in 0..20 {
        outbox.push(reply(tag, entries(2 * most)));
        assert_eq!(drained(&outbox).len(), 1);
    }
    assert!(outbox.is_open());
}
