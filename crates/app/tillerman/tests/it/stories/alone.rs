//! Stories that need more than steps: forks, images, a crowd, nobody at all.

use std::sync::Arc;

use super::serve_teller::open_as_serve;
use base64::Engine as _;
use serde_json::json;
use testkit::mock_model::MockModel;
use testkit::stories::{read_log, shown_log};
use testkit::{Stage, StageOptions};
use vocab::{Body, Delivery, Event, Image, Open, Part, Reply, SessionVerb, Stop, Verb, Which};

use crate::golden::paused;

/// 4: the mode asks, and nobody is there to answer: a no, never a yes and never a wait.
#[test]
fn a_question_to_nobody_is_a_no() {
    paused(async {
        let stage = Stage::new(StageOptions { mode: vocab::Mode::Prompt, ..StageOptions::default() });
        let mut actor = stage.actor();
        let session = actor.open(open_as_serve(Which::New)).await.unwrap().session;
        actor.prompt("pause 1000 call write_file {\"path\":\"x\",\"content\":\"1\"} then say done").await;
        actor.settle().await;
        actor.send(Verb::Leave).await;
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let log = shown_log(&read_log(&stage.store, &session).await).join("\n");
        assert!(log.contains("result write_file Denied error \"denied: nobody is here who could be asked\""), "{log}");
        assert!(log.contains("end EndTurn rounds 1"), "{log}");
        assert!(!log.contains("ask "), "{log}");
        assert_eq!(stage.read("x"), None);
    });
}

/// 22: a fork at the second user message; both branches go on, and neither changes the other.
#[test]
fn two_branches_of_a_fork_do_not_know_each_other() {
    paused(async {
        let stage = Stage::new(StageOptions::default());
        let mut actor = stage.actor();
        let first = actor.open(open_as_serve(Which::New)).await.unwrap().session;
        for text in ["say one", "say two", "say three"] {
            actor.prompt(text).await;
            actor.turn_end().await;
            actor.forget();
        }
        let before = read_log(&stage.store, &first).await;
        let users: Vec<u64> =
            before.iter().filter(|entry| matches!(entry.body, Body::User { .. })).map(|entry| entry.seq).collect();

        let tag = actor.send(Verb::Fork { at: Some(users[1]) }).await;
        let Ok(Reply::Forked { session: second, text }) = actor.reply(tag).await else { panic!("no fork") };
        assert_eq!(text, "say two", "the message comes back to be written again");
        assert_eq!(read_log(&stage.store, &first).await, before, "the fork left the original alone");

        let mut other = stage.actor();
        other.open(Open::new(Which::Id(second.to_string()))).await.unwrap();
        other.prompt("say zwei").await;
        other.turn_end().await;
        actor.prompt("say four").await;
        actor.turn_end().await;

        let (left, right) = (read_log(&stage.store, &first).await, read_log(&stage.store, &second).await);
        assert_eq!(left[..before.len()], before[..]);
        let said = |log: &[Arc<vocab::Entry>]| -> Vec<String> {
            log.iter()
                .filter_map(|entry| match &entry.body {
                    Body::Assistant { message, .. } => Some(message.text()),
                    _ => None,
                })
                .collect()
        };
        assert_eq!(said(&left), ["one", "two", "three", "four"]);
        assert_eq!(said(&right), ["one", "zwei"]);
        assert!(shown_log(&right)[0].ends_with("as a fork"), "{:?}", right[0]);
        let wrong = actor.send(Verb::Fork { at: Some(1) }).await;
        assert_eq!(
            actor.reply(wrong).await.unwrap_err().kind,
            vocab::FaultKind::NotFound,
            "entry 1 is no user message"
        );
    });
}

/// 33: an image in the prompt reaches the provider in its own form.
#[tokio::test]
async fn an_image_is_sent_in_the_provider_s_form() {
    let model = MockModel::start().await;
    let mut config = providers::Config::new(&model.base_url);
    config.models = vec![
        vocab::ModelInfo { images: true, ..tour::model("mock/alpha", 128_000) },
        vocab::ModelInfo { images: false, ..tour::model("mock/blind", 128_000) },
    ];
    let stage = Stage::new(StageOptions {
        provider: Arc::new(providers::Client::new(config).unwrap()),
        model: "mock/alpha".into(),
        ..StageOptions::default()
    });
    let base64 = base64::engine::general_purpose::STANDARD.encode(b"\x89PNG\r\n\x1a\n");
    let image = Part::Image(Image { mime: "image/png".into(), base64: base64.as_str().into() });
    let parts = vec![Part::text("say seen"), image];

    let mut actor = stage.open().await;
    actor.send(Verb::Session(SessionVerb::Prompt { parts: parts.clone(), delivery: Delivery::RejectIfBusy })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    let url = format!("data:image/png;base64,{base64}");
    assert_eq!(
        model.last_chat()["messages"][1],
        json!({"role":"user","content":[{"type":"text","text":"say seen"},{"type":"image_url","image_url":{"url":url}}]})
    );

    // A model that takes none is told that there was one, instead of an error from its server.
    actor.forget();
    let tag = actor.send(Verb::Session(SessionVerb::Set(vocab::Change::Model("mock/blind".into())))).await;
    actor.reply(tag).await.unwrap();
    actor.send(Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::RejectIfBusy })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    let blind = model.last_chat().to_string();
    assert!(!blind.contains("image_url") && blind.contains("an image was left out"), "{blind}");
}

