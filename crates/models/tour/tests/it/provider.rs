//! Names, windows and the answers to wrong names; summaries.

use expect_test::expect;
use tour::{Tour, TourOptions};
use vocab::{FaultKind, Message, Part, Provider};

use crate::support::names;
use crate::support::{Talk, hear, spec};

#[test]
fn there_is_a_tour_and_a_small_one() {
    let tour = Tour::default();
    assert_eq!(tour.resolve("tour").unwrap().context_window, 128_000);
    assert_eq!(tour.resolve("tour-mini").unwrap().context_window, 32_000);
}

#[test]
fn an_unknown_model_is_told_what_exists() {
    let fault = Tour::default().resolve("gpt").unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnknownModel);
    assert_eq!(fault.message, "no model `gpt`; there is: tour, tour-mini");
    let stranger = tour::model("stranger", 1);
    assert_eq!(Tour::default().chat(&stranger).err().unwrap().kind, FaultKind::UnknownModel);
}

#[tokio::test]
async fn models_can_be_named_by_whoever_tests() {
    let options = TourOptions { models: vec![tour::model("mock/alpha", 200_000)], word_delay_ms: 0 };
    let tour = Tour::new(options);
    let models = tour.models().await.unwrap();
    assert_eq!(models.iter().map(|model| &*model.slug).collect::<Vec<_>>(), ["mock/alpha"]);
    let mut chat = tour.chat(&models[0]).unwrap();
    chat.push(&Message::User(vec![Part::text("say hi")]));
    assert_eq!(hear(chat.call(&spec(names::CANONICAL))).text(), "hi");
}

#[test]
fn a_summary_lists_what_the_user_wrote() {
    let mut talk = Talk::new();
    talk.prompt("say 3 words");
    talk.prompt(&format!("look\n  at {}", "x".repeat(200)));
    let heard = talk.prompt("Summarise this conversation\nKeep names.");
    expect![[r#"
        Summary: the user wrote 2 messages:
        - say 3 words
        - look at xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"#]]
    .assert_eq(&heard.text());
    assert!(heard.calls().is_empty());
}

#[test]
fn a_summary_of_nothing_says_so_and_a_long_one_is_bounded() {
    assert!(Talk::new().prompt("Summarise this conversation").text().contains("not written anything"));
    let mut talk = Talk::new();
    for number in 0..500 {
        talk.push(&Message::User(vec![Part::text(format!("message {number}"))]));
    }
    let text = talk.prompt("Summarise this conversation").text();
    assert!(text.starts_with("Summary: the user wrote 500 messages:\n- (301 older ones)\n- message 301\n"), "{text}");
    assert!(text.ends_with("- message 499"));
}
