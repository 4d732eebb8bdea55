//! What a session has of its own and what is usual; what its rules say of tools; what becomes of it when it is deleted.

use std::sync::Arc;

use testkit::stage::Actor;
use vocab::*;

use crate::continuing::{answer, faulty, on_with, progress_of, resume};
use crate::recovery::life;
use crate::support::*;

fn set(change: Change) -> Verb {
    Verb::Session(SessionVerb::Set(change))
}

fn small() -> LanePolicy {
    LanePolicy { cap: 2, ..LanePolicy::default() }
}

#[tokio::test(start_paused = true)]
async fn rules_of_its_own_win_over_what_is_usual_and_can_be_given_back() {
    let stage = stage(&Player::new([say("a"), say("b")]));
    let usual = |cap| {
        let mut settings = Settings::new(stage.workspace(), "m1");
        settings.lane.cap = cap;
        Some(Arc::new(settings))
    };
    let open = |cap| Open { usual: usual(cap), ..Open::new(Which::Named("s1".into())) };
    let stands = |opened: &Opened| (opened.state.lane.cap, opened.state.lane_is_own);
    let mut actor = stage.actor();
    assert_eq!(stands(&actor.open(open(7)).await.unwrap()), (7, false), "as its opener says");
    actor.prompt("go").await;
    actor.turn_end().await;
    ask_for(&mut actor, set(Change::Lane(small().into()))).await.unwrap();
    drop(actor);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(stage.engine.live(), []);
    let mut actor = stage.actor();
    assert_eq!(stands(&actor.open(open(9)).await.unwrap()), (2, true), "its own");
    ask_for(&mut actor, set(Change::LaneUsual)).await.unwrap();
    let Event::State(state) = actor.until(|event| matches!(event, Event::State(_))).await else { unreachable!() };
    assert_eq!((state.lane.cap, state.lane_is_own), (9, false), "what is usual now");
    drop(actor);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let mut actor = stage.actor();
    assert_eq!(stands(&actor.open(open(5)).await.unwrap()), (5, false));
    assert!(log(&stage).await.ends_with("lane: Collect\nlane as usual\n"));
}

#[tokio::test(start_paused = true)]
async fn a_wish_holds_for_what_it_names_and_the_rest_follows_what_is_usual() {
    let stage = stage(&Player::new([say("a")]));
    let usual = |mode, cap| {
        let mut settings = Settings::new(stage.workspace(), "m1");
        (settings.lane.mode, settings.lane.cap) = (mode, cap);
        Some(Arc::new(settings))
    };
    let open = |mode, cap| Open { usual: usual(mode, cap), ..Open::new(Which::Named("s1".into())) };
    let stands = |opened: &Opened| (opened.state.lane.mode, opened.state.lane.cap, opened.state.lane_is_own);
    let mut actor = stage.actor();
    actor.open(open(LaneMode::Collect, 50)).await.unwrap();
    actor.prompt("go").await;
    actor.turn_end().await;
    // It is what holds anyway, and is to hold on.
    let wish = LaneWish { mode: Some(LaneMode::Collect), ..LaneWish::default() };
    ask_for(&mut actor, set(Change::Lane(wish))).await.unwrap();
    drop(actor);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let opened = stage.actor().open(open(LaneMode::Interrupt, 9)).await.unwrap();
    assert_eq!(stands(&opened), (LaneMode::Collect, 9, true));
}

