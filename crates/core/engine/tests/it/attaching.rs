//! Coming in at any position of a turn: what a peer was told up to there, and what it is told when it comes in with that
//! position, are together what a peer was told that never left.

use std::collections::BTreeMap;

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

/// What a reader makes of what it is told.
#[derive(Clone, PartialEq, Debug, Default)]
struct Picture {
    entries: Vec<u64>,
    /// The running reply: text, thinking and seals in order, and calls by index.
    said: String,
    calls: BTreeMap<u32, String>,
    called: u32,
    asks: Vec<AskId>,
    waiting: Vec<String>,
    running: BTreeMap<CallId, String>,
}

impl Picture {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Logged(entry) => {
                self.entries.push(entry.seq);
                match &entry.body {
                    Body::Assistant { .. } | Body::Turn(_) => self.reply_is_over(),
                    Body::Ask(AskEntry::Opened(ask)) => self.asks.push(ask.id.clone()),
                    Body::Ask(AskEntry::Closed { ask, .. }) => self.asks.retain(|open| open != ask),
                    Body::Call(CallEntry::Started { call, .. }) => {
                        self.running.insert(call.id.clone(), String::new());
                    }
                    Body::Call(CallEntry::Ended { result, .. }) => {
                        self.running.remove(&result.call);
                    }
                    _ => {}
                }
            }
            Event::Delta(Delta::ModelCalled { .. }) => {
                self.reply_is_over();
                self.called += 1;
            }
            Event::Delta(Delta::Text { delta, .. }) => self.said.push_str(delta),
            Event::Delta(Delta::Thinking { delta, .. }) => self.said.push_str(&delta.to_uppercase()),
            Event::Delta(Delta::Sealed { what, .. }) => self.said.push_str(&format!("[{what:?}]")),
            Event::Delta(Delta::CallInput { index, id, name, delta, .. }) => {
                let call = self.calls.entry(*index).or_default();
                if let (Some(id), Some(name)) = (id, name) {
                    call.push_str(&format!("{id} {name} "));
                }
                call.push_str(delta);
            }
            Event::Delta(Delta::CallProgress { call, parts, .. }) => {
                self.running.insert(call.clone(), parts_text(parts));
            }
            Event::Queue(QueueEvent::Waiting(items)) => self.wait(items),
            _ => {}
        }
    }
    fn wait(&mut self, items: &[Item]) {
        self.waiting = items.iter().map(|item| parts_text(&item.parts)).collect();
    }
    fn reply_is_over(&mut self) {
        self.said.clear();
        self.calls.clear();
        self.called = 0;
    }
    /// What comes with the opening: it is whole, whatever was known before.
    fn come_in(&mut self, opened: &Opened) {
        let Present { waiting, running, .. } = &opened.present;
        self.wait(waiting);
        self.running = running.iter().map(|it| (it.call.clone(), parts_text(&it.output))).collect();
    }
    fn of(told: &[Told]) -> Self {
        let mut picture = Self::default();
        told.iter().for_each(|told| picture.take(&told.event));
        picture
    }
}

/// Text, thinking, two calls written at the same time, a question, a retry, steering; a pause before each step.
fn script() -> Vec<Play> {
    let thought = |text: &str| Step::Event(ModelEvent::Thinking(text.into()));
    let more = |index, input: &str| Step::Event(ModelEvent::Call { index, id: None, name: None, input: input.into() });
    let seal = || Step::Event(ModelEvent::Seal("s".into()));
    let paced = |ms, steps: Vec<Step>| steps.into_iter().flat_map(|step| [Step::Wait(ms), step]).collect::<Play>();
    vec![
        paced(
            10,
            vec![
                thought("h"),
                thought("mé"),
                seal(),
                text("so "),
                text("then"),
                call_step(0, "look", "{\"slow\""),
                call_step(1, "change", "{"),
                more(0, ":20}"),
                more(1, "}"),
                text("!"),
                done(Finish::ToolUse),
            ],
        ),
        paced(700, vec![fail_step(FaultKind::RateLimited)]),
        paced(1500, vec![seal(), thought("again"), text("al"), text("most"), done(Finish::Stop)]),
        paced(1500, vec![text("steered"), done(Finish::Stop)]),
    ]
}

async fn turn(stage: &Stage) -> Actor {
    let mut first = stage.open().await;
    first.prompt("go").await;
    first
}

async fn come(stage: &Stage, at: Position) -> (Actor, Opened) {
    let mut actor = stage.actor();
    let after = Some(Cursor { along: Along::Branch, session: Some("s1".into()), at });
    let opened = actor.open(Open { after, ..Open::new(Which::Named("s1".into())) }).await.unwrap();
    (actor, opened)
}

/// How long the turn is followed; it is over by then.
const STEPS: u32 = 130;

