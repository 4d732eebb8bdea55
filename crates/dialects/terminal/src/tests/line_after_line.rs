//! A conversation line after line.

use super::*;

#[test]
fn a_repl_asks_for_lines_and_goes_on_after_each() {
    let titled = Ok(vocab::SlashOutcome::Renamed { title: "all well".into() });
    let help = SlashReply { command: "status".into(), result: titled };
    let bye = SlashReply { command: "exit".into(), result: Ok(vocab::SlashOutcome::Exit) };
    let slash = |tag: u64, reply: SlashReply| {
        StoryStep::Told(Event::Reply { tag: Tag(tag), result: Ok(Reply::Slash(Box::new(reply))) })
    };
    let steps = vec![
        opened(),
        Typed("  "),
        Typed("/Status now"),
        slash(2, help),
        Typed("first\x1esecond"),
        text("words"),
        permission("ask1"),
        Typed("\x03"),
        told(Body::Ask(AskEntry::Closed { ask: AskId::from("ask1"), end: AskEnd::Withdrawn })),
        ended(Stop::Interrupted, None),
        Typed("\x03"),
        Typed("/exit"),
        slash(5, bye),
    ];
    in_repl(
        steps,
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            <  >
            {prompt?}
            </Status now>
            title: all well
            {prompt?}
            <firstsecond>

            words

              src/x.rs:
              │ @@ -1 +1 @@
              │ -a
              │ +b
              a  allow every write_file that needs workspace-write from now on, in this session
            Allow write src/x.rs (+1 -1)?
            {answer?}
            <>
            interrupting; once more to leave at once
            interrupted
            1.2k tokens in, 34 out, 1 tool round
            {prompt?}
            <>
            </exit>
            bye
            resume with: tillerman repl --resume s1
            -> /status now
            -> prompt "first\nsecond"
            -> Interrupt { turn: None }
            -> /exit 
            -- exit 0
        "#]],
    );
}

#[test]
fn a_repl_survives_a_refused_prompt() {
    let busy = Fault::new(FaultKind::TurnInProgress, "a turn is running");
    let steps = vec![
        opened(),
        Typed("hello"),
        StoryStep::Told(Event::Reply { tag: Tag(2), result: Err(busy) }),
        Parted(Parting::Eof),
    ];
    in_repl(
        steps,
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            <hello>
            error: a turn is running
            {prompt?}
            resume with: tillerman repl --resume s1
            -> prompt "hello"
            -- exit 0
        "#]],
    );
}
