//! Extensions: asked, vetoing, changing, adding, asking, dying; and never in the way.

use engine::Extension;
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

/// An extension under the control of a test.
struct Fake {
    end: Extension,
    told: Vec<Told>,
    tag: u64,
}

impl Fake {
    fn new(stage: &Stage, name: &str, offers: Offers) -> Self {
        Self { end: stage.engine.extension(name, format!("/ext/{name}"), offers), told: Vec::new(), tag: 1000 }
    }
    async fn send(&mut self, verb: Verb) -> Tag {
        self.tag += 1;
        let command = Command::of(Tag(self.tag), Target::Session("s1".into()), verb);
        self.end.submit(command).await;
        Tag(self.tag)
    }
    /// Waits for an event and forgets everything up to it.
    async fn until<T>(&mut self, mut pick: impl FnMut(&Event) -> Option<T>) -> T {
        loop {
            if let Some((at, found)) = self.told.iter().enumerate().find_map(|(at, it)| Some((at, pick(&it.event)?))) {
                self.told.drain(..=at);
                return found;
            }
            let more = tokio::time::timeout(std::time::Duration::from_secs(700), self.end.events(&mut self.told)).await;
            assert!(more.unwrap_or_else(|_| panic!("it does not come: {:#?}", self.told)), "let go: {:#?}", self.told);
        }
    }
    async fn hook(&mut self) -> HookCall {
        self.until(|event| match event {
            Event::Extension(ExtensionEvent::Hook(hook)) => Some(hook.clone()),
            _ => None,
        })
        .await
    }
    async fn reply(&mut self, tag: Tag) -> Result<Reply, Fault> {
        self.until(|event| match event {
            Event::Reply { tag: got, result } if *got == tag => Some(result.clone()),
            _ => None,
        })
        .await
    }
    async fn hook_done(&mut self, hook: u64, verdict: HookVerdict) {
        let tag = self.send(Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone { hook, verdict }))).await;
        self.reply(tag).await.unwrap();
    }
    /// Waits for the next hook call and says this to it.
    async fn say(&mut self, verdict: HookVerdict) -> HookKind {
        let hook = self.hook().await;
        self.hook_done(hook.id, verdict).await;
        hook.kind
    }
    async fn meet(&mut self) {
        self.until(|event| matches!(event, Event::State(_)).then_some(())).await;
    }
}

fn hooks(before_turn: bool, before_call: bool, after_call: bool) -> Offers {
    Offers { hooks: Hooks { before_turn, before_call, after_call, only_looks: false }, ..Offers::default() }
}
fn on_calls() -> Offers {
    hooks(false, true, false)
}
fn tool(name: &str) -> HostTool {
    HostTool {
        name: name.into(),
        description: "a tool".into(),
        schema: Json::empty_object(),
        required: Required::DangerFullAccess,
    }
}
fn command(name: &str) -> CommandInfo {
    CommandInfo { name: name.into(), description: None, source: "fake".into() }
}
fn with_command(name: &str) -> Offers {
    Offers { commands: vec![command(name)], ..Offers::default() }
}
fn confirm() -> AskKind {
    AskKind::Confirm { title: "Sure?".into(), message: "really".into() }
}

async fn trouble(actor: &mut Actor) -> (String, String, String) {
    let event = actor.until(|event| matches!(event, Event::Extension(ExtensionEvent::Trouble { .. }))).await;
    let Event::Extension(ExtensionEvent::Trouble { source, during, text }) = event else {
        unreachable!("that was waited for")
    };
    (source.to_string(), during.to_string(), text.to_string())
}
fn trouble_of(source: &str, during: &str, text: &str) -> (String, String, String) {
    (source.into(), during.into(), text.into())
}

