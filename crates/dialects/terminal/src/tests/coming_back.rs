//! Taking a session up again, leaving it, and commands that are not there.

use vocab::{SlashCode, SlashFault, SlashOutcome, UserFrom};

use super::*;

fn entry(seq: u64, parent: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry { seq, parent, at_ms: 0, body, by: None })
}

fn user(text: &str) -> Body {
    Body::User { turn: Some(turn()), parts: vec![Part::text(text)], from: UserFrom::Prompt }
}

fn assistant(text: &str) -> Body {
    let end = MessageEnd::Finished(Finish::Stop);
    let blocks = vec![Block::Text(text.into())];
    let message = AssistantMessage { blocks, model: "tour".into(), end, usage: Usage::default() };
    Body::Assistant { turn: Some(turn()), message }
}

fn resumed() -> StoryStep {
    let StoryStep::Told(Event::Reply { tag, result: Ok(Reply::Opened(mut opened)) }) = opened() else { unreachable!() };
    opened.resumed = true;
    opened.session = SessionId::from("0199a2b4-0000-7000-8000-aaaaaa123456");
    opened.notices.clear();
    opened.state.messages = 4;
    opened.state.last_seq = 6;
    StoryStep::Told(Event::Reply { tag, result: Ok(Reply::Opened(opened)) })
}

#[test]
fn who_comes_back_sees_what_was_said_last_and_who_leaves_is_told_how_to_come_back() {
    let entries = vec![
        entry(1, 0, user("first")),
        entry(2, 1, assistant("one")),
        entry(3, 2, user("taken back")),
        entry(4, 2, user("second")),
        entry(5, 4, assistant("")),
        entry(6, 5, assistant("two\nlines")),
    ];
    let exit = SlashReply { command: "exit".into(), result: Ok(SlashOutcome::Exit) };
    in_repl(
        vec![
            resumed(),
            StoryStep::Told(Event::Reply { tag: Tag(2), result: Ok(Reply::Entries(entries)) }),
            Typed("/exit"),
            StoryStep::Told(Event::Reply { tag: Tag(3), result: Ok(Reply::Slash(Box::new(exit))) }),
        ],
        expect![[r#"
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            resumed 123456 (4 messages)
            > second
            two
            lines
            {prompt?}
            </exit>
            bye
            resume with: tillerman repl --resume 123456
            -> Read { after: 0 }
            -> /exit 
            -- exit 0
        "#]],
    );
}

#[test]
fn a_conversation_in_which_nothing_was_said_leaves_without_a_word() {
    let seen = play(repl_options(), inline(false, true), vec![opened(), Parted(Parting::Eof)]);
    assert!(!seen.shown.contains("resume with"), "{}", seen.shown);
}

#[test]
fn a_command_that_is_not_there_says_what_is() {
    let unknown = |command: &str| {
        let message = format!("unknown command: /{command}");
        let result = Err(SlashFault { code: SlashCode::UnknownCommand, message });
        SlashReply { command: command.into(), result }
    };
    for (typed, said) in [("statsu", "did you mean /status? /help"), ("frobnicate", "/help lists what there is")] {
        let nobodys = Err(Fault::new(FaultKind::UnknownCommand, "unknown"));
        let steps = vec![
            opened(),
            Typed(Box::leak(format!("/{typed}").into_boxed_str())),
            StoryStep::Told(Event::Reply { tag: Tag(2), result: nobodys }),
            StoryStep::Told(Event::Reply { tag: Tag(3), result: Ok(Reply::Slash(Box::new(unknown(typed)))) }),
        ];
        let seen = play(repl_options(), inline(false, true), steps);
        assert!(seen.shown.contains(said), "{}", seen.shown);
    }
}

#[test]
fn what_others_call_differently_is_understood() {
    for (typed, ours) in [("/q", "exit"), ("/new", "clear")] {
        let nobodys = Err(Fault::new(FaultKind::UnknownCommand, "unknown"));
        let steps = vec![opened(), Typed(typed), StoryStep::Told(Event::Reply { tag: Tag(2), result: nobodys })];
        let seen = play(repl_options(), inline(false, true), steps);
        assert!(
            seen.wanted
                .iter()
                .any(|verb| matches!(verb, Verb::Session(SessionVerb::Slash { name, .. }) if name == ours)),
            "{ours}"
        );
    }
}
