//! What a simulated peer may say next.

use vocab::{
    Answer, Change, Coalesce, CompactionPolicy, Delivery, DirectoryVerb, Drain, EditorOffer, EditorReply, HostTool,
    Json, LaneMode, LanePolicy, LateSteer, Mode, Open, Overflow, Part, QueueVerb, Required, RetryPolicy, Scope,
    SessionVerb, SteerPoint, Verb, Which,
};

use super::World;
use crate::sim::SESSION;
use crate::sim::dice::Dice;
use crate::sim::tools::{LOUD, list};

impl World {
    pub(super) fn offer(&mut self) -> Verb {
        let mut roll = || self.dice.chance(60);
        Verb::Session(SessionVerb::OfferEditor(EditorOffer { read_text: roll(), write_text: roll(), terminal: roll() }))
    }

    pub(super) fn after(&mut self) -> Option<u64> {
        match self.dice.below(10) {
            0..4 => None,
            4..9 => Some(self.dice.below(self.last_seq + 1)),
            _ => Some(self.last_seq + 1 + self.dice.below(100)),
        }
    }

    pub(super) fn prompt(&mut self, delivery: Delivery) -> Verb {
        self.said += 1;
        Verb::Session(SessionVerb::Prompt {
            parts: vec![Part::text(format!("p{} {}", self.said, "x".repeat(40)))],
            delivery,
        })
    }

    pub(super) fn verb(&mut self) -> Verb {
        use Delivery::*;
        if self.dice.chance(16) {
            return self.beside();
        }
        match self.dice.below(100) {
            0..34 => {
                let delivery = self.dice.pick(&[RejectIfBusy, RejectIfBusy, Steer, FollowUp, Enqueue, Queue, Policy]);
                self.prompt(delivery)
            }
            34..52 => self.answer(),
            52..60 => Verb::Session(SessionVerb::Interrupt {
                turn: self.dice.pick(&[None, None, None, Some("another".into())]),
            }),
            60..62 => Verb::Session(SessionVerb::AbortRetry),
            62..68 => Verb::Session(SessionVerb::Queue(match self.dice.below(4) {
                0 => QueueVerb::List,
                1 => QueueVerb::Clear,
                _ if self.items.is_empty() => QueueVerb::TakeBack("nothing".into()),
                _ => QueueVerb::TakeBack(self.dice.pick(&self.items)),
            })),
            68..78 => Verb::Session(SessionVerb::Set(self.change())),
            78..88 => self.slash(),
            88..91 => Verb::Session(SessionVerb::Compact { instructions: None, wait: self.dice.chance(60) }),
            91..95 => {
                let names = self.dice.pick(&[&["host1"][..], &["host1", "host2"], &[], &["look"], &["host2"]]);
                let tool = |name: &&str| HostTool {
                    name: (*name).into(),
                    description: "host".into(),
                    schema: Json::empty_object(),
                    required: Required::DangerFullAccess,
                };
                Verb::Session(SessionVerb::OfferTools { tools: names.iter().map(tool).collect() })
            }
            95..97 => Verb::Fork { at: Some(if self.users.is_empty() { 3 } else { self.dice.pick(&self.users) }) },
            97 => Verb::Leave,
            98 => Verb::Session(SessionVerb::Command { name: "beside".into(), args: "".into() }),
            _ => {
                let mut open = Open::new(Which::Named(SESSION.into()));
                open.after = self.after().map(vocab::Cursor::at);
                Verb::Open(open)
            }
        }
    }

    /// What goes on beside the conversation.
    fn beside(&mut self) -> Verb {
        match self.dice.below(12) {
            0..5 => {
                self.said += 1;
                let command = match self.dice.below(100) {
                    0..3 => " ".to_owned(),
                    3..30 if self.weather.stops => format!("{LOUD}{}", self.said),
                    _ => format!("cmd{}", self.said),
                };
                Verb::Session(SessionVerb::Shell { command: command.into(), aside: self.dice.chance(20) })
            }
            5 => Verb::Session(SessionVerb::AbortShell),
            6 => Verb::Session(SessionVerb::Set(Change::Todos(list(self.dice.below(3))))),
            7 => Verb::Session(SessionVerb::Read { after: self.dice.below(self.last_seq + 3) }),
            8 => Verb::Fork { at: None },
            9 => self.offer(),
            10 => {
                let editor_request =
                    if self.editor_requests.is_empty() { 1 } else { self.dice.pick(&self.editor_requests) };
                Verb::Session(SessionVerb::EditorReplied {
                    editor_request,
                    result: self.dice.pick(&[EditorReply::Written, EditorReply::NotFound]),
                })
            }
            _ => self.dice.pick(&[
                Verb::Session(SessionVerb::Inspect),
                Verb::Session(SessionVerb::Inspect),
                Verb::Directory(DirectoryVerb::Models),
                Verb::Session(SessionVerb::Export { file: None }),
            ]),
        }
    }

