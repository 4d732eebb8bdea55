//! The pump's core, driven by hand: what it waits for after what happened.

use std::sync::{Arc, Mutex};

use vocab::{Event, Fault, FaultKind, SessionId, Target, Verb};
use wire::OwnRequest;

use super::*;

/// Says and does what the test's frames tell it to.
#[derive(Default)]
struct Puppet {
    heard: Arc<Mutex<Vec<String>>>,
    not_listening: bool,
    due_ms: Option<u64>,
    /// Closes when it is told to part for this reason.
    closes_at: Option<Parting>,
}

#[derive(Debug)]
struct Ring(u8);

impl OwnCall for Ring {
    type Answer = u8;
}

impl Puppet {
    fn note(&self, what: String) {
        self.heard.lock().expect("no test panics while it holds this").push(what);
    }
}

impl Dialect for Puppet {
    type Own = Ring;

    fn greet(&mut self, out: &mut Out<Ring>) {
        out.frames.line(|bytes| bytes.extend_from_slice(b"hello"));
    }
    fn hear(&mut self, frame: Frame<'_>, out: &mut Out<Ring>) {
        let Frame::Whole(line) = frame else { return self.note("too long".to_owned()) };
        let line = String::from_utf8_lossy(line);
        self.note(format!("heard {line}"));
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("say", count) => {
                let count: usize = count.parse().expect("a number");
                out.frames.line(|bytes| bytes.resize(bytes.len() + count, b'x'));
            }
            ("leave", _) => out.commands.push(Command::of(Tag(1), Target::Current, Verb::Leave)),
            ("ring", tag) => {
                out.own.push(OwnRequest { tag: Tag(tag.parse().expect("a number")), call: Ring(7) });
            }
            ("exit", _) => out.ending = true,
            ("deny", _) => out.close_with(Close::new(CloseCode::PolicyViolation, "no")),
            ("flood", _) => {
                out.close_when_answered = Some(Close::new(CloseCode::PolicyViolation, "too much"));
            }
            ("close", _) => {
                out.frames.line(|bytes| bytes.extend_from_slice(b"bye"));
                out.close_with(Close::normal());
            }
            ("note", text) => out.notes.push(text.to_owned()),
            ("wake", at) => self.due_ms = at.parse().ok(),
            ("mute", _) => self.not_listening = true,
            _ => {}
        }
    }
    fn tell(&mut self, told: &Told, out: &mut Out<Ring>) {
        if let Event::Gone { fault } = &told.event {
            out.frames.line(|bytes| bytes.extend_from_slice(fault.message.as_bytes()));
        }
        self.not_listening = false;
    }
    fn own_answered(&mut self, tag: Tag, answer: u8, _: &mut Out<Ring>) {
        self.note(format!("answered {} {answer}", tag.0));
    }
    fn pause(&mut self, _: &mut Out<Ring>) {
        self.note("pause".to_owned());
    }
    fn part(&mut self, why: Parting, out: &mut Out<Ring>) {
        self.note(format!("part {why:?}"));
        if self.closes_at == Some(why) {
            out.close_with(Close::normal());
        }
    }
    fn listening(&self) -> bool {
        !self.not_listening
    }
    fn due(&self) -> Option<u64> {
        self.due_ms
    }
    fn tick(&mut self, now_ms: u64, out: &mut Out<Ring>) {
        assert_eq!(now_ms, out.now_ms);
        self.note(format!("tick {now_ms}"));
        self.due_ms = self.due_ms.filter(|due| *due == 77);
    }
}

struct CoreBench {
    core: Core<Puppet>,
    heard: Arc<Mutex<Vec<String>>>,
}

const GRACE_MS: u64 = 30_000;

