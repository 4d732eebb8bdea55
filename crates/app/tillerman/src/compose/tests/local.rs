//! Servers on this machine, found while nobody waits, under a whole session.

use std::time::Instant;

use providers::detect::PROBE_TIME_MAX;
use testkit::mock_model::MockModel;
use tokio::net::TcpListener;

use super::stage::SetupPlace;
use super::*;

fn at(port: u16) -> Candidate {
    Candidate { name: "Mock", port }
}

#[tokio::test]
async fn a_session_opens_before_a_silent_server_has_had_its_time_and_its_prompt_is_answered() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut place = SetupPlace::new(Wanted::default()).await;
    place.setup.models.candidates = vec![at(silent.local_addr().unwrap().port())];
    let started = Instant::now();
    let mut stage = place.stage().await;
    stage.ask(vocab::Verb::Open(vocab::Open::new(vocab::Which::New))).await.unwrap();
    assert!(started.elapsed() < PROBE_TIME_MAX, "{:?}", started.elapsed());
    assert_eq!(stage.wired.reason, "model auto: the first local model that answers");
    let said = stage.prompt("auto").await;
    assert!(said.to_lowercase().contains("tour"), "{said}");
}

#[tokio::test]
async fn a_server_of_this_machine_is_a_model_that_can_be_used_and_the_tour_alone_is_none() {
    let mock = MockModel::start().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for (candidates, is_there) in
        [(vec![at(mock.port)], true), (vec![at(silent.local_addr().unwrap().port())], false), (Vec::new(), false)]
    {
        let mut place = SetupPlace::new(Wanted::default()).await;
        place.setup.models.candidates = candidates;
        assert_eq!(place.stage().await.accounts().await.has_model, is_there);
    }
}
