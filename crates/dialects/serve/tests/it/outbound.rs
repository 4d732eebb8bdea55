//! Every outbound message, its members in order, and the order of messages.

use std::sync::Arc;

use expect_test::expect;
use vocab::{
    Ask, AskEntry, AskKind, Body, CallEntry, CallInput, CompactReason, CompactionEvent, ContextUse, Delta, Event,
    Fault, FaultKind, Image, Json, Mode, ModelEntry, Part, QueueEvent, Required, RetryEvent, SettingEntry, SlashCode,
    SlashOutcome, Stop, TurnEnd, TurnEntry, Usage,
};

use crate::talk::{
    Talk, call_ended, call_started, cleared, ended, logged, opened_with, options, permission, permission_ask, result,
    slash, slash_failed, slash_reply, started, state, text, turn_reply,
};

#[test]
fn a_turn_with_a_tool_reads_as_in_the_protocols_own_example() {
    let mut talk = Talk::open();
    talk.hear(r#"{"type":"prompt","text":"list the python files"}"#).reply(2, turn_reply("abc123"));
    talk.log_entry(started("abc123"));
    talk.tell(text("abc123", "I'll glob ")).tell(text("abc123", "")).tell(text("abc123", "for *.py."));
    talk.log_entry(call_started("abc123", "call_1", "glob", r#"{"pattern":"**/*.py"}"#));
    talk.log_entry(permission("r-9", "abc123"));
    talk.hear(r#"{"type":"permission_response","request_id":"r-9","decision":"allow"}"#);
    talk.log_entry(call_ended("abc123", "call_1", "a.py\nb.py\n"));
    talk.tell(text("abc123", "Found two: a.py and b.py."));
    talk.log_entry(Body::Turn(TurnEntry::Ended(TurnEnd {
        turn: "abc123".into(),
        stop: Stop::EndTurn,
        iterations: 1,
        usage: Usage { input: 800, cache_read: 15, cache_write: 5, output: 34, estimated: false },
        mutations: vec![("glob".into(), "x".into()), ("todo".into(), "y".into())],
        fault: None,
    })));
    let mut after = state("s1");
    after.context_tokens = 854;
    talk.tell(Event::State(Arc::new(after)));
    talk.check(expect![[r#"
        > {"type":"prompt","text":"list the python files"}
        ! 2 Current Prompt { parts: [Text("list the python files")], delivery: RejectIfBusy }
        < {"type":"turn_started","turn_id":"abc123"}
        < {"type":"text_delta","turn_id":"abc123","delta":"I'll glob "}
        < {"type":"text_delta","turn_id":"abc123","delta":"for *.py."}
        < {"type":"tool_start","turn_id":"abc123","tool_id":"call_1","name":"glob_search","input":{"pattern":"**/*.py"}}
        < {"type":"permission_request","request_id":"r-9","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}
        > {"type":"permission_response","request_id":"r-9","decision":"allow"}
        ! 3 Current Answer { ask: "r-9", answer: Allow(Once) }
        < {"type":"tool_result","turn_id":"abc123","tool_id":"call_1","output":"a.py\nb.py\n","is_error":false,"duration_s":0.04}
        < {"type":"text_delta","turn_id":"abc123","delta":"Found two: a.py and b.py."}
        < {"type":"turn_complete","turn_id":"abc123","stop_reason":"end_turn","iterations":1,"input_tokens":820,"output_tokens":34,"mutations":[["glob_search","x"],["TodoWrite","y"]]}
        < {"type":"state_changed","context_pct":0.7}
    "#]]);
}

#[test]
fn a_failed_turn_is_an_error_and_then_its_end() {
    let mut talk = Talk::open();
    for (turn, fault) in [
        ("t1", Some(Fault::new(FaultKind::RateLimited, "429 from the model").hint("wait a minute"))),
        ("t2", Some(Fault::new(FaultKind::Network, "connection refused"))),
        ("t3", None),
    ] {
        talk.log_entry(started(turn));
        let Body::Turn(TurnEntry::Ended(end)) = ended(turn, Stop::Error) else { unreachable!() };
        talk.log_entry(Body::Turn(TurnEntry::Ended(TurnEnd { fault, ..end })));
    }
    talk.check(expect![[r#"
        < {"type":"turn_started","turn_id":"t1"}
        < {"type":"error","code":"rate_limited","message":"429 from the model (wait a minute)","origin":"remote","turn_id":"t1"}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"error","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"turn_started","turn_id":"t2"}
        < {"type":"error","code":"network_error","message":"connection refused","origin":"unknown","turn_id":"t2"}
        < {"type":"turn_complete","turn_id":"t2","stop_reason":"error","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"turn_started","turn_id":"t3"}
        < {"type":"error","code":"internal_error","message":"the turn failed and left no reason","origin":"local","turn_id":"t3"}
        < {"type":"turn_complete","turn_id":"t3","stop_reason":"error","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
    "#]]);
}

#[test]
fn every_stop_has_its_word() {
    let mut talk = Talk::open();
    for stop in [Stop::EndTurn, Stop::MaxTokens, Stop::MaxIterations, Stop::Refusal, Stop::Interrupted] {
        talk.log_entry(ended("t", stop));
    }
    talk.check(expect![[r#"
        < {"type":"turn_complete","turn_id":"t","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"turn_complete","turn_id":"t","stop_reason":"max_tokens","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"turn_complete","turn_id":"t","stop_reason":"max_iterations","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"turn_complete","turn_id":"t","stop_reason":"refusal","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"turn_complete","turn_id":"t","stop_reason":"interrupted","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
    "#]]);
}

#[test]
fn every_fault_kind_has_its_code_and_origin() {
    use FaultKind::*;
    let mut seen = String::new();
    for kind in [
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
    ] {
        let mut talk = Talk::open();
        talk.log_entry(started("t"));
        let Body::Turn(TurnEntry::Ended(end)) = ended("t", Stop::Error) else { unreachable!() };
        let fault = Some(Fault::new(kind, "m"));
        let (_, frames) = talk.told(logged(Body::Turn(TurnEntry::Ended(TurnEnd { fault, ..end }))));
        seen +=
            &format!("{kind:?} {} {}\n", frames[0]["code"].as_str().unwrap(), frames[0]["origin"].as_str().unwrap());
    }
    expect![[r#"
        Invalid invalid_message local
        EmptyPrompt empty_prompt local
        TurnInProgress turn_in_progress local
        WorksForCall works_for_call local
        QueueFull queue_full local
        NotFound not_found local
        UnknownSession session_not_found local
        UnknownAsk unknown_request_id local
        UnknownModel unknown_model local
        UnknownCommand unknown_command local
        SessionBusy session_busy local
        ShuttingDown shutting_down local
        NothingToDo nothing_to_do local
        Unsupported unsupported local
        KeyTaken invalid_message local
        Store store_error local
        Cancelled cancelled local
        Internal internal_error local
        Auth auth_failed remote
        RateLimited rate_limited remote
        ContextOverflow context_overflow remote
        BadRequest invalid_request remote
        Provider provider_error remote
        StreamCut stream_interrupted remote
        Network network_error unknown
    "#]]
    .assert_eq(&seen);
}

#[test]
fn arguments_stand_in_one_line_and_images_are_named() {
    let mut talk = Talk::open();
    talk.log_entry(call_started("t", "c1", "bash", "{\n  \"command\": \"a\\nb\",\r\n\t\"n\": 1e99\n}"));
    talk.log_entry(call_started("t", "c2", "nope", r#"{"a":"\ud800"}"#));
    let Body::Call(CallEntry::Started { turn, mut call, tool }) = call_started("t", "c3", "bash", "{}") else {
        unreachable!()
    };
    call.input = CallInput::Broken { text: "{\"a\":".into(), detail: "cut".into() };
    talk.log_entry(Body::Call(CallEntry::Started { turn, call, tool }));
    talk.note("text that only claims to be JSON is shown, not hidden");
    talk.log_entry(call_started("t", "c4", "bash", "{\"a\":"));
    talk.log_entry(call_started("t", "c5", "bash", "[1]"));
    let image = || Part::Image(Image { mime: "image/png".into(), base64: "AAAA".into() });
    let parts = vec![Part::text("before"), image(), Part::text("after\n"), image()];
    talk.log_entry(Body::Call(CallEntry::Ended { turn: "t".into(), result: result("c1", parts) }));
    talk.log_entry(Body::Call(CallEntry::Ended { turn: "t".into(), result: result("c2", vec![]) }));
    for ms in [0, 1, 1000, 61_234] {
        let mut timed = result("c", vec![]);
        (timed.duration_ms, timed.is_error) = (ms, true);
        talk.log_entry(Body::Call(CallEntry::Ended { turn: "t".into(), result: timed }));
    }
    talk.check(expect![[r#"
        < {"type":"tool_start","turn_id":"t","tool_id":"c1","name":"bash","input":{  "command": "a\nb",	"n": 1e99}}
        < {"type":"tool_start","turn_id":"t","tool_id":"c2","name":"nope","input":{"a":"\ufffd"}}
        < {"type":"tool_start","turn_id":"t","tool_id":"c3","name":"bash","input":{}}
        # text that only claims to be JSON is shown, not hidden
        < {"type":"tool_start","turn_id":"t","tool_id":"c4","name":"bash","input":{"unreadable":"{\"a\":"}}
        < {"type":"tool_start","turn_id":"t","tool_id":"c5","name":"bash","input":{"unreadable":"[1]"}}
        < {"type":"tool_result","turn_id":"t","tool_id":"c1","output":"before\n[image: image/png, 4 bytes of base64]\nafter\n[image: image/png, 4 bytes of base64]\n","is_error":false,"duration_s":0.04}
        < {"type":"tool_result","turn_id":"t","tool_id":"c2","output":"","is_error":false,"duration_s":0.04}
        < {"type":"tool_result","turn_id":"t","tool_id":"c","output":"","is_error":true,"duration_s":0.0}
        < {"type":"tool_result","turn_id":"t","tool_id":"c","output":"","is_error":true,"duration_s":0.001}
        < {"type":"tool_result","turn_id":"t","tool_id":"c","output":"","is_error":true,"duration_s":1.0}
        < {"type":"tool_result","turn_id":"t","tool_id":"c","output":"","is_error":true,"duration_s":61.234}
    "#]]);
}

#[test]
fn a_permission_request_says_why_the_mode_is_not_enough() {
    let mut talk = Talk::open();
    let kind = AskKind::Permission(vocab::PermissionAsk {
        tool: "web_fetch".into(),
        input: Json::trusted(r#"{"url":"http://x"}"#),
        active: Mode::ReadOnly,
        required: Required::DangerFullAccess,
        reason: Some("requires danger-full-access; active mode is read-only".into()),
        ..permission_ask()
    });
    talk.log_entry(Body::Ask(AskEntry::Opened(Ask {
        id: "r1".into(),
        turn: Some("t1".into()),
        kind,
        timeout_ms: None,
    })));
    talk.check(expect![[r#"
        < {"type":"permission_request","request_id":"r1","tool":"WebFetch","active_mode":"read-only","required_mode":"danger-full-access","details":{"tool_input":{"url":"http://x"},"reason":"requires danger-full-access; active mode is read-only"}}
    "#]]);
}

#[test]
fn state_changed_tells_the_difference_and_nothing_else() {
    let mut talk = Talk::open();
    let mut now = state("s1");
    let tell = |talk: &mut Talk, now: &vocab::State| {
        talk.tell(Event::State(Arc::new(now.clone())));
    };
    tell(&mut talk, &now);
    now.model = "mock/beta".into();
    now.context_window = 200_000;
    tell(&mut talk, &now);
    tell(&mut talk, &now);
    now.mode = Mode::Plan;
    tell(&mut talk, &now);
    now.gadgets.clear();
    tell(&mut talk, &now);
    talk.note("less than a tenth of a percent is not news, also not by small steps");
    for tokens in [40, 80, 99, 101, 250] {
        now.context_tokens = tokens;
        tell(&mut talk, &now);
    }
    talk.note("title, messages and the like have no member");
    now.title = Some("new".into());
    now.messages = 9;
    tell(&mut talk, &now);
    talk.check(expect![[r#"
        < {"type":"state_changed","model":"mock/beta","context_window":200000}
        < {"type":"state_changed","mode":"plan"}
        < {"type":"state_changed","gadgets":[]}
        # less than a tenth of a percent is not news, also not by small steps
        < {"type":"state_changed","context_pct":0.1}
        # title, messages and the like have no member
    "#]]);
}

#[test]
fn during_a_turn_the_context_is_not_news_but_a_swap_is() {
    let mut talk = Talk::open();
    talk.log_entry(started("t1"));
    let mut now = state("s1");
    now.context_tokens = 64_000;
    talk.tell(Event::State(Arc::new(now.clone())));
    talk.note("the controller swaps the mode");
    now.mode = Mode::ReadOnly;
    talk.tell(Event::State(Arc::new(now.clone())));
    talk.log_entry(ended("t1", Stop::EndTurn));
    talk.tell(Event::State(Arc::new(now)));
    talk.check(expect![[r#"
        < {"type":"turn_started","turn_id":"t1"}
        # the controller swaps the mode
        < {"type":"state_changed","mode":"read-only"}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
        < {"type":"state_changed","context_pct":50.0}
    "#]]);
}

#[test]
fn slash_results_carry_their_data_in_order() {
    let mut talk = Talk::open();
    for command in ["model", "clear", "nope", "odd"] {
        talk.hear(&format!(r#"{{"type":"slash","command":"{command}"}}"#));
    }
    let mut swapped = state("s1");
    swapped.model = "mock/beta".into();
    talk.tell(Event::State(Arc::new(swapped)));
    let (model, previous) = ("mock/beta".into(), Some("mock/alpha".into()));
    let models = vec!["mock/alpha".into(), "mock/beta".into()];
    talk.reply(2, slash_reply(slash("model", SlashOutcome::Model { model, previous, models })));
    talk.reply(3, slash_reply(cleared("s2")));
    talk.reply(4, slash_reply(slash_failed("nope", SlashCode::UnknownCommand)));
    let odd = ContextUse {
        window: u64::MAX,
        used: 1,
        percent: f64::INFINITY,
        max_tokens: 0,
        messages: 0,
        system: 1,
        tools: 0,
        history: 0,
    };
    talk.reply(5, slash_reply(slash("odd", SlashOutcome::Context(odd))));
    talk.check(expect![[r#"
        > {"type":"slash","command":"model"}
        ! 2 Current Slash { name: "model", args: "" }
        > {"type":"slash","command":"clear"}
        ! 3 Current Slash { name: "clear", args: "" }
        > {"type":"slash","command":"nope"}
        ! 4 Current Slash { name: "nope", args: "" }
        > {"type":"slash","command":"odd"}
        ! 5 Current Slash { name: "odd", args: "" }
        < {"type":"state_changed","model":"mock/beta"}
        < {"type":"slash_result","command":"model","text":"model: mock/alpha -> mock/beta","data":{"ok":true,"model":"mock/beta","previous":"mock/alpha","models":["mock/alpha","mock/beta"]},"clear_session":false,"exit":false}
        < {"type":"slash_result","command":"clear","text":"new session s2","data":{"ok":true,"session_id":"s2","previous_session_id":"s1"},"clear_session":true,"exit":false}
        < {"type":"slash_result","command":"nope","text":"m","data":{"ok":false,"error":"unknown_command","message":"m; /help lists what there is"},"clear_session":false,"exit":false}
        < {"type":"slash_result","command":"odd","text":"context: 1 of 18446744073709551615 tokens (inf %)\nsystem about 1, tools 0, history 0","data":{"ok":true,"context_window":9223372036854775807,"used_tokens":1,"context_pct":null,"max_tokens":0,"messages":0,"breakdown":{"system":1,"tools":0,"history":0}},"clear_session":false,"exit":false}
    "#]]);
}

#[test]
fn what_the_protocol_has_no_line_for_is_silent() {
    let mut talk = Talk::open();
    let turn = || "t".into();
    for event in [
        Event::Delta(Delta::Thinking { turn: turn(), delta: "hm".into() }),
        Event::Delta(Delta::CallInput { turn: turn(), index: 0, id: None, name: None, delta: "{".into() }),
        Event::Delta(Delta::CallProgress { turn: turn(), call: "c".into(), parts: vec![] }),
        Event::Compaction(CompactionEvent::Started { reason: CompactReason::Threshold }),
        Event::Compaction(CompactionEvent::Failed {
            reason: CompactReason::Threshold,
            fault: Fault::new(FaultKind::Provider, "m"),
        }),
        Event::Retry(RetryEvent::Ended { turn: turn(), attempt: 1, ok: true }),
        Event::Queue(QueueEvent::Waiting(vec![])),
        Event::Live { seq: 4 },
        logged(Body::User { turn: None, parts: vec![], from: vocab::UserFrom::Prompt }),
        logged(Body::Model(ModelEntry::Retrying {
            turn: turn(),
            attempt: 1,
            attempts_max: 3,
            wait_ms: 5,
            fault: Fault::new(FaultKind::Network, "m"),
        })),
        logged(Body::Setting(SettingEntry::Title { title: "x".into() })),
        logged(Body::Setting(SettingEntry::Mode { mode: Mode::Plan })),
        Event::Reply { tag: vocab::Tag(99), result: Ok(vocab::Reply::Done) },
    ] {
        assert_eq!(talk.told(event.clone()), (0, vec![]), "{event:?}");
    }
}

#[test]
fn joining_in_mid_turn_says_its_start_first() {
    let mut talk = Talk::new(options());
    let mut running = state("s1");
    running.turn = Some("t7".into());
    talk.reply(1, Ok(opened_with(running))).log_entry(ended("t7", Stop::EndTurn));
    talk.check(expect![[r#"
        ! 1 Current Open New, mode Prompt, gate Proxy, names ToolNames(11 rows), controller "serve"
        < {"type":"ready","protocol":1,"version":"0.1.0","session_id":"s1","model":"mock/alpha","mode":"prompt","tools":["read_file","glob_search","mcp__x__y"],"context_window":128000,"max_tokens":16384,"gadgets":["docs"]}
        < {"type":"turn_started","turn_id":"t7"}
        < {"type":"turn_complete","turn_id":"t7","stop_reason":"end_turn","iterations":0,"input_tokens":10,"output_tokens":2,"mutations":[]}
    "#]]);
}

#[test]
fn a_lost_session_ends_the_turn_and_the_process() {
    let mut talk = Talk::open();
    talk.log_entry(started("t1")).tell(Event::Gone { fault: Fault::new(FaultKind::Store, "the lease was lost") });
    let mut idle = Talk::open();
    idle.tell(Event::Gone { fault: Fault::new(FaultKind::Store, "deleted") });
    talk.log += &idle.log;
    talk.check(expect![[r#"
        < {"type":"turn_started","turn_id":"t1"}
        < {"type":"error","code":"store_error","message":"the lease was lost","origin":"local","turn_id":"t1"}
        < {"type":"turn_complete","turn_id":"t1","stop_reason":"error","iterations":0,"input_tokens":0,"output_tokens":0,"mutations":[]}
        -- close Internal
        < {"type":"error","code":"store_error","message":"deleted","origin":"local"}
        -- close Internal
    "#]]);
}
