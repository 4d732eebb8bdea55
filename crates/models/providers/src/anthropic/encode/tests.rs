//! What goes out: whole conversations, and the bytes that never move.

use expect_test::{Expect, expect};
use vocab::{Call, CallEnd, CallInput, Finish, Image, Json, MessageEnd, ModelFault, Usage};

use super::super::splice::{BREAKPOINT, splice};
use super::*;

/// Readable: one message a line, `^` for a breakpoint.
fn shown(transcript: &mut AnthropicTranscript) -> String {
    let (pieces, seams) = transcript.list();
    let tail = transcript.close();
    let body = |mark: &Bytes| {
        let all = [splice(&pieces, &seams, mark).concat(), tail.to_vec()].concat();
        format!("{{\"messages\":[{}", String::from_utf8(all).unwrap())
    };
    let value: serde_json::Value = serde_json::from_str(&body(&BREAKPOINT)).expect("it is JSON");
    let roles: Vec<&str> =
        value["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    for (at, role) in roles.iter().enumerate() {
        assert_eq!(*role, if at % 2 == 0 { "user" } else { "assistant" }, "{roles:?}");
    }
    assert_ne!(roles.last(), Some(&"assistant"));
    let text = body(&Bytes::from("^"));
    let inner = &text["{\"messages\":[".len()..text.len() - "]}".len()];
    inner.replace(",{\"role\"", "\n{\"role\"").replace("\"type\":", "") + "\n"
}

fn check(messages: &[Message], want: Expect) {
    let mut transcript = AnthropicTranscript::new("m".into(), true);
    messages.iter().for_each(|message| transcript.push(message));
    want.assert_eq(&shown(&mut transcript));
}

