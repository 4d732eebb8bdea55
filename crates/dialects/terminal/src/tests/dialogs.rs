//! What extensions ask and show, at a terminal.

use vocab::ExtensionEvent;
use vocab::{Notice, NoticeLevel};

use super::*;

fn dialog(id: &str, kind: AskKind) -> StoryStep {
    told(Body::Ask(AskEntry::Opened(Ask { id: AskId::from(id), turn: None, kind, timeout_ms: None })))
}
fn confirm(id: &str) -> StoryStep {
    dialog(id, AskKind::Confirm { title: "Delete?".into(), message: "rm -rf build".into() })
}
fn notice(notice: Notice) -> StoryStep {
    StoryStep::Told(Event::Extension(ExtensionEvent::Notice(notice)))
}
fn replied(tag: u64, result: Result<Reply, Fault>) -> StoryStep {
    StoryStep::Told(Event::Reply { tag: Tag(tag), result })
}

#[test]
fn each_kind_of_dialog_is_asked_and_answered_in_lines() {
    let select = AskKind::Select { title: "Which?".into(), options: vec!["red".into(), "blue".into()] };
    let input = AskKind::Input { title: "Name?".into(), placeholder: Some("ann".into()) };
    let editor = |prefill: Option<&str>| AskKind::Editor { title: "Message".into(), prefill: prefill.map(Into::into) };
    in_repl(
        vec![
            opened(),
            Typed("go"),
            dialog("a1", select),
            Typed("3"),
            Typed("2"),
            confirm("a2"),
            Typed("perhaps"),
            Typed("n"),
            dialog("a3", input),
            Typed(""),
            dialog("a4", editor(Some("old\ntext"))),
            Typed("."),
            dialog("a5", editor(None)),
            Typed("one"),
            Typed(""),
            Typed("  three"),
            Typed("."),
            dialog("a6", editor(None)),
            Typed("."),
            ended(Stop::EndTurn, None),
        ],
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            <go>
            Which?
              1. red
              2. blue
            a number chooses, an empty line cancels
            {line?}
            <3>
            type one of the numbers, or nothing to cancel
            {line?}
            <2>
            Delete? rm -rf build [y/n]
            {line?}
            <perhaps>
            type y or n
            {line?}
            <n>
            Name? (such as ann; an empty line cancels)
            {line?}
            <>
            Message
              old
              text
            a lone `.` ends the text; typed first, it keeps what is above
            {line?}
            <.>
            Message
            a lone `.` ends the text; typed first, it cancels
            {line?}
            <one>
            {line?}
            <>
            {line?}
            <  three>
            {line?}
            <.>
            Message
            a lone `.` ends the text; typed first, it cancels
            {line?}
            <.>
            1.2k tokens in, 34 out, 1 tool round
            {prompt?}
            -> prompt "go"
            -> answer a1 Text("blue")
            -> answer a2 Confirmed(false)
            -> answer a3 Dismissed
            -> answer a4 Text("old\ntext")
            -> answer a5 Text("one\n\n  three")
            -> answer a6 Dismissed
        "#]],
    );
}

#[test]
fn a_question_beside_the_prompt_takes_the_next_line_and_then_prompts_go_on() {
    in_repl(
        vec![opened(), confirm("a1"), Typed("y"), Typed("hello"), ended(Stop::EndTurn, None)],
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            Delete? rm -rf build [y/n]
            {line?}
            <y>
            {prompt?}
            <hello>
            1.2k tokens in, 34 out, 1 tool round
            {prompt?}
            -> answer a1 Confirmed(true)
            -> prompt "hello"
        "#]],
    );
}

#[test]
fn a_question_outlives_the_turn_it_came_in_and_a_withdrawn_one_takes_no_line() {
    let closed = told(Body::Ask(AskEntry::Closed { ask: AskId::from("a1"), end: AskEnd::Withdrawn }));
    in_repl(
        vec![opened(), Typed("go"), confirm("a1"), ended(Stop::EndTurn, None), closed, Typed("next")],
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            <go>
            Delete? rm -rf build [y/n]
            {line?}
            1.2k tokens in, 34 out, 1 tool round
            the question is settled
            {prompt?}
            <next>
            -> prompt "go"
            -> prompt "next"
        "#]],
    );
}

