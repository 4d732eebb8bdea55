//! What becomes of messages, content by content.

use expect_test::{Expect, expect};
use vocab::{CallEnd, CallInput, Finish, Json, MessageEnd, ModelFault, Usage};

use super::*;

const MODEL: &str = "google/gemini";
const TOOLS: MessageEnd = MessageEnd::Finished(Finish::ToolUse);
const STOP: MessageEnd = MessageEnd::Finished(Finish::Stop);

fn transcript(strict: bool) -> GeminiTranscript {
    GeminiTranscript::new(GeminiManner { images: true, model: MODEL.into(), strict, ids: false })
}
fn check_by(mut transcript: GeminiTranscript, messages: &[Message], want: Expect) {
    messages.iter().for_each(|message| transcript.push(message));
    let text = String::from_utf8(transcript.list().concat()).unwrap();
    serde_json::from_str::<serde_json::Value>(&format!("[{text}]")).expect("it is JSON");
    want.assert_eq(&(text.replace(",{\"role\"", "\n{\"role\"") + "\n"));
}
fn check(messages: &[Message], want: Expect) {
    check_by(transcript(false), messages, want);
}
fn check_strict(messages: &[Message], want: Expect) {
    check_by(transcript(true), messages, want);
}

fn user(text: &str) -> Message {
    Message::User(vec![Part::text(text)])
}
fn image() -> Part {
    Part::Image(Image { mime: "image/png".into(), base64: "AAAA".into() })
}
fn said_by(model: &str, blocks: Vec<Block>, end: MessageEnd) -> Message {
    Message::Assistant(AssistantMessage { blocks, model: model.into(), end, usage: Usage::default() })
}
fn assistant(blocks: Vec<Block>, end: MessageEnd) -> Message {
    said_by(MODEL, blocks, end)
}
fn text(text: &str) -> Block {
    Block::Text(text.into())
}
fn thinking(text: &str, seal: Option<&str>) -> Block {
    Block::Thinking { text: text.into(), opaque: seal.map(Into::into) }
}
fn call(id: &str, seal: Option<&str>) -> Block {
    let input = CallInput::Object(Json::trusted(r#"{"a":"\"x\""}"#));
    Block::Call(Call { id: id.into(), name: "file.read".into(), input, seal: seal.map(Into::into) })
}
fn result(id: &str, parts: Vec<Part>) -> Message {
    Message::Result(CallResult {
        call: id.into(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts,
        is_error: id.starts_with("bad"),
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

#[test]
fn results_of_a_batch_stand_in_one_content_behind_their_calls() {
    let Block::Call(broken) = call("bad", None) else { unreachable!() };
    let input = CallInput::Broken { text: "{\"a".into(), detail: "x".into() };
    let invented = format!("{INVENTED_ID}0_2");
    check(
        &[
            user("hi\n\u{1}"),
            assistant(
                vec![text("I look"), call("c1", None), Block::Call(Call { input, ..broken }), call(&invented, None)],
                TOOLS,
            ),
            result("c1", vec![Part::text("one")]),
            result("bad", vec![Part::text("no such file")]),
            result(&invented, vec![]),
            assistant(vec![text("done")], STOP),
            user(""),
        ],
        expect![[r#"
            {"role":"user","parts":[{"text":"hi\n\u0001"}]}
            {"role":"model","parts":[{"text":"I look"},{"functionCall":{"id":"c1","name":"file_read","args":{"a":"\"x\""}}},{"functionCall":{"id":"bad","name":"file_read","args":{}}},{"functionCall":{"name":"file_read","args":{"a":"\"x\""}}}]}
            {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"file_read","response":{"output":"one"}}},{"functionResponse":{"id":"bad","name":"file_read","response":{"error":"no such file"}}},{"functionResponse":{"name":"file_read","response":{"output":"[no output]"}}}]}
            {"role":"model","parts":[{"text":"done"}]}
        "#]],
    );
}

#[test]
fn images_of_results_follow_the_whole_batch() {
    let messages = [
        Message::User(vec![Part::text("see"), image()]),
        assistant(vec![call("c1", Some("S1")), call("c2", None)], TOOLS),
        result("c1", vec![Part::text("a"), image()]),
        result("c2", vec![image(), image()]),
        user("next"),
    ];
    check(
        &messages,
        expect![[r#"
        {"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}
        {"role":"model","parts":[{"functionCall":{"id":"c1","name":"file_read","args":{"a":"\"x\""}},"thoughtSignature":"S1"},{"functionCall":{"id":"c2","name":"file_read","args":{"a":"\"x\""}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"file_read","response":{"output":"a\n[image 1 of this result (image/png) is in the next user message]"}}},{"functionResponse":{"id":"c2","name":"file_read","response":{"output":"[image 1 of this result (image/png) is in the next user message]\n[image 2 of this result (image/png) is in the next user message]"}}}]}
        {"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}
        {"role":"user","parts":[{"text":"next"}]}
    "#]],
    );
    // From the third generation on they are inside.
    check_strict(
        &messages,
        expect![[r#"
        {"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}
        {"role":"model","parts":[{"functionCall":{"id":"c1","name":"file_read","args":{"a":"\"x\""}},"thoughtSignature":"S1"},{"functionCall":{"id":"c2","name":"file_read","args":{"a":"\"x\""}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"file_read","response":{"output":"a"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}},{"functionResponse":{"id":"c2","name":"file_read","response":{"output":"[see the images of this result]"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}}]}
        {"role":"user","parts":[{"text":"next"}]}
    "#]],
    );
    let blind = GeminiTranscript::new(GeminiManner { images: false, model: MODEL.into(), strict: true, ids: false });
    check_by(
        blind,
        &messages[..3],
        expect![[r#"
        {"role":"user","parts":[{"text":"see"},{"text":"[an image was left out: this model takes none]"}]}
        {"role":"model","parts":[{"functionCall":{"id":"c1","name":"file_read","args":{"a":"\"x\""}},"thoughtSignature":"S1"},{"functionCall":{"id":"c2","name":"file_read","args":{"a":"\"x\""}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"file_read","response":{"output":"a\n[an image was left out: this model takes none]"}}},{"functionResponse":{"id":"c2","name":"file_read","response":{"error":"[no result was recorded]"}}}]}
    "#]],
    );
}

#[test]
fn half_an_answer_goes_back_as_text_and_pairs_stay_whole() {
    let failed = MessageEnd::Failed(ModelFault::new(vocab::FaultKind::StreamCut, "x"));
    check_strict(
        &[
            user("1"),
            assistant(vec![thinking("hm", Some("S0")), text("par"), call("c1", Some("S1"))], MessageEnd::Interrupted),
            assistant(vec![call("c0", Some("S2"))], TOOLS),
            user("2"),
            result("c1", vec![Part::text("late"), image()]),
            assistant(vec![], failed),
            assistant(vec![thinking("", Some("S3"))], STOP),
        ],
        expect![[r#"
            {"role":"user","parts":[{"text":"1"}]}
            {"role":"model","parts":[{"text":"par"}]}
            {"role":"user","parts":[{"text":"[go on]"}]}
            {"role":"model","parts":[{"functionCall":{"id":"c0","name":"file_read","args":{"a":"\"x\""}},"thoughtSignature":"S2"}]}
            {"role":"user","parts":[{"functionResponse":{"id":"c0","name":"file_read","response":{"error":"[no result was recorded]"}}}]}
            {"role":"user","parts":[{"text":"2"}]}
            {"role":"user","parts":[{"text":"[result of read_file]\nlate"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}
        "#]],
    );
}

#[test]
fn signatures_stand_where_they_came() {
    check_strict(
        &[
            user("1"),
            assistant(
                vec![
                    thinking("shown, unsigned", None),
                    thinking("signed", Some("T+/=")),
                    text("a"),
                    thinking("", Some("B\u{e9}\"")),
                    text("b"),
                    call("c1", Some("C1")),
                    Block::Redacted("R".into()),
                    call("c2", None),
                ],
                TOOLS,
            ),
            result("c1", vec![]),
            result("c2", vec![]),
        ],
        expect![[r#"
            {"role":"user","parts":[{"text":"1"}]}
            {"role":"model","parts":[{"text":"signed","thought":true,"thoughtSignature":"T+/="},{"text":"a"},{"text":"","thoughtSignature":"Bé\""},{"text":"b"},{"functionCall":{"id":"c1","name":"file_read","args":{"a":"\"x\""}},"thoughtSignature":"C1"},{"text":"","thoughtSignature":"R"},{"functionCall":{"id":"c2","name":"file_read","args":{"a":"\"x\""}}}]}
            {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"file_read","response":{"output":"[no output]"}}},{"functionResponse":{"id":"c2","name":"file_read","response":{"output":"[no output]"}}}]}
        "#]],
    );
}

#[test]
fn another_models_signatures_stay_away_and_its_calls_are_excused() {
    let messages = [
        user("1"),
        said_by(
            "openai/x",
            vec![
                thinking("hm", Some("T")),
                Block::Redacted("R".into()),
                text("a"),
                call("c1", Some("S")),
                call("c2", Some("S")),
            ],
            TOOLS,
        ),
        result("c1", vec![]),
        result("c2", vec![]),
        // Its own, without the signature it should have.
        assistant(vec![call("c3", None)], TOOLS),
    ];
    check_strict(
        &messages,
        expect![[r#"
        {"role":"user","parts":[{"text":"1"}]}
        {"role":"model","parts":[{"text":"a"},{"functionCall":{"id":"c1","name":"file_read","args":{"a":"\"x\""}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"c2","name":"file_read","args":{"a":"\"x\""}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"file_read","response":{"output":"[no output]"}}},{"functionResponse":{"id":"c2","name":"file_read","response":{"output":"[no output]"}}}]}
        {"role":"model","parts":[{"functionCall":{"id":"c3","name":"file_read","args":{"a":"\"x\""}},"thoughtSignature":"skip_thought_signature_validator"}]}
        {"role":"user","parts":[{"functionResponse":{"id":"c3","name":"file_read","response":{"error":"[no result was recorded]"}}}]}
    "#]],
    );
    check(
        &messages[..2],
        expect![[r#"
        {"role":"user","parts":[{"text":"1"}]}
        {"role":"model","parts":[{"text":"a"},{"functionCall":{"id":"c1","name":"file_read","args":{"a":"\"x\""}}},{"functionCall":{"id":"c2","name":"file_read","args":{"a":"\"x\""}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"file_read","response":{"error":"[no result was recorded]"}}},{"functionResponse":{"id":"c2","name":"file_read","response":{"error":"[no result was recorded]"}}}]}
    "#]],
    );
}

#[test]
fn a_model_of_another_line_gets_an_id_with_every_call() {
    let invented = format!("{INVENTED_ID}0");
    let manner = GeminiManner { images: true, model: MODEL.into(), strict: false, ids: true };
    let messages = [user("1"), assistant(vec![call(&invented, None)], TOOLS), result(&invented, vec![])];
    check_by(
        GeminiTranscript::new(manner),
        &messages,
        expect![[r#"
        {"role":"user","parts":[{"text":"1"}]}
        {"role":"model","parts":[{"functionCall":{"id":"unnamed-call-0","name":"file_read","args":{"a":"\"x\""}}}]}
        {"role":"user","parts":[{"functionResponse":{"id":"unnamed-call-0","name":"file_read","response":{"output":"[no output]"}}}]}
    "#]],
    );
}

#[test]
fn what_the_model_said_last_is_followed_by_something() {
    let mut transcript = transcript(false);
    transcript.push(&user("1"));
    assert_eq!(&transcript.tail()[..], b"]");
    transcript.push(&assistant(vec![text("par")], MessageEnd::Interrupted));
    let before = transcript.list().concat();
    assert_eq!(&transcript.tail()[..], br#",{"role":"user","parts":[{"text":"[go on]"}]}]"#);
    assert_eq!(transcript.list().concat(), before, "it is no part of the history");
    transcript.push(&user("2"));
    assert_eq!(&transcript.tail()[..], b"]");
    assert!(!String::from_utf8(transcript.list().concat()).unwrap().contains("go on"));
}

#[test]
fn what_was_said_stays_what_it_was_and_lies_in_few_pieces() {
    let mut transcript = transcript(true);
    let mut before = Vec::new();
    for round in 0..100 {
        transcript.push(&user(&"x".repeat(round * 7)));
        transcript.push(&assistant(vec![text("t"), call("c", Some("S"))], TOOLS));
        transcript.push(&result("c", vec![Part::text("y"), image()]));
        let pieces = transcript.list();
        let now = pieces.concat();
        assert!(now.starts_with(&before) && now.len() > before.len(), "round {round}");
        assert!(pieces.len() < 24, "{} pieces in round {round}", pieces.len());
        before = now;
    }
    assert_eq!(transcript.bytes() - 1, before.len());
    transcript.clear();
    assert_eq!(transcript.bytes(), 0);
}
