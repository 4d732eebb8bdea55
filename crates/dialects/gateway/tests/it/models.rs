//! The model of a session: the tier that it was chosen by, and what there is to do when it is not there any more.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use store::MemoryStore;
use testkit::StageOptions;
use testkit::faulty::FaultyStore;
use vocab::{Chat, Fault, Later, ModelInfo, Provider, Store};

use crate::play::{Play, paused, settle, show, shown};

/// Two models and a tier, or what is left of them.
pub(crate) struct Catalogue {
    tour: tour::Tour,
    /// The tier `fast`.
    fast: &'static str,
}

impl Catalogue {
    fn of(models: &[&str], fast: &'static str) -> Arc<Self> {
        let models = models.iter().map(|slug| tour::model(*slug, 128_000)).collect();
        Arc::new(Self { tour: tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 }), fast })
    }
}

impl Provider for Catalogue {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        // A server takes names that it does not list.
        if let Some(id) = slug.strip_prefix("any/") {
            return Ok(ModelInfo { slug: slug.into(), unlisted: true, ..self.tour.resolve(&format!("mock/{id}"))? });
        }
        self.tour.resolve(if slug == "fast" { self.fast } else { slug })
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.tour.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        match model.slug.strip_prefix("any/") {
            Some(id) => self.tour.chat(&self.tour.resolve(&format!("mock/{id}"))?),
            None => self.tour.chat(model),
        }
    }
}

pub(crate) fn stored() -> Arc<FaultyStore> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))
}

/// One life of a process, with one connection; one follows the other on the same store.
pub(crate) fn life(store: &Arc<FaultyStore>, provider: Arc<Catalogue>, story: impl AsyncFnOnce(&mut Play, usize)) {
    paused(async {
        let mut play = Play::with(StageOptions {
            provider,
            store: store.clone(),
            model: "mock/alpha".into(),
            toolbox: Some(Arc::new(crate::tools::Tools)),
            tune: Box::new(settle),
            ..StageOptions::default()
        });
        let at = play.connect();
        story(&mut play, at).await;
    });
    paused(store.owner_died());
}

pub(crate) fn both() -> Arc<Catalogue> {
    Catalogue::of(&["mock/alpha", "mock/beta"], "mock/beta")
}

