//! What a log says was spent, worked and granted.

use vocab::{AssistantMessage, Block, Call, CallInput, Finish, Json, MessageEnd, Principal};

use super::*;

struct Diary {
    entries: Vec<Arc<Entry>>,
    now_ms: i64,
}

impl Diary {
    fn new() -> Self {
        Self { entries: Vec::new(), now_ms: 0 }
    }
    fn add(&mut self, after_ms: i64, body: Body) {
        self.now_ms += after_ms;
        let (seq, by) = (self.entries.len() as u64 + 1, Some(Principal::user("ann")));
        self.entries.push(Arc::new(Entry { seq, parent: seq - 1, at_ms: self.now_ms, body, by }));
    }
    fn started(&mut self) {
        self.add(0, Body::Turn(TurnEntry::Started { turn: "t".into() }));
    }
    fn round(&mut self, after_ms: i64, tokens: u64) {
        let call =
            Call { id: "c".into(), name: "look".into(), input: CallInput::Object(Json::empty_object()), seal: None };
        let usage = Usage { input: tokens, ..Usage::default() };
        let (blocks, end) = (vec![Block::Call(call)], MessageEnd::Finished(Finish::ToolUse));
        let message = AssistantMessage { blocks, model: "m".into(), end, usage };
        self.add(after_ms, Body::Assistant { turn: Some("t".into()), message });
    }
    fn asked(&mut self, after_ms: i64, ask: BudgetAsk) {
        let ask = vocab::Ask { id: "a".into(), turn: Some("t".into()), kind: AskKind::Budget(ask), timeout_ms: None };
        self.add(after_ms, Body::Ask(AskEntry::Opened(ask)));
    }
    fn answered(&mut self, after_ms: i64, answer: Answer) {
        let end = AskEnd::Answered { answer, by: None };
        self.add(after_ms, Body::Ask(AskEntry::Closed { ask: "a".into(), end }));
    }
    /// Spent of this, a second after the last entry.
    fn spent(&self, span: BudgetSpan, unit: BudgetUnit) -> u64 {
        let now = Now { at_ms: self.now_ms + 1000, prices: &|_| None, day: None };
        Spending::of(&self.entries).spent(span, unit, &now).unwrap_or_default()
    }
    fn reached(&self, text: &str) -> Option<BudgetAsk> {
        let (span, unit, limit) = Budget::read_limit(text).expect("a limit");
        let mut budget = Budget::default();
        budget.set(span, unit, Some(limit));
        let now = Now { at_ms: self.now_ms, prices: &|_| None, day: None };
        Spending::of(&self.entries).reached(&budget, &now)
    }
}

#[test]
fn time_goes_from_entry_to_entry_and_stands_still_for_people_and_restarts() {
    let mut diary = Diary::new();
    diary.started();
    diary.round(5000, 10);
    assert_eq!(diary.spent(BudgetSpan::Turn, BudgetUnit::Time), 6000);
    let (span, unit) = (BudgetSpan::Turn, BudgetUnit::Tokens);
    diary.asked(1000, BudgetAsk { span, unit, limit: 10, spent: 10, more: 10 });
    assert_eq!(diary.spent(BudgetSpan::Turn, BudgetUnit::Time), 6000, "a person is asked");
    diary.answered(60_000, Answer::Allow(Scope::Once));
    assert_eq!(diary.spent(BudgetSpan::Turn, BudgetUnit::Time), 7000);
    diary.add(3_600_000, Body::Note(NoteEntry::Recovered { text: "".into() }));
    diary.round(2000, 10);
    assert_eq!(diary.spent(BudgetSpan::Turn, BudgetUnit::Time), 9000, "nobody worked for an hour");
    // A clock that somebody set back is no time.
    diary.round(-10_000_000, 10);
    assert_eq!(diary.spent(BudgetSpan::Session, BudgetUnit::Time), 9000);
    diary.started();
    diary.round(1000, 1);
    let spent = |span| (diary.spent(span, BudgetUnit::Tokens), diary.spent(span, BudgetUnit::Rounds));
    assert_eq!((spent(BudgetSpan::Turn), spent(BudgetSpan::Session)), ((1, 1), (31, 4)));
}

#[test]
fn a_grant_reaches_as_far_as_it_says_and_a_no_is_kept() {
    let (span, unit) = (BudgetSpan::Turn, BudgetUnit::Tokens);
    let mut diary = Diary::new();
    diary.started();
    diary.round(1, 12);
    let ask = diary.reached("turn.tokens=10").expect("it is");
    assert_eq!(ask, BudgetAsk { span, unit, limit: 10, spent: 12, more: 10 });
    diary.asked(1, ask.clone());
    diary.answered(1, Answer::Allow(Scope::Once));
    assert_eq!((diary.reached("turn.tokens=10"), diary.reached("session.tokens=10").is_some()), (None, true));
    diary.round(1, 9);
    assert_eq!(diary.reached("turn.tokens=10"), None);
    diary.round(1, 1);
    assert_eq!(diary.reached("turn.tokens=10").map(|ask| ask.spent), Some(22));
    diary.asked(1, ask.clone());
    diary.answered(1, Answer::Dismissed);
    assert!(Spending::of(&diary.entries).is_denied());
    diary.started();
    assert!(!Spending::of(&diary.entries).is_denied());
    diary.round(1, 12);
    assert!(diary.reached("turn.tokens=10").is_some(), "another turn");
    diary.asked(1, ask);
    diary.answered(1, Answer::Allow(Scope::Session));
    diary.started();
    diary.round(1, 1000);
    assert_eq!(diary.reached("turn.tokens=10"), None);
}

#[test]
fn what_a_copy_of_another_log_says_was_neither_spent_nor_granted_here() {
    let mut diary = Diary::new();
    diary.started();
    diary.round(1, 12);
    let ask = diary.reached("session.tokens=10").expect("it is");
    diary.asked(1, BudgetAsk { spent: u64::MAX, ..ask });
    diary.answered(1, Answer::Allow(Scope::Once));
    assert_eq!(diary.reached("session.tokens=10"), None);
    for entry in &mut diary.entries {
        *entry = Arc::new(Entry { by: None, ..Entry::clone(entry) });
    }
    diary.started();
    assert_eq!(diary.spent(BudgetSpan::Session, BudgetUnit::Tokens), 0);
    diary.round(1, 12);
    assert!(diary.reached("session.tokens=10").is_some());
}
