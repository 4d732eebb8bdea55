//! What requests look like.

use expect_test::{Expect, expect};
use vocab::{Finish, ModelFault};

use super::*;

const TOOLS: MessageEnd = MessageEnd::Finished(Finish::ToolUse);
const STOP: MessageEnd = MessageEnd::Finished(Finish::Stop);
const REASONING: &str = r#"{"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAA\u002b=="}"#;
const LABEL: &str = r#"{"v":1,"id":"msg_x","phase":"commentary"}"#;

fn check(messages: &[Message], want: Expect) {
    check_for(&ModelInfo::named(MODEL, 1000), messages, want);
}

fn check_for(model: &ModelInfo, messages: &[Message], want: Expect) {
    let mut conversation = ResponsesEncoder::new(model, Compat::default());
    messages.iter().for_each(|message| conversation.push(message));
    let text = String::from_utf8(conversation.messages().concat()).unwrap();
    serde_json::from_str::<serde_json::Value>(&format!("[{text}]")).expect("it is JSON");
    // One item per line.
    let starts = [r#"{"type":"message""#, r#"{"type":"function_call"#, r#"{"id": "rs_"#];
    let lines = starts.iter().fold(text, |text, start| text.replace(&format!(",{start}"), &format!("\n{start}")));
    want.assert_eq(&(lines + "\n"));
}

#[test]
fn a_conversation_with_calls() {
    check(
        &[
            user("hi \"you\"\n\u{1}"),
            assistant(
                vec![
                    Block::Thinking { text: "unsealed".into(), opaque: None },
                    Block::Text("I look".into()),
                    call("c1", object()),
                    call("c2", CallInput::Broken { text: "{\"a".into(), detail: "cut".into() }),
                ],
                TOOLS,
            ),
            result("c1", vec![Part::text("one")]),
            result("c2", vec![]),
            assistant(vec![Block::Text("".into()), Block::Text("done".into())], STOP),
        ],
        expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"hi \"you\"\n\u0001"}]}
            {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look","annotations":[]}]}
            {"type":"function_call","call_id":"c1","name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"type":"function_call","call_id":"c2","name":"file_read","arguments":"{}"}
            {"type":"function_call_output","call_id":"c1","output":"one"}
            {"type":"function_call_output","call_id":"c2","output":"[no output]"}
            {"type":"message","id":"msg_2","role":"assistant","status":"completed","content":[{"type":"output_text","text":"done","annotations":[]}]}
        "#]],
    );
}

#[test]
fn images_stand_where_they_were_and_are_left_out_for_models_that_take_none() {
    let messages = [
        Message::User(vec![Part::text("see"), image()]),
        assistant(vec![call("c1", object()), call("c2", object())], TOOLS),
        result("c1", vec![Part::text("a"), image(), Part::text("b")]),
        result("c2", vec![image()]),
        Message::User(vec![]),
    ];
    check(
        &messages,
        expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"}]}
            {"type":"function_call","call_id":"c1","name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"type":"function_call","call_id":"c2","name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"a"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"},{"type":"input_text","text":"b"}]}
            {"type":"function_call_output","call_id":"c2","output":[{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"}]}
        "#]],
    );
    let blind = ModelInfo { images: false, ..ModelInfo::named(MODEL, 1000) };
    check_for(
        &blind,
        &messages,
        expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_text","text":"[an image was left out: this model takes none]"}]}
            {"type":"function_call","call_id":"c1","name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"type":"function_call","call_id":"c2","name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"[an image was left out: this model takes none]"},{"type":"input_text","text":"b"}]}
            {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"[an image was left out: this model takes none]"}]}
        "#]],
    );
}