impl CoreBench {
    fn of(framing: Framing, puppet: Puppet) -> Self {
        let heard = puppet.heard.clone();
        let allowance = Allowance { framing, frame_bytes_max: 64, grace_ms: GRACE_MS, on_lost: OnLost::Part };
        let mut core = Core::new(puppet, allowance, None);
        core.greet(0);
        Self { core, heard }
    }
    /// After its greeting was written.
    fn new() -> Self {
        let mut bench = Self::of(Framing::Stream, Puppet::default());
        bench.written();
        bench
    }
    fn hear(&mut self, line: &str, now_ms: u64) -> &mut Self {
        self.core.arrived(Arrived::Bytes(format!("{line}\n").as_bytes()), now_ms);
        self
    }
    fn eof(&mut self, now_ms: u64) -> &mut Self {
        self.core.arrived(Arrived::End, now_ms);
        self
    }
    fn event(&mut self, text: &str, more: bool) -> &mut Self {
        let event = Event::Gone { fault: Fault::new(FaultKind::Internal, text) };
        let told = Told::new(SessionId::new("s1"), event);
        self.core.told(std::iter::once(told), more, 0);
        self
    }
    /// Everything unsent is written.
    fn written(&mut self) -> String {
        let text = String::from_utf8_lossy(self.core.unsent().bytes()).into_owned();
        self.core.wrote(text.len());
        text
    }
    fn heard(&mut self) -> String {
        std::mem::take(&mut *self.heard.lock().expect("no test panics while it holds this")).join(" | ")
    }
    /// What is waited for, in letters: read, write, events, deafness, and until when.
    fn awaited(&self) -> String {
        let Some(it) = self.core.awaited() else { return "over".to_owned() };
        let flags = [(it.read, 'r'), (it.write, 'w'), (it.events, 'e'), (it.deaf, 'd')];
        let mut shown: String = flags.iter().filter(|(on, _)| *on).map(|(_, letter)| letter).collect();
        if let Some(ms) = it.until_ms {
            shown += &format!(" {ms}");
        }
        shown
    }
}

#[test]
fn frames_are_heard_and_what_they_want_comes_out() {
    let mut bench = CoreBench::of(Framing::Stream, Puppet::default());
    assert_eq!((bench.awaited().as_str(), bench.written().as_str()), ("rwed", "hello\n"));
    assert_eq!(bench.awaited(), "red");
    bench.core.arrived(Arrived::Bytes(b"leave\nno"), 1);
    bench.core.arrived(Arrived::Bytes(b"te something\n"), 2);
    assert_eq!(bench.heard(), "heard leave | heard note something");
    assert_eq!(bench.core.commands().count(), 1);
    assert_eq!(bench.core.notes().collect::<Vec<_>>(), ["something"]);
    bench.hear(&"x".repeat(65), 3);
    assert_eq!(bench.heard(), "too long");
}

#[test]
fn messages_are_frames_and_frames_are_messages() {
    let mut bench = CoreBench::of(Framing::Messages, Puppet::default());
    bench.core.arrived(Arrived::Message(b"say 3"), 0);
    bench.core.arrived(Arrived::Message(&[b'x'; 65]), 0);
    assert_eq!(bench.heard(), "heard say 3 | too long");
    let mut sent = Vec::new();
    let first = |bench: &CoreBench| bench.core.unsent().frames().next().map(<[u8]>::to_vec);
    while let Some(frame) = first(&bench) {
        bench.core.wrote(frame.len());
        // More is said while something is still unsent: borders stay where they were.
        if sent.len() == 1 {
            bench.core.arrived(Arrived::Message(b"say 1"), 0);
        }
        sent.push(String::from_utf8(frame).expect("text"));
    }
    assert_eq!(sent, ["hello\n", "xxx\n", "x\n"]);
    assert_eq!(bench.awaited(), "red");
}

#[test]
fn events_wait_while_too_much_is_unwritten_and_input_does_not() {
    let mut bench = CoreBench::new();
    bench.event(&"x".repeat(UNSENT_BYTES_HIGH - 1), true);
    assert_eq!(bench.awaited(), "rwd");
    bench.core.wrote(1);
    assert_eq!(bench.awaited(), "rwed");
    bench.written();
    assert_eq!(bench.awaited(), "red");
}

#[test]
fn a_peer_that_sends_without_reading_waits() {
    let mut bench = CoreBench::new();
    bench.hear(&format!("say {}", REFUSED_BYTES_MAX - 2), 0);
    assert_eq!(bench.awaited(), "rwd");
    bench.hear("say 0", 0);
    assert_eq!(bench.awaited(), "wd");
    bench.core.wrote(100);
    assert_eq!(bench.awaited(), "wd", "some of it is not all");
    bench.written();
    assert_eq!(bench.awaited(), "red");
}

#[test]
fn frames_stay_in_the_pipe_while_the_dialect_does_not_listen() {
    let mut bench = CoreBench::new();
    bench.hear("mute", 0);
    assert_eq!(bench.awaited(), "ed");
    bench.event("x", true).written();
    assert_eq!(bench.awaited(), "red");
}

