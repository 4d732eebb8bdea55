//! One of everything that can be in a log, with text that has broken other people's stores.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use vocab::*;

/// Every variant of [`Body`], and of everything inside it, at least once.
pub fn bodies() -> Vec<Body> {
    let subjects = [
        openings(),
        turns(),
        model_calls(),
        branches(),
        settings(),
        shells(),
        notes(),
        messages(),
        calls(),
        asks(),
        items(),
    ];
    subjects.into_iter().flatten().collect()
}

/// What a store gives back for a body: the sender of an item is forgotten.
pub fn as_stored(body: &Body) -> Body {
    match body {
        Body::Queue(QueueEntry::Queued(item)) => Body::Queue(QueueEntry::Queued(Item { sender: None, ..item.clone() })),
        other => other.clone(),
    }
}

const ODD: &str = "line\nLF \u{2028} \"quoted\\\" \0nul \u{1f600} \u{10ffff} \u{e9} tab\t \u{7f} </script>";

fn usage() -> Usage {
    Usage { input: 1, cache_read: 20, cache_write: 300, output: 4000, estimated: true }
}

fn fault() -> Fault {
    Fault::new(FaultKind::RateLimited, ODD).hint("wait").hint(ODD).answered(429)
}

fn requested(turn: Option<&str>, sent: Option<Arc<Sent>>) -> Requested {
    Requested { turn: turn.map(TurnId::from), model: ODD.into(), summary: None, sent, bytes: u64::MAX }
}

fn sent() -> Sent {
    Sent {
        api: "openai-completions".into(),
        url: "http://h/v1/chat/completions".into(),
        headers: vec![("x-beta".into(), ODD.into())],
        manner: "{}".into(),
        head: ODD.into(),
        tail: ODD.into(),
    }
}

fn turn() -> TurnId {
    TurnId::from("t1")
}

fn openings() -> Vec<Body> {
    let opened = |workspace, mode, forked_from| Body::Opened {
        workspace,
        model: "m".into(),
        mode,
        forked_from,
        child_of: (mode == Mode::Plan).then(|| ("s0".into(), ODD.into())),
    };
    let not_text = OsString::from_vec(vec![b'/', 0xff, 0xfe, b'x']);
    let mut all = vec![opened(not_text.into(), Mode::Plan, None)];
    all.extend(Mode::ALL.map(|mode| opened("/w".into(), mode, Some((SessionId::from(ODD), u64::MAX)))));
    all
}

fn turns() -> Vec<Body> {
    let taken = |items, trace, until_ms| Body::Turn(TurnEntry::Taken { turn: turn(), items, trace, until_ms });
    let mut all = vec![
        Body::Turn(TurnEntry::Started { turn: turn() }),
        taken(vec!["i1".into(), ODD.into()], Some(ODD.into()), Some(i64::MAX)),
        taken(vec![], None, None),
    ];
    let cuts = [CutBy::Asked, CutBy::Newer, CutBy::Ending, CutBy::Deleted, CutBy::Stalled, CutBy::TimedOut];
    all.extend(cuts.map(|why| Body::Turn(TurnEntry::Cut { turn: turn(), why, item: None })));
    all.push(Body::Turn(TurnEntry::Cut { turn: turn(), why: CutBy::Newer, item: Some(ODD.into()) }));
    use Stop::*;
    for stop in [EndTurn, MaxTokens, MaxIterations, Refusal, Interrupted, Error, Budget] {
        let mutations = vec![("write_file".into(), ODD.into()), ("bash".into(), "rm".into())];
        let fault = matches!(stop, Error | Budget).then(fault);
        let end = TurnEnd { turn: turn(), stop, iterations: 7, usage: usage(), mutations, fault };
        all.push(Body::Turn(TurnEntry::Ended(end)));
    }
    all
}

