//! What a person is told to wait for.

use super::*;
use vocab::RetryEvent;

/// What was said to be waited for, one after the other.
fn waits(options: TerminalOptions, steps: Vec<StoryStep>) -> Vec<String> {
    let seen = play(options, inline(false, talk_is_long(&steps)), steps);
    seen.waits.into_iter().map(|what| what.unwrap_or_else(|| "-".into())).collect()
}

fn talk_is_long(steps: &[StoryStep]) -> bool {
    steps.iter().any(|step| matches!(step, Typed(_)))
}

#[test]
fn the_model_then_its_words_then_the_call_then_the_model_again() {
    let bash = || call("c1", "bash", r#"{"command":"cargo test"}"#);
    let story = vec![
        opened(),
        StoryStep::Told(Event::Delta(Delta::ModelCalled { turn: turn(), reply: 0 })),
        text("I test."),
        said(),
        bash(),
        result("c1", "bash", CallEnd::Ran, "ok"),
        text("Fine."),
        said(),
        ended(Stop::EndTurn, None),
    ];
    assert_eq!(
        waits(run_options(AnswerPolicy::AllowAll), story),
        [
            "getting tools and extensions ready",
            "waiting for tour",
            "answering: tour",
            "running bash cargo test",
            "waiting for tour",
            "answering: tour",
            "-",
        ]
    );
}

#[test]
fn nothing_is_waited_for_while_a_question_is_asked() {
    let write = || call("c1", "write_file", r#"{"path":"src/x.rs","content":"b\n"}"#);
    let story = vec![
        opened(),
        Typed("go"),
        write(),
        permission("a1"),
        Typed("y"),
        result("c1", "write_file", CallEnd::Ran, ""),
    ];
    assert_eq!(
        waits(repl_options(), story),
        [
            "getting tools and extensions ready",
            "running write_file src/x.rs",
            "-",
            "running write_file src/x.rs",
            "waiting for tour",
        ]
    );
}

#[test]
fn pauses_summaries_stops_and_commands_have_words() {
    let fault = Fault::new(FaultKind::Internal, "busy");
    let retrying =
        told(Body::Model(ModelEntry::Retrying { turn: turn(), attempt: 1, attempts_max: 4, wait_ms: 500, fault }));
    let again = StoryStep::Told(Event::Retry(RetryEvent::Started { turn: turn(), attempt: 1 }));
    let story =
        vec![opened(), Typed("go"), retrying, again, Typed("\x03"), ended(Stop::Interrupted, None), Typed("/cost")];
    assert_eq!(
        waits(repl_options(), story),
        [
            "getting tools and extensions ready",
            "waiting before tour is asked again",
            "waiting for tour",
            "stopping",
            "-",
            "/cost",
        ]
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let exit = |steps| play(run_options(AnswerPolicy::AllowAll), inline(false, false), steps).exit;
    let stopped = || ended(Stop::Interrupted, None);
    assert_eq!(exit(vec![opened(), text("I"), Parted(Parting::Deaf), stopped()]), Some(0));
    assert_eq!(exit(vec![opened(), text("I"), Parted(Parting::Deaf), Parted(Parting::GraceOver)]), Some(0));
    let asked = || Parted(Parting::Asked { by: "sigint" });
    assert_eq!(exit(vec![opened(), text("I"), asked(), stopped()]), Some(130));
    assert_eq!(
        exit(vec![opened(), text("I"), asked(), Parted(Parting::Deaf), stopped()]),
        Some(130),
        "a person did that"
    );
}