// ---- calls ------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_veto_is_an_error_that_the_model_reads_and_the_turn_goes_on() {
    let player = Player::new([calls(&[("change", "{}")]), say("then not")]);
    let stage = stage(&player);
    let mut fake = Fake::new(&stage, "guard", on_calls());
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let kind = fake.say(HookVerdict::Veto("not on my watch".into())).await;
    assert_eq!(kind, HookKind::Call { call: "c1".into(), tool: "change".into(), input: Json::empty_object() });
    actor.turn_end().await;
    let log = log(&stage).await;
    assert!(log.contains("  c1 Denied: not on my watch\n"), "{log}");
    assert!(player.last_sent().contains("result c1 Denied not on my watch"), "{}", player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn changed_arguments_run_and_are_judged_anew_each_extension_seeing_the_last_word() {
    // `slow` would take 30 s, `wrong` would not be planned: what runs is what the last extension said.
    let stage =
        stage_with(&Player::new([calls(&[("change", r#"{"slow":1}"#)])]), |options| options.mode = Mode::Prompt);
    let mut first = Fake::new(&stage, "first", on_calls());
    let mut second = Fake::new(&stage, "second", on_calls());
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    first.say(HookVerdict::Input(Json::trusted(r#"{"wrong":1}"#))).await;
    let kind = second.say(HookVerdict::Input(Json::trusted(r#"{"b":2}"#))).await;
    assert!(matches!(kind, HookKind::Call { input, .. } if input.as_str() == r#"{"wrong":1}"#));
    let ask = actor.ask().await;
    let AskKind::Permission(permission) = ask.kind else { panic!("not a permission: {ask:?}") };
    assert_eq!(permission.input.as_str(), r#"{"b":2}"#, "permission is asked for what would run");
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask: ask.id, answer: Answer::Allow(Scope::Once) }))
        .await
        .unwrap();
    actor.turn_end().await;
    let started = actor.told.iter().find_map(|told| match &told.event {
        Event::Logged(entry) => match &entry.body {
            Body::Call(CallEntry::Started { call, .. }) => Some(call.input.json().as_str().to_owned()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(started.as_deref(), Some(r#"{"b":2}"#));
}

#[tokio::test(start_paused = true)]
async fn who_does_not_answer_about_a_call_denies_it_by_name() {
    let stage = stage(&Player::new([calls(&[("change", "{}")]), say("ok")]));
    let mut fake = Fake::new(&stage, "guard", on_calls());
    let mut actor = stage.open().await;
    let began = tokio::time::Instant::now();
    actor.prompt("go").await;
    let hook = fake.hook().await;
    actor.turn_end().await;
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(trouble(&mut actor).await, trouble_of("/ext/guard", "before_call", "no answer within 5 s"));
    let log = log(&stage).await;
    assert!(
        log.contains("c1 Denied: not run: the extension guard was to be asked first and failed: no answer within 5 s"),
        "{log}"
    );
    // Too late is too late, and it is said.
    let tag = fake
        .send(Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone {
            hook: hook.id,
            verdict: HookVerdict::Fine,
        })))
        .await;
    assert_eq!(fake.reply(tag).await.unwrap_err().kind, FaultKind::UnknownAsk);
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_while_asked_about_a_call_denies_that_call_only() {
    let stage = stage(&Player::new([calls(&[("look", "{}"), ("change", "{}")]), say("ok")]));
    let mut fake = Fake::new(&stage, "guard", on_calls());
    let mut actor = stage.open().await;
    let began = tokio::time::Instant::now();
    actor.prompt("go").await;
    fake.hook().await;
    drop(fake);
    actor.turn_end().await;
    assert_eq!(began.elapsed().as_secs(), 0, "nobody waits for the dead");
    let log = log(&stage).await;
    assert!(log.contains("c1 Denied: not run: the extension guard"), "{log}");
    assert!(log.contains("c2 Ran: done"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_does_not_wait_for_an_extension() {
    let stage = stage(&Player::new([calls(&[("look", "{}"), ("look", "{}")]), calls(&[("look", "{}")])]));
    let mut fake = Fake::new(&stage, "guard", hooks(true, true, true));
    let mut actor = stage.open().await;
    let began = tokio::time::Instant::now();
    // While asked about the turn, about a call, and about a result.
    for asked in 0..3 {
        actor.forget();
        actor.prompt("go").await;
        for _ in 0..asked {
            fake.say(HookVerdict::Fine).await;
        }
        fake.hook().await;
        ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
        assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    }
    assert_eq!(began.elapsed().as_secs(), 0, "nobody waited");
    let log = log(&stage).await;
    // In the third turn the tool had run: its result is kept.
    let third = &log[log.find("t3 started").unwrap()..];
    assert!(third.contains("c1 Ran: done\n"), "{third}");
    // The session is as before.
    actor.forget();
    actor.prompt("again").await;
    fake.say(HookVerdict::Fine).await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_kept_result_of_an_interrupted_hook_leaves_no_call_without_result() {
    let stage = stage(&Player::new([calls(&[("change", "{}"), ("look", "{}")])]));
    let mut fake = Fake::new(&stage, "guard", hooks(false, false, true));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    fake.hook().await;
    actor.deliver("steer me", Delivery::Steer).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    let end = actor.turn_end().await;
    assert_eq!(end.mutations.len(), 1, "what was changed was changed: {end:?}");
    let log = log(&stage).await;
    assert!(log.contains("c1 Ran: done\n  c2 Interrupted: interrupted\nt1 cut: Asked\nt1 ended"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_changed_result_is_what_the_model_reads_and_the_change_is_still_counted() {
    let player = Player::new([calls(&[("change", "{}")]), say("ok")]);
    let stage = stage(&player);
    let mut fake = Fake::new(&stage, "editor", hooks(false, false, true));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let kind = fake.say(HookVerdict::Result { parts: vec![Part::text("[redacted]")], is_error: true }).await;
    assert!(matches!(kind, HookKind::Result { parts, is_error: false, .. } if parts_text(&parts) == "done"));
    let end = actor.turn_end().await;
    assert!(player.last_sent().contains("result c1 Ran [redacted]"), "{}", player.last_sent());
    assert_eq!(end.mutations.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn silence_about_a_turn_or_a_result_is_trouble_and_nothing_else() {
    let stage = stage(&Player::new([calls(&[("look", "{}")]), say("ok")]));
    let _fake = Fake::new(&stage, "sleeper", hooks(true, false, true));
    let mut actor = stage.open().await;
    let began = tokio::time::Instant::now();
    actor.prompt("go").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    assert_eq!(began.elapsed().as_secs(), 10);
    assert_eq!(trouble(&mut actor).await.1, "before_turn");
    assert!(log(&stage).await.contains("c1 Ran: done"));
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_while_asked_about_a_turn_or_a_result_is_trouble_and_nothing_else() {
    for hooked in [hooks(true, false, false), hooks(false, false, true)] {
        let stage = stage(&Player::new([calls(&[("look", "{}")]), say("ok")]));
        let mut fake = Fake::new(&stage, "mortal", hooked);
        let mut actor = stage.open().await;
        let began = tokio::time::Instant::now();
        actor.prompt("go").await;
        fake.hook().await;
        drop(fake);
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
        assert_eq!(began.elapsed().as_secs(), 0, "nobody waits for the dead");
        assert_eq!(trouble(&mut actor).await.2, "it ended before it answered");
        assert!(log(&stage).await.contains("c1 Ran: done"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_wrong_kind_is_a_failure() {
    let stage = stage(&Player::new([calls(&[("look", "{}")]), say("ok")]));
    let mut fake = Fake::new(&stage, "odd", on_calls());
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    fake.say(HookVerdict::Context { system: None, message: None }).await;
    actor.turn_end().await;
    assert_eq!(trouble(&mut actor).await.2, "the answer does not fit the question");
    assert!(log(&stage).await.contains("c1 Denied"));
}

#[tokio::test(start_paused = true)]
async fn a_call_of_an_unknown_tool_asks_no_extension() {
    let stage = stage(&Player::new([calls(&[("nothing", "{}")]), say("ok")]));
    let _fake = Fake::new(&stage, "guard", on_calls());
    let mut actor = stage.open().await;
    let began = tokio::time::Instant::now();
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(began.elapsed().as_secs(), 0);
    assert!(log(&stage).await.contains("c1 Unknown: unknown tool: nothing"));
}

// ---- context ----------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn context_is_there_for_one_turn_and_its_message_is_in_the_log() {
    let player = Player::new([say("one"), say("two")]);
    let stage = stage(&player);
    let mut fake = Fake::new(&stage, "notes", hooks(true, false, false));
    let mut actor = stage.open().await;
    let system = async |actor: &mut Actor| match ask_for(actor, Verb::Session(SessionVerb::Inspect)).await.unwrap() {
        Reply::Inspected(inspection) => inspection.spec.system.to_string(),
        other => panic!("not an inspection: {other:?}"),
    };
    actor.prompt("go").await;
    let hook = fake.hook().await;
    assert!(matches!(&hook.kind, HookKind::Turn { parts } if parts_text(parts) == "go"));
    let context = HookVerdict::Context { system: Some("Speak softly.".into()), message: Some("note: it rains".into()) };
    fake.hook_done(hook.id, context).await;
    actor.turn_end().await;
    assert!(log(&stage).await.contains("  user (Prompt): go\n  user (Extension): note: it rains\n  assistant: one"));
    assert!(player.last_sent().contains("user go | user note: it rains"), "{}", player.last_sent());
    assert_eq!(player.system.lock().unwrap().last().unwrap().matches("Speak softly.").count(), 1);
    assert!(!system(&mut actor).await.contains("Speak softly."));
    actor.forget();
    actor.prompt("again").await;
    fake.say(HookVerdict::Fine).await;
    actor.turn_end().await;
    assert!(!player.system.lock().unwrap().last().unwrap().contains("Speak softly."));
}

// ---- tools ------------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn an_extensions_tool_is_offered_called_and_answered() {
    let player = Player::new([calls(&[("weather", r#"{"at":"here"}"#)]), say("ok")]);
    let stage = stage(&player);
    let mut fake = Fake::new(&stage, "sky", Offers { tools: vec![tool("weather")], ..Offers::default() });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await;
    assert!(matches!(&ask.kind, AskKind::HostCall { tool, .. } if &**tool == "weather"));
    // A controller cannot answer for it.
    let answer = Answer::Result { parts: vec![Part::text("sunny")], is_error: false, details: None };
    let stolen =
        ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer: answer.clone() })).await;
    assert_eq!(stolen.unwrap_err().kind, FaultKind::Invalid);
    let tag = fake
        .send(Verb::Session(SessionVerb::Progress { ask: ask.id.clone(), parts: vec![Part::text("looking")] }))
        .await;
    fake.reply(tag).await.unwrap();
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    let tag = fake.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await;
    fake.reply(tag).await.unwrap();
    actor.turn_end().await;
    assert!(player.last_sent().contains("result c1 Ran sunny"), "{}", player.last_sent());
    assert!(player.sent.lock().unwrap()[0].1.contains(&"weather".to_owned()));
}

/// Mode, what the tool says it needs, and what becomes of its call.
#[tokio::test(start_paused = true)]
async fn an_extensions_tool_stands_on_the_ladder_like_our_own() {
    use Required::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    for (mode, required, end) in [
        (Mode::ReadOnly, ReadOnly, "runs"),
        (Mode::ReadOnly, WorkspaceWrite, "denied"),
        (Mode::ReadOnly, DangerFullAccess, "denied"),
        (Mode::Plan, DangerFullAccess, "denied"),
        (Mode::Prompt, ReadOnly, "runs"),
        (Mode::Prompt, WorkspaceWrite, "asked"),
        (Mode::Prompt, DangerFullAccess, "asked"),
        (Mode::WorkspaceWrite, WorkspaceWrite, "runs"),
        (Mode::WorkspaceWrite, DangerFullAccess, "asked"),
        (Mode::DangerFullAccess, DangerFullAccess, "runs"),
    ] {
        let player = Player::new([calls(&[("deploy", "{}")]), say("ok")]);
        let stage = stage_with(&player, |options| options.mode = mode);
        let tools = vec![HostTool { required, ..tool("deploy") }];
        let mut fake = Fake::new(&stage, "ops", Offers { tools, ..Offers::default() });
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        if end != "denied" {
            let mut ask = actor.ask().await;
            if let AskKind::Permission(permission) = &ask.kind {
                assert_eq!(
                    (end, &*permission.summary),
                    ("asked", "deploy of the extension ops"),
                    "{mode:?} {required:?}"
                );
                let allow =
                    Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer: Answer::Allow(Scope::Once) });
                actor.forget();
                ask_for(&mut actor, allow).await.unwrap();
                ask = actor.ask().await;
            } else {
                assert_eq!(end, "runs", "{mode:?} {required:?}");
            }
            assert!(matches!(&ask.kind, AskKind::HostCall { .. }), "{ask:?}");
            let answer = Answer::Result { parts: vec![Part::text("done")], is_error: false, details: None };
            let tag = fake.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await;
            fake.reply(tag).await.unwrap();
        }
        actor.turn_end().await;
        let result = if end == "denied" { "result c1 Denied not allowed" } else { "result c1 Ran done" };
        assert!(player.last_sent().contains(result), "{mode:?} {required:?}: {}", player.last_sent());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_about_an_extensions_tool_that_nobody_allows_ends_without_it() {
    let player = Player::new([calls(&[("deploy", "{}")]), say("ok")]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let _fake = Fake::new(&stage, "ops", Offers { tools: vec![tool("deploy")], ..Offers::default() });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask: ask.id, answer: Answer::Deny(None) })).await.unwrap();
    actor.turn_end().await;
    assert!(!log(&stage).await.contains("HostCall"), "it was never called");
    assert!(player.last_sent().contains("result c1 Denied"), "{}", player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn offers_can_change_at_any_time_and_the_next_request_has_them() {
    let player = Player::new([calls(&[("weather", "{}")]), say("ok")]);
    let stage = stage(&player);
    let mut fake = Fake::new(&stage, "sky", Offers { tools: vec![tool("weather")], ..Offers::default() });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await;
    fake.end.offer(Offers { tools: vec![tool("weather"), tool("tide")], ..Offers::default() });
    let answer = Answer::Result { parts: vec![Part::text("sunny")], is_error: false, details: None };
    fake.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await;
    actor.turn_end().await;
    let sent = player.sent.lock().unwrap();
    assert!(!sent[0].1.contains(&"tide".to_owned()) && sent[1].1.contains(&"tide".to_owned()), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn built_in_and_controllers_tools_win_over_an_extensions() {
    let player = Player::new([]);
    let stage = stage(&player);
    let tools = vec![tool("look"), tool("lamp"), tool("mine")];
    let _fake = Fake::new(&stage, "sky", Offers { tools, ..Offers::default() });
    let mut actor = stage.open().await;
    let text = "tool \"look\" conflicts with an existing tool and is not offered";
    assert_eq!(trouble(&mut actor).await, trouble_of("/ext/sky", "register", text));
    actor.forget();
    ask_for(&mut actor, Verb::Session(SessionVerb::OfferTools { tools: vec![tool("lamp")] })).await.unwrap();
    assert!(trouble(&mut actor).await.2.contains("\"lamp\""));
    actor.prompt("go").await;
    actor.turn_end().await;
    let names = player.sent.lock().unwrap()[0].1.clone();
    assert_eq!(names, ["look", "change", "danger", "lamp", "mine"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_during_its_call_leaves_an_error_and_its_tools_go() {
    let player = Player::new([calls(&[("weather", "{}")]), say("ok")]);
    let stage = stage(&player);
    let fake = Fake::new(&stage, "sky", Offers { tools: vec![tool("weather")], ..Offers::default() });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.ask().await;
    drop(fake);
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    assert!(log(&stage).await.contains("c1 Ran: the extension sky ended before it answered"));
    assert!(!player.sent.lock().unwrap()[1].1.contains(&"weather".to_owned()));
}

// ---- commands ---------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_command_runs_at_once_also_while_a_turn_streams() {
    let stage = stage(&Player::new([held("thinking ")]));
    let mut fake = Fake::new(&stage, "guard", with_command("guard"));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "thinking ").await;
    let go = |name: &str| Verb::Session(SessionVerb::Command { name: name.into(), args: "on".into() });
    assert_eq!(ask_for(&mut actor, go("guard")).await, Ok(Reply::Done));
    let kind = fake.say(HookVerdict::Failed("no such switch".into())).await;
    assert_eq!(kind, HookKind::Command { name: "guard".into(), args: "on".into() });
    assert_eq!(trouble(&mut actor).await, trouble_of("command:guard", "command", "no such switch"));
    assert_eq!(ask_for(&mut actor, go("nope")).await.unwrap_err().kind, FaultKind::UnknownCommand);
    let Ok(Reply::Inspected(inspection)) = ask_for(&mut actor, Verb::Session(SessionVerb::Inspect)).await else {
        panic!("no inspection")
    };
    assert_eq!(inspection.commands, [command("guard")]);
    assert!(!log(&stage).await.contains("ended"), "the turn goes on");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_hangs_or_dies_is_trouble() {
    let stage = stage(&Player::new([]));
    let mut fake = Fake::new(&stage, "guard", with_command("guard"));
    let mut actor = stage.open().await;
    let go = Verb::Session(SessionVerb::Command { name: "guard".into(), args: "".into() });
    ask_for(&mut actor, go.clone()).await.unwrap();
    fake.hook().await;
    assert_eq!(trouble(&mut actor).await, trouble_of("command:guard", "command", "no answer for 60 s"));
    actor.forget();
    ask_for(&mut actor, go).await.unwrap();
    fake.hook().await;
    drop(fake);
    assert_eq!(trouble(&mut actor).await.2, "the extension ended before the command was done");
}

// ---- questions to people ----------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn the_first_answer_of_any_controller_is_the_answer() {
    let stage = stage(&Player::new([]));
    let mut fake = Fake::new(&stage, "guard", Offers::default());
    let mut one = stage.open().await;
    let mut two = stage.actor();
    two.open(Open::new(Which::Named("s1".into()))).await.unwrap();
    fake.meet().await;
    let tag = fake
        .send(Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind: confirm(), timeout_ms: None })))
        .await;
    let ask = one.ask().await;
    assert_eq!(two.ask().await, ask);
    assert_eq!((ask.kind, ask.turn), (confirm(), None));
    let answer = |answer| Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer });
    let wrong = ask_for(&mut one, answer(Answer::Text("yes".into()))).await;
    assert_eq!(wrong.unwrap_err().kind, FaultKind::Invalid);
    ask_for(&mut two, answer(Answer::Confirmed(true))).await.unwrap();
    assert_eq!(ask_for(&mut one, answer(Answer::Confirmed(false))).await.unwrap_err().kind, FaultKind::UnknownAsk);
    assert_eq!(fake.reply(tag).await, Ok(Reply::Answered(Answer::Confirmed(true))));
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_question_is_withdrawn_when_its_time_is_over() {
    let stage = stage(&Player::new([]));
    let mut fake = Fake::new(&stage, "guard", Offers::default());
    let mut actor = stage.open().await;
    fake.meet().await;
    let began = tokio::time::Instant::now();
    let tag = fake
        .send(Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind: confirm(), timeout_ms: Some(2_000) })))
        .await;
    assert_eq!(fake.reply(tag).await, Ok(Reply::Answered(Answer::Dismissed)));
    assert_eq!(began.elapsed().as_secs(), 2);
    let ask = actor.ask().await.id;
    let withdrawn = Body::Ask(AskEntry::Closed { ask, end: AskEnd::Withdrawn });
    actor.until(|event| matches!(event, Event::Logged(entry) if entry.body == withdrawn)).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_a_turn_and_not_its_extension() {
    let stage = stage(&Player::new([held("a ")]));
    let mut fake = Fake::new(&stage, "guard", Offers::default());
    let mut actor = stage.open().await;
    fake.meet().await;
    actor.prompt("go").await;
    text_of(&mut actor, "a ").await;
    fake.send(Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind: confirm(), timeout_ms: None }))).await;
    let ask = actor.ask().await.id;
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    actor.turn_end().await;
    assert!(!log(&stage).await.contains("ask1 withdrawn"));
    drop(fake);
    let withdrawn = Body::Ask(AskEntry::Closed { ask, end: AskEnd::Withdrawn });
    actor.until(|event| matches!(event, Event::Logged(entry) if entry.body == withdrawn)).await;
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_hook_does_not_run_while_a_person_thinks() {
    let stage = stage(&Player::new([calls(&[("change", "{}")]), say("ok")]));
    let mut fake = Fake::new(&stage, "guard", on_calls());
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let hook = fake.hook().await;
    let tag = fake
        .send(Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind: confirm(), timeout_ms: None })))
        .await;
    let ask = actor.ask().await.id;
    // Longer than a hook call may take, and longer than a silent turn may.
    tokio::time::sleep(std::time::Duration::from_secs(900)).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask, answer: Answer::Confirmed(true) })).await.unwrap();
    assert_eq!(fake.reply(tag).await, Ok(Reply::Answered(Answer::Confirmed(true))));
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    fake.hook_done(hook.id, HookVerdict::Fine).await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    assert!(log(&stage).await.contains("c1 Ran: done"));
}

#[tokio::test(start_paused = true)]
async fn a_dialog_that_no_peer_can_show_is_dismissed_at_once() {
    let stage = stage(&Player::new([]));
    let mut fake = Fake::new(&stage, "guard", Offers::default());
    let mut actor = stage.actor();
    let abilities = Abilities { dialogs: false, ..Abilities::default() };
    actor.open(Open { abilities, ..Open::new(Which::Named("s1".into())) }).await.unwrap();
    fake.meet().await;
    let ask = || Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind: confirm(), timeout_ms: None }));
    let tag = fake.send(ask()).await;
    assert_eq!(fake.reply(tag).await, Ok(Reply::Answered(Answer::Dismissed)));
    ask_for(&mut actor, Verb::Session(SessionVerb::Able(Abilities::default()))).await.unwrap();
    fake.send(ask()).await;
    assert_eq!(actor.ask().await.kind, confirm());
}

#[tokio::test(start_paused = true)]
async fn where_only_extensions_are_left_nobody_is_there() {
    let stage =
        stage_with(&Player::new([calls(&[("look", r#"{"slow":1}"#), ("change", "{}")]), say("ok")]), |options| {
            options.mode = Mode::Prompt;
        });
    let mut fake = Fake::new(&stage, "guard", Offers::default());
    let mut actor = stage.open().await;
    fake.meet().await;
    let tag = actor.prompt("go").await;
    actor.reply(tag).await.unwrap();
    fake.send(Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind: confirm(), timeout_ms: None }))).await;
    actor.ask().await;
    // The last controller leaves: the open question is dismissed, a new one at once.
    drop(actor);
    let first = fake.reply(Tag(1001)).await;
    assert_eq!(first, Ok(Reply::Answered(Answer::Dismissed)));
    let tag = fake
        .send(Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind: confirm(), timeout_ms: None })))
        .await;
    assert_eq!(fake.reply(tag).await, Ok(Reply::Answered(Answer::Dismissed)));
    // The permission that would have to be asked is denied, and then the session retires.
    fake.until(|event| matches!(event, Event::Gone { .. }).then_some(())).await;
    assert!(log(&stage).await.contains("c2 Denied: denied: nobody is here who could be asked"));
    assert!(stage.engine.live().is_empty());
}

// ---- what they may and what they show ---------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn an_extension_neither_answers_for_a_user_nor_changes_what_is_allowed() {
    let stage = stage_with(&Player::new([calls(&[("change", "{}")])]), |options| options.mode = Mode::Prompt);
    let mut fake = Fake::new(&stage, "guard", Offers::default());
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await.id;
    for verb in [
        Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Session) }),
        Verb::Session(SessionVerb::Set(Change::Mode(Mode::DangerFullAccess))),
        Verb::Session(SessionVerb::Slash { name: "permissions".into(), args: "danger-full-access".into() }),
    ] {
        let tag = fake.send(verb.clone()).await;
        assert!(fake.reply(tag).await.is_err(), "{verb:?}");
    }
    let mine = ask_for(
        &mut actor,
        Verb::Session(SessionVerb::Extension(ExtensionVerb::Show(Notice::Title { text: "x".into() }))),
    )
    .await;
    assert_eq!(mine.unwrap_err().kind, FaultKind::Unsupported);
}

#[tokio::test(start_paused = true)]
async fn what_is_shown_reaches_everybody_and_stays_for_those_who_come_later() {
    let stage = stage(&Player::new([]));
    let mut fake = Fake::new(&stage, "guard", Offers::default());
    let mut one = stage.open().await;
    fake.meet().await;
    let status = |text: Option<&str>| Notice::Status { key: "guard".into(), text: text.map(Into::into) };
    let say = Notice::Say { text: "hello".into(), level: NoticeLevel::Info };
    for notice in [status(Some("off")), say.clone(), status(Some("on"))] {
        fake.send(Verb::Session(SessionVerb::Extension(ExtensionVerb::Show(notice.clone())))).await;
        one.until(|event| *event == Event::Extension(ExtensionEvent::Notice(notice.clone()))).await;
    }
    let mut two = stage.actor();
    two.open(Open::new(Which::Named("s1".into()))).await.unwrap();
    two.settle().await;
    let shown: Vec<_> =
        two.told.iter().filter(|it| matches!(it.event, Event::Extension(ExtensionEvent::Notice(_)))).collect();
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].event, Event::Extension(ExtensionEvent::Notice(status(Some("on")))));
    one.forget();
    drop(fake);
    one.until(|event| *event == Event::Extension(ExtensionEvent::Notice(status(None)))).await;
}

#[tokio::test(start_paused = true)]
async fn trouble_before_the_first_session_is_told_to_whoever_comes() {
    let stage = stage(&Player::new([]));
    stage.engine.trouble("/ext/broken.py", "start", "it does not start");
    let mut actor = stage.open().await;
    assert_eq!(trouble(&mut actor).await, trouble_of("/ext/broken.py", "start", "it does not start"));
    stage.engine.trouble("/ext/broken.py", "frame", "bad frame");
    actor.forget();
    assert_eq!(trouble(&mut actor).await.2, "bad frame");
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_never_reads_slows_nobody() {
    let flood: Play = (0..40_000).map(|_| text(&"x".repeat(400))).chain([done(Finish::Stop)]).collect();
    let stage = stage(&Player::new([flood]));
    let mut fake = Fake::new(&stage, "stuck", Offers { hears: Hears::Flow, ..Offers::default() });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    while fake.end.events(&mut fake.told).await {}
    assert!(matches!(fake.told.last().map(|told| &told.event), Some(Event::Gone { .. })), "it was let go");
}

#[tokio::test(start_paused = true)]
async fn only_who_wants_the_flow_gets_it() {
    let stage = stage(&Player::new([say("hello")]));
    let mut quiet = Fake::new(&stage, "quiet", Offers::default());
    let mut eager = Fake::new(&stage, "eager", Offers { hears: Hears::Flow, ..Offers::default() });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let ended = |event: &Event| matches!(event, Event::Settled).then_some(());
    let texts = |told: &[Told]| told.iter().filter(|it| matches!(it.event, Event::Delta(Delta::Text { .. }))).count();
    quiet.end.events(&mut quiet.told).await;
    eager.end.events(&mut eager.told).await;
    assert_eq!((texts(&quiet.told), texts(&eager.told)), (0, 1));
    quiet.until(ended).await;
}

#[tokio::test(start_paused = true)]
async fn an_extension_stands_beside_every_session_and_may_prompt_in_any() {
    let player = Player::new([say("one"), say("two")]);
    let stage = stage(&player);
    let mut fake = Fake::new(&stage, "bot", Offers::default());
    let _one = stage.open().await;
    let mut two = stage.open().await;
    let verb =
        Verb::Session(SessionVerb::Prompt { parts: vec![Part::text("from the bot")], delivery: Delivery::Enqueue });
    let command = Command::of(Tag(7), Target::Session("s2".into()), verb);
    fake.end.submit(command).await;
    assert!(matches!(fake.reply(Tag(7)).await, Ok(Reply::Started { .. })));
    two.turn_end().await;
    assert!(player.last_sent().contains("user from the bot"));
    let command = Command::of(Tag(8), Target::Current, Verb::Session(SessionVerb::Interrupt { turn: None }));
    fake.end.submit(command).await;
    assert_eq!(fake.reply(Tag(8)).await.unwrap_err().kind, FaultKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_of_an_extension_wakes_a_session_with_the_users_own_servers() {
    let servers = std::sync::Arc::new(crate::mcp::Fake::default());
    *servers.own.lock().unwrap() = crate::mcp::bringing(Which::New, &["own"]).servers;
    let player = Player::new([say("one"), calls(&[("mcp__own__list_all", "{}")]), say("two")]);
    let seconds = std::time::Duration::from_secs;
    let stage = stage_with(&player, |options| {
        options.servers = servers.clone();
        options.idle = Some(engine::IdlePolicy {
            linger: seconds(60),
            park_after: seconds(3600),
            ready_max: 9,
            unload_after: seconds(10),
        });
    });
    let mut fake = Fake::new(&stage, "clock", Offers::default());
    let mut actor = stage.open().await;
    fake.meet().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    actor.settle().await;
    drop(actor);
    tokio::time::sleep(seconds(70)).await;
    assert_eq!(stage.engine.live().len(), 1, "it is unloaded and not parked");
    let prompt = SessionVerb::Prompt { parts: vec![Part::text("it is time")], delivery: Delivery::Enqueue };
    let tag = fake.send(Verb::Session(prompt)).await;
    fake.reply(tag).await.unwrap();
    tokio::time::sleep(seconds(5)).await;
    let log = log(&stage).await;
    assert!(log.contains("  c1 Ran: list/all did it\n"), "{log}");
}