#[test]
fn the_end_of_input_completes_the_last_line_and_starts_the_grace() {
    let mut bench = CoreBench::new();
    bench.core.arrived(Arrived::Bytes(b"last"), 100);
    bench.eof(200);
    assert_eq!(bench.heard(), "heard last | part Eof");
    assert_eq!(bench.awaited(), "ed 30200");
}

#[test]
fn when_the_grace_is_over_the_dialect_is_told_and_then_nothing_is_waited_for() {
    let mut bench = CoreBench::new();
    bench.eof(0).core.time(GRACE_MS);
    assert_eq!(bench.heard(), "part Eof | part GraceOver");
    assert_eq!(bench.awaited(), "ed 35000");
    bench.event("unread", true).core.time(GRACE_MS + HARD_END_MS);
    assert_eq!(bench.awaited(), "over");
    assert_eq!(bench.core.close().code, CloseCode::GoingAway);
}

#[test]
fn who_reads_no_more_is_not_written_to() {
    let mut bench = CoreBench::new();
    bench.event("unread", true).core.gone_deaf(10);
    assert_eq!(bench.heard(), "pause | part Deaf");
    assert_eq!(bench.awaited(), "re 30010");
    bench.event("more", true);
    assert_eq!((bench.core.unsent().len(), bench.awaited().as_str()), (0, "re 30010"));
    bench.core.gone_deaf(20);
    assert_eq!(bench.heard(), "pause", "told once");
}

#[test]
fn with_both_ends_closed_there_is_no_grace() {
    for deaf_first in [true, false] {
        let mut bench = CoreBench::new();
        if deaf_first {
            bench.core.gone_deaf(50);
            bench.eof(60);
        } else {
            bench.eof(50).core.gone_deaf(60);
        }
        assert_eq!(bench.awaited(), "e 60");
        bench.core.time(60);
        assert!(bench.heard().ends_with("part GraceOver"));
        assert_eq!(bench.awaited(), "e 5060");
    }
}

#[test]
fn an_exit_starts_the_grace_once() {
    let mut bench = CoreBench::new();
    bench.hear("exit", 5).hear("exit", 9);
    assert_eq!(bench.awaited(), "red 30005");
    bench.core.asked_to_end("sigterm", 11);
    assert_eq!(bench.awaited(), "red 30005");
    assert!(bench.heard().ends_with("part Asked { by: \"sigterm\" }"));
}

#[test]
fn a_close_writes_what_is_left_but_not_for_ever() {
    let mut bench = CoreBench::new();
    bench.hear("close", 1000);
    assert_eq!(bench.awaited(), "wd 31000");
    bench.core.wrote(1);
    assert_eq!(bench.awaited(), "wd 31000");
    assert_eq!((bench.written().as_str(), bench.awaited().as_str()), ("ye\n", "over"));
    assert_eq!(bench.core.close(), Close::normal());

    let mut stuck = CoreBench::new();
    stuck.hear("close", 1000).core.time(31_000);
    assert_eq!((stuck.heard().as_str(), stuck.awaited().as_str()), ("heard close", "over"));
}

#[test]
fn what_went_wrong_is_not_taken_back_by_an_orderly_end() {
    let mut bench = CoreBench::new();
    bench.core.arrived(Arrived::Bytes(b"deny\nclose\n"), 0);
    assert_eq!((bench.core.close().code, crate::exit::code(bench.core.close().code)), (CloseCode::PolicyViolation, 2));
}

#[test]
fn a_dialect_may_close_when_it_is_told_to_part() {
    let puppet = Puppet { closes_at: Some(Parting::GraceOver), ..Puppet::default() };
    let mut bench = CoreBench::of(Framing::Stream, puppet);
    bench.written();
    bench.eof(0).core.time(GRACE_MS);
    assert_eq!(bench.awaited(), "over");
    assert_eq!(bench.core.close(), Close::normal());
}

#[test]
fn no_more_events_is_the_end_of_it() {
    let mut bench = CoreBench::new();
    bench.event("last", false);
    assert_eq!(bench.awaited(), "wd");
    assert_eq!((bench.written().as_str(), bench.awaited().as_str()), ("last\n", "over"));
}

