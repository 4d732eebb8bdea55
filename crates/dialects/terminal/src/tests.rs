//! Stories told to the terminal by hand: lines typed and events told go in, what is shown and wanted comes out.

mod coming_back;
mod dialogs;
mod elsewhere;
mod endings;
mod line_after_line;
mod lost;
mod programs;
mod questions;
mod quiet;
mod showing;
mod unasked;
mod waits;

use std::sync::Arc;

use expect_test::{Expect, expect};
use vocab::{
    Ask, AskEnd, AskEntry, AskId, AskKind, AssistantMessage, Block, Body, Call, CallEnd, CallEntry, CallId, CallInput,
    CallResult, Delta, Entry, Event, Fact, Fault, FaultKind, FileEdit, Finish, Json, MessageEnd, Mode, ModelEntry,
    NoteEntry, Open, Opened, Part, PermissionAsk, Reply, Required, SessionId, SessionVerb, SlashReply, Snapshot, State,
    Stop, Tag, Told, TurnEnd, TurnEntry, TurnId, Usage, Verb, Which,
};
use wire::{Dialect, Frame, Out, Parting};

use super::{
    AnswerPolicy, BuiltinCommands, JsonRenderer, OutputPiece, Paint, Renderer, ScreenControl, SideChannel,
    TerminalDialect, TerminalOptions, TextRenderer, WantedLine, first_piece,
};

/// One line of a story.
enum StoryStep {
    Told(Event),
    Typed(&'static str),
    Parted(Parting),
}
use StoryStep::{Parted, Typed};

fn logged(body: Body) -> Event {
    Event::Logged(Arc::new(Entry { seq: 1, parent: 0, at_ms: 0, body, by: None }))
}

fn told(body: Body) -> StoryStep {
    StoryStep::Told(logged(body))
}

fn turn() -> TurnId {
    TurnId::from("t1")
}

fn text(delta: &str) -> StoryStep {
    StoryStep::Told(Event::Delta(Delta::Text { turn: turn(), delta: delta.into() }))
}

fn opened() -> StoryStep {
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
        lane: vocab::LanePolicy::default(),
        lane_is_own: false,
        elevated_until_ms: None,
        model_called: None,
        works_for: None,
    };
    let notices = vec!["model: tour (no key, no local server)".to_owned()];
    let opened = Opened {
        session: SessionId::from("s1"),
        resumed: false,
        state,
        tools: Vec::new(),
        notices,
        present: vocab::Present::default(),
    };
    StoryStep::Told(Event::Reply { tag: Tag(1), result: Ok(Reply::Opened(Box::new(opened))) })
}

fn call(id: &str, tool: &str, input: &str) -> StoryStep {
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

fn result(id: &str, tool: &str, end: CallEnd, text: &str) -> StoryStep {
    told(Body::Call(CallEntry::Ended { turn: turn(), result: result_of(id, tool, end, text) }))
}

fn said() -> StoryStep {
    let end = MessageEnd::Finished(Finish::Stop);
    let blocks = vec![Block::Text("said".into())];
    let message = AssistantMessage { blocks, model: "tour".into(), end, usage: Usage::default() };
    told(Body::Assistant { turn: Some(turn()), message })
}

fn ended(stop: Stop, fault: Option<Fault>) -> StoryStep {
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
fn left_over() -> StoryStep {
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

fn permission(id: &str) -> StoryStep {
    permission_for(id, Required::WorkspaceWrite)
}

fn permission_for(id: &str, required: Required) -> StoryStep {
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
            may_have_run: false,
        }),
        timeout_ms: None,
    })))
}

/// What a story left behind: everything shown, everything wanted.
struct StoryOutcome {
    shown: String,
    side: String,
    /// What was said to be waited for, one after the other.
    waits: Vec<Option<String>>,
    wanted: Vec<Verb>,
    exit: Option<u8>,
}

fn play<R: Renderer>(options: TerminalOptions, renderer: R, steps: Vec<StoryStep>) -> StoryOutcome {
    let mut terminal = TerminalDialect::new(options, renderer);
    let mut out = Out::new();
    let mut seen =
        StoryOutcome { shown: String::new(), side: String::new(), waits: Vec::new(), wanted: Vec::new(), exit: None };
    let mut prompted = None;
    terminal.greet(&mut out);
    for step in steps {
        if let StoryStep::Told(Event::Reply { tag, .. }) = &step {
            prompted.take_if(|prompted| prompted == tag);
        }
        if let StoryStep::Told(event) = &step
            && let Some(tag) = prompted.take_if(|_| begins_turn(event))
        {
            let started = Event::Reply { tag, result: Ok(Reply::Started { turn: turn() }) };
            // Something was said, or the turn would be an empty one.
            let StoryStep::Told(said) = said() else { unreachable!() };
            for event in [logged(Body::Turn(TurnEntry::Started { turn: turn() })), started, said] {
                terminal.tell(&Told::new(SessionId::from("s1"), event), &mut out);
            }
        }
        match step {
            StoryStep::Told(event) => terminal.tell(&Told::new(SessionId::from("s1"), event), &mut out),
            Typed(line) => {
                seen.shown.push_str(&format!("<{line}>\n"));
                terminal.hear(Frame::Whole(line.as_bytes()), &mut out);
            }
            Parted(why) => terminal.part(why, &mut out),
        }
        let frames = std::mem::take(&mut out.frames);
        seen.look(frames.as_bytes());
        for command in out.commands.drain(..) {
            if matches!(command.verb, Verb::Session(SessionVerb::Prompt { .. })) {
                prompted = Some(command.tag);
            }
            seen.wanted.push(command.verb);
        }
        if let Some(wire::Close { code: wire::CloseCode::Private(code), .. }) = out.close {
            seen.exit = Some(code);
        }
    }
    seen
}