fn model_calls() -> Vec<Body> {
    let summary = Some(SummaryOf { upto: 9, from: 2, first_kept: u64::MAX, request: ODD.into() });
    let mut all = vec![
        ModelEntry::Retrying { turn: turn(), attempt: 1, attempts_max: 3, wait_ms: u64::MAX, fault: fault() },
        ModelEntry::Requested(requested(None, None)),
        ModelEntry::Requested(requested(Some("t1"), Some(Arc::new(sent())))),
        ModelEntry::Requested(Requested { summary, ..requested(None, None) }),
        ModelEntry::FellBack(FellBack {
            turn: turn(),
            from: "a".into(),
            to: ODD.into(),
            fault: fault(),
            skipped: vec![("b".into(), ODD.into())],
        }),
        ModelEntry::Spent { turn: None, call: None, model: ODD.into(), usage: usage() },
        ModelEntry::Spent { turn: Some(turn()), call: Some(ODD.into()), model: "m".into(), usage: Usage::default() },
    ];
    all.extend(FAULTS.map(|kind| ModelEntry::Retrying {
        turn: turn(),
        attempt: 0,
        attempts_max: 0,
        wait_ms: 0,
        fault: Fault::new(kind, "why"),
    }));
    all.into_iter().map(Body::Model).collect()
}

const FAULTS: [FaultKind; 26] = {
    use FaultKind::*;
    [
        Invalid,
        EmptyPrompt,
        TurnInProgress,
        WorksForCall,
        QueueFull,
        NotFound,
        UnknownSession,
        UnknownAsk,
        UnknownModel,
        UnknownCommand,
        SessionBusy,
        ShuttingDown,
        NothingToDo,
        Unsupported,
        KeyTaken,
        Budget,
        Store,
        Cancelled,
        Internal,
        Auth,
        RateLimited,
        ContextOverflow,
        BadRequest,
        Provider,
        StreamCut,
        Network,
    ]
};

fn branches() -> Vec<Body> {
    let mut all = vec![
        BranchEntry::Moved { to: 0 },
        BranchEntry::Restored { files: vec![] },
        BranchEntry::Restored { files: vec!["a".into(), ODD.into()] },
        BranchEntry::Summary { from: Some(1), summary: ODD.into() },
        BranchEntry::Summary { from: None, summary: "x".into() },
    ];
    use CompactReason::*;
    all.extend([Manual, Threshold, Overflow, Switch].map(|reason| {
        BranchEntry::Compacted(Compaction {
            reason,
            summary: ODD.into(),
            first_kept: 9,
            tokens_before: 8,
            tokens_after: 7,
            messages_before: 6,
            messages_after: 5,
            usage: usage(),
            model: if reason == Manual { "".into() } else { ODD.into() },
        })
    }));
    all.into_iter().map(Body::Branch).collect()
}

fn settings() -> Vec<Body> {
    let task = |status| TodoTask {
        id: "t1".into(),
        content: ODD.into(),
        status,
        notes: (status == TodoStatus::Pending).then(|| ODD.into()),
    };
    let tasks = TodoStatus::ALL.into_iter().map(task).collect();
    let mut all = vec![
        SettingEntry::Model { model: ODD.into(), called: None },
        SettingEntry::Model { model: "vendor/small".into(), called: Some(ODD.into()) },
        SettingEntry::Thinking { level: None },
        SettingEntry::Thinking { level: Some("high".into()) },
        SettingEntry::Gadgets { off: vec![] },
        SettingEntry::Gadgets { off: vec!["a".into(), ODD.into()] },
        SettingEntry::Title { title: ODD.into() },
        SettingEntry::Lane { wish: LaneWish::default() },
        SettingEntry::Elevated { until_ms: None },
        SettingEntry::Elevated { until_ms: Some(-1) },
        SettingEntry::Lane { wish: LaneWish { cap: Some(1), ..LaneWish::default() } },
        SettingEntry::Lane {
            wish: LaneWish::from(LanePolicy {
                mode: LaneMode::SteerBacklog,
                cap: 7,
                overflow: Overflow::DropNew,
                debounce_ms: 250,
                coalesce: Coalesce::Never,
                summarise: true,
                steer_drain: Drain::All,
                follow_up_drain: Drain::All,
                steer_point: SteerPoint::Immediate,
                late_steer: LateSteer::Dropped,
            }),
        },
        SettingEntry::Todos { phases: vec![TodoPhase { id: "p1".into(), name: ODD.into(), tasks }] },
    ];
    all.extend(Mode::ALL.map(|mode| SettingEntry::Mode { mode }));
    all.into_iter().map(Body::Setting).collect()
}