#[test]
fn a_command_that_is_not_built_in_is_offered_to_the_extensions_first() {
    let unknown = Fault::new(FaultKind::UnknownCommand, "unknown command: /nope");
    in_repl(
        vec![
            opened(),
            Typed("/Guard off now"),
            replied(2, Ok(Reply::Done)),
            Typed("/nope x"),
            replied(3, Err(unknown)),
            Typed("/status"),
        ],
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            </Guard off now>
            {prompt?}
            </nope x>
            </status>
            nothing was asked; that line is ignored (Ctrl-C interrupts)
            -> Command { name: "guard", args: "off now" }
            -> Command { name: "nope", args: "x" }
            -> /nope x
        "#]],
    );
}

#[test]
fn what_extensions_show_and_where_they_fail_are_lines() {
    let say = |text: &str, level| notice(Notice::Say { text: text.into(), level });
    on_terminal(
        AnswerPolicy::Person,
        vec![
            opened(),
            say("hello\n\x1b[31mworld", NoticeLevel::Info),
            notice(Notice::Status { key: "g".into(), text: Some("guard on".into()) }),
            notice(Notice::Status { key: "g".into(), text: None }),
            notice(Notice::Widget { key: "w".into(), lines: Some(vec!["Notes:".into(), "- a".into()]), below: false }),
            notice(Notice::Title { text: "title".into() }),
            notice(Notice::EditorText { text: "fix it".into() }),
            StoryStep::Told(Event::Extension(ExtensionEvent::Trouble {
                source: "/e/x.py".into(),
                during: "crash".into(),
                text: "x exited\nbye".into(),
            })),
            ended(Stop::EndTurn, None),
        ],
        expect![[r#"
            model: tour (no key, no local server)
            · hello
            · world
            · guard on
            · Notes:
            · - a
            · to type: fix it
            /e/x.py (crash): x exited
            bye
            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -- exit 0
        "#]],
    );
}

#[test]
fn where_nobody_can_be_asked_a_dialog_is_dismissed() {
    for answers in [AnswerPolicy::Nobody, AnswerPolicy::AllowAll] {
        let seen = play(run_options(answers), inline(false, false), vec![opened(), confirm("a1")]);
        let dismissed = Verb::Session(SessionVerb::Answer { ask: AskId::from("a1"), answer: vocab::Answer::Dismissed });
        assert!(seen.wanted.contains(&dismissed), "{:?}", seen.wanted);
    }
}

#[test]
fn programs_get_notices_and_trouble_as_objects() {
    let steps = vec![
        opened(),
        notice(Notice::Say { text: "hello".into(), level: NoticeLevel::Error }),
        StoryStep::Told(Event::Extension(ExtensionEvent::Trouble {
            source: "/e/x.py".into(),
            during: "crash".into(),
            text: "bye".into(),
        })),
    ];
    let seen = play(run_options(AnswerPolicy::Nobody), JsonRenderer::default(), steps);
    let lines: Vec<&str> = seen.shown.lines().rev().take(2).collect();
    assert_eq!(lines[1], r#"{"type":"notice","text":"hello"}"#);
    assert_eq!(lines[0], r#"{"type":"trouble","source":"/e/x.py","during":"crash","text":"bye"}"#);
}

#[test]
fn a_prompt_that_crossed_a_question_is_no_answer_to_it() {
    let seen = play(repl_options(), inline(false, true), vec![opened(), permission("a1"), Typed("\x05y"), Typed("n")]);
    let wanted = show(&seen);
    assert!(wanted.contains("-> prompt \"y\"") && wanted.contains("-> answer a1 Deny"), "{wanted}");
    assert!(!wanted.contains("Allow("), "{wanted}");
}
