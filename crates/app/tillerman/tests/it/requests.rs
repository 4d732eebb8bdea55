//! What every format sent, written again from the log. The story is the same for all of them; the real binary's own is in
//! `real_model.rs`.

use std::sync::Arc;

use engine::requests::{Rewriting, replay};
use providers::{Api, Client, Config, Replay, Secret};
use testkit::fakes::CountedIds;
use testkit::mock_model::MockModel;
use testkit::stage::Actor;
use testkit::{Stage, StageOptions};
use vocab::{Change, Event, IdKind, Open, Sent, SessionVerb, Store, Verb, Which};

const KEY: &str = "sk-canary-requests";

fn rewriting(sent: &Sent) -> Option<Rewriting> {
    let replay = Replay::new(sent)?;
    let read = replay.clone();
    Some(Rewriting { chat: Box::new(replay), body: Box::new(move |sent| read.body(sent)) })
}

/// An engine of its own over the store: another process, as far as a session can tell.
fn process(api: Api, server: &MockModel, store: &Arc<dyn Store>, name: &str) -> Stage {
    let base_url = if api == Api::Gemini { &server.gemini_url } else { &server.base_url };
    let config = Config { api, api_key: Secret::new(KEY), ..Config::new(base_url.as_str()) };
    let stage = Stage::new(StageOptions {
        provider: Arc::new(Client::new(config).unwrap()),
        model: "mock-one".into(),
        store: store.clone(),
        // No two processes give the same name to a turn.
        ids: CountedIds::with_names((0..9).map(|n| (IdKind::Turn, format!("{name}{n}"))).collect()),
        tune: Box::new(|settings| {
            settings.compaction.keep_pct = 0;
            settings.thinking = Some("low".into());
            settings.retry.base_ms = 1;
        }),
        ..StageOptions::default()
    });
    stage.write("a.py", "print(1)\n");
    stage
}

async fn prompt(actor: &mut Actor, text: &str) {
    actor.forget();
    actor.prompt(text).await;
    actor.until(|event| *event == Event::Settled).await;
}

async fn ask(actor: &mut Actor, verb: Verb) {
    let tag = actor.send(verb).await;
    actor.reply(tag).await.unwrap_or_else(|fault| panic!("{fault}"));
}

fn undo() -> Verb {
    Verb::Session(SessionVerb::Slash { name: "undo".into(), args: "".into() })
}

async fn check(api: Api) {
    let server = MockModel::start_blocking();
    let store: Arc<dyn Store> = Arc::new(store::MemoryStore::new());
    let call = r#"call glob_search {"pattern":"*.py"}"#;

    let first = process(api, &server, &store, "first");
    let mut actor = first.open().await;
    prompt(&mut actor, &format!(r#"think "hm" and say look and {call} then think "so" and {call} then say done"#))
        .await;
    prompt(&mut actor, &format!(r#"redact "secret" and {call} and {call} then say "all of it""#)).await;
    prompt(&mut actor, "fail 503 then say again").await;
    ask(&mut actor, Verb::Session(SessionVerb::Shell { command: "echo beside".into(), aside: false })).await;
    ask(&mut actor, Verb::Session(SessionVerb::Compact { instructions: Some("be brief".into()), wait: true })).await;
    prompt(&mut actor, &format!(r#"think "anew" and {call} then say here"#)).await;
    first.engine.shutdown().await;

    let second = process(api, &server, &store, "second");
    let mut actor = second.actor();
    actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    prompt(&mut actor, "say resumed").await;
    // Another model is not shown what this one has sealed.
    ask(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("mock-two".into())))).await;
    prompt(&mut actor, &format!(r#"think "other" and {call} then say two"#)).await;
    ask(&mut actor, undo()).await;
    prompt(&mut actor, "fail 401").await;
    prompt(&mut actor, "say \"the \u{2028} end\"").await;
    second.engine.shutdown().await;

    let sent: Vec<String> =
        server.chats().into_iter().map(|chat| String::from_utf8(chat.body).expect("it is text")).collect();
    assert!(sent.len() > 12, "{api:?}: {}", sent.len());
    let entries = store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries;
    let shown: Vec<_> = replay(&entries, rewriting).collect();
    for (at, (shown, sent)) in shown.iter().zip(&sent).enumerate() {
        let body = shown.body.as_deref().map(String::from_utf8_lossy);
        assert_eq!(body.as_deref(), Some(&**sent), "{api:?}: request {at} {:?}", shown.sent);
        assert_eq!(shown.problem(), None, "{api:?}: request {at}");
        assert_eq!(shown.sent.as_deref().map(|sent| &*sent.api), Some(api.as_str()));
    }
    assert_eq!(shown.len(), sent.len(), "{api:?}");
    assert_eq!(shown.iter().filter(|it| it.requested.summary.is_some()).count(), 1, "{api:?}");
    assert!(!format!("{entries:?}").contains(KEY), "{api:?}: the key is in the log");
    // What is the same as before is not written again: a head for each model, the summary's, and few more.
    let heads = entries
        .iter()
        .filter(|it| matches!(&it.body, vocab::Body::Model(vocab::ModelEntry::Requested(it)) if it.sent.is_some()))
        .count();
    assert!(heads <= 6, "{api:?}: {heads} heads for {} requests", sent.len());
}

#[tokio::test]
async fn every_format_is_written_again_byte_for_byte() {
    for api in Api::ALL {
        check(api).await;
    }
}