#[test]
fn half_an_answer_goes_back_as_text_and_pairs_stay_whole() {
    let failed = MessageEnd::Failed(ModelFault::new(vocab::FaultKind::StreamCut, "x"));
    check(
        &[
            user("1"),
            assistant(
                vec![thinking(REASONING), Block::Text("par".into()), thinking(LABEL), call("c1", object())],
                MessageEnd::Interrupted,
            ),
            result("c1", vec![Part::text("late"), image()]),
            assistant(vec![thinking(REASONING)], failed),
            assistant(vec![call("c2", object())], TOOLS),
            user("2"),
        ],
        expect![[r#"
            {"type":"message","role":"user","content":[{"type":"input_text","text":"1"}]}
            {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"par","annotations":[]}]}
            {"type":"message","role":"user","content":[{"type":"input_text","text":"[result of read_file]\nlate"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"}]}
            {"type":"function_call","call_id":"c2","name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"type":"function_call_output","call_id":"c2","output":"[no result was recorded]"}
            {"type":"message","role":"user","content":[{"type":"input_text","text":"2"}]}
        "#]],
    );
}

#[test]
fn reasoning_goes_back_in_its_place_and_labels_with_their_text() {
    let behind = Block::Call(Call {
        id: "c1".into(),
        name: "f".into(),
        input: object(),
        seal: Some(REASONING.replace("rs_1", "rs_2").into()),
    });
    check(
        &[
            assistant(
                vec![thinking(REASONING), Block::Text("I look".into()), thinking(LABEL), behind, call("c2", object())],
                TOOLS,
            ),
            result("c1", vec![Part::text("1")]),
            result("c2", vec![Part::text("2")]),
        ],
        expect![[r#"
            {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAA\u002b=="}
            {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"I look","annotations":[]}],"phase":"commentary"}
            {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": "gAA\u002b=="}
            {"type":"function_call","call_id":"c2","name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}
            {"type":"function_call_output","call_id":"c1","output":"1"}
            {"type":"function_call_output","call_id":"c2","output":"2"}
        "#]],
    );
}

#[test]
fn all_reasoning_before_a_text_goes_back_in_order() {
    let second = REASONING.replace("rs_1", "rs_2");
    let mut conversation = conversation();
    conversation.push(&assistant(vec![thinking(REASONING), thinking(&second), Block::Text("a".into())], STOP));
    let sent = body(&mut conversation, &spec());
    assert!(sent.contains(&format!("{REASONING},{second},{{\"type\":\"message\"")), "{sent}");
}

#[test]
fn reasoning_that_led_to_nothing_stays_away() {
    let sealed_call =
        Block::Call(Call { id: "c".into(), name: "f".into(), input: object(), seal: Some(REASONING.into()) });
    for blocks in [
        vec![thinking(REASONING)],
        vec![thinking(REASONING), Block::Text("".into())],
        vec![Block::Text("a".into()), thinking(REASONING)],
        vec![sealed_call],
    ] {
        let mut conversation = conversation();
        conversation.push(&assistant(blocks.clone(), STOP));
        assert!(!body(&mut conversation, &spec()).contains("rs_1"), "{blocks:?}");
    }
}

#[test]
fn what_others_sealed_stays_away() {
    let send = |model: &str, seal: &str| {
        let mut conversation = conversation();
        let blocks =
            vec![thinking(seal), Block::Redacted(REASONING.into()), Block::Text("said".into()), thinking(LABEL)];
        let Message::Assistant(mut message) = assistant(blocks, STOP) else { unreachable!() };
        message.model = model.into();
        conversation.push(&Message::Assistant(message));
        body(&mut conversation, &spec())
    };
    let ours = send(MODEL, REASONING);
    assert!(ours.contains(REASONING) && ours.contains("commentary"), "{ours}");
    let foreign = send("gpt-5.2", REASONING);
    assert!(!foreign.contains("rs_1") && !foreign.contains("commentary") && foreign.contains("said"), "{foreign}");
    // The same model by way of another format: a signature that is no item of ours, or no JSON at all.
    for seal in ["c2lnbmF0dXJl", "7", r#"["reasoning"]"#, r#"{"type":"thinking"}"#, r#"{"type":"reasoning""#, "{}", ""]
    {
        let sent = send(MODEL, seal);
        assert_eq!(sent.matches(r#""type":"#).count(), send(MODEL, "").matches(r#""type":"#).count(), "{seal}");
    }
}

#[test]
fn long_ids_of_calls_are_shortened_alike_on_both_sides() {
    let id = format!("toolu_{}", "x".repeat(100));
    let mut conversation = conversation();
    conversation.push(&assistant(vec![call(&id, object())], TOOLS));
    conversation.push(&result(&id, vec![Part::text("r")]));
    let sent: serde_json::Value = serde_json::from_str(&body(&mut conversation, &spec())).unwrap();
    let ids: Vec<&str> =
        sent["input"].as_array().unwrap().iter().map(|item| item["call_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    assert_eq!(ids[0], ids[1]);
    assert!(ids[0].len() <= 64 && ids[0].starts_with("toolu_xxx"), "{ids:?}");
}

#[test]
fn an_id_that_comes_again_in_a_later_answer_is_told_apart() {
    let mut conversation = conversation();
    for _ in 0..3 {
        conversation.push(&assistant(vec![call("call_0", object())], TOOLS));
        conversation.push(&result("call_0", vec![Part::text("r")]));
    }
    let sent: serde_json::Value = serde_json::from_str(&body(&mut conversation, &spec())).unwrap();
    let ids: Vec<&str> =
        sent["input"].as_array().unwrap().iter().map(|item| item["call_id"].as_str().unwrap()).collect();
    let (calls, results): (Vec<&str>, Vec<&str>) = ids.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
    assert_eq!(calls, results);
    assert_eq!(calls[0], "call_0");
    assert!(calls[1] != calls[0] && calls[2] != calls[1], "{calls:?}");
}

#[test]
fn the_frame_around_the_messages() {
    let mut first = conversation();
    first.push(&user("hi"));
    expect![[r#"{"model":"gpt-5.1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":100,"reasoning":{"effort":"low","summary":"auto"},"instructions":"be\nkind","tools":[{"type":"function","name":"file_read","description":"Reads \"it\".","parameters":{"type":"object"},"strict":false}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#]].assert_eq(&body(&mut first, &spec()));

    // Nothing is said about what is not known or not wanted.
    let plain = ModelInfo { thinking: false, max_output: Some(7), id: "m".into(), ..ModelInfo::named("p/m", 1000) };
    let bare = CallSpec { system: "".into(), tools: Arc::from([]), max_tokens: 100, thinking: Some("high".into()) };
    let mut conversation = ResponsesEncoder::new(&plain, Compat::default());
    expect![[r#"{"model":"m","stream":true,"store":false,"max_output_tokens":16,"input":[]}"#]]
        .assert_eq(&body(&mut conversation, &bare));
    let unlimited = CallSpec { max_tokens: 0, thinking: None, ..bare };
    expect![[r#"{"model":"gpt-5.1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#]].assert_eq(&body(&mut first, &unlimited));
    let off = CallSpec { thinking: Some("off".into()), ..unlimited };
    expect![[r#"{"model":"gpt-5.1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"none"},"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#]].assert_eq(&body(&mut first, &off));
}

#[test]
fn the_backend_of_chatgpt_is_spoken_to_by_two_switches() {
    let compat = Compat { output_limit: Some(false), instructions: Some(true), ..Compat::default() };
    let mut conversation = ResponsesEncoder::new(&ModelInfo::named(MODEL, 1000), compat);
    let said = body(&mut conversation, &spec());
    assert!(!said.contains("max_output_tokens") && said.contains(r#""instructions":"be\nkind""#), "{said}");
    let bare = CallSpec { system: "".into(), tools: Arc::from([]), ..spec() };
    expect![[r#"{"model":"gpt-5.1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},"instructions":"Answer the user.","input":[]}"#]].assert_eq(&body(&mut conversation, &bare));
}

#[test]
fn refusals_take_parts_of_the_frame_away_one_by_one() {
    let mut conversation = conversation();
    let spec = spec();
    let draft = conversation.draft(&spec);
    let head = |draft: &dyn crate::format::Draft| String::from_utf8(draft.write().head[0].to_vec()).unwrap();
    for (param, gone) in [
        ("reasoning.summary", r#","summary":"auto""#),
        ("include", r#""include":["reasoning.encrypted_content"],"#),
        ("reasoning.effort", r#""reasoning":{"effort":"low"},"#),
        ("max_output_tokens", r#""max_output_tokens":100,"#),
        ("store", r#""store":false,"#),
    ] {
        let before = head(&*draft);
        let refusal = format!(r#"{{"error":{{"message":"no","param":"{param}"}}}}"#);
        assert!(draft.learn(400, refusal.as_bytes()), "{param}");
        assert_eq!(head(&*draft), before.replace(gone, ""), "{param}");
        assert!(before.contains(gone), "{before}");
        assert!(!draft.learn(400, refusal.as_bytes()), "{param}");
    }
    assert_eq!(head(&*draft), r#"{"model":"gpt-5.1","stream":true,"#);
    // What was learned holds for the next request.
    assert_eq!(head(&*conversation.draft(&spec)), r#"{"model":"gpt-5.1","stream":true,"#);
}

#[test]
fn what_was_said_stays_what_it_was_and_lies_in_few_pieces() {
    let mut conversation = conversation();
    let mut before = Vec::new();
    for round in 0..100 {
        let id = format!("c{round}");
        let text = Block::Text("x".repeat(round + 1).into());
        conversation.push(&assistant(vec![thinking(REASONING), text, call(&id, object())], TOOLS));
        conversation.push(&result(&id, vec![Part::text("y".repeat(round * 7))]));
        let pieces = conversation.messages();
        let now = pieces.concat();
        assert!(now.starts_with(&before) && now.len() > before.len(), "round {round}");
        assert!(pieces.len() < 24, "{} pieces in round {round}", pieces.len());
        before = now;
    }
    assert_eq!(conversation.bytes() - 1, before.len());
    conversation.clear();
    assert_eq!(conversation.bytes(), 0);
}

#[test]
fn messages_are_written_again_from_the_manner_alone() {
    for images in [true, false] {
        let model = ModelInfo { images, id: "m".into(), ..ModelInfo::named("p/m", 1000) };
        let mut conversation = ResponsesEncoder::new(&model, Compat::default());
        let mut again = ResponsesEncoder::again(&conversation.manner()).unwrap();
        let Message::Assistant(mut ours) = assistant(vec![thinking(REASONING), Block::Text("a".into())], STOP) else {
            unreachable!()
        };
        ours.model = "p/m".into();
        for message in [Message::User(vec![image()]), Message::Assistant(ours), user("x")] {
            conversation.push(&message);
            again.push(&message);
        }
        let messages = conversation.messages().concat();
        assert!(String::from_utf8_lossy(&messages).contains("rs_1"));
        assert_eq!(again.messages().concat(), messages);
    }
    assert!(ResponsesEncoder::again("{}").is_none());
}