fn shells() -> Vec<Body> {
    let ended = Shell {
        command: ODD.into(),
        output: ODD.into(),
        exit_code: Some(-1),
        cancelled: true,
        truncated: true,
        total_lines: 3,
        total_bytes: u64::from(u32::MAX) + 1,
        spilled: Some(ODD.into()),
        aside: true,
    };
    let returned = calls().into_iter().filter_map(|body| match body {
        Body::Call(CallEntry::Ended { result, .. }) => Some(ShellEntry::Returned(result)),
        _ => None,
    });
    let mut all = vec![
        ShellEntry::Started { command: ODD.into(), aside: true },
        ShellEntry::Ended(ended),
        ShellEntry::Called { call: call(), tool: ODD.into() },
    ];
    all.extend(returned);
    all.into_iter().map(Body::Shell).collect()
}

fn notes() -> Vec<Body> {
    let all = [
        NoteEntry::Imported {
            file: Some("/a/b.jsonl".into()),
            names: vec![(1, ODD.into()), (2, "a1b2c3d4".into())],
            raws: vec![(2, Json::trusted(r#"{"role":"custom","x":[1,2]}"#))],
        },
        NoteEntry::Label { target: 2, label: Some(ODD.into()) },
        NoteEntry::Label { target: 2, label: None },
        keyed(KeptReply::Done),
        keyed(KeptReply::Started { turn: "t1".into() }),
        keyed(KeptReply::Waiting { item: "i1".into(), position: 3 }),
        keyed(KeptReply::Interrupted { was_running: true }),
        keyed(KeptReply::Queue(Vec::new())),
        NoteEntry::Recovered { text: ODD.into() },
        NoteEntry::Waived { turn: ODD.into(), call: ODD.into(), tool: ODD.into() },
    ];
    all.into_iter().map(Body::Note).collect()
}

fn parts() -> Vec<Part> {
    let image = Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() };
    vec![Part::text(ODD), Part::Image(image), Part::text("")]
}

fn messages() -> Vec<Body> {
    let mut all = Vec::new();
    use UserFrom::*;
    for from in [Prompt, Steer, FollowUp, Reminder, Extension] {
        all.push(Body::User { turn: None, parts: parts(), from });
        all.push(Body::User { turn: Some(TurnId::from(ODD)), parts: vec![], from });
    }
    let failed = ModelFault { fault: fault(), retryable: true, retry_after_ms: Some(5) };
    let finished = [Finish::Stop, Finish::Length, Finish::ToolUse, Finish::Refusal].map(MessageEnd::Finished);
    let ends = [MessageEnd::Interrupted, MessageEnd::Failed(failed)];
    for end in finished.into_iter().chain(ends) {
        let blocks = vec![
            Block::Text(ODD.into()),
            Block::Thinking { text: ODD.into(), opaque: Some("c2VhbA==".into()) },
            Block::Thinking { text: "".into(), opaque: None },
            Block::Redacted(ODD.into()),
            Block::Call(call()),
            Block::Call(broken()),
        ];
        let message = AssistantMessage { blocks, model: "m".into(), end, usage: usage() };
        all.push(Body::Assistant { turn: Some(TurnId::from("t1")), message });
    }
    all
}

fn call() -> Call {
    // Spaces, key order and escapes belong to the model that wrote it.
    let input = CallInput::Object(Json::trusted(" {\"b\" : 1e3,\"a\":\"\\u00e9\", \"n\":12345678901234567890} "));
    Call { id: CallId::from("c1"), name: "read".into(), input, seal: Some(ODD.into()) }
}

fn broken() -> Call {
    let input = CallInput::Broken { text: "{\"path\": ".into(), detail: ODD.into() };
    Call { id: CallId::from("c2"), name: "nope".into(), input, seal: None }
}

fn calls() -> Vec<Body> {
    let turn = TurnId::from("t1");
    let started = |call| Body::Call(CallEntry::Started { turn: turn.clone(), call, tool: "read_file".into() });
    let mut all = vec![started(call()), started(broken())];
    use CallEnd::*;
    for end in [Ran, Denied, Unknown, Invalid, Interrupted, Skipped, Lost] {
        let edit = |before, after| FileEdit { path: ODD.into(), before, after };
        let ran = end == Ran;
        let result = CallResult {
            call: CallId::from("c1"),
            tool: "read_file".into(),
            end,
            parts: parts(),
            is_error: !ran,
            duration_ms: 12,
            mutation: ran.then(|| ODD.into()),
            edits: vec![
                edit(Snapshot::Absent, Snapshot::Text(ODD.into())),
                edit(Snapshot::NotKept, Snapshot::Absent),
                edit(Snapshot::Text("".into()), Snapshot::NotKept),
            ],
            details: ran.then(|| Json::trusted("{\"x\": [1, 2.50]}")),
        };
        all.push(Body::Call(CallEntry::Ended { turn: turn.clone(), result }));
    }
    all
}

fn asks() -> Vec<Body> {
    let mut kinds = Vec::new();
    for required in [Required::ReadOnly, Required::WorkspaceWrite, Required::DangerFullAccess] {
        kinds.push(AskKind::Permission(PermissionAsk {
            call: CallId::from("c1"),
            tool: "bash".into(),
            input: Json::trusted("{ \"command\": \"ls\" }"),
            active: Mode::WorkspaceWrite,
            required,
            reason: Some(ODD.into()),
            summary: "run ls".into(),
            preview: None,
            may_have_run: required == Required::DangerFullAccess,
        }));
    }
    let (title, none, some) = (|| "title".into(), || None, || Some(ODD.into()));
    let units = BudgetUnit::ALL.into_iter().flat_map(|unit| BudgetSpan::ALL.map(|span| (span, unit)));
    kinds.extend(
        units.map(|(span, unit)| AskKind::Budget(BudgetAsk { span, unit, limit: 1, spent: u64::MAX, more: u64::MAX })),
    );
    kinds.push(AskKind::HostCall { call: CallId::from("c1"), tool: "t".into(), input: Json::empty_object() });
    kinds.push(AskKind::Select { title: title(), options: vec!["a".into(), ODD.into()] });
    kinds.push(AskKind::Confirm { title: title(), message: ODD.into() });
    kinds.push(AskKind::Input { title: title(), placeholder: some() });
    kinds.push(AskKind::Input { title: title(), placeholder: none() });
    kinds.push(AskKind::Editor { title: title(), prefill: some() });
    kinds.push(AskKind::Editor { title: title(), prefill: none() });
    let opened = |kind| {
        Body::Ask(AskEntry::Opened(Ask {
            id: AskId::from("a1"),
            turn: Some(TurnId::from("t1")),
            kind,
            timeout_ms: None,
        }))
    };
    let mut all: Vec<Body> = kinds.into_iter().map(opened).collect();
    let answers = vec![
        Answer::Allow(Scope::Once),
        Answer::Allow(Scope::Session),
        Answer::Deny(None),
        Answer::Deny(Some(ODD.into())),
        Answer::Text(ODD.into()),
        Answer::Confirmed(true),
        Answer::Confirmed(false),
        Answer::Result { parts: parts(), is_error: true, details: Some(Json::trusted("[1 ,2]")) },
        Answer::Result { parts: vec![], is_error: false, details: None },
        Answer::Dismissed,
    ];
    let closed = |end| Body::Ask(AskEntry::Closed { ask: AskId::from("a1"), end });
    all.extend(answers.into_iter().map(|answer| closed(AskEnd::Answered { answer, by: Some("serve".into()) })));
    all.push(closed(AskEnd::Answered { answer: Answer::Dismissed, by: None }));
    all.push(closed(AskEnd::Withdrawn));
    all
}

fn items() -> Vec<Body> {
    let mut all = Vec::new();
    use Delivery::*;
    for delivery in [RejectIfBusy, Steer, FollowUp, Enqueue, Queue, Policy] {
        let sender = Some((PeerId(1), Tag(2)));
        all.push(Body::Queue(QueueEntry::Queued(Item {
            by: Some(Principal::sender("chat", "42")),
            id: ItemId::from("i1"),
            parts: parts(),
            delivery,
            at_ms: -1,
            sender,
            until_ms: (delivery == Policy).then_some(i64::MAX),
        })));
    }
    for end in [ItemEnd::Consumed, ItemEnd::Superseded, ItemEnd::Dropped, ItemEnd::Cancelled] {
        all.push(Body::Queue(QueueEntry::Settled { item: ItemId::from(ODD), end, why: None }));
    }
    use SettleReason as Why;
    let early = [Why::Ran, Why::TakenBack, Why::Overflow, Why::Newer, Why::Interrupted, Why::TooLate, Why::NoRoom];
    for why in early.into_iter().chain([Why::Deleted, Why::Restarted, Why::TimedOut]) {
        all.push(Body::Queue(QueueEntry::Settled { item: ItemId::from(ODD), end: ItemEnd::Dropped, why: Some(why) }));
    }
    all
}

fn keyed(reply: KeptReply) -> NoteEntry {
    NoteEntry::Keyed(Keyed { key: ODD.into(), of: u64::MAX, reply })
}