fn user(text: &str) -> Message {
    Message::User(vec![Part::text(text)])
}
fn image(mime: &str) -> Part {
    Part::Image(Image { mime: mime.into(), base64: "AAAA".into() })
}
fn assistant(blocks: Vec<Block>, end: MessageEnd) -> Message {
    assistant_of("m", blocks, end)
}
fn assistant_of(model: &str, blocks: Vec<Block>, end: MessageEnd) -> Message {
    Message::Assistant(AssistantMessage { blocks, model: model.into(), end, usage: Usage::default() })
}
fn said(text: &str) -> Block {
    Block::Text(text.into())
}
fn thought(text: &str, seal: Option<&str>) -> Block {
    Block::Thinking { text: text.into(), opaque: seal.map(Into::into) }
}
fn call(id: &str) -> Block {
    call_with(id, CallInput::Object(Json::trusted(r#"{"a":"\"x\""}"#)))
}
fn call_with(id: &str, input: CallInput) -> Block {
    Block::Call(Call { id: id.into(), name: "file.read".into(), input, seal: None })
}
fn result(id: &str, parts: Vec<Part>) -> Message {
    result_with(id, parts, false)
}
fn result_with(id: &str, parts: Vec<Part>, is_error: bool) -> Message {
    Message::Result(CallResult {
        call: id.into(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts,
        is_error,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}
const TOOLS: MessageEnd = MessageEnd::Finished(Finish::ToolUse);
const STOP: MessageEnd = MessageEnd::Finished(Finish::Stop);

#[test]
fn a_conversation_with_calls() {
    let broken = CallInput::Broken { text: "{\"a".into(), detail: "cut".into() };
    check(
        &[
            user("hi \"you\"\n\u{1}"),
            assistant(vec![said("I look"), call("c1"), call_with("c2", broken)], TOOLS),
            result("c1", vec![Part::text("one")]),
            result_with("c2", vec![Part::text(" \n")], true),
            user("and?"),
            assistant(vec![said(""), said("done")], STOP),
            user("more"),
        ],
        expect![[r#"
            {"role":"user","content":[{"text","text":"hi \"you\"\n\u0001"}]}
            {"role":"assistant","content":[{"text","text":"I look"},{"tool_use","id":"c1","name":"file_read","input":{"a":"\"x\""}},{"tool_use","id":"c2","name":"file_read","input":{}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c1","content":[{"text","text":"one"}]},{"tool_result","tool_use_id":"c2","content":[{"text","text":"[no output]"}],"is_error":true},{"text","text":"and?"^}]}
            {"role":"assistant","content":[{"text","text":"done"}]}
            {"role":"user","content":[{"text","text":"more"^}]}
        "#]],
    );
}

#[test]
fn images_stand_inside_results_except_in_those_that_failed() {
    check(
        &[
            Message::User(vec![Part::text("see"), image("image/png"), image("image/bmp"), Part::text("")]),
            assistant(vec![call("c1"), call("c2"), call("c3")], TOOLS),
            result_with("c2", vec![Part::text("no"), image("image/jpeg")], true),
            result("c1", vec![Part::text("a"), image("image/webp")]),
            result("c3", vec![image("image/gif")]),
        ],
        expect![[r#"
            {"role":"user","content":[{"text","text":"see"},{"image","source":{"base64","media_type":"image/png","data":"AAAA"}},{"text","text":"[an image was left out: image/bmp is not taken here]"^}]}
            {"role":"assistant","content":[{"tool_use","id":"c1","name":"file_read","input":{"a":"\"x\""}},{"tool_use","id":"c2","name":"file_read","input":{"a":"\"x\""}},{"tool_use","id":"c3","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c2","content":[{"text","text":"no"},{"text","text":"[an image of this result follows behind the results]"}],"is_error":true},{"tool_result","tool_use_id":"c1","content":[{"text","text":"a"},{"image","source":{"base64","media_type":"image/webp","data":"AAAA"}}]},{"tool_result","tool_use_id":"c3","content":[{"image","source":{"base64","media_type":"image/gif","data":"AAAA"}}]},{"image","source":{"base64","media_type":"image/jpeg","data":"AAAA"}^}]}
        "#]],
    );
    let mut blind = AnthropicTranscript::new("m".into(), false);
    blind.push(&Message::User(vec![image("image/png")]));
    expect![[r#"
        {"role":"user","content":[{"text","text":"[an image was left out: this model takes none]"^}]}
    "#]]
    .assert_eq(&shown(&mut blind));
}

#[test]
fn half_an_answer_goes_back_as_text_and_pairs_stay_whole() {
    let failed = MessageEnd::Failed(ModelFault::new(vocab::FaultKind::StreamCut, "x"));
    check(
        &[
            assistant(vec![said("left over")], STOP),
            assistant(vec![thought("t", Some("s")), said("par"), call("c1")], MessageEnd::Interrupted),
            result("c1", vec![Part::text("late")]),
            assistant(vec![thought("t", Some("s"))], failed),
            assistant(vec![call("c2"), call("c3")], TOOLS),
            result("other", vec![Part::text("whose?"), image("image/png")]),
            result("c3", vec![]),
            user("2"),
            assistant(vec![said("the end ")], MessageEnd::Interrupted),
        ],
        expect![[r#"
            {"role":"user","content":[{"text","text":"[earlier messages were left out]"}]}
            {"role":"assistant","content":[{"text","text":"left over"}]}
            {"role":"user","content":[{"text","text":"Continue."}]}
            {"role":"assistant","content":[{"text","text":"par"}]}
            {"role":"user","content":[{"text","text":"[result of read_file]\nlate"^}]}
            {"role":"assistant","content":[{"tool_use","id":"c2","name":"file_read","input":{"a":"\"x\""}},{"tool_use","id":"c3","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c3","content":[{"text","text":"[no output]"}]},{"tool_result","tool_use_id":"c2","content":[{"text","text":"[no result was recorded]"}]},{"text","text":"[result of read_file]\nwhose?"},{"image","source":{"base64","media_type":"image/png","data":"AAAA"}},{"text","text":"2"^}]}
            {"role":"assistant","content":[{"text","text":"the end "}]}
            {"role":"user","content":[{"text","text":"Continue."}]}
        "#]],
    );
}

#[test]
fn thinking_goes_back_signed_to_the_model_that_made_it() {
    let sealed_call = Block::Call(Call {
        id: "c4".into(),
        name: "a".into(),
        input: CallInput::Object(Json::empty_object()),
        seal: Some("behind c4".into()),
    });
    check(
        &[
            user("1"),
            assistant(
                vec![
                    thought("hm \"\u{2028}", Some("sig/+==")),
                    Block::Redacted("zip".into()),
                    thought("", Some("no words")),
                    said("so"),
                    thought("unsigned", None),
                    call("c1"),
                ],
                TOOLS,
            ),
            result("c1", vec![Part::text("r")]),
            assistant_of("other", vec![thought("hm", Some("s")), Block::Redacted("z".into()), call("c2")], TOOLS),
            result("c2", vec![Part::text("r")]),
            assistant(vec![said("cut in thought"), thought("but", Some("s"))], MessageEnd::Finished(Finish::Length)),
            user("2"),
            assistant(vec![thought("only", Some("s"))], MessageEnd::Finished(Finish::Length)),
            user("3"),
            assistant(vec![sealed_call, call("c5")], TOOLS),
            result("c4", vec![Part::text("r")]),
        ],
        expect![[r#"
            {"role":"user","content":[{"text","text":"1"}]}
            {"role":"assistant","content":[{"thinking","thinking":"hm \" ","signature":"sig/+=="},{"redacted_thinking","data":"zip"},{"thinking","thinking":"","signature":"no words"},{"text","text":"so"},{"tool_use","id":"c1","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c1","content":[{"text","text":"r"}]}]}
            {"role":"assistant","content":[{"tool_use","id":"c2","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c2","content":[{"text","text":"r"}]}]}
            {"role":"assistant","content":[{"text","text":"cut in thought"}]}
            {"role":"user","content":[{"text","text":"2"},{"text","text":"3"^}]}
            {"role":"assistant","content":[{"tool_use","id":"c4","name":"a","input":{}},{"thinking","thinking":"","signature":"behind c4"},{"tool_use","id":"c5","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c4","content":[{"text","text":"r"}]},{"tool_result","tool_use_id":"c5","content":[{"text","text":"[no result was recorded]"}]^}]}
        "#]],
    );
}

#[test]
fn foreign_ids_are_mapped_calls_and_results_alike() {
    check(
        &[
            user("1"),
            assistant(vec![call("call:1|fc"), call("")], TOOLS),
            result("", vec![Part::text("r2")]),
            result("call:1|fc", vec![Part::text("r1")]),
            assistant(vec![call("c")], TOOLS),
            result("c", vec![Part::text("r3")]),
            assistant(vec![call("c")], TOOLS),
        ],
        expect![[r#"
            {"role":"user","content":[{"text","text":"1"}]}
            {"role":"assistant","content":[{"tool_use","id":"call1fc_2d4bd59a4835d057","name":"file_read","input":{"a":"\"x\""}},{"tool_use","id":"_cbf29ce484222325","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"_cbf29ce484222325","content":[{"text","text":"r2"}]},{"tool_result","tool_use_id":"call1fc_2d4bd59a4835d057","content":[{"text","text":"r1"}]}]}
            {"role":"assistant","content":[{"tool_use","id":"c","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c","content":[{"text","text":"r3"}]^}]}
            {"role":"assistant","content":[{"tool_use","id":"c-2","name":"file_read","input":{"a":"\"x\""}}]}
            {"role":"user","content":[{"tool_result","tool_use_id":"c-2","content":[{"text","text":"[no result was recorded]"}]^}]}
        "#]],
    );
}

#[test]
fn a_loop_counts_as_thought_while_one_of_its_answers_is_signed() {
    let rounds: [(&str, Message, bool); 9] = [
        ("a prompt", user("1"), false),
        ("no thought", assistant(vec![call("a")], TOOLS), false),
        ("a loop without", result("a", vec![]), true),
        ("a word in between", user("faster"), true),
        ("then a thought", assistant(vec![thought("t", Some("s")), call("b")], TOOLS), false),
        ("a loop with", result("b", vec![]), false),
        ("no further thought", assistant(vec![call("c")], TOOLS), false),
        ("still with", result("c", vec![]), false),
        ("foreign", assistant_of("other", vec![thought("t", Some("s")), said("x")], STOP), false),
    ];
    let mut transcript = AnthropicTranscript::new("m".into(), true);
    for (what, message, want) in rounds {
        transcript.push(&message);
        assert_eq!(transcript.is_unthought_loop(), want, "{what}");
    }
    transcript.push(&user("2"));
    transcript.push(&assistant_of("other", vec![Block::Redacted("z".into()), call("d")], TOOLS));
    transcript.push(&result("d", vec![]));
    assert!(transcript.is_unthought_loop(), "a new loop, and its thought is not ours");
    transcript.push(&assistant(vec![Block::Redacted("z".into()), call("e")], TOOLS));
    transcript.push(&result("e", vec![]));
    assert!(!transcript.is_unthought_loop(), "sealed thinking counts");
    transcript.push(&assistant_of("other", vec![call("f")], TOOLS));
    transcript.push(&result("f", vec![]));
    assert!(transcript.is_unthought_loop(), "somebody else went on");
}

#[test]
fn what_was_said_stays_what_it_was_and_lies_in_few_pieces() {
    let mut transcript = AnthropicTranscript::new("m".into(), true);
    let mut before: Vec<u8> = Vec::new();
    for round in 0..200 {
        match round % 5 {
            0 | 1 => transcript.push(&user(&"x".repeat(round * 7 + 1))),
            2 => transcript.push(&assistant(vec![thought("t", Some("s")), call("a"), call("b")], TOOLS)),
            3 => {
                transcript.push(&result("a", vec![Part::text("r")]));
                transcript.push(&result("b", vec![image("image/png")]));
            }
            _ => transcript.push(&assistant(vec![said("ok")], MessageEnd::Interrupted)),
        }
        // Between a call and its result nobody asks the model.
        if round % 5 == 2 {
            continue;
        }
        let (pieces, seams) = transcript.list();
        assert!(pieces.len() < 24, "{} pieces in round {round}", pieces.len());
        // With its breakpoints taken away a body is the start of the next.
        let plain = String::from_utf8(splice(&pieces, &seams, &BREAKPOINT).concat()).unwrap();
        assert_eq!(plain.matches("cache_control").count(), seams.len());
        assert!(seams.len() <= 2);
        let plain = plain.replace(std::str::from_utf8(&BREAKPOINT).unwrap(), "");
        assert!(plain.as_bytes().starts_with(&before), "round {round}");
        before = plain.into_bytes();
    }
    assert_eq!(transcript.bytes() - 1, before.len());
    transcript.clear();
    assert_eq!(transcript.bytes(), 0);
    assert!(transcript.list().1.is_empty());
}

#[test]
fn each_call_finds_what_the_call_before_has_cached() {
    let mut transcript = AnthropicTranscript::new("m".into(), true);
    let mut written = None;
    for round in 0..20 {
        let id = format!("c{round}");
        transcript.push(&user("u"));
        transcript.push(&assistant(vec![call(&id)], TOOLS));
        transcript.push(&result(&id, vec![Part::text("r")]));
        let (_, seams) = transcript.list();
        if let Some(written) = written {
            transcript.push(&assistant(vec![said("a")], STOP));
            transcript.push(&user("next"));
            let (_, later) = transcript.list();
            assert_eq!(later[0], *seams.last().unwrap(), "the end of the call before");
            assert!(later[1] > later[0] && later[0] > written);
        }
        written = transcript.list().1.last().copied();
    }
}

#[test]
fn the_head_holds_tools_and_system_with_a_breakpoint_each() {
    let tool = |name: &str, description: &str| ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: Json::trusted(r#"{"type":"object"}"#),
    };
    let shown = |system: &str, tools: &[ToolSpec]| {
        let (bytes, seams) = prefix_head(system, tools);
        String::from_utf8(splice(&[bytes], &seams, &Bytes::from("^")).concat()).unwrap()
    };
    expect![[r#""tools":[{"name":"file_read","description":"Reads \"it\".","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object"}^}],"system":[{"type":"text","text":"be\nkind"^}],"messages":["#]].assert_eq(&shown("be\nkind", &[tool("file.read", "Reads \"it\"."), tool("b", "")]));
    expect![[r#""tools":[{"name":"b","description":"B","input_schema":{"type":"object"}^}],"messages":["#]]
        .assert_eq(&shown(" ", &[tool("b", "B")]));
    assert_eq!(shown("", &[]), r#""messages":["#);
}