#[test]
fn a_tick_comes_when_it_is_due_and_not_twice_at_one_time() {
    let mut bench = CoreBench::new();
    bench.hear("wake 50", 1);
    assert_eq!(bench.awaited(), "red 50");
    bench.eof(2);
    assert_eq!(bench.awaited(), "ed 50", "what comes first");
    bench.core.time(50);
    assert!(bench.heard().ends_with("tick 50"));
    assert_eq!(bench.awaited(), "ed 30002");

    let mut stubborn = CoreBench::new();
    stubborn.hear("wake 77", 1).core.time(90);
    assert_eq!(stubborn.awaited(), "red 91", "a time that does not move on is no busy loop");
    stubborn.hear("close", 95);
    assert_eq!(stubborn.awaited(), "wd 30095", "whoever has closed waits for no tick");
}

#[test]
fn own_calls_go_out_and_their_answers_come_back() {
    let mut bench = CoreBench::new();
    bench.hear("ring 4", 0);
    let calls: Vec<(Tag, u8)> = bench.core.own_calls().map(|request| (request.tag, request.call.0)).collect();
    assert_eq!(calls, [(Tag(4), 7)]);
    bench.core.own_answered(Tag(4), 9, 1);
    assert_eq!(bench.heard(), "heard ring 4 | answered 4 9 | pause");
    for tag in 0..OWN_CALLS_MAX {
        bench.hear(&format!("ring {tag}"), 2);
        assert_eq!(bench.core.own_calls().count(), 1);
    }
    assert_eq!(bench.awaited(), "ed", "no more is heard while too many are under way");
    bench.core.own_answered(Tag(0), 1, 3);
    assert_eq!(bench.awaited(), "red");
}

#[test]
fn who_leaves_goes_with_the_answers_to_what_it_said() {
    let leaving = || {
        let mut bench = CoreBench::new();
        bench.core.allowance.on_lost = OnLost::Leave;
        bench
    };
    let answered = |bench: &mut CoreBench, now_ms| {
        let event = Event::Reply { tag: Tag(1), result: Err(Fault::new(FaultKind::Invalid, "no")) };
        bench.core.told(std::iter::once(Told::new(SessionId::new("s1"), event)), true, now_ms);
    };
    let mut silent = leaving();
    assert_eq!(silent.eof(5).awaited(), "over", "nothing is owed");
    let mut one = leaving();
    assert_eq!(one.hear("leave", 1).core.commands().count(), 1);
    assert_eq!(one.eof(5).awaited(), "ed 2005", "one answer is");
    answered(&mut one, 6);
    assert_eq!((one.awaited().as_str(), one.core.close()), ("over", Close::normal()));
    let mut own = leaving();
    assert_eq!(own.hear("ring 3", 1).core.own_calls().count(), 1);
    assert_eq!(own.eof(5).awaited(), "ed 2005");
    own.core.own_answered(Tag(3), 7, 6);
    assert_eq!(own.awaited(), "over");
    let mut late = leaving();
    assert_eq!(late.hear("leave", 1).core.commands().count(), 1);
    late.eof(5).core.time(2005);
    assert_eq!((late.awaited().as_str(), late.core.close()), ("over", Close::normal()), "it goes without");
    assert!(!late.heard().contains("part"), "the dialect has no say");
}

#[test]
fn who_is_shown_out_has_its_answers_first_but_not_for_ever() {
    for is_answered in [true, false] {
        let puppet = Puppet { closes_at: Some(Parting::Eof), ..Puppet::default() };
        let mut bench = CoreBench::of(Framing::Stream, puppet);
        bench.written();
        bench.hear("ring 3", 0).core.own_calls().for_each(drop);
        bench.hear("flood", 1000);
        assert_eq!(bench.awaited(), "ed 3000", "it is not heard any more, and has not gone");
        match is_answered {
            true => bench.core.own_answered(Tag(3), 7, 1500),
            false => bench.core.time(3000),
        }
        assert_eq!(bench.awaited(), "over");
        let heard = if is_answered { "answered 3 7 | pause | part Eof" } else { "part Eof" };
        assert_eq!(bench.heard(), format!("heard ring 3 | heard flood | {heard}"));
        assert_eq!(bench.core.close(), Close::new(CloseCode::PolicyViolation, "too much"));
    }
}

#[test]
fn a_pipe_that_takes_no_more_closes_with_its_own_word() {
    let mut bench = CoreBench::new();
    bench.core.arrived(Arrived::TooMuch(Close::new(CloseCode::PolicyViolation, "pings")), 1000);
    assert_eq!((bench.awaited().as_str(), bench.core.close().reason.as_ref()), ("over", "pings"));
}
