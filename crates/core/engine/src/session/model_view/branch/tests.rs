//! What is read from the end of a log is what is read from all of it: random logs with branches, compactions and everything
//! that outlives them.

use vocab::{
    AssistantMessage, Block, CallInput, CompactReason, Delivery, Finish, ItemEnd, Json, KeptReply, Keyed, MessageEnd,
    Mode, NoteEntry, Page, Requested, Required, Sent, Stop, TurnEnd, WindowFold, WindowMark,
};

use super::*;
use crate::session::log::logged::KnownKeys;
use crate::session::model_view::{ModelView, OpenTurn};

const SEEDS: u64 = 400;
const ENTRIES_MAX: u64 = 160;

/// SplitMix64.
struct LogDice(u64);

impl LogDice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (it ^ (it >> 31)) % sides
    }
    fn id(&mut self) -> String {
        format!("i{}", self.roll(6))
    }
}

fn call(id: &str) -> Call {
    Call { id: id.into(), name: "look".into(), input: CallInput::Object(Json::empty_object()), seal: None }
}

fn ask(dice: &mut LogDice, turn: &TurnId) -> Body {
    let about = PermissionAsk {
        call: dice.id().as_str().into(),
        tool: "look".into(),
        input: Json::empty_object(),
        active: Mode::Prompt,
        required: Required::ReadOnly,
        reason: None,
        summary: "look".into(),
        preview: None,
        may_have_run: false,
    };
    let kind = match dice.roll(3) {
        0 => AskKind::Confirm { title: "sure?".into(), message: "".into() },
        _ => AskKind::Permission(about),
    };
    let turn = (dice.roll(2) == 0).then(|| turn.clone());
    Body::Ask(AskEntry::Opened(Ask { id: dice.id().as_str().into(), turn, kind, timeout_ms: None }))
}

fn answer(dice: &mut LogDice) -> Body {
    let end = match dice.roll(3) {
        0 => AskEnd::Withdrawn,
        1 => AskEnd::Answered { answer: Answer::Allow(Scope::Once), by: None },
        _ => AskEnd::Answered { answer: Answer::Allow(Scope::Session), by: None },
    };
    Body::Ask(AskEntry::Closed { ask: dice.id().as_str().into(), end })
}

fn queue(dice: &mut LogDice) -> Body {
    let id = dice.id();
    if dice.roll(2) == 0 {
        let (parts, delivery) = (vec![Part::text("wait")], Delivery::FollowUp);
        let item = Item { id: id.as_str().into(), parts, delivery, at_ms: 0, sender: None, by: None, until_ms: None };
        return Body::Queue(QueueEntry::Queued(item));
    }
    let why = (dice.roll(2) == 0).then_some(SettleReason::Overflow);
    Body::Queue(QueueEntry::Settled { item: id.as_str().into(), end: ItemEnd::Dropped, why })
}

fn setting(dice: &mut LogDice) -> Body {
    let text: Arc<str> = dice.id().into();
    Body::Setting(match dice.roll(4) {
        0 => SettingEntry::Thinking { level: Some(text) },
        1 => SettingEntry::Gadgets { off: vec![text] },
        2 => SettingEntry::Lane { wish: vocab::LanePolicy::default().into() },
        _ => SettingEntry::Todos { phases: vec![TodoPhase { id: text.clone(), name: text, tasks: Vec::new() }] },
    })
}

fn shell(dice: &mut LogDice) -> Body {
    let (command, aside): (Arc<str>, bool) = (dice.id().into(), dice.roll(2) == 0);
    Body::Shell(match dice.roll(2) {
        0 => ShellEntry::Started { command, aside },
        _ => ShellEntry::Ended(lost_shell(command, aside)),
    })
}

fn said(dice: &mut LogDice, turn: &TurnId) -> Body {
    let turn = Some(turn.clone());
    if dice.roll(2) == 0 {
        let from = [UserFrom::Prompt, UserFrom::Reminder, UserFrom::Reminder, UserFrom::Extension];
        let from = from[dice.roll(4) as usize];
        return Body::User { turn, parts: vec![Part::text(dice.id())], from };
    }
    // Within a turn no two calls have one id.
    let blocks = (0..dice.roll(3)).map(|_| Block::Call(call(&format!("c{}", dice.roll(1 << 40))))).collect();
    let usage = Usage { input: dice.roll(9), ..Usage::default() };
    let message = AssistantMessage { blocks, model: "m".into(), end: MessageEnd::Finished(Finish::Stop), usage };
    Body::Assistant { turn, message }
}

fn noted(dice: &mut LogDice) -> Body {
    if dice.roll(2) == 0 {
        let keyed = Keyed { key: dice.id().into(), of: dice.roll(3), reply: KeptReply::Done };
        return Body::Note(NoteEntry::Keyed(keyed));
    }
    let text: Arc<str> = dice.id().into();
    let (url, manner, head, tail) = (text.clone(), text.clone(), text.clone(), text.clone());
    let sent = (dice.roll(3) == 0).then(|| Arc::new(Sent { api: text, url, headers: vec![], manner, head, tail }));
    Body::Model(ModelEntry::Requested(Requested { turn: None, model: "m".into(), summary: None, sent, bytes: 0 }))
}