/// 37: a hundred prompts to a hundred sessions at once; none waits for another.
#[test]
fn a_hundred_sessions_do_not_wait_for_each_other() {
    paused(async {
        let stage = Stage::new(StageOptions::default());
        let started = tokio::time::Instant::now();
        let mut actors = Vec::new();
        for number in 0..100 {
            let mut actor = stage.open().await;
            actor.prompt(&format!("say \"a{number} \" pause 1000 say \"b{number}\"")).await;
            actors.push(actor);
        }
        for (number, actor) in actors.iter_mut().enumerate() {
            assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
            assert_eq!(actor.text(), format!("a{number} b{number}"));
            let sessions: std::collections::HashSet<_> = actor.told.iter().map(|told| told.session.clone()).collect();
            assert_eq!(sessions.len(), 1, "somebody else's events");
        }
        assert!(started.elapsed().as_millis() < 2_000, "one after another: {:?}", started.elapsed());
    });
}

/// 31: what a model costs is unknown when nobody knows its price.
#[test]
fn an_unknown_price_stays_unknown() {
    paused(async {
        for (model, priced) in [("mock/alpha", true), ("mock/wild", false)] {
            let models = ["mock/alpha", "mock/wild"].map(|slug| vocab::ModelInfo {
                prices: (slug == "mock/alpha").then_some(vocab::Prices {
                    input: 1.0,
                    cache_read: 0.1,
                    cache_write: 1.25,
                    output: 2.0,
                }),
                ..tour::model(slug, 128_000)
            });
            let provider = Arc::new(tour::Tour::new(tour::TourOptions { models: models.into(), word_delay_ms: 0 }));
            let stage = Stage::new(StageOptions { provider, model: model.into(), ..StageOptions::default() });
            let mut actor = stage.open().await;
            actor.prompt("say hello usage 100000 50000").await;
            actor.turn_end().await;
            let tag = actor.send(Verb::Session(SessionVerb::Slash { name: "cost".into(), args: String::new() })).await;
            let Ok(Reply::Slash(reply)) = actor.reply(tag).await else { panic!("no answer") };
            let text = testkit::slash_text(&reply);
            assert_eq!(text.contains("about $0.2000"), priced, "{text}");
            assert_eq!(text.contains('$'), priced, "{text}");
        }
    });
}

/// 34: every attached peer is told of a change, whoever made it.
#[test]
fn every_peer_is_told_of_a_change() {
    paused(async {
        let stage = Stage::new(StageOptions::default());
        let mut first = stage.actor();
        let session = first.open(Open::new(Which::New)).await.unwrap().session;
        first.prompt("say hello").await;
        first.turn_end().await;
        let mut second = stage.actor();
        second.open(Open::new(Which::Id(session.to_string()))).await.unwrap();
        second.send(Verb::Session(SessionVerb::Slash { name: "mode".into(), args: "plan".into() })).await;
        let told = first.until(|event| matches!(event, Event::State(state) if state.mode == vocab::Mode::Plan)).await;
        assert!(matches!(told, Event::State(_)));
    });
}

/// A gadget that was switched off stays off when the session is opened again.
#[test]
fn a_gadget_stays_off_over_a_resume() {
    paused(async {
        let stage = Stage::new(StageOptions::default());
        let mut actor = stage.open().await;
        let off = vocab::Change::Gadget { name: "web".into(), on: false };
        let tag = actor.send(Verb::Session(SessionVerb::Set(off))).await;
        actor.reply(tag).await.unwrap();
        actor.prompt("say hi").await;
        actor.turn_end().await;
        let session = actor.send(Verb::Leave).await;
        actor.reply(session).await.unwrap();
        actor.settle().await;

        let mut back = stage.actor();
        back.open(Open::new(Which::Latest)).await.unwrap();
        back.prompt("say again").await;
        back.turn_end().await;
        back.settle().await;
        let mut states = back.told.iter().filter_map(|told| match &told.event {
            Event::State(state) => Some(state.gadgets.len()),
            _ => None,
        });
        assert_eq!(states.next_back(), Some(0));
    });
}
