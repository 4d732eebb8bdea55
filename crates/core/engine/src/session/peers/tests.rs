//! Who hears what, and how a peer that reads the past joins the rest.

use std::task::Waker;

use vocab::{Body, Entry, NoteEntry};

use super::*;
use crate::outbox::Slow;

fn entry(seq: u64) -> Arc<Entry> {
    let body = Body::Note(NoteEntry::Recovered { text: "x".into() });
    Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None })
}

fn outbox(peer: u64) -> Arc<Outbox> {
    Outbox::new(PeerId(peer), Slow::Drop)
}

fn heard(outbox: &Outbox) -> Vec<Event> {
    let mut told = Vec::new();
    let _ = outbox.poll_drain(&mut Context::from_waker(Waker::noop()), &mut told);
    told.into_iter().map(|told| told.event).collect()
}

fn peers() -> Peers {
    Peers::new("s".into())
}

#[test]
fn extensions_hear_what_concerns_them() {
    let mut peers = peers();
    let (peer, all, quiet) = (outbox(1), outbox(2), outbox(3));
    peers.go_live(peer.clone());
    peers.set_extensions(vec![(all.clone(), true), (quiet.clone(), false)]);
    peers.tell_all(Event::Delta(Delta::Text { turn: "t".into(), delta: "x".into() }));
    peers.tell_all(Event::Queue(QueueEvent::Waiting(Vec::new())));
    peers.tell_all(Event::Settled);
    assert_eq!([&peer, &all, &quiet].map(|it| heard(it).len()), [3, 2, 1]);
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
    peers.name(PeerId(1), Some("editor".into()));
    peers.leave(PeerId(1));
    assert!(peers.is_empty() && peers.name_of(PeerId(1)).is_none());
}

#[test]
fn the_past_is_read_page_by_page_and_ends_where_the_present_begins() {
    let mut peers = peers();
    let reader = outbox(1);
    peers.catch_up(reader.clone(), 0);
    assert!(!peers.is_empty() && peers.live().is_empty());
    let read = |after: u64| -> Later<'static, Result<Page, Fault>> {
        let entries = (after + 1..=(after + 2).min(4)).map(entry).collect();
        Box::pin(std::future::ready(Ok(Page { entries, recovered: None })))
    };
    let mut step = || peers.poll_catching_up(3, read, &mut Context::from_waker(Waker::noop()));
    assert!(matches!(step(), Poll::Ready(steps) if matches!(steps[..], [CaughtUp::Further])));
    assert!(matches!(step(), Poll::Ready(steps) if matches!(steps[..], [CaughtUp::Further])));
    assert!(matches!(step(), Poll::Ready(steps) if matches!(steps[..], [CaughtUp::Whole(_, 3)])));
    assert!(step().is_pending());
    assert_eq!(heard(&reader).len(), 3, "entry 4 is not committed yet: it comes live");
}

#[test]
fn a_log_that_ends_too_early_or_cannot_be_read_loses_its_reader() {
    let empty = || -> Result<Page, Fault> { Ok(Page { entries: Vec::new(), recovered: None }) };
    for page in [empty(), Err(Fault::new(FaultKind::Store, "broken"))] {
        let mut peers = peers();
        peers.catch_up(outbox(1), 0);
        let read = |_: u64| -> Later<'static, Result<Page, Fault>> { Box::pin(std::future::ready(page.clone())) };
        let steps = peers.poll_catching_up(3, read, &mut Context::from_waker(Waker::noop()));
        assert!(matches!(steps, Poll::Ready(steps) if matches!(steps[..], [CaughtUp::Lost(..)])));
        assert!(peers.is_empty());
    }
}
