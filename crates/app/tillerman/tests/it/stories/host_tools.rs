//! 35: tools that live with the controller: result, progress, error, cancel, host gone, offered in mid-conversation.

use std::sync::Arc;

use super::serve_teller::open_as_serve;
use testkit::stage::Actor;
use testkit::stories::{Recorder, read_log, shown_log};
use testkit::{Stage, StageOptions};
use vocab::{Answer, AskKind, Delta, Event, HostTool, Json, Part, Required, SessionId, SessionVerb, Stop, Verb, Which};

use crate::golden::paused;

struct Play {
    stage: Stage,
    recorder: Arc<Recorder>,
    actor: Actor,
    session: SessionId,
}

impl Play {
    async fn new() -> Self {
        let recorder = Arc::new(Recorder::new(Arc::new(tour::Tour::default())));
        let stage = Stage::new(StageOptions { provider: recorder.clone(), ..StageOptions::default() });
        let mut actor = stage.actor();
        let session = actor.open(open_as_serve(Which::New)).await.unwrap().session;
        Self { stage, recorder, actor, session }
    }

    async fn offer(&mut self, name: &str) -> Result<vocab::Reply, vocab::Fault> {
        let tool = HostTool {
            name: name.into(),
            description: "asks the host".into(),
            schema: Json::trusted(r#"{"type":"object"}"#),
            required: Required::DangerFullAccess,
        };
        let tag = self.actor.send(Verb::Session(SessionVerb::OfferTools { tools: vec![tool] })).await;
        self.actor.reply(tag).await
    }

    /// Prompts the model to call the tool and returns the question put to its owner.
    async fn called(&mut self) -> vocab::Ask {
        self.actor.forget();
        self.actor.prompt("call lookup {\"key\":\"a\"} then say done").await;
        let ask = self.actor.ask().await;
        assert!(
            matches!(&ask.kind, AskKind::HostCall { tool, input, .. } if &**tool == "lookup" && input.as_str() == "{\"key\":\"a\"}"),
            "{ask:?}"
        );
        ask
    }

    async fn results(&self) -> Vec<String> {
        let log = shown_log(&read_log(&self.stage.store, &self.session).await);
        log.into_iter().filter(|line| line.starts_with("result ")).collect()
    }
}

fn result(text: &str, is_error: bool) -> Answer {
    Answer::Result { parts: vec![Part::text(text)], is_error, details: None }
}

#[test]
fn a_tool_offered_in_mid_conversation_is_in_the_next_request() {
    paused(async {
        let mut play = Play::new().await;
        play.actor.prompt("say hello").await;
        play.actor.turn_end().await;
        play.offer("lookup").await.unwrap();
        assert!(play.offer("bash").await.is_err(), "a built-in name was taken");
        let ask = play.called().await;
        play.actor
            .send(Verb::Session(SessionVerb::Progress { ask: ask.id.clone(), parts: vec![Part::text("half")] }))
            .await;
        play.actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
        play.actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer: result("42", false) })).await;
        assert_eq!(play.actor.turn_end().await.stop, Stop::EndTurn);
        assert_eq!(play.results().await, ["result lookup Ran \"42\""]);
        let again =
            play.actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer: result("43", false) })).await;
        assert_eq!(play.actor.reply(again).await.unwrap_err().kind, vocab::FaultKind::UnknownAsk);

        let sent = play.recorder.sent();
        let offered: Vec<bool> = sent.iter().map(|call| call.tools.iter().any(|tool| &**tool == "lookup")).collect();
        assert_eq!(offered, [false, true, true]);
        assert_eq!(play.recorder.calls()[2], "tour UAUAR \"42\"");
    });
}

#[test]
fn an_error_of_the_host_is_a_result() {
    paused(async {
        let mut play = Play::new().await;
        play.offer("lookup").await.unwrap();
        let ask = play.called().await;
        play.actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer: result("no such key", true) })).await;
        assert_eq!(play.actor.turn_end().await.stop, Stop::EndTurn);
        assert_eq!(play.results().await, ["result lookup Ran error \"no such key\""]);
    });
}

#[test]
fn an_interrupt_withdraws_the_call_from_the_host() {
    paused(async {
        let mut play = Play::new().await;
        play.offer("lookup").await.unwrap();
        let ask = play.called().await;
        play.actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
        assert_eq!(play.actor.turn_end().await.stop, Stop::Interrupted);
        assert_eq!(play.results().await, ["result lookup Interrupted error \"interrupted\""]);
        let late =
            play.actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer: result("42", false) })).await;
        assert_eq!(play.actor.reply(late).await.unwrap_err().kind, vocab::FaultKind::UnknownAsk);
    });
}

#[test]
fn a_host_that_goes_away_takes_its_tools_along() {
    paused(async {
        let mut play = Play::new().await;
        play.offer("lookup").await.unwrap();
        let mut other = play.stage.actor();
        other.open(open_as_serve(Which::Id(play.session.to_string()))).await.unwrap();
        play.called().await;
        play.actor.send(Verb::Leave).await;
        assert_eq!(other.turn_end().await.stop, Stop::EndTurn);
        let results = play.results().await;
        assert_eq!(results, ["result lookup Ran error \"controller disconnected before responding\""]);
        let last = play.recorder.sent().pop().unwrap();
        assert!(!last.tools.iter().any(|tool| &**tool == "lookup"), "still offered: {:?}", last.tools);
    });
}