async fn tier(play: &mut Play, at: usize, id: u64, params: Value) -> String {
    let answer = play.result(at, id, "sessions.patch", params).await;
    answer["result"]["config"]["modelTier"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_tier_is_shown_as_it_was_set_until_a_model_is_chosen() {
    let store = stored();
    life(&store, both(), async |play, a| {
        play.ask(a, 1, "agent.send", json!({"sessionId": "s:1", "message": "say 1 words"})).await;
        let patch = |tier: &str| json!({"sessionId": "s:1", "modelTier": tier});
        assert_eq!(tier(play, a, 2, json!({"sessionId": "s:1", "title": "T"})).await, "mock/alpha");
        assert_eq!(tier(play, a, 3, patch("fast")).await, "fast");
        // What it stands for is what answers.
        let heard = play.ask(a, 4, "agent.send", json!({"sessionId": "s:1", "message": "say 1 words"})).await;
        assert_eq!(heard.last().unwrap()["result"]["model"], "mock/beta");
        let heard = play.ask(a, 5, "agent.send", json!({"sessionId": "s:1", "message": "/model"})).await;
        let data = &heard.last().unwrap()["result"]["command"]["data"];
        assert_eq!((&data["modelTier"], &data["model"]), (&json!("fast"), &json!("mock/beta")));
        // The same model by its own name is another choice.
        assert_eq!(tier(play, a, 6, patch("mock/beta")).await, "mock/beta");
        let heard = play.ask(a, 7, "agent.send", json!({"sessionId": "s:1", "message": "/model fast"})).await;
        assert_eq!(heard.last().unwrap()["result"]["command"]["data"]["modelTier"], "fast");
        let summary = store.summary(&"s:1".into()).await.unwrap().unwrap();
        assert_eq!((&*summary.model, summary.model_called.as_deref()), ("mock/beta", Some("fast")));
    });
}

/// A command and a method are two ways to say one thing.
#[test]
fn a_model_is_taken_or_refused_alike_by_the_command_and_by_the_method() {
    life(&stored(), both(), async |play, a| {
        for (id, name, want) in [
            (10, "mock/beta", Ok("mock/beta")),
            (20, "fast", Ok("fast")),
            (30, "any/alpha", Ok("any/alpha")),
            (40, "mock/none", Err("no model `mock/none`; there is: mock/alpha, mock/beta")),
            (50, "any/none", Err("no model `mock/none`; there is: mock/alpha, mock/beta")),
        ] {
            let session = |way: &str| format!("s:{id}:{way}");
            let send = json!({"sessionId": session("command"), "message": format!("/model {name}")});
            let heard = play.ask(a, id, "agent.send", send).await;
            let result = &heard.last().unwrap()["result"];
            let by_command = match result["command"]["ok"].as_bool().unwrap() {
                true => Ok(result["command"]["data"]["modelTier"].as_str().unwrap()),
                false => Err(result["content"].as_str().unwrap()),
            };
            let first = json!({"sessionId": session("method"), "message": "say 1 words"});
            play.ask(a, id + 1, "agent.send", first).await;
            let patch = json!({"sessionId": session("method"), "modelTier": name});
            let answer = play.result(a, id + 2, "sessions.patch", patch).await;
            let by_method = match answer["result"]["config"]["modelTier"].as_str() {
                Some(tier) => Ok(tier),
                None => Err(answer["error"]["message"].as_str().unwrap()),
            };
            assert_eq!((by_command, by_method), (want, want), "{name}: {result}");
            // Who has mistyped a name can see it.
            let hint = result["content"].as_str().unwrap().contains("no list names it");
            assert_eq!(hint, name == "any/alpha", "{result}");
        }
    });
}

#[test]
fn a_tier_outlives_the_process_and_is_there_from_the_first_message_on() {
    let store = stored();
    life(&store, both(), async |play, a| {
        // Chosen before anything is written.
        let send = json!({"sessionId": "s:1", "message": "say 1 words", "modelTier": "fast"});
        play.ask(a, 1, "agent.send", send).await;
    });
    life(&store, both(), async |play, a| {
        assert_eq!(tier(play, a, 1, json!({"sessionId": "s:1", "title": "T"})).await, "fast");
        let entries = store.read(&"s:1".into(), 0, usize::MAX).await.unwrap().entries;
        let chosen =
            |entry: &vocab::Entry| matches!(entry.body, vocab::Body::Setting(vocab::SettingEntry::Model { .. }));
        assert_eq!(entries.iter().filter(|entry| chosen(entry)).count(), 1, "it is not said again");
    });
}

/// A life without the model of the session `s:1`. In the life before it got these messages; a slow run was cut off.
fn without_its_model(messages: &[&str], story: impl AsyncFnOnce(&mut Play, usize, &FaultyStore)) {
    let store = stored();
    life(&store, both(), async |play, a| {
        for (id, message) in messages.iter().enumerate() {
            let params = json!({"sessionId": "s:1", "message": message, "modelTier": "mock/beta"});
            play.put(a, id as u64, "agent.send", params).await;
            play.heard_for(a, Duration::from_millis(200)).await;
        }
    });
    let left = Catalogue::of(&["mock/alpha"], "mock/alpha");
    life(&store, left, async |play, a| story(play, a, &store).await);
}

#[test]
fn a_message_for_a_session_whose_model_is_gone_says_what_to_do() {
    without_its_model(&["say 1 words"], async |play, a, store| {
        let before = store.summary(&"s:1".into()).await.unwrap().unwrap().last_seq;
        let heard = play.ask(a, 1, "agent.send", json!({"sessionId": "s:1", "message": "say 1 words"})).await;
        assert_eq!(shown(&heard), "1 error 5\n1 ! 5 model_gone\n");
        let error = &heard[1]["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("mock/beta") && message.contains("sessions.patch"), "{message}");
        assert!(!message.contains("-m NAME"), "a flag of another wire: {message}");
        assert!(error["data"]["hint"].as_str().unwrap().contains("/model NAME"), "{error}");
        assert!(error["data"]["incident"].is_string(), "{error}");
        // Whatever else needs it says the same.
        let refused = play.result(a, 8, "tools.execute", json!({"sessionId": "s:1", "tool": "paint"})).await;
        let error = &refused["error"];
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(5), &json!("model_gone")), "{error}");
        // What waits, and that nothing is to be stopped, the log says.
        let listed = play.result(a, 6, "queue.list", json!({"sessionId": "s:1"})).await;
        assert_eq!(listed["result"]["items"], json!([]), "{listed}");
        let stopped = play.result(a, 7, "agent.cancel", json!({"sessionId": "s:1"})).await;
        assert_eq!(stopped["result"]["cancelled"], false, "{stopped}");
        // Nothing is written for it.
        assert_eq!(store.summary(&"s:1".into()).await.unwrap().unwrap().last_seq, before);
        assert_eq!(tier(play, a, 3, json!({"sessionId": "s:1", "title": "T"})).await, "mock/beta");
        let refused = play.result(a, 4, "sessions.patch", json!({"sessionId": "s:1", "modelTier": "mock/none"})).await;
        assert_eq!(refused["error"]["data"]["reason"], "unknown_model");
        // Whoever listens is told what there is.
        let params = json!({"topics": ["session:s:1"], "afterSeq": 0});
        let told = play.ask(a, 5, "events.subscribe", params).await;
        assert!(told.iter().any(|frame| frame["event"] == "done"), "{told:?}");
    });
}

#[test]
fn another_model_mends_a_session_whose_model_is_gone() {
    for how in ["patch", "command", "send"] {
        without_its_model(&["say 1 words"], async |play, a, _| {
            let mut send = json!({"sessionId": "s:1", "message": "say 2 words"});
            match how {
                "patch" => {
                    let params = json!({"sessionId": "s:1", "modelTier": "fast"});
                    assert_eq!(tier(play, a, 1, params).await, "fast");
                }
                "command" => {
                    let params = json!({"sessionId": "s:1", "message": "/model mock/alpha"});
                    let heard = play.ask(a, 1, "agent.send", params).await;
                    assert_eq!(heard.last().unwrap()["result"]["command"]["ok"], true, "{heard:?}");
                }
                _ => send["modelTier"] = json!("mock/alpha"),
            }
            let heard = play.ask(a, 2, "agent.send", send).await;
            let result = &heard.last().unwrap()["result"];
            assert_eq!((&result["content"], &result["model"]), (&json!("w1 w2"), &json!("mock/alpha")), "{how}");
        });
    }
}

#[test]
fn a_run_that_was_cut_off_waits_for_a_model_and_goes_on_with_it() {
    without_its_model(&["slow 500 say 3 words"], async |play, a, _| {
        let heard = play.ask(a, 1, "agent.send", json!({"sessionId": "s:1", "message": "say 1 words"})).await;
        assert_eq!(shown(&heard), "1 error 5\n1 ! 5 model_gone\n");
        assert_eq!(tier(play, a, 2, json!({"sessionId": "s:1", "modelTier": "mock/alpha"})).await, "mock/alpha");
        let waited =
            play.ask(a, 3, "agent.wait", json!({"sessionId": "s:1", "runId": "t1", "timeoutMs": 60_000})).await;
        let waited = match waited.is_empty() {
            true => play.heard_for(a, Duration::from_secs(9)).await,
            false => waited,
        };
        let result = &waited.last().unwrap()["result"];
        assert_eq!((&result["state"], &result["content"]), (&json!("complete"), &json!("w1 w2 w3")), "{waited:?}");
    });
}

#[test]
fn a_run_that_was_cut_off_is_cancelled_before_there_is_another_model() {
    without_its_model(&["slow 500 say 3 words", "say 9 words"], async |play, a, store| {
        let listed = play.result(a, 1, "queue.list", json!({"sessionId": "s:1"})).await;
        assert_eq!(listed["result"]["items"][0]["text"], "say 9 words", "{listed}");
        let waits = json!({"sessionId": "s:1", "runId": "t1", "timeoutMs": 60_000});
        assert!(play.ask(a, 2, "agent.wait", waits).await.is_empty(), "it is not over");
        let heard = play.ask(a, 3, "agent.cancel", json!({"sessionId": "s:1"})).await;
        let of = |id: u64| heard.iter().find(|frame| frame["id"] == id).unwrap_or_else(|| panic!("{heard:?}"));
        assert_eq!(show(of(3)), r#"3 = {"active":true,"cancelled":true,"queued":1}"#);
        assert_eq!((&of(2)["result"]["state"], &of(2)["result"]["runId"]), (&json!("cancelled"), &json!("t1")));
        // Once is enough, and nothing of it comes back with a model.
        let again = play.result(a, 4, "agent.cancel", json!({"sessionId": "s:1"})).await;
        assert_eq!(again["result"]["cancelled"], false, "{again}");
        assert_eq!(tier(play, a, 5, json!({"sessionId": "s:1", "modelTier": "mock/alpha"})).await, "mock/alpha");
        let heard = play.ask(a, 6, "agent.send", json!({"sessionId": "s:1", "message": "say 1 words"})).await;
        assert_eq!(heard.last().unwrap()["result"]["content"], "w1", "{heard:?}");
        let entries = store.read(&"s:1".into(), 0, usize::MAX).await.unwrap().entries;
        let ends = entries.iter().filter_map(|entry| match &entry.body {
            vocab::Body::Turn(vocab::TurnEntry::Cut { why, .. }) => Some(format!("{why:?}")),
            vocab::Body::Turn(vocab::TurnEntry::Ended(end)) => Some(format!("{:?}", end.stop)),
            _ => None,
        });
        assert_eq!(ends.collect::<Vec<_>>(), ["Asked", "Interrupted", "EndTurn"]);
    });
}

#[test]
fn a_run_that_was_cut_off_goes_with_its_session_though_its_model_is_gone() {
    without_its_model(&["slow 500 say 3 words"], async |play, a, store| {
        let deleted = play.result(a, 1, "sessions.delete", json!({"sessionId": "s:1"})).await;
        assert_eq!(deleted["result"]["success"], true, "{deleted}");
        assert!(store.summary(&"s:1".into()).await.unwrap().is_none());
    });
}
