//! Which questions are open, and for whom.

use vocab::{CallId, Json, Part};

use super::*;

fn host_call(owner: Option<u64>) -> OpenAsk {
    let kind = AskKind::HostCall { call: CallId::from("c"), tool: "t".into(), input: Json::empty_object() };
    let ask = Ask { id: AskId::from("a"), turn: None, kind: kind.clone(), timeout_ms: None };
    let entry = Arc::new(Entry { seq: 1, parent: 0, at_ms: 0, body: Body::Ask(AskEntry::Opened(ask)), by: None });
    OpenAsk { kind, entry, owner: owner.map(PeerId), dialog: None }
}

fn ids(ids: Vec<AskId>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    ids.sort();
    ids
}

#[test]
fn a_question_is_open_until_it_is_taken() {
    let mut approvals = Approvals::default();
    for (id, owner) in [("a", None), ("b", Some(1)), ("c", Some(2))] {
        approvals.insert(id.into(), host_call(owner));
    }
    assert_eq!(ids(approvals.owned(|owner| owner == Some(PeerId(2)))), ["c"]);
    assert!(approvals.take(&"b".into()).is_some() && approvals.take(&"b".into()).is_none());
    assert_eq!(ids(approvals.take_of_turn()), ["a", "c"], "none of them is an extension's");
    assert_eq!(approvals.open().count() + approvals.dialogs().count(), 0);
}

#[test]
fn a_mute_peer_hears_and_cannot_answer() {
    let mut approvals = Approvals::default();
    approvals.set_answering(PeerId(1), Answering { answers: false, ..Answering::default() });
    assert!(approvals.is_mute(PeerId(1)) && !approvals.is_mute(PeerId(2)));
    approvals.forget_answering(PeerId(1));
    assert!(!approvals.is_mute(PeerId(1)));
}

#[test]
fn an_answer_has_to_be_of_its_questions_kind_or_a_no() {
    let result = || Answer::Result { parts: vec![Part::text("x")], is_error: false, details: None };
    let call = host_call(None).kind;
    let confirm = AskKind::Confirm { title: "t".into(), message: "m".into() };
    let table = [
        (&call, result(), true),
        (&call, Answer::Allow(Scope::Once), false),
        (&call, Answer::Deny(None), true),
        (&confirm, Answer::Confirmed(true), true),
        (&confirm, Answer::Text("yes".into()), false),
        (&confirm, Answer::Dismissed, true),
    ];
    for (kind, answer, expected) in table {
        assert_eq!(fits(kind, &answer), expected, "{kind:?} {answer:?}");
    }
}

#[test]
fn a_picture_that_is_none_becomes_a_word_in_a_controllers_result() {
    let picture = |mime: &str, base64: &str| Part::Image(vocab::Image { mime: mime.into(), base64: base64.into() });
    let parts = vec![picture("x/y", "!!not base64!!"), picture("image/png", "AAAA"), picture("image/jpeg", "/9j/4AAQ")];
    let outcome = host_outcome("t", Answer::Result { parts, is_error: false, details: None });
    let said = vocab::parts_text(&outcome.parts[..2]);
    assert!(said.contains("unsupported image type: x/y") && said.contains("the data is not image/png"), "{said}");
    assert_eq!(outcome.parts[2], picture("image/jpeg", "/9j/4AAQ"));
}
