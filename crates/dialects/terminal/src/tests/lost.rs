//! A turn whose end cannot be written: each call that was shown has its one result all the same.

use super::*;

fn full() -> Fault {
    Fault::new(FaultKind::Store, "the disk is full")
}

fn lost() -> StoryStep {
    let (usage, mutations, fault) = (Usage::default(), Vec::new(), Some(full()));
    StoryStep::Told(Event::TurnLost(TurnEnd {
        turn: turn(),
        stop: Stop::Error,
        iterations: 0,
        usage,
        mutations,
        fault,
    }))
}

fn json_of(steps: Vec<StoryStep>) -> Vec<serde_json::Value> {
    let seen = play(run_options(AnswerPolicy::AllowAll), JsonRenderer::default(), steps);
    seen.shown.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn a_program_gets_the_result_of_each_call_of_a_lost_turn() {
    for end in [lost(), StoryStep::Told(Event::Gone { fault: full() })] {
        let lines = json_of(vec![opened(), call("c1", "bash", r#"{"command":"make"}"#), end]);
        let at = |kind: &str| lines.iter().position(|line| line["type"] == kind);
        let result = at("tool_result").unwrap_or_else(|| panic!("no result: {lines:?}"));
        assert_eq!((&lines[result]["id"], &lines[result]["outcome"]), (&"c1".into(), &"lost".into()));
        assert_eq!(lines[result]["text"], wire::UNTOLD);
        assert!(at("tool_call") < Some(result) && Some(result) < at("turn_end").or(at("error")), "{lines:?}");
    }
}

#[test]
fn a_person_sees_the_result_of_a_lost_call_once() {
    let late = result("c1", "bash", CallEnd::Lost, "what the log says later");
    let steps = vec![opened(), Typed("go"), call("c1", "bash", r#"{"command":"make"}"#), lost(), late];
    in_repl(
        steps,
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            <go>
            ● bash make
              ✗ no result: what came of this call could not be written; it may have run: check what it did before trying again
            the end of this turn could not be saved
            error: the disk is full
            {prompt?}
            -> prompt "go"
        "#]],
    );
}