/// The first peer's whole turn, step by step. `meanwhile` sees what it was told at each.
async fn play(mut meanwhile: impl AsyncFnMut(&Stage, u32, &[Told])) -> Vec<Told> {
    let stage = stage_with(&Player::new(script()), |options| options.mode = Mode::Prompt);
    let mut first = turn(&stage).await;
    let mut asked = None;
    for step in 0..STEPS {
        // The first reply word by word; the call that takes half a minute, and what comes after it, in larger steps.
        let ms = if step < 40 { 5 } else { 700 };
        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
        drain(&mut first).await;
        meanwhile(&stage, step, &first.told).await;
        if asked.is_none()
            && let Some(ask) = Picture::of(&first.told).asks.pop()
        {
            asked = Some((step + 3, ask));
        }
        let verb = match &asked {
            _ if step == 8 => SessionVerb::Set(Change::Title("named".into())),
            _ if step == 3 => SessionVerb::Prompt { parts: vec![Part::text("more")], delivery: Delivery::Steer },
            Some((due, ask)) if *due == step => {
                SessionVerb::Answer { ask: ask.clone(), answer: Answer::Allow(Scope::Once) }
            }
            _ => continue,
        };
        first.send(Verb::Session(verb)).await;
    }
    drain(&mut first).await;
    first.told
}

async fn drain(actor: &mut Actor) {
    let moment = std::time::Duration::from_micros(10);
    while let Ok(true) = tokio::time::timeout(moment, actor.peer.events(&mut actor.told)).await {}
}

#[tokio::test(start_paused = true)]
async fn every_position_is_a_place_to_come_in() {
    let whole = play(async |_, _, _| {}).await;
    assert!(whole.iter().any(|told| matches!(told.event, Event::Settled)), "{:#?}", whole.last());
    let kinds = Picture::of(&whole);
    assert!(kinds.asks.is_empty() && kinds.waiting.is_empty() && kinds.running.is_empty(), "{kinds:#?}");
    let (mut tried, mut in_a_reply) = (0, 0);
    let mut shown = [false; 3];
    // Whoever came in, and what it had.
    for moment in 0..STEPS {
        let mut late: Vec<(Actor, Picture)> = Vec::new();
        let told = play(async |stage, step, told| {
            if step != moment {
                return;
            }
            for known in 0..=told.len() {
                let at = told[..known].last().map_or_else(Position::default, |told| told.at);
                let (actor, opened) = come(stage, at).await;
                assert_eq!(opened.present.attached, Attached::After(at));
                let mut picture = Picture::of(&told[..known]);
                picture.come_in(&opened);
                in_a_reply += u32::from(at.offset > 1);
                let Present { asks, waiting, running, .. } = &opened.present;
                shown[0] |= !asks.is_empty();
                shown[1] |= !waiting.is_empty();
                shown[2] |= running.iter().any(|it| !it.output.is_empty());
                tried += 1;
                late.push((actor, picture));
            }
        })
        .await;
        let want = Picture::of(&told);
        for (mut actor, mut picture) in late {
            drain(&mut actor).await;
            actor.told.iter().for_each(|told| picture.take(&told.event));
            assert_eq!(picture, want, "came in at moment {moment}");
            assert_eq!(actor.told.last().map(|told| told.at), told.last().map(|told| told.at));
        }
    }
    assert_eq!(shown, [true; 3], "questions, messages that wait, and output were shown to some");
    assert!(tried > 1000 && in_a_reply > 100, "{tried} places, {in_a_reply} of them in the middle of a reply");
}

#[tokio::test(start_paused = true)]
async fn an_offset_that_the_reply_has_not_reached_is_in_the_future() {
    let stage = stage(&Player::new([held("word")]));
    let mut first = turn(&stage).await;
    text_of(&mut first, "word").await;
    let at = first.told.last().unwrap().at;
    assert_eq!(at.offset, 5);
    let mut second = stage.actor();
    let ahead = Cursor { along: Along::Branch, session: None, at: Position { offset: 6, ..at } };
    let open = Open { after: Some(ahead), ..Open::new(Which::Named("s1".into())) };
    let fault = second.open(open).await.unwrap_err();
    assert_eq!(
        (fault.kind, &*fault.message),
        (FaultKind::Invalid, "offset 6 is in the future; the running reply is at 5")
    );
}

#[tokio::test(start_paused = true)]
async fn a_place_before_an_undo_or_of_another_session_is_stale_and_said_to_be() {
    let stage = stage(&Player::new([]));
    let mut first = stage.open().await;
    first.prompt("one").await;
    first.turn_end().await;
    let before = first.told.last().unwrap().at;
    ask_for(&mut first, slash("undo", "")).await.unwrap();
    let last = stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries.len() as u64;
    for after in [
        Cursor { along: Along::Branch, session: None, at: before },
        Cursor { along: Along::Branch, session: Some("x".into()), at: Position::at(77) },
    ] {
        let mut second = stage.actor();
        let open = Open { after: Some(after), ..Open::new(Which::Named("s1".into())) };
        let opened = second.open(open).await.unwrap();
        assert!(matches!(opened.present.attached, Attached::Anew { .. }), "{:?}", opened.present);
        second.settle().await;
        assert_eq!(Picture::of(&second.told).entries, (1..=last).collect::<Vec<_>>());
    }
}