impl StoryOutcome {
    fn look(&mut self, mut bytes: &[u8]) {
        while let Some((piece, used)) = first_piece(bytes) {
            match piece {
                OutputPiece::Text(text) => self.shown.push_str(&String::from_utf8_lossy(text).replace('\x1b', "^")),
                OutputPiece::Control(ScreenControl::Want(WantedLine::Prompt)) => self.shown.push_str("{prompt?}\n"),
                OutputPiece::Control(ScreenControl::Want(WantedLine::Answer)) => self.shown.push_str("{answer?}\n"),
                OutputPiece::Control(ScreenControl::Want(WantedLine::Line | WantedLine::Choice)) => {
                    self.shown.push_str("{line?}\n")
                }
                OutputPiece::Control(ScreenControl::Waits(what)) => self.waits.push(what),
                OutputPiece::Control(ScreenControl::Aside(line)) => self.side.push_str(&format!("{line}\n")),
            }
            bytes = &bytes[used..];
        }
    }
}

/// A prompt becomes a turn as soon as something of that turn is told, unless the story answers the prompt itself.
fn begins_turn(event: &Event) -> bool {
    match event {
        Event::Logged(entry) => match &entry.body {
            Body::Turn(TurnEntry::Ended(end)) => end.turn == turn(),
            _ => true,
        },
        _ => true,
    }
}

/// As many of the engine's commands as the stories name.
const BUILTINS: BuiltinCommands = BuiltinCommands {
    is_builtin: |name| ["help", "status", "diff", "cost", "clear", "resume", "exit"].contains(&name),
    nearest: |name| (name == "statsu").then_some("status"),
};

fn run_options(answers: AnswerPolicy) -> TerminalOptions {
    TerminalOptions {
        open: Open::new(Which::New),
        once: Some(vec![Part::text("go")]),
        answers,
        way_back: Some("tillerman repl --resume".into()),
        bound: None,
        is_shared: true,
        builtins: BUILTINS,
    }
}

fn repl_options() -> TerminalOptions {
    TerminalOptions {
        open: Open::new(Which::New),
        once: None,
        answers: AnswerPolicy::Person,
        way_back: Some("tillerman repl --resume".into()),
        bound: None,
        is_shared: true,
        builtins: BUILTINS,
    }
}

fn inline(color: bool, marks: bool) -> TextRenderer {
    TextRenderer::new(Paint { on: color }, SideChannel::Inline, Box::new(|| None), marks)
}

fn show(seen: &StoryOutcome) -> String {
    let mut text = seen.shown.clone();
    for verb in &seen.wanted {
        match verb {
            Verb::Open(_) => {}
            Verb::Session(SessionVerb::Prompt { parts, .. }) => {
                text.push_str(&format!("-> prompt {:?}\n", vocab::parts_text(parts)))
            }
            Verb::Session(SessionVerb::Answer { ask, answer }) => {
                text.push_str(&format!("-> answer {ask} {answer:?}\n"))
            }
            Verb::Session(SessionVerb::Slash { name, args }) => text.push_str(&format!("-> /{name} {args}\n")),
            Verb::Session(other) => text.push_str(&format!("-> {other:?}\n")),
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

fn on_terminal(answers: AnswerPolicy, steps: Vec<StoryStep>, expect: Expect) {
    let seen = play(run_options(answers), inline(false, false), steps);
    expect.assert_eq(&show(&seen));
}

fn in_pipe(answers: AnswerPolicy, steps: Vec<StoryStep>, expect: Expect) {
    let renderer = TextRenderer::new(Paint { on: false }, SideChannel::Lines, Box::new(|| None), false);
    expect.assert_eq(&show(&play(run_options(answers), renderer, steps)));
}

fn in_repl(steps: Vec<StoryStep>, expect: Expect) {
    let seen = play(repl_options(), inline(false, true), steps);
    expect.assert_eq(&show(&seen));
}

fn listing() -> Vec<StoryStep> {
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
