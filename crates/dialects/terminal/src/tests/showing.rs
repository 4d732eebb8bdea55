//! What a person sees of a turn: text, calls, results, on a terminal and beside a pipe.

use super::*;

#[test]
fn a_terminal_gets_one_flow_of_text_and_tools() {
    on_terminal(
        AnswerPolicy::Person,
        listing(),
        expect![[r#"
            model: tour (no key, no local server)

            I look around.

            ● glob **/*.rs
              a.rs
              b.rs
              c.rs
              d.rs
              e.rs
              f.rs
              g.rs

            Seven files.

            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -- exit 0
        "#]],
    );
}

#[test]
fn a_pipe_gets_the_answer_alone_and_the_side_gets_the_rest() {
    in_pipe(
        AnswerPolicy::Nobody,
        listing(),
        expect![[r#"
        I look around.
        Seven files.
        -> prompt "go"
        -- side
        model: tour (no key, no local server)
        ● glob **/*.rs
        -- exit 0
    "#]],
    );
}

#[test]
fn colours_are_ours_and_escape_sequences_of_others_are_not_obeyed() {
    let steps = vec![
        opened(),
        call("c1", "bash", r#"{"command":"printf '\u001b[31mred'"}"#),
        result("c1", "bash", CallEnd::Ran, "\x1b[2Jgone\x05\r\nnext"),
        text("\x1b]0;title\x07plain \u{202e}text"),
        said(),
        ended(Stop::EndTurn, None),
    ];
    let seen = play(run_options(AnswerPolicy::Person), inline(true, false), steps);
    expect![[r#"
        ^[2mmodel: tour (no key, no local server)^[0m
        ^[2m● bash printf '␛[31mred'^[0m
        ^[2m  gone^[0m
        ^[2m  next^[0m

        ]0;titleplain <U+202E>text

        ^[2m1.2k tokens in, 34 out, 1 tool round^[0m
        -> prompt "go"
        -- exit 0
    "#]]
    .assert_eq(&show(&seen));
}

#[test]
fn a_diff_nobody_was_asked_about_is_shown_with_the_result() {
    let mut done = result_of("c1", "edit_file", CallEnd::Ran, "edited");
    let before: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    done.edits.push(FileEdit {
        path: "a.txt".into(),
        before: Snapshot::Text(before.as_str().into()),
        after: Snapshot::Text(before.replace("line 30\n", "line thirty\n").as_str().into()),
    });
    done.edits.push(FileEdit { path: "new.bin".into(), before: Snapshot::Absent, after: Snapshot::NotKept });
    let steps = vec![
        opened(),
        call("c1", "edit_file", r#"{"path":"a.txt"}"#),
        told(Body::Call(CallEntry::Ended { turn: turn(), result: done })),
    ];
    let seen = play(run_options(AnswerPolicy::AllowAll), inline(true, false), steps);
    expect![[r#"
        ^[2mmodel: tour (no key, no local server)^[0m
        ^[2m● edit_file a.txt^[0m
        ^[2m  a.txt (+1 -1)^[0m
        ^[36m  @@ -28,5 +28,5 @@^[0m
        ^[2m   line 28^[0m
        ^[2m   line 29^[0m
        ^[31m  -line 30^[0m
        ^[32m  +line thirty^[0m
        ^[2m   line 31^[0m
        ^[2m   line 32^[0m
        ^[2m  new.bin (changed)^[0m
        -> prompt "go"
    "#]]
    .assert_eq(&show(&seen));
}

#[test]
fn results_of_parallel_calls_say_whose_they_are() {
    let steps = vec![
        opened(),
        call("c1", "read_file", r#"{"path":"a"}"#),
        call("c2", "bash", r#"{"command":"false"}"#),
        result("c1", "read_file", CallEnd::Ran, "A"),
        result("c2", "bash", CallEnd::Invalid, "bash: `command` is missing"),
    ];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
        model: tour (no key, no local server)
        ● read_file a
        ● bash false
        └ read_file a
          A
        └ bash false
          ✗ bash: `command` is missing
        -> prompt "go"
    "#]],
    );
}

#[test]
fn output_of_a_running_call_is_shown_as_it_comes_and_not_again() {
    let progress = |text: &str| {
        StoryStep::Told(Event::Delta(Delta::CallProgress {
            turn: turn(),
            call: CallId::from("c1"),
            parts: vec![Part::text(text)],
        }))
    };
    let steps = vec![
        opened(),
        call("c1", "bash", r#"{"command":"make"}"#),
        progress("one\ntw"),
        progress("one\ntwo\n"),
        result("c1", "bash", CallEnd::Ran, "one\ntwo\nthree\n"),
    ];
    on_terminal(
        AnswerPolicy::Person,
        steps,
        expect![[r#"
        model: tour (no key, no local server)
        ● bash make
          one
          two
          three
        -> prompt "go"
    "#]],
    );
}