#[tokio::test(start_paused = true)]
async fn a_setting_begins_a_session_where_it_conducts_itself_so() {
    let cap = LaneWish { cap: Some(3), ..LaneWish::default() };
    let retry = Change::Retry(RetryPolicy::default());
    for (begins, change, written) in [
        (true, Change::Lane(cap), "opened m1 danger-full-access\nlane of its own\n"),
        (true, retry, ""),
        (false, Change::Lane(cap), ""),
    ] {
        let stage = stage_with(&Player::new([]), |options| {
            options.tune = Box::new(move |settings| settings.begins_with_settings = begins);
        });
        let mut actor = stage.open().await;
        ask_for(&mut actor, set(change)).await.unwrap();
        let is_saved = stage.store.summary(&"s1".into()).await.unwrap().is_some();
        assert_eq!(is_saved, !written.is_empty());
        if is_saved {
            assert_eq!(log(&stage).await, written);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sessions_in_memory_follow_what_is_usual_unless_they_have_other_rules() {
    let stage = stage(&Player::new([]));
    let with_cap = |cap| LanePolicy { cap, ..LanePolicy::default() };
    let mut caps = Vec::new();
    for (id, lane, wish) in [("follows", 7, None), ("own", 7, Some(3)), ("another_wires", 8, None)] {
        let mut settings = Settings::new(stage.workspace(), "m1");
        settings.lane = with_cap(lane);
        let mut actor = stage.actor();
        let open = Open { usual: Some(Arc::new(settings)), ..Open::new(Which::Named(id.into())) };
        actor.open(open).await.unwrap();
        if let Some(cap) = wish {
            let wish = LaneWish { cap: Some(cap), ..LaneWish::default() };
            ask_for(&mut actor, set(Change::Lane(wish))).await.unwrap();
        }
        stage.engine.change_usual_lanes(|_| with_cap(7), |_| with_cap(1));
        let Ok(Reply::Inspected(seen)) = ask_for(&mut actor, Verb::Session(SessionVerb::Inspect)).await else {
            panic!("{id}")
        };
        caps.push(seen.lane.cap);
    }
    assert_eq!(caps, [1, 3, 8]);
}

#[tokio::test(start_paused = true)]
async fn what_waited_when_a_process_ended_goes_on_or_is_dropped_as_the_session_conducts_itself() {
    for (rule, wanted) in [(WaitingOnRestart::GoesOn, 1), (WaitingOnRestart::Dropped, 0)] {
        let player = Player::new([vec![text("w"), Step::Wait(1_000_000)], say("x"), say("y")]);
        let tune = move |settings: &mut Settings| {
            settings.conduct = Arc::new(Conduct { waiting_on_restart: rule, ..Conduct::default() });
        };
        let first = stage_with(&player, |options| options.tune = Box::new(tune));
        let mut actor = first.open().await;
        actor.prompt("first").await;
        text_of(&mut actor, "w").await;
        let tag = actor.deliver("waits", Delivery::Enqueue).await;
        actor.reply(tag).await.unwrap();
        first.engine.shutdown().await;
        let store = first.store.clone();
        let next = stage_with(&player, |options| {
            options.store = store;
            options.tune = Box::new(tune);
        });
        let mut actor = next.actor();
        actor.open(Open::new(Which::Named("s1".into()))).await.unwrap();
        let Reply::Queue(waiting) =
            ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::List))).await.unwrap()
        else {
            unreachable!()
        };
        assert_eq!(waiting.len(), wanted, "{rule:?}");
        assert_eq!(log(&next).await.contains("item2 Dropped"), wanted == 0);
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_told_that_the_process_ends_is_told_whether_what_waits_goes_on() {
    for rule in [WaitingOnRestart::GoesOn, WaitingOnRestart::Dropped] {
        let stage = stage_with(&Player::new([vec![text("w"), Step::Wait(1_000_000)]]), |options| {
            options.tune = Box::new(move |settings| {
                settings.on_restart = OnRestart::Continue;
                settings.conduct = Arc::new(Conduct { waiting_on_restart: rule, ..Conduct::default() });
            });
        });
        let mut actor = stage.open().await;
        actor.prompt("first").await;
        text_of(&mut actor, "w").await;
        stage.engine.shutdown().await;
        let Event::Gone { fault } = actor.until(|event| matches!(event, Event::Gone { .. })).await else {
            unreachable!()
        };
        assert_eq!((fault.is_suspended(), fault.keeps_waiting()), (true, rule == WaitingOnRestart::GoesOn));
    }
}

async fn called(tool: &str, rules: ToolRules, mode: Mode, elevated: bool) -> (bool, String) {
    let player = Player::new([calls(&[(tool, "{}")]), say("done")]);
    let stage = stage_with(&player, |options| {
        options.mode = mode;
        options.tune = Box::new(move |settings| {
            settings.conduct = Arc::new(Conduct { rules, ..Conduct::default() });
        });
    });
    let mut actor = stage.open().await;
    if elevated {
        let until = testkit_now(&mut actor).await + 60_000;
        ask_for(&mut actor, set(Change::Elevate { until_ms: Some(until) })).await.unwrap();
    }
    actor.prompt("go").await;
    let is_ask = |event: &Event| matches!(event, Event::Logged(entry) if matches!(entry.body, Body::Ask(_)));
    let is_end =
        |event: &Event| matches!(event, Event::Logged(entry) if matches!(entry.body, Body::Turn(TurnEntry::Ended(_))));
    let asked = is_ask(&actor.until(|event| is_ask(event) || is_end(event)).await);
    (asked, log(&stage).await)
}

/// The time of the stage's clock, as its log has it.
async fn testkit_now(actor: &mut Actor) -> i64 {
    ask_for(actor, set(Change::Title("t".into()))).await.unwrap();
    actor
        .told
        .iter()
        .find_map(|told| match &told.event {
            Event::Logged(entry) => Some(entry.at_ms),
            _ => None,
        })
        .unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn rules_for_tools_come_before_the_mode() {
    let of = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect::<Vec<Arc<str>>>();
    let none = ToolRules::default;
    let (asked, _) = called("change", none(), Mode::Prompt, false).await;
    assert!(asked, "without a rule the mode asks");
    let (asked, log) = called("change", ToolRules { allow: of(&["ch*"]), ..none() }, Mode::Prompt, false).await;
    assert!(!asked && log.contains("c1 Ran"), "{log}");
    let (asked, _) = called("look", ToolRules { ask: of(&["look"]), ..none() }, Mode::DangerFullAccess, false).await;
    assert!(asked, "what a mode allows is asked where a rule says so");
    let rules = ToolRules { allow: of(&["look"]), ask: of(&["look"]), deny: of(&["*ok"]) };
    let (asked, log) = called("look", rules, Mode::DangerFullAccess, false).await;
    assert!(!asked && log.contains("c1 Denied"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn while_questions_are_waived_nothing_is_asked_and_a_rule_still_denies() {
    let (asked, log) = called("change", ToolRules::default(), Mode::Prompt, true).await;
    assert!(!asked && log.contains("elevated until Some") && log.contains("c1 Ran"), "{log}");
    let deny = ToolRules { deny: vec!["change".into()], ..ToolRules::default() };
    let (asked, log) = called("change", deny, Mode::Prompt, true).await;
    assert!(!asked && log.contains("c1 Denied"), "{log}");
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    let far = Change::Elevate { until_ms: Some(i64::MAX) };
    assert_eq!(ask_for(&mut actor, set(far)).await.unwrap_err().kind, FaultKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_open_is_deleted_under_its_peers() {
    let player = Player::new([vec![text("w"), Step::Wait(1_000_000)]]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    let tag = actor.deliver("waits", Delivery::Enqueue).await;
    actor.reply(tag).await.unwrap();
    let mut other = stage.actor();
    let delete = |open_too| Verb::Directory(DirectoryVerb::Delete { session: "s1".into(), open_too });
    assert_eq!(ask_for(&mut other, delete(false)).await.unwrap_err().kind, FaultKind::SessionBusy);
    assert_eq!(ask_for(&mut other, delete(true)).await.unwrap(), Reply::Done);
    actor.settle().await;
    let told = order_of(&actor);
    let wanted = ["Deleted", "t1 cut: Deleted", "t1 ended: Interrupted, 0 rounds", "gone UnknownSession"];
    assert_eq!(told, wanted);
    assert_eq!(stage.store.summary(&"s1".into()).await.unwrap(), None);
    assert_eq!(ask_for(&mut other, delete(true)).await.unwrap_err().kind, FaultKind::NotFound);
    let mut anew = stage.actor();
    assert!(!anew.open(Open::new(Which::Named("s1".into()))).await.unwrap().resumed);
}

#[tokio::test(start_paused = true)]
async fn a_message_for_a_session_that_is_being_deleted_is_told_so() {
    let store = faulty();
    let kept = store.clone();
    let player = Player::new([vec![text("w"), Step::Wait(1_000_000)], say("anew")]);
    let stage = stage_with(&player, |options| options.store = kept);
    let mut actor = stage.open().await;
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    // Its last words take their time.
    store.slow(vec![500]);
    let mut other = stage.actor();
    let deleted = other.send(Verb::Directory(DirectoryVerb::Delete { session: "s1".into(), open_too: true })).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let late = actor.deliver("late", Delivery::Enqueue).await;
    assert_eq!(actor.reply(late).await.unwrap_err().kind, FaultKind::UnknownSession, "nothing else ends");
    // Who comes now gets the next of that name, which is not deleted with this one.
    let mut next = stage.actor();
    assert!(!next.open(Open::new(Which::Named("s1".into()))).await.unwrap().resumed);
    assert_eq!(other.reply(deleted).await.unwrap(), Reply::Done);
    next.prompt("anew").await;
    assert_eq!(next.turn_end().await.stop, Stop::EndTurn);
    assert!(stage.store.summary(&"s1".into()).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_delete_ends_one_life_of_a_session_however_many_wait_to_open_it() {
    let stage = stage(&Player::new([]));
    for _ in 0..400 {
        let mut first = stage.actor();
        first.open(Open::new(Which::Named("s1".into()))).await.unwrap();
        let mut other = stage.actor();
        let deleted = other.send(Verb::Directory(DirectoryVerb::Delete { session: "s1".into(), open_too: true })).await;
        let mut next = Vec::new();
        for _ in 0..8 {
            let mut actor = stage.actor();
            next.push(tokio::spawn(async move {
                let opened = actor.open(Open::new(Which::Named("s1".into()))).await;
                (actor, opened)
            }));
        }
        for opening in next {
            let (_, opened) = opening.await.unwrap();
            assert_eq!(opened.err(), None);
        }
        other.reply(deleted).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_something_of_a_session_that_is_being_deleted_is_told_that() {
    let player = Player::new([vec![text("w"), Step::Wait(1_000_000)]]);
    let lazy = crate::registry::Lazy::new(Arc::new(store::MemoryStore::new()));
    let stage = stage_with(&player, |options| options.store = lazy.clone());
    let mut actor = stage.open().await;
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    // It takes its time to end.
    lazy.wait_ms.store(50, std::sync::atomic::Ordering::Relaxed);
    let mut other = stage.actor();
    let delete = DirectoryVerb::Delete { session: "s1".into(), open_too: true };
    let deleted = other.send(Verb::Directory(delete)).await;
    let mut asked = Vec::new();
    for _ in 0..20 {
        asked.push(actor.send(Verb::Session(SessionVerb::Inspect)).await);
        asked.push(actor.deliver("again", Delivery::Enqueue).await);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(other.reply(deleted).await.unwrap(), Reply::Done);
    let mut refused = 0;
    for tag in asked {
        if let Err(fault) = actor.reply(tag).await {
            // What is asked of one that has ended finds nobody who could say why.
            assert!(matches!(fault.kind, FaultKind::UnknownSession | FaultKind::Internal), "{fault:?}");
            refused += usize::from(fault.kind == FaultKind::UnknownSession);
        }
    }
    assert!(refused > 0);
}

/// Of what was told, how the item, the turn and the session ended.
fn order_of(actor: &Actor) -> Vec<String> {
    let shown = actor.told.iter().filter_map(|told| match &told.event {
        Event::Queue(QueueEvent::Ended { why, .. }) => Some(format!("{why:?}")),
        Event::Logged(entry) if matches!(entry.body, Body::Turn(TurnEntry::Cut { .. } | TurnEntry::Ended(_))) => {
            Some(line(&entry.body))
        }
        Event::Gone { fault } => Some(format!("gone {:?}", fault.kind)),
        _ => None,
    });
    shown.collect()
}

#[tokio::test(start_paused = true)]
async fn every_call_that_runs_because_questions_are_waived_is_in_the_audit() {
    let player = Player::new([calls(&[("change", "{}"), ("look", "{}"), ("danger", "{}")]), say("done")]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut actor = stage.open().await;
    let until = testkit_now(&mut actor).await + 60_000;
    ask_for(&mut actor, set(Change::Elevate { until_ms: Some(until) })).await.unwrap();
    actor.prompt("go").await;
    actor.turn_end().await;
    let lines = stage.store.audit(AuditQuery::default()).await.unwrap();
    let prompted = lines.iter().find(|line| &*line.action == "prompt").unwrap().by.clone();
    let elevated = lines.iter().filter(|line| &*line.action == "elevated_call");
    let mut shown: Vec<_> = elevated.map(|line| (line.number, line.by.clone(), line.detail.clone().unwrap())).collect();
    shown.sort_by_key(|it| it.0);
    let shown: Vec<_> = shown.into_iter().map(|(_, by, tool)| (by, tool)).collect();
    assert_eq!(shown, [(prompted.clone(), "change".into()), (prompted, "danger".into())], "reading asks nobody anyway");
}

/// The process that goes on may have rules that the one before it did not have: they hold for what was asked about before.
#[test]
fn what_the_rules_deny_now_does_not_run_though_somebody_was_asked_or_has_allowed_it_before() {
    let deny = |settings: &mut Settings| {
        let rules = ToolRules { deny: vec!["change".into(), "look".into()], ..ToolRules::default() };
        settings.conduct = Arc::new(Conduct { rules, ..Conduct::default() });
    };
    let ask = |settings: &mut Settings| {
        let rules = ToolRules { ask: vec!["look".into()], ..ToolRules::default() };
        settings.conduct = Arc::new(Conduct { rules, ..Conduct::default() });
    };
    for (tool, input, allowed) in [("change", "{}", false), ("look", r#"{"hangs":1}"#, true)] {
        let store = faulty();
        life(&store, async || {
            let stage = on_with(&store, &Player::new([calls(&[(tool, input)])]), "ask1", ask);
            let mut actor = stage.open().await;
            actor.prompt("go").await;
            let asked = actor.ask().await;
            if allowed {
                answer(&mut actor, asked.id, Answer::Allow(Scope::Once)).await;
                actor.until(progress_of("c1")).await;
            }
        });
        life(&store, async || {
            let stage = on_with(&store, &Player::new([say("then not")]), "ask2", deny);
            let (mut actor, _) = resume(&stage).await;
            let end = actor.turn_end().await;
            assert_eq!((end.stop, end.mutations.len()), (Stop::EndTurn, 0));
            let log = log(&stage).await;
            assert!(log.contains("c1 Denied: not allowed: the rules of this session deny this tool"), "{tool}: {log}");
        });
    }
}

async fn by_hand(actor: &mut Actor, tool: &str, input: &str, limit_ms: Option<u64>) -> Result<CallResult, Fault> {
    let call = SessionVerb::Call { tool: tool.into(), input: Json::trusted(input), limit_ms };
    match ask_for(actor, Verb::Session(call)).await? {
        Reply::Called(result) => Ok(*result),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_called_by_hand_beside_a_turn_and_the_model_does_not_read_it() {
    let player = Player::new([vec![text("w"), Step::Wait(1000), text("x"), done(Finish::Stop)], say("second")]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut actor = stage.open().await;
    let result = by_hand(&mut actor, "change", "{}", None).await.unwrap();
    assert_eq!((result.end, result.is_error, result.text()), (CallEnd::Ran, false, "done".into()), "nobody is asked");
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    let result = by_hand(&mut actor, "look", r#"{"fails":1}"#, None).await.unwrap();
    assert!(result.is_error);
    actor.turn_end().await;
    let log = log(&stage).await;
    let by_hand_lines = log.lines().filter(|line| line.contains("by hand")).count();
    assert_eq!(by_hand_lines, 4, "{log}");
    actor.settle().await;
    actor.prompt("again").await;
    actor.settle().await;
    assert!(!player.last_sent().contains("it did not work"), "no model has read it: {}", player.last_sent());
    let unknown = by_hand(&mut actor, "nothing", "{}", None).await;
    assert_eq!(unknown.unwrap_err().kind, FaultKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn what_the_owner_denies_is_denied_in_sessions_that_are_here() {
    let stage = stage_with(&Player::new([]), |_| {});
    let mut actor = stage.open().await;
    assert_eq!(by_hand(&mut actor, "change", "{}", None).await.unwrap().end, CallEnd::Ran);
    let rules = ToolRules { deny: vec!["change".into()], ..ToolRules::default() };
    let conduct = Arc::new(Conduct { rules, ..Conduct::default() });
    stage.engine.set_defaults(Settings { conduct, ..Settings::new("/", "m") });
    assert_eq!(by_hand(&mut actor, "change", "{}", None).await.unwrap().end, CallEnd::Denied);
}

#[tokio::test(start_paused = true)]
async fn a_call_by_hand_has_a_limit_can_be_stopped_and_is_denied_where_a_rule_says_so() {
    let deny = ToolRules { deny: vec!["change".into()], ..ToolRules::default() };
    let stage = stage_with(&Player::new([]), |options| {
        options.tune = Box::new(|settings| settings.conduct = Arc::new(Conduct { rules: deny, ..Conduct::default() }));
    });
    let mut actor = stage.open().await;
    assert_eq!(by_hand(&mut actor, "change", "{}", None).await.unwrap().end, CallEnd::Denied);
    let late = by_hand(&mut actor, "look", r#"{"hangs":1}"#, Some(500)).await.unwrap();
    assert_eq!((late.end, late.duration_ms), (CallEnd::Interrupted, 500));
    let call = SessionVerb::Call { tool: "look".into(), input: Json::trusted(r#"{"hangs":1}"#), limit_ms: None };
    let tag = actor.send(Verb::Session(call)).await;
    actor.settle().await;
    ask_for(&mut actor, Verb::Session(SessionVerb::AbortCall { of: tag })).await.unwrap();
    let Reply::Called(result) = actor.reply(tag).await.unwrap() else { panic!() };
    assert_eq!(result.end, CallEnd::Interrupted);
    let nothing = ask_for(&mut actor, Verb::Session(SessionVerb::AbortCall { of: tag })).await;
    assert_eq!(nothing.unwrap_err().kind, FaultKind::NotFound);
}

fn timed(answerable_ms: Option<u64>, alone_ms: Option<u64>) -> Box<dyn FnOnce(&mut Settings)> {
    Box::new(move |settings| {
        settings.on_restart = OnRestart::Continue;
        let ask_wait = AskWait { answerable_ms, alone_ms };
        settings.conduct = Arc::new(Conduct { ask_wait, ..Conduct::default() });
    })
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_as_long_as_the_session_says_and_then_it_is_a_no() {
    let stage = stage_with(&Player::new([calls(&[("change", "{}")]), say("done")]), |options| {
        options.mode = Mode::Prompt;
        options.tune = timed(Some(120_000), None);
    });
    let mut actor = stage.actor();
    actor.open(Open { abilities: hurried(), ..Open::new(Which::New) }).await.unwrap();
    let began = tokio::time::Instant::now();
    actor.prompt("go").await;
    actor.turn_end().await;
    let waited = began.elapsed().as_secs();
    assert!((120..125).contains(&waited), "{waited}");
    assert!(log(&stage).await.contains("c1 Denied: nobody answered"), "{}", log(&stage).await);
}

fn hurried() -> Abilities {
    Abilities { has_time: false, ..Abilities::default() }
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_a_peer_that_has_time_as_long_as_it_is_here() {
    let stage = stage_with(&Player::new([calls(&[("change", "{}")]), say("done")]), |options| {
        options.mode = Mode::Prompt;
        options.tune = timed(Some(120_000), None);
    });
    let (mut actor, mut patient) = (stage.actor(), stage.actor());
    actor.open(Open { abilities: hurried(), ..Open::new(Which::Named("s1".into())) }).await.unwrap();
    patient.open(Open::new(Which::Named("s1".into()))).await.unwrap();
    let began = tokio::time::Instant::now();
    actor.prompt("go").await;
    tokio::time::sleep(std::time::Duration::from_secs(1000)).await;
    assert!(!log(&stage).await.contains("Denied"));
    drop(patient);
    actor.turn_end().await;
    assert!((1000..1005).contains(&began.elapsed().as_secs()), "the other one's time is over");
}

#[tokio::test(start_paused = true)]
async fn mute_peers_are_a_no_at_once_and_those_who_only_listen_are_nobody() {
    let abilities = |only_listens| Abilities { answers: false, only_listens, ..Abilities::default() };
    for only_listens in [false, true] {
        let stage = stage_with(&Player::new([calls(&[("change", "{}")]), say("done")]), |options| {
            options.mode = Mode::Prompt;
            options.tune = timed(Some(1000), Some(60_000));
        });
        let mut actor = stage.actor();
        let open = Open { abilities: abilities(only_listens), ..Open::new(Which::Named("s1".into())) };
        actor.open(open).await.unwrap();
        let began = tokio::time::Instant::now();
        actor.prompt("go").await;
        actor.turn_end().await;
        assert_eq!(began.elapsed().as_secs() >= 60, only_listens, "a question for nobody waits for somebody to come");
        assert!(log(&stage).await.contains("c1 Denied"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_ends_the_turn_at_once_where_only_mute_peers_are_and_in_time_where_nobody_answers() {
    for (answers, seconds) in [(false, 0), (true, 120)] {
        let stage = stage_with(&Player::new([calls(&[("look", "{}")]), say("done")]), |options| {
            let timed = timed(Some(120_000), None);
            options.tune = Box::new(move |settings| {
                timed(settings);
                settings.budget = crate::budgets::budget(&["turn.rounds=1"]);
            });
        });
        let mut actor = stage.actor();
        let abilities = Abilities { answers, ..hurried() };
        actor.open(Open { abilities, ..Open::new(Which::Named("s1".into())) }).await.unwrap();
        let began = tokio::time::Instant::now();
        actor.prompt("go").await;
        let end = actor.turn_end().await;
        assert_eq!((end.stop, end.fault.unwrap().kind), (Stop::Budget, FaultKind::Budget));
        assert_eq!(began.elapsed().as_secs(), seconds, "answers: {answers}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_turns_run_at_once_than_may_and_the_next_one_is_the_one_that_waited_longest() {
    let slow = |word: &str| vec![text(word), Step::Wait(10_000), done(Finish::Stop)];
    let stage = stage_with(&Player::new([slow("a"), slow("b"), slow("c")]), |options| options.turns_max = Some(1));
    let began = tokio::time::Instant::now();
    let mut actors = Vec::new();
    for id in ["s1", "s2", "s3"] {
        let mut actor = stage.actor();
        actor.open(Open::new(Which::Named(id.into()))).await.unwrap();
        let tag = actor.prompt("go").await;
        actor.reply(tag).await.unwrap();
        actors.push(actor);
    }
    for (actor, seconds) in actors.iter_mut().zip([10, 20, 30]) {
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
    assert_eq!(actors.iter().map(Actor::text).collect::<String>(), "abc");
}

#[tokio::test(start_paused = true)]
async fn a_session_starts_over_and_the_log_keeps_what_was() {
    let player = Player::new([say("one"), say("two")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    let over = || Verb::Session(SessionVerb::StartOver);
    assert_eq!(ask_for(&mut actor, over()).await.unwrap(), Reply::Done, "there is nothing yet");
    actor.prompt("first words").await;
    actor.turn_end().await;
    actor.settle().await;
    actor.forget();
    assert_eq!(ask_for(&mut actor, over()).await.unwrap(), Reply::Done);
    let Event::State(state) = actor.until(|event| matches!(event, Event::State(_))).await else { unreachable!() };
    assert_eq!(state.messages, 0);
    actor.prompt("other words").await;
    actor.turn_end().await;
    assert!(!player.last_sent().contains("first words"), "{}", player.last_sent());
    let log = log(&stage).await;
    assert!(log.contains("first words") && log.contains("moved to 1\nrestored \nt2 started"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn an_undo_takes_back_what_several_messages_began() {
    let player = Player::new([vec![text("w"), Step::Wait(1000), done(Finish::Stop)], say("both"), say("after")]);
    let stage = stage_with(&player, |options| {
        options.tune = Box::new(|settings| settings.lane.coalesce = Coalesce::Always);
    });
    let mut actor = stage.open().await;
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    for text in ["a", "b"] {
        actor.deliver(text, Delivery::Policy).await;
    }
    actor.until(|event| matches!(event, Event::Logged(entry) if line(&entry.body).starts_with("t2 ended"))).await;
    actor.settle().await;
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    let entries = stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries;
    let (ended, moved) = entries.iter().fold((0, 0), |(ended, moved), entry| match &entry.body {
        Body::Turn(TurnEntry::Ended(end)) if end.turn.as_str() == "t1" => (entry.seq, moved),
        Body::Branch(BranchEntry::Moved { to }) => (ended, *to),
        _ => (ended, moved),
    });
    assert_eq!(moved, ended, "behind the turn before it, and not in the middle of its beginning");
}
