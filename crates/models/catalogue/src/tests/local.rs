//! Servers on this machine, found while nobody waits.

use std::time::{Duration, Instant};

use providers::detect::{Candidate, PROBE_TIME_MAX};
use testkit::mock_model::MockModel;
use tokio::net::TcpListener;
use vocab::{CallSpec, Message, ModelEvent, Part};

use super::*;

fn at(port: u16) -> Candidate {
    Candidate { name: "Mock", port }
}

fn alone(lookout: Lookout) -> ModelSettings {
    let mut setup = setup(Wanted::default());
    setup.described = agent::DescribedModels::default();
    setup.known_models = Vec::new();
    setup.lookout = lookout;
    setup
}

async fn chosen(mut setup: ModelSettings, candidates: &[Candidate]) -> Result<Chosen, Fault> {
    setup.candidates = candidates.to_vec();
    chosen_of(&setup).await
}

async fn ask(chat: &mut dyn vocab::Chat) -> String {
    let spec = CallSpec { system: "".into(), tools: Arc::from([]), max_tokens: 99, thinking: None };
    let mut stream = chat.call(&spec);
    let mut said = String::new();
    while let Some(event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        match event {
            ModelEvent::Text(text) => said.push_str(&text),
            ModelEvent::Failed(fault) => said = format!("failed: {}", fault.fault.message),
            _ => {}
        }
    }
    said
}

fn says(text: &str) -> Message {
    Message::User(vec![Part::text(format!("say \"{text}\""))])
}

#[tokio::test]
async fn whoever_listens_is_asked_while_nobody_waits() {
    let mock = MockModel::start().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let candidates = [at(silent.local_addr().unwrap().port()), at(mock.port)];
    let started = Instant::now();
    let chosen = chosen(alone(Lookout::Later), &candidates).await.unwrap();
    assert!(started.elapsed() < PROBE_TIME_MAX, "{:?}", started.elapsed());
    assert_eq!((&*chosen.model, &*chosen.reason), ("auto", "the first local model that answers"));
    let before = chosen.catalogue.resolve("auto").unwrap();
    assert_eq!((&*before.provider, &*before.slug), ("local", "auto"));
    assert_eq!(chosen.catalogue.standing("auto").0, Standing::Connected);

    let mut chat = chosen.catalogue.chat(&before).unwrap();
    chat.push(&says("one"));
    assert!(chat.bytes() > 0);
    assert_eq!(ask(&mut *chat).await, "one");
    chat.push(&says("two"));
    assert_eq!(ask(&mut *chat).await, "two");
    assert_eq!(mock.last_chat()["messages"].as_array().unwrap().len(), 2, "both messages, each once");
    chat.clear();
    chat.push(&says("three"));
    assert_eq!(ask(&mut *chat).await, "three");
    assert_eq!(mock.last_chat()["messages"].as_array().unwrap().len(), 1);

    // Now everybody knows who it is, under every name.
    let after = chosen.catalogue.resolve("auto").unwrap();
    assert_eq!((&*after.slug, &*after.id, &*after.base_url), ("auto", "mock/alpha", &*mock.base_url));
    let named = chosen.catalogue.resolve("mock/beta").unwrap();
    let mut chat = chosen.catalogue.chat(&named).unwrap();
    chat.push(&says("four"));
    assert_eq!(ask(&mut *chat).await, "four");
    let listed = chosen.catalogue.models().await.unwrap();
    assert!(listed.iter().any(|model| &*model.slug == "mock/beta"));
}

#[tokio::test]
async fn where_nobody_answers_the_tour_does_and_no_start_waits_for_it() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let candidates = [at(silent.local_addr().unwrap().port())];
    let started = Instant::now();
    let chosen = chosen(alone(Lookout::Later), &candidates).await.unwrap();
    assert!(started.elapsed() < PROBE_TIME_MAX, "{:?}", started.elapsed());
    assert_eq!(chosen.model, "auto");
    let mut chat = chosen.catalogue.chat(&chosen.catalogue.resolve("auto").unwrap()).unwrap();
    chat.push(&Message::User(vec![Part::text("hello")]));
    let said = ask(&mut *chat).await;
    assert!(said.to_lowercase().contains("tour"), "{said}");
    // It is some way from a fifth of a second to patience.
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_port_that_is_closed_costs_nothing_and_a_person_can_wait() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for lookout in [Lookout::Later, Lookout::Wait] {
        let chosen = chosen(alone(lookout), &[at(closed)]).await.unwrap();
        assert_eq!(chosen.model, "tour");
    }
    let mock = MockModel::start().await;
    let chosen = chosen(alone(Lookout::Wait), &[at(closed), at(mock.port)]).await.unwrap();
    assert_eq!((&*chosen.model, &*chosen.reason), ("mock/alpha", &*format!("Mock answers on port {}", mock.port)));
}

#[tokio::test]
async fn a_list_of_an_earlier_run_names_the_model_at_once() {
    let (mock, place) = (MockModel::start().await, tempfile::tempdir().unwrap());
    let mut setup = alone(Lookout::Wait);
    setup.cache = Some(place.path().join("cache"));
    setup.candidates = vec![at(mock.port)];
    assert_eq!(chosen_of(&setup).await.unwrap().model, "mock/alpha");
    setup.lookout = Lookout::Later;
    let asked = mock.requests().len();
    let chosen = chosen_of(&setup).await.unwrap();
    assert_eq!(chosen.model, "mock/alpha");
    assert_eq!(chosen.reason, format!("Mock listens on port {}, as before", mock.port));
    assert_eq!(mock.requests().len(), asked, "nobody is asked");
}

#[tokio::test]
async fn local_is_a_tier_that_leaves_nobody_in_doubt() {
    let mock = MockModel::start().await;
    let mut setup = alone(Lookout::Wait);
    setup.wanted.model = Some("local".into());
    setup.candidates = vec![at(mock.port)];
    assert_eq!(chosen_of(&setup).await.unwrap().model, "mock/alpha");
    let fault = chosen(setup, &[]).await.err().unwrap();
    assert!(fault.message.starts_with("no local server answers"), "{}", fault.message);
    // What is configured is never a reason to look around.
    let mut keyed = alone(Lookout::Later);
    keyed.providers = vendors::tests::gathered(&[("GROQ_API_KEY", "k")], "").providers;
    let chosen = chosen(keyed, &[at(mock.port)]).await.unwrap();
    assert!(chosen.model.starts_with("groq/"), "{}", chosen.model);
}
