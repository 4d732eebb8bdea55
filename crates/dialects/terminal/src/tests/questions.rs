//! Permission questions and what is typed at them.

use super::*;

#[test]
fn a_yes_allows_once_and_the_diff_is_shown_only_once() {
    let mut done = result_of("c1", "write_file", CallEnd::Ran, "wrote src/x.rs");
    done.edits.push(FileEdit {
        path: "src/x.rs".into(),
        before: Snapshot::Text("a\n".into()),
        after: Snapshot::Text("b\n".into()),
    });
    let steps = vec![
        opened(),
        call("c1", "write_file", r#"{"path":"src/x.rs","content":"b\n"}"#),
        permission("ask1"),
        Typed("y"),
        told(Body::Call(CallEntry::Ended { turn: turn(), result: done })),
        ended(Stop::EndTurn, None),
    ];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
            model: tour (no key, no local server)
            ● write_file src/x.rs
              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            <y>
              src/x.rs (+1 -1)
            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -> answer ask1 Allow(Once)
            -- exit 0
        "#]],
    );
}

#[test]
fn no_always_unclear_and_question_mark_are_understood() {
    let steps = vec![
        opened(),
        permission("ask1"),
        Typed("maybe"),
        Typed(""),
        Typed("?"),
        Typed("n because it is generated"),
        permission("ask2"),
        Typed("A"),
        permission("ask3"),
        Typed("no"),
    ];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
            model: tour (no key, no local server)
              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            <maybe>
            type y, n, a or ? (`n because ...` tells the model why)
            {answer?}
            <>
            type y, n, a or ? (`n because ...` tells the model why)
            {answer?}
            <?>
              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              tool: write_file
              needs: workspace-write (mode is prompt)
              y  allow it this once
              n  deny it; `n because ...` tells the model why
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            <n because it is generated>
              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            <A>
              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            <no>
            -> prompt "go"
            -> answer ask1 Deny(Some("it is generated"))
            -> answer ask2 Allow(Session)
            -> answer ask3 Deny(None)
        "#]],
    );
}

#[test]
fn a_second_question_waits_for_the_first() {
    let closed = told(Body::Ask(AskEntry::Closed { ask: AskId::from("ask2"), end: AskEnd::Withdrawn }));
    let steps =
        vec![opened(), permission("ask1"), permission("ask2"), permission("ask3"), Typed("y"), closed, Typed("y")];
    let seen = play(run_options(AnswerPolicy::Person), inline(false, false), steps);
    let answered: Vec<String> = seen
        .wanted
        .iter()
        .filter_map(|verb| match verb {
            Verb::Session(SessionVerb::Answer { ask, .. }) => Some(ask.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(answered, ["ask1", "ask3"]);
    assert_eq!(seen.shown.matches("Allow write").count(), 3, "{}", seen.shown);
}

#[test]
fn a_line_typed_ahead_never_answers_a_question() {
    let steps = vec![opened(), Typed("y"), permission("ask1")];
    let seen = play(run_options(AnswerPolicy::Person), inline(false, false), steps);
    assert!(!seen.wanted.iter().any(|verb| matches!(verb, Verb::Session(SessionVerb::Answer { .. }))));
}