    fn answer(&mut self) -> Verb {
        let recent = self.asks.len().saturating_sub(3);
        let (ask, host) = match self.dice.below(10) {
            0 => ("ask-never".into(), false),
            _ if self.asks.is_empty() => ("ask1".into(), false),
            _ => self.dice.pick(&self.asks[recent..]),
        };
        if self.dice.chance(8) {
            return Verb::Session(SessionVerb::Progress { ask, parts: vec![Part::text("so far")] });
        }
        let result = Answer::Result { parts: vec![Part::text("hosted")], is_error: false, details: None };
        let right = if host { result.clone() } else { Answer::Allow(Scope::Once) };
        let answer = match self.dice.below(10) {
            0..5 => right,
            5 => Answer::Allow(Scope::Session),
            6 => Answer::Deny(Some("because".into())),
            7 => Answer::Deny(None),
            8 => result,
            _ => self.dice.pick(&[Answer::Dismissed, Answer::Text("hm".into()), Answer::Confirmed(false)]),
        };
        Verb::Session(SessionVerb::Answer { ask, answer })
    }

    fn change(&mut self) -> Change {
        let dice = &mut self.dice;
        match dice.below(12) {
            0..4 => Change::Model(dice.pick(&["a", "b", "b", "zzz"]).into()),
            4..6 => Change::Mode(dice.pick(&Mode::ALL)),
            6 => Change::Thinking(dice.pick(&[None, Some("high".into())])),
            7 => Change::Title("a title".into()),
            8 => Change::Lane(lane_policy(dice).into()),
            9 => Change::Retry(RetryPolicy { retries_max: dice.below(4) as u32, ..RetryPolicy::default() }),
            10 => Change::Compaction(CompactionPolicy {
                auto: dice.chance(70),
                on_switch: dice.chance(50),
                ..CompactionPolicy::default()
            }),
            _ => Change::Gadget { name: dice.pick(&["sharp", "blunt"]).into(), on: dice.chance(50) },
        }
    }

    fn slash(&mut self) -> Verb {
        let (name, args) = self.dice.pick(&[
            ("status", ""),
            ("context", ""),
            ("undo", ""),
            ("undo", ""),
            ("undo", "2"),
            ("undo", "x"),
            ("cost", ""),
            ("diff", ""),
            ("compact", "keep it short"),
            ("model", "b"),
            ("model", "what"),
            ("mode", "plan"),
            ("tools", ""),
            ("help", ""),
            ("version", ""),
            ("rename", "new name"),
            ("gadgets", "off sharp"),
            ("save", "model"),
            ("export", ""),
            ("sessions", ""),
            ("nonsense", ""),
        ]);
        Verb::Session(SessionVerb::Slash { name: name.into(), args: args.into() })
    }
}

pub(super) fn lane_policy(dice: &mut Dice) -> LanePolicy {
    use LaneMode::*;
    LanePolicy {
        mode: dice.pick(&[Collect, Followup, Steer, SteerBacklog, Interrupt]),
        cap: dice.pick(&[1, 2, 3, 50]),
        overflow: dice.pick(&[Overflow::DropOld, Overflow::DropNew]),
        debounce_ms: dice.pick(&[0, 0, 20, 1000]),
        coalesce: dice.pick(&[Coalesce::Auto, Coalesce::Always, Coalesce::Never]),
        summarise: dice.chance(50),
        steer_drain: dice.pick(&[Drain::OneAtATime, Drain::All]),
        follow_up_drain: dice.pick(&[Drain::OneAtATime, Drain::All]),
        steer_point: dice.pick(&[SteerPoint::Wait, SteerPoint::Immediate]),
        late_steer: dice.pick(&[LateSteer::Joins, LateSteer::Dropped]),
    }
}