fn body(dice: &mut LogDice, seq: u64, turn: &mut TurnId, calls: &[(TurnId, CallId)]) -> Body {
    match dice.roll(24) {
        0 => {
            let compaction = Compaction {
                reason: CompactReason::Manual,
                summary: "so far".into(),
                first_kept: 1 + dice.roll(seq + 1),
                tokens_before: 9,
                tokens_after: 3,
                messages_before: 9,
                messages_after: 3,
                usage: Usage::default(),
                model: "m".into(),
            };
            Body::Branch(BranchEntry::Compacted(compaction))
        }
        1 | 2 => {
            *turn = format!("t{seq}").as_str().into();
            Body::Turn(TurnEntry::Started { turn: turn.clone() })
        }
        3 => {
            let (usage, mutations) = (Usage::default(), Vec::new());
            let end = TurnEnd { turn: turn.clone(), stop: Stop::EndTurn, iterations: 0, usage, mutations, fault: None };
            Body::Turn(TurnEntry::Ended(end))
        }
        4 if dice.roll(3) == 0 => Body::Branch(BranchEntry::Moved { to: dice.roll(seq) }),
        5..=7 if !calls.is_empty() => {
            let (turn, id) = calls[dice.roll(calls.len() as u64) as usize].clone();
            let result = synthetic(id, "look".into(), CallEnd::Ran, "done");
            Body::Call(CallEntry::Ended { turn, result })
        }
        8 | 9 => ask(dice, turn),
        10 | 11 => answer(dice),
        12 | 13 => queue(dice),
        14 | 15 => setting(dice),
        16 => shell(dice),
        17 | 18 => noted(dice),
        _ => said(dice, turn),
    }
}

fn log(dice: &mut LogDice) -> Vec<Arc<Entry>> {
    let (mut entries, mut turn, mut at_ms) = (Vec::new(), TurnId::from("t0"), 0);
    // A result comes behind its call, wherever that is.
    let mut calls = Vec::new();
    for seq in 1..=1 + dice.roll(ENTRIES_MAX) {
        let body = body(dice, seq, &mut turn, &calls);
        if let Body::Assistant { turn: Some(turn), message } = &body {
            calls.extend(message.calls().map(|call| (turn.clone(), call.id.clone())));
        }
        let parent = match &body {
            Body::Branch(BranchEntry::Moved { to }) => *to,
            // As in the file of another program.
            _ if dice.roll(60) == 0 => dice.roll(seq),
            _ => seq - 1,
        };
        at_ms += dice.roll(2) as i64 * vocab::KEY_MS_MAX / 8;
        entries.push(Arc::new(Entry { seq, parent, at_ms, body, by: None }));
    }
    entries
}

fn mark(entries: &[Arc<Entry>]) -> Option<WindowMark> {
    let mut fold = WindowFold::default();
    entries.iter().for_each(|entry| fold.take(entry));
    let mut carrying = fold.begins()?;
    entries.iter().for_each(|entry| carrying.take(entry));
    Some(carrying.mark())
}

/// Everything that a session takes from a log. Calls that a turn before the newest left open are not among it: they were
/// given a result before that one began.
fn taken(window: &LogWindow, now_ms: i64) -> String {
    let mut branch = Branch::of(window);
    let from = branch.compaction.as_ref().map_or(0, |compaction| compaction.first_kept);
    branch.messages.retain(|said| said.seq >= from);
    branch.open_usage = branch.open_turn.as_ref().map_or_else(Usage::default, |_| branch.open_usage);
    branch.open_calls.retain(|(turn, _)| Some(turn) == branch.open_turn.as_ref());
    let mut view = ModelView::default();
    view.find_sent(window.all());
    let keys = KnownKeys::of(window.all());
    let keys: Vec<_> = (0..6).map(|id| format!("{:?}", keys.find(None, &format!("i{id}"), now_ms))).collect();
    let open = OpenTurn::read(&window.page.entries);
    let open = open.map(|open| (open.id.clone(), open.pending, open.iterations, open.usage, open.stands));
    format!("{branch:?}\n{:?}\n{keys:?}\n{open:?}", view.last_sent)
}

#[test]
fn the_end_of_a_log_says_what_all_of_it_says() {
    let (mut shorter, mut holding) = (0, 0);
    for seed in 0..SEEDS {
        let mut dice = LogDice(seed);
        let entries = log(&mut dice);
        let now_ms = entries.last().map_or(0, |entry| entry.at_ms);
        let whole = LogWindow { carried: Vec::new(), page: Page { entries: entries.clone(), recovered: None } };
        let window = LogWindow::of(whole.page.clone(), u64::MAX);
        shorter += u32::from(window.page.entries.len() < entries.len());
        assert_eq!(taken(&window, now_ms), taken(&whole, now_ms), "seed {seed}");
        // A mark that was found earlier holds, or says that it does not; and it leads to the same next one.
        for known in 1..entries.len() {
            let Some(old) = mark(&entries[..known]) else { continue };
            let carried = entries.iter().filter(|entry| old.carried.contains(&entry.seq)).cloned().collect::<Vec<_>>();
            let kept = &entries[old.from as usize - 1..];
            let mut fold = WindowFold::default();
            carried.iter().for_each(|entry| fold.carry(entry));
            kept.iter().for_each(|entry| fold.take(entry));
            assert_eq!(fold.follows(&old), old.holds(kept), "seed {seed}, known {known}");
            if !old.holds(kept) {
                continue;
            }
            holding += 1;
            let mut carrying = fold.begins().unwrap();
            carried.iter().chain(kept).for_each(|entry| carrying.take(entry));
            assert_eq!(Some(carrying.mark()), mark(&entries), "seed {seed}, known {known}");
            let window = LogWindow { carried, page: Page { entries: kept.to_vec(), recovered: None } };
            assert_eq!(taken(&window, now_ms), taken(&whole, now_ms), "seed {seed}, known {known}");
        }
    }
    assert!(shorter > 50 && holding > 1000, "{shorter} windows were shorter than their logs, {holding} marks held");
}
