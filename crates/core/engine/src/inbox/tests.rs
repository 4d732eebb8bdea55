//! Which commands wait for room, and which overtake.

use std::future::poll_fn;
use std::sync::Arc;

use tokio::sync::mpsc;
use vocab::{
    Body, Command, Delivery, Entry, Event, Part, PeerId, Reply, SessionId, SessionVerb, Tag, Target, Told, UserFrom,
    Verb,
};

use super::Inbox;
use crate::outbox::{OUTBOX_BYTES_MAX, Outbox, Slow};

struct Bench {
    inbox: Inbox,
    outbox: Arc<Outbox>,
    commands: mpsc::Sender<Command>,
}

fn bench() -> Bench {
    let outbox = Outbox::new(PeerId(1), Slow::Wait);
    let (commands, inbox) = mpsc::channel(4096);
    Bench { inbox: Inbox::new(inbox, outbox.clone()), outbox, commands }
}

impl Bench {
    fn say(&self, tag: u64, verb: Verb) {
        self.commands.try_send(Command::of(Tag(tag), Target::Current, verb)).expect("there is room");
    }
    fn ask(&self, tag: u64) {
        self.say(tag, Verb::Session(SessionVerb::Read { after: 0 }));
    }
    fn prompt(&self, tag: u64) {
        self.say(tag, Verb::Session(SessionVerb::Prompt { parts: vec![Part::text("x")], delivery: Delivery::Queue }));
    }
    /// What is carried out now.
    async fn now(&mut self) -> Vec<u64> {
        let mut tags = Vec::new();
        while let Some(Some(command)) =
            at_once(tokio::task::unconstrained(poll_fn(|context| self.inbox.poll_next(context)))).await
        {
            tags.push(command.tag.0);
        }
        tags
    }
    fn answer(&self, tag: u64, bytes: usize) {
        let body = Body::User { turn: None, parts: vec![Part::text("x".repeat(bytes))], from: UserFrom::Prompt };
        let result = Ok(Reply::Entries(vec![Entry { seq: 1, parent: 0, at_ms: 0, body, by: None }.into()]));
        self.outbox.push(Told::new(SessionId::from("s"), Event::Reply { tag: Tag(tag), result }));
    }
    async fn read(&self) {
        let mut into = Vec::new();
        poll_fn(|context| self.outbox.poll_drain(context, &mut into)).await;
    }
}

/// What is there at once.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        it = future => Some(it),
        () = tokio::task::yield_now() => None,
    }
}

#[tokio::test]
async fn long_answers_are_asked_for_one_by_one_as_they_are_read() {
    let mut bench = bench();
    (1..=3).for_each(|tag| bench.ask(tag));
    assert_eq!(bench.now().await, [1]);
    bench.answer(1, OUTBOX_BYTES_MAX);
    assert_eq!(bench.now().await, [0; 0], "nobody has read the first answer");
    bench.read().await;
    assert_eq!(bench.now().await, [2]);
    bench.answer(2, 1);
    assert_eq!(bench.now().await, [3], "a short one leaves room for the next");
}

#[tokio::test]
async fn what_stops_something_passes_and_takes_along_what_was_said_before_it() {
    let mut bench = bench();
    bench.ask(1);
    assert_eq!(bench.now().await, [1]);
    bench.answer(1, OUTBOX_BYTES_MAX);
    bench.ask(2);
    bench.prompt(3);
    assert_eq!(bench.now().await, [0; 0]);
    bench.say(4, Verb::Session(SessionVerb::Interrupt { turn: None }));
    bench.prompt(5);
    assert_eq!(bench.now().await, [3, 4], "who prompts and then stops means that prompt");
    bench.read().await;
    assert_eq!(bench.now().await, [2, 5]);
}

#[tokio::test]
async fn whoever_sends_without_end_is_served_and_never_waited_for_for_ever() {
    let mut bench = bench();
    bench.answer(0, OUTBOX_BYTES_MAX);
    (0..super::HELD_MAX as u64 + 10).for_each(|tag| bench.ask(tag));
    assert_eq!(bench.now().await.len(), 10);
}

#[tokio::test]
async fn what_a_peer_wanted_before_it_left_is_done() {
    let mut bench = bench();
    bench.answer(0, OUTBOX_BYTES_MAX);
    bench.ask(1);
    bench.prompt(2);
    let (commands, _) = mpsc::channel(1);
    drop(std::mem::replace(&mut bench.commands, commands));
    let mut next = async || poll_fn(|context| bench.inbox.poll_next(context)).await.map(|command| command.tag.0);
    assert_eq!((next().await, next().await, next().await), (Some(1), Some(2), None));
}
