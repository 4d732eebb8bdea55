//! Stories told to the terminal by hand: lines typed and events told go in, what is shown and wanted comes out.

mod coming_back;
mod dialogs;
mod lost;
mod quiet;
mod waits;

use std::sync::Arc;

use expect_test::{Expect, expect};
use vocab::{
    Ask, AskEnd, AskEntry, AskId, AskKind, AssistantMessage, Block, Body, Call, CallEnd, CallEntry, CallId, CallInput,
    CallResult, Delta, Entry, Event, Fact, Fault, FaultKind, FileEdit, Finish, Json, MessageEnd, Mode, ModelEntry,
    NoteEntry, Open, Opened, Part, PermissionAsk, Reply, Required, SessionId, SlashOutcome, SlashReply, Snapshot,
    State, Stop, Tag, Told, TurnEnd, TurnEntry, TurnId, Usage, Verb, Which,
};
use wire::{Dialect, Line, Out, Parting};

use super::{Answers, Cue, Face, JsonLines, Paint, People, Piece, Side, Talk, Terminal, Want, first_piece};

/// One line of a story.
enum Step {
    Told(Event),
    Typed(&'static str),
    Parted(Parting),
}
use Step::{Parted, Typed};

fn logged(body: Body) -> Event {
    Event::Logged(Arc::new(Entry { seq: 1, parent: 0, at_ms: 0, body }))
}

fn told(body: Body) -> Step {
    Step::Told(logged(body))
}

fn turn() -> TurnId {
    TurnId::from("t1")
}

fn text(delta: &str) -> Step {
    Step::Told(Event::Delta(Delta::Text { turn: turn(), delta: delta.into() }))
}

fn opened() -> Step {
    let state = State {
        session: SessionId::from("s1"),
        workspace: "/w".into(),
        model: "tour".into(),
        mode: Mode::Prompt,
        thinking: None,
        context_window: 1000,
        max_tokens: 100,
        context_tokens: 0,
        gadgets: Vec::new(),
        title: None,
        turn: None,
        messages: 0,
        results: 0,
        last_seq: 0,
        model_info: Arc::new(vocab::ModelInfo::named("tour", 1000)),
        todos: Arc::from([]),
        file: None,
    };
    let notices = vec!["model: tour (no key, no local server)".to_owned()];
    let opened = Opened { session: SessionId::from("s1"), resumed: false, state, tools: Vec::new(), notices };
    Step::Told(Event::Reply { tag: Tag(1), result: Ok(Reply::Opened(Box::new(opened))) })
}

fn call(id: &str, tool: &str, input: &str) -> Step {
    let input = CallInput::Object(Json::trusted(input));
    let call = Call { id: CallId::from(id), name: tool.into(), input, seal: None };
    told(Body::Call(CallEntry::Started { turn: turn(), call, tool: tool.into() }))
}

fn result_of(id: &str, tool: &str, end: CallEnd, text: &str) -> CallResult {
    CallResult {
        call: CallId::from(id),
        tool: tool.into(),
        end,
        parts: vec![Part::text(text)],
        is_error: end != CallEnd::Ran,
        duration_ms: 3,
        mutation: None,
        edits: Vec::new(),
        details: None,
    }
}

fn result(id: &str, tool: &str, end: CallEnd, text: &str) -> Step {
    told(Body::Call(CallEntry::Ended { turn: turn(), result: result_of(id, tool, end, text) }))
}

fn said() -> Step {
    let end = MessageEnd::Finished(Finish::Stop);
    let blocks = vec![Block::Text("said".into())];
    let message = AssistantMessage { blocks, model: "tour".into(), end, usage: Usage::default() };
    told(Body::Assistant { turn: Some(turn()), message })
}

fn ended(stop: Stop, fault: Option<Fault>) -> Step {
    let usage = Usage { input: 1200, output: 34, ..Usage::default() };
    told(Body::Turn(TurnEntry::Ended(TurnEnd {
        turn: turn(),
        stop,
        iterations: 1,
        usage,
        mutations: Vec::new(),
        fault,
    })))
}

/// What a session says of a turn that died with another process, before the new one starts.
fn left_over() -> Step {
    let fault = Some(Fault::new(FaultKind::Internal, "the process ended during this turn, or could not write its end"));
    let end = TurnEnd {
        turn: TurnId::from("t0"),
        stop: Stop::Error,
        iterations: 0,
        usage: Usage::default(),
        mutations: Vec::new(),
        fault,
    };
    told(Body::Turn(TurnEntry::Ended(end)))
}

fn permission(id: &str) -> Step {
    permission_for(id, Required::WorkspaceWrite)
}

fn permission_for(id: &str, required: Required) -> Step {
    told(Body::Ask(AskEntry::Opened(Ask {
        id: AskId::from(id),
        turn: Some(turn()),
        kind: AskKind::Permission(PermissionAsk {
            call: CallId::from("c1"),
            tool: "write_file".into(),
            input: Json::trusted(r#"{"path":"src/x.rs","content":"b\n"}"#),
            active: Mode::Prompt,
            required,
            reason: None,
            summary: "write src/x.rs (+1 -1)".into(),
            preview: Some([Fact::diff("src/x.rs", "@@ -1 +1 @@\n-a\n+b\n")].into()),
        }),
        timeout_ms: None,
    })))
}

/// What a story left behind: everything shown, everything wanted.
struct Seen {
    shown: String,
    side: String,
    /// What was said to be waited for, one after the other.
    waits: Vec<Option<String>>,
    wanted: Vec<Verb>,
    exit: Option<u8>,
}

fn play<F: Face>(talk: Talk, face: F, steps: Vec<Step>) -> Seen {
    let mut terminal = Terminal::new(talk, face);
    let mut out = Out::new();
    let mut seen =
        Seen { shown: String::new(), side: String::new(), waits: Vec::new(), wanted: Vec::new(), exit: None };
    let mut prompted = None;
    terminal.greet(&mut out);
    for step in steps {
        if let Step::Told(event) = &step
            && let Some(tag) = prompted.take_if(|tag| begins_turn(event, *tag))
        {
            let started = Event::Reply { tag, result: Ok(Reply::Started { turn: turn() }) };
            // Something was said, or the turn would be an empty one.
            let Step::Told(said) = said() else { unreachable!() };
            for event in [logged(Body::Turn(TurnEntry::Started { turn: turn() })), started, said] {
                terminal.tell(&Told { session: SessionId::from("s1"), event }, &mut out);
            }
        }
        match step {
            Step::Told(event) => terminal.tell(&Told { session: SessionId::from("s1"), event }, &mut out),
            Typed(line) => {
                seen.shown.push_str(&format!("<{line}>\n"));
                terminal.hear(Line::Whole(line.as_bytes()), &mut out);
            }
            Parted(why) => terminal.part(why, &mut out),
        }
        let frames = std::mem::take(&mut out.frames);
        seen.look(frames.as_bytes());
        for command in out.commands.drain(..) {
            if matches!(command.verb, Verb::Prompt { .. }) {
                prompted = Some(command.tag);
            }
            seen.wanted.push(command.verb);
        }
        if out.close {
            seen.exit = Some(out.exit_code);
        }
    }
    seen
}

impl Seen {
    fn look(&mut self, mut bytes: &[u8]) {
        while let Some((piece, used)) = first_piece(bytes) {
            match piece {
                Piece::Text(text) => self.shown.push_str(&String::from_utf8_lossy(text).replace('\x1b', "^")),
                Piece::Cue(Cue::Want(Want::Prompt)) => self.shown.push_str("{prompt?}\n"),
                Piece::Cue(Cue::Want(Want::Answer)) => self.shown.push_str("{answer?}\n"),
                Piece::Cue(Cue::Want(Want::Line | Want::Choice)) => self.shown.push_str("{line?}\n"),
                Piece::Cue(Cue::Waits(what)) => self.waits.push(what),
                Piece::Cue(Cue::Aside(line)) => self.side.push_str(&format!("{line}\n")),
            }
            bytes = &bytes[used..];
        }
    }
}

/// A prompt becomes a turn as soon as something of that turn is told, unless the story answers the prompt itself.
fn begins_turn(event: &Event, prompted: Tag) -> bool {
    match event {
        Event::Reply { tag, .. } => *tag != prompted,
        Event::Logged(entry) => match &entry.body {
            Body::Turn(TurnEntry::Ended(end)) => end.turn == turn(),
            _ => true,
        },
        _ => true,
    }
}

fn run_talk(answers: Answers) -> Talk {
    Talk { open: Open::new(Which::New), once: Some(vec![Part::text("go")]), answers, kept: true, bound: None }
}

fn repl_talk() -> Talk {
    Talk { open: Open::new(Which::New), once: None, answers: Answers::Person, kept: true, bound: None }
}

fn inline(color: bool, marks: bool) -> People {
    People::new(Paint { on: color }, Side::Inline, Box::new(|| None), marks)
}

fn show(seen: &Seen) -> String {
    let mut text = seen.shown.clone();
    for verb in &seen.wanted {
        match verb {
            Verb::Open(_) => {}
            Verb::Prompt { parts, .. } => text.push_str(&format!("-> prompt {:?}\n", vocab::parts_text(parts))),
            Verb::Answer { ask, answer } => text.push_str(&format!("-> answer {ask} {answer:?}\n")),
            Verb::Slash { name, args } => text.push_str(&format!("-> /{name} {args}\n")),
            other => text.push_str(&format!("-> {other:?}\n")),
        }
    }
    if !seen.side.is_empty() {
        text.push_str(&format!("-- side\n{}", seen.side));
    }
    if let Some(code) = seen.exit {
        text.push_str(&format!("-- exit {code}\n"));
    }
    text
}

fn on_terminal(answers: Answers, steps: Vec<Step>, expect: Expect) {
    let seen = play(run_talk(answers), inline(false, false), steps);
    expect.assert_eq(&show(&seen));
}

fn in_pipe(answers: Answers, steps: Vec<Step>, expect: Expect) {
    let face = People::new(Paint { on: false }, Side::Lines, Box::new(|| None), false);
    expect.assert_eq(&show(&play(run_talk(answers), face, steps)));
}

fn in_repl(steps: Vec<Step>, expect: Expect) {
    let seen = play(repl_talk(), inline(false, true), steps);
    expect.assert_eq(&show(&seen));
}

fn listing() -> Vec<Step> {
    vec![
        opened(),
        text("I look"),
        text(" around."),
        said(),
        call("c1", "glob", r#"{"pattern":"**/*.rs"}"#),
        result("c1", "glob", CallEnd::Ran, "a.rs\nb.rs\nc.rs\nd.rs\ne.rs\nf.rs\ng.rs\n"),
        text("Seven files."),
        said(),
        ended(Stop::EndTurn, None),
    ]
}

#[test]
fn a_terminal_gets_one_flow_of_text_and_tools() {
    on_terminal(
        Answers::Person,
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
        Answers::Nobody,
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
    let seen = play(run_talk(Answers::Person), inline(true, false), steps);
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
        Answers::Person,
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
    let seen = play(run_talk(Answers::AllowAll), inline(true, false), steps);
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
        Answers::Person,
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
    let seen = play(run_talk(Answers::Person), inline(false, false), steps);
    let answered: Vec<String> = seen
        .wanted
        .iter()
        .filter_map(|verb| match verb {
            Verb::Answer { ask, .. } => Some(ask.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(answered, ["ask1", "ask3"]);
    assert_eq!(seen.shown.matches("Allow write").count(), 3, "{}", seen.shown);
}

#[test]
fn a_line_typed_ahead_never_answers_a_question() {
    let steps = vec![opened(), Typed("y"), permission("ask1")];
    let seen = play(run_talk(Answers::Person), inline(false, false), steps);
    assert!(!seen.wanted.iter().any(|verb| matches!(verb, Verb::Answer { .. })));
}

#[test]
fn where_nobody_can_be_asked_a_call_is_denied_and_the_exit_code_says_so() {
    let steps = vec![
        opened(),
        call("c1", "write_file", r#"{"path":"src/x.rs"}"#),
        permission("ask1"),
        result("c1", "write_file", CallEnd::Denied, "denied: nobody can be asked here"),
        text("Then not."),
        said(),
        ended(Stop::EndTurn, None),
    ];
    in_pipe(
        Answers::Nobody,
        steps,
        expect![[r#"
            Then not.
            -> prompt "go"
            -> answer ask1 Deny(Some("denied: nobody can be asked here. The user can allow it with `--yes` or `--mode workspace-write`."))
            -- side
            model: tour (no key, no local server)
            ● write_file src/x.rs
            denied write src/x.rs (+1 -1): nobody can be asked here; `--yes` or `--mode workspace-write` would allow it
            -- exit 3
        "#]],
    );
}

#[test]
fn yes_goes_as_far_as_the_mode_beside_it() {
    let wants = |required| vec![opened(), permission_for("ask1", required), ended(Stop::EndTurn, None)];
    let seen = |mode, required| {
        let talk = Talk { bound: Some(mode), ..run_talk(Answers::AllowAll) };
        show(&play(talk, inline(false, false), wants(required)))
    };
    let (write, all) = (Required::WorkspaceWrite, Required::DangerFullAccess);
    for (mode, required) in [(Mode::WorkspaceWrite, write), (Mode::Prompt, all), (Mode::DangerFullAccess, all)] {
        let seen = seen(mode, required);
        assert!(seen.contains("answer ask1 Allow(Once)") && seen.contains("exit 0"), "{mode:?}: {seen}");
    }
    let denied = seen(Mode::WorkspaceWrite, all);
    let why = "`--yes` beside `--mode workspace-write` allows nothing that could leave the workspace";
    assert!(
        denied.contains(&format!("Deny(Some(\"denied: {why}. The user can allow it with `--mode danger-full-access`.")),
        "{denied}"
    );
    assert!(denied.contains(&format!("{why}; `--mode danger-full-access` would allow it")), "{denied}");
    assert!(denied.contains("exit 3"), "{denied}");
}

#[test]
fn yes_allows_everything_without_a_question() {
    let steps = vec![opened(), permission("ask1"), ended(Stop::EndTurn, None)];
    in_pipe(
        Answers::AllowAll,
        steps,
        expect![[r#"
        -> prompt "go"
        -> answer ask1 Allow(Once)
        -- side
        model: tour (no key, no local server)
        -- exit 0
    "#]],
    );
}

#[test]
fn end_of_input_denies_what_is_open_and_what_comes() {
    let steps =
        vec![opened(), permission("ask1"), Parted(Parting::Eof), permission("ask2"), ended(Stop::EndTurn, None)];
    on_terminal(
        Answers::Person,
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
            denied write src/x.rs (+1 -1): nobody can be asked here; `--yes` or `--mode workspace-write` would allow it
            denied write src/x.rs (+1 -1): nobody can be asked here; `--yes` or `--mode workspace-write` would allow it
            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -> answer ask1 Deny(Some("denied: the user left before answering."))
            -> answer ask2 Deny(Some("denied: the user left before answering."))
            -- exit 3
        "#]],
    );
}

#[test]
fn the_first_interrupt_stops_the_turn_and_the_second_leaves() {
    let steps =
        vec![opened(), text("one"), Parted(Parting::Signal(wire::Signal::Terminate)), ended(Stop::Interrupted, None)];
    on_terminal(
        Answers::Person,
        steps,
        expect![[r#"
            model: tour (no key, no local server)

            one

            interrupting; once more to leave at once
            interrupted
            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -> Interrupt { turn: None }
            -- exit 130
        "#]],
    );
    let steps = vec![
        opened(),
        text("one"),
        Parted(Parting::Signal(wire::Signal::Terminate)),
        Parted(Parting::Signal(wire::Signal::Terminate)),
    ];
    on_terminal(
        Answers::Person,
        steps,
        expect![[r#"
            model: tour (no key, no local server)

            one

            interrupting; once more to leave at once
            -> prompt "go"
            -> Interrupt { turn: None }
            -- exit 130
        "#]],
    );
}

#[test]
fn retries_errors_and_hints_are_told() {
    let limited = Fault::new(FaultKind::RateLimited, "429 from the server");
    let denied = Fault::new(FaultKind::Auth, "the key was refused").hint("set OPENAI_API_KEY");
    let steps = vec![
        opened(),
        told(Body::Model(ModelEntry::Retrying {
            turn: turn(),
            attempt: 1,
            attempts_max: 3,
            wait_ms: 2000,
            fault: limited.clone(),
        })),
        told(Body::Model(ModelEntry::FellBack(vocab::FellBack {
            turn: turn(),
            from: "big".into(),
            to: "small".into(),
            fault: limited,
            skipped: Vec::new(),
        }))),
        told(Body::Note(NoteEntry::Recovered { text: "the log was cut after entry 7".into() })),
        ended(Stop::Error, Some(denied)),
    ];
    on_terminal(
        Answers::Person,
        steps,
        expect![[r#"
        model: tour (no key, no local server)
        retrying in 2.0 s (1/3): 429 from the server
        big could not answer, asking small: 429 from the server
        the log was cut after entry 7
        error: the key was refused
        hint: set OPENAI_API_KEY
        1.2k tokens in, 34 out, 1 tool round
        -> prompt "go"
        -- exit 1
    "#]],
    );
}

#[test]
fn a_session_that_cannot_be_opened_is_exit_2() {
    let fault = Fault::new(FaultKind::NotFound, "no session matches `zz`").hint("`tillerman sessions list`");
    let steps = vec![Step::Told(Event::Reply { tag: Tag(1), result: Err(fault) })];
    in_pipe(
        Answers::Nobody,
        steps,
        expect![[r#"
        -- side
        error: no session matches `zz`
        hint: `tillerman sessions list`
        -- exit 2
    "#]],
    );
}

#[test]
fn limits_are_exit_3() {
    for stop in [Stop::MaxTokens, Stop::MaxIterations, Stop::Refusal] {
        let seen = play(run_talk(Answers::Nobody), inline(false, false), vec![opened(), ended(stop, None)]);
        assert_eq!(seen.exit, Some(3), "{stop:?}");
        assert!(seen.shown.contains("stopped"), "{}", seen.shown);
    }
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
        Answers::Person,
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
        Step::Told(Event::Delta(Delta::CallProgress {
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
        Answers::Person,
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

#[test]
fn the_end_of_a_turn_that_died_with_another_process_is_not_the_end_of_the_prompt() {
    on_terminal(
        Answers::Nobody,
        vec![opened(), left_over(), text("Done."), said(), ended(Stop::EndTurn, None)],
        expect![[r#"
            model: tour (no key, no local server)
            the turn before this one was cut short: the process ended during this turn, or could not write its end

            Done.

            1.2k tokens in, 34 out, 1 tool round
            -> prompt "go"
            -- exit 0
        "#]],
    );
    let seen = play(
        run_talk(Answers::Nobody),
        JsonLines::default(),
        vec![opened(), left_over(), text("Done."), said(), ended(Stop::EndTurn, None)],
    );
    expect![[r#"
        {"type":"session","session_id":"s1","resumed":false,"model":"tour","mode":"prompt","workspace":"/w"}
        {"type":"notice","text":"model: tour (no key, no local server)"}
        {"type":"notice","text":"the turn before this one was cut short: the process ended during this turn, or could not write its end"}
        {"type":"text","delta":"Done."}
        {"type":"turn_end","stop":"end_turn","iterations":1,"usage":{"cache_read_tokens":0,"cache_write_tokens":0,"estimated":false,"input_tokens":1200,"output_tokens":34},"error":null,"exit_code":0,"result":"said","session_id":"s1","cost_usd":null}
        -> prompt "go"
        -- exit 0
    "#]].assert_eq(&show(&seen));
    in_repl(
        vec![opened(), Typed("go on"), left_over(), text("Done."), said(), ended(Stop::EndTurn, None)],
        expect![[r#"
            model: tour (no key, no local server)
            tillerman 0.1.0 · tour · prompt · /help lists what can be typed
            {prompt?}
            <go on>
            the turn before this one was cut short: the process ended during this turn, or could not write its end

            Done.

            1.2k tokens in, 34 out, 1 tool round
            {prompt?}
            -> prompt "go on"
        "#]],
    );
}

#[test]
fn a_repl_asks_for_lines_and_goes_on_after_each() {
    let titled = Ok(SlashOutcome::Renamed { title: "all well".into() });
    let help = SlashReply { command: "status".into(), result: titled };
    let bye = SlashReply { command: "exit".into(), result: Ok(SlashOutcome::Exit) };
    let slash = |tag: u64, reply: SlashReply| {
        Step::Told(Event::Reply { tag: Tag(tag), result: Ok(Reply::Slash(Box::new(reply))) })
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
            all well
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
        Step::Told(Event::Reply { tag: Tag(2), result: Err(busy) }),
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

#[test]
fn json_lines_tell_the_whole_turn() {
    let mut done = result_of("c1", "write_file", CallEnd::Ran, "wrote");
    done.edits.push(FileEdit { path: "n".into(), before: Snapshot::Absent, after: Snapshot::Text("x\n".into()) });
    let fault = Fault::new(FaultKind::StreamCut, "cut").hint("try again");
    let steps = vec![
        opened(),
        text("a \"quoted\"\n"),
        call("c1", "write_file", r#"{"path":"n"}"#),
        permission("ask1"),
        told(Body::Call(CallEntry::Ended { turn: turn(), result: done })),
        ended(Stop::Error, Some(fault)),
    ];
    let seen = play(run_talk(Answers::AllowAll), JsonLines::default(), steps);
    for line in seen.shown.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("each line is JSON");
    }
    expect![[r#"
        {"type":"session","session_id":"s1","resumed":false,"model":"tour","mode":"prompt","workspace":"/w"}
        {"type":"notice","text":"model: tour (no key, no local server)"}
        {"type":"text","delta":"a \"quoted\"\n"}
        {"type":"tool_call","id":"c1","name":"write_file","input":{"path":"n"}}
        {"type":"permission","call":"c1","tool":"write_file","summary":"write src/x.rs (+1 -1)","required":"workspace-write","decision":"allow","reason":null}
        {"type":"tool_result","id":"c1","name":"write_file","outcome":"ran","is_error":false,"text":"wrote","duration_ms":3,"edits":[{"added":1,"patch":"@@ -0,0 +1 @@\n+x\n","path":"n","removed":0}]}
        {"type":"turn_end","stop":"error","iterations":1,"usage":{"cache_read_tokens":0,"cache_write_tokens":0,"estimated":false,"input_tokens":1200,"output_tokens":34},"error":{"hints":["try again"],"kind":"stream_cut","message":"cut"},"exit_code":1,"result":"said","session_id":"s1","cost_usd":null}
        -> prompt "go"
        -> answer ask1 Allow(Once)
        -- exit 1
    "#]].assert_eq(&show(&seen));
}
