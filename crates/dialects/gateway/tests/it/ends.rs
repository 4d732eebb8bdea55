//! How connections end, and what is said of what they have under way.

use std::sync::Arc;

use dialect_gateway::GatewayAnswer;
use dialect_gateway::services::ServiceAnswer;
use dialect_gateway::services::config::ReloadResult;
use serde_json::{Value, json};
use vocab::{Conduct, CutBy, Event, Fault, FaultKind, Reply, Settings, TurnEntry, WaitingOnRestart};
use wire::Dialect as _;

use crate::talk::{Talk, started};

/// A run that the end of the process leaves open goes on with the next start; one that was to end does not, and one whose
/// session was closed for another reason goes on at no start. A message that waits goes on where the rules say so.
#[test]
fn whoever_hears_of_the_end_of_the_process_hears_whether_the_run_goes_on() {
    let cut = || vocab::Body::Turn(TurnEntry::Cut { turn: "t".into(), why: CutBy::Asked, item: None });
    let closed = || Fault::new(FaultKind::ShuttingDown, "the session is closed");
    let cases = [
        (false, Some(Fault::suspended()), true),
        (true, Some(Fault::suspended()), false),
        (false, Some(closed()), false),
        (false, None, true),
        (true, None, false),
    ];
    let rules = [WaitingOnRestart::Dropped, WaitingOnRestart::GoesOn];
    for (waiting_on_restart, (is_cut, fault, resumes)) in
        rules.into_iter().flat_map(|it| cases.clone().map(|case| (it, case)))
    {
        let conduct = Arc::new(Conduct { waiting_on_restart, ..Conduct::default() });
        let usual = Arc::new(Settings { conduct, ..Settings::new("/w", "m") });
        let mut talk = Talk::with(|options| options.usual = Arc::new(move |_| Some(usual.clone()))).on_session(None);
        talk.send(1, json!({}));
        talk.log([started("t")]);
        talk.reply(Ok(Reply::Started { turn: "t".into() }));
        talk.send(2, json!({})).reply(Ok(Reply::Waiting { item: "i".into(), position: 0 }));
        if is_cut {
            talk.log([cut()]);
        }
        talk.out.frames.clear();
        match &fault {
            Some(fault) => {
                talk.tell(Event::Gone { fault: fault.clone() });
            }
            None => talk.gateway.part(wire::Parting::GraceOver, &mut talk.out),
        }
        let frames = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap());
        let errors: Vec<Value> = frames.filter(|frame: &Value| frame.get("error").is_some()).collect();
        let said = |at: usize| errors[at]["error"]["data"].get("resumes").cloned();
        let is_closed = fault.as_ref().is_some_and(|fault| !fault.is_suspended());
        let waits_on = waiting_on_restart == WaitingOnRestart::GoesOn && !is_closed;
        let told = [resumes, waits_on].map(|it| it.then_some(json!(true)));
        assert_eq!([said(0), said(1)], told, "{waiting_on_restart:?} {is_cut} {fault:?}: {errors:?}");
        assert!(errors.iter().all(|it| it["error"]["data"]["reason"] == "shutdown"), "{errors:?}");
    }
}

#[test]
fn whoever_loses_their_token_by_a_reload_hears_first_that_it_was_done() {
    for is_last in [false, true] {
        let mut talk = Talk::on(None);
        talk.ask(1, "config.reload", json!({}));
        let done = ReloadResult { success: true, changed: vec![], restart_required: vec![], changes: vec![] };
        let answer = Box::new(ServiceAnswer::Reloaded(done));
        talk.own(Ok(if is_last { GatewayAnswer::Last(answer) } else { GatewayAnswer::Service(answer) }));
        let heard = talk.frames();
        assert_eq!(heard, [r#"1 = {"changed":[],"changes":[],"restartRequired":[],"success":true}"#]);
        let closed = talk.out.close.as_ref().map(|close| close.code.number());
        assert_eq!(closed, is_last.then_some(1008), "and the host writes what is left before it closes");
    }
}

#[test]
fn a_message_for_a_session_that_is_being_deleted_is_cancelled() {
    let mut talk = Talk::on(None);
    talk.send(1, json!({})).reply(Err(Fault::new(FaultKind::UnknownSession, "the session is being deleted")));
    assert_eq!(talk.frames(), ["1 error 4", "1 ! 4 session_deleted"]);
}
