//! Messages in Chat Completions format, each encoded once.
//!
//! Decided here: thinking is not sent back, this wire has no place for it. Broken arguments go back as `{}`, because
//! servers refuse anything else. Images of results come in a user message behind the batch: a result is text here.

use bytes::{BufMut, Bytes, BytesMut};
use vocab::{AssistantMessage, Call, CallId, CallResult, Image, Message, Part, ToolSpec, parts_text};

use crate::json::string;
use crate::pairs::{NO_IMAGES, NO_OUTPUT, NO_RESULT, Pairs, function_name, is_whole, orphan};
use crate::ribbon::Ribbon;

/// The history.
pub(super) struct Transcript {
    images: bool,
    ribbon: Ribbon,
    pairs: Pairs,
    /// Images of results: they may only follow when the whole batch of results is there.
    pictures: Vec<Image>,
}

impl Transcript {
    pub(super) fn new(images: bool) -> Self {
        Self { images, ribbon: Ribbon::default(), pairs: Pairs::default(), pictures: Vec::new() }
    }

    pub(super) fn images(&self) -> bool {
        self.images
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.images);
    }

    pub(super) fn bytes(&self) -> usize {
        self.ribbon.bytes()
    }

    pub(super) fn push(&mut self, message: &Message) {
        match message {
            Message::User(parts) => {
                self.settle();
                self.user(parts);
            }
            Message::Assistant(message) => {
                self.settle();
                self.assistant(message);
            }
            Message::Result(result) => self.result(result),
        }
    }

    /// Everything so far, as shared pieces.
    pub(super) fn list(&mut self) -> Vec<Bytes> {
        self.settle();
        self.ribbon.list()
    }

    /// Ends a batch of results.
    fn settle(&mut self) {
        for (call, _) in self.pairs.give_up() {
            self.tool(&call, NO_RESULT);
        }
        if !self.pictures.is_empty() {
            let pictures: Vec<Part> = self.pictures.drain(..).map(Part::Image).collect();
            self.user(&pictures);
        }
    }

    fn user(&mut self, parts: &[Part]) {
        let out = &mut self.ribbon.open;
        out.put_slice(br#",{"role":"user","content":"#);
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            // Plain text as a string: small servers know no parts.
            string(out, &parts_text(parts));
        } else {
            for (number, part) in parts.iter().enumerate() {
                out.put_u8(if number == 0 { b'[' } else { b',' });
                match part {
                    Part::Text(text) => text_part(out, text),
                    Part::Image(image) if self.images => image_part(out, image),
                    Part::Image(_) => text_part(out, NO_IMAGES),
                }
            }
            out.put_u8(b']');
        }
        out.put_u8(b'}');
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        let calls: Vec<&Call> = if is_whole(message) { message.calls().collect() } else { Vec::new() };
        let text = message.text();
        if text.is_empty() && calls.is_empty() {
            return;
        }
        let out = &mut self.ribbon.open;
        out.put_slice(br#",{"role":"assistant","content":"#);
        if text.is_empty() {
            out.put_slice(b"null")
        } else {
            string(out, &text)
        }
        for (number, call) in calls.iter().enumerate() {
            out.put_slice(if number == 0 { br#","tool_calls":["# } else { b"," });
            out.put_slice(br#"{"id":"#);
            string(out, call.id.as_str());
            out.put_slice(br#","type":"function","function":{"name":"#);
            string(out, &function_name(&call.name));
            out.put_slice(br#","arguments":"#);
            string(out, call.input.json().as_str());
            out.put_slice(b"}}");
        }
        if !calls.is_empty() {
            out.put_u8(b']');
        }
        out.put_u8(b'}');
        self.pairs.announce(calls);
    }

    fn result(&mut self, result: &CallResult) {
        let images = result.parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image),
            Part::Text(_) => None,
        });
        let mut text = result.text();
        for (number, image) in images.enumerate() {
            let note = if self.images {
                self.pictures.push(image.clone());
                format!("[image {} of this result ({}) is in the next user message]", number + 1, image.mime)
            } else {
                NO_IMAGES.to_owned()
            };
            text = if text.is_empty() { note } else { format!("{text}\n{note}") };
        }
        if text.is_empty() {
            text.push_str(NO_OUTPUT);
        }
        match self.pairs.answer(result) {
            Some(_) => self.tool(&result.call, &text),
            None => {
                self.settle();
                self.user(&orphan(result, &text));
            }
        }
        if self.pairs.is_settled() {
            self.settle();
        }
    }

    fn tool(&mut self, call: &CallId, text: &str) {
        let out = &mut self.ribbon.open;
        out.put_slice(br#",{"role":"tool","tool_call_id":"#);
        string(out, call.as_str());
        out.put_slice(br#","content":"#);
        string(out, text);
        out.put_u8(b'}');
    }
}

/// Tools and system prompt: what stands before the messages and rarely changes. Ends inside the list of messages.
pub(super) fn fixed_head(role: &str, system: &str, tools: &[ToolSpec]) -> Bytes {
    let mut out = BytesMut::new();
    for (number, tool) in tools.iter().enumerate() {
        out.put_slice(if number == 0 { br#""tools":["# } else { b"," });
        out.put_slice(br#"{"type":"function","function":{"name":"#);
        string(&mut out, &function_name(&tool.name));
        out.put_slice(br#","description":"#);
        string(&mut out, &tool.description);
        out.put_slice(br#","parameters":"#);
        out.put_slice(tool.schema.as_str().as_bytes());
        out.put_slice(b"}}");
    }
    if !tools.is_empty() {
        out.put_slice(b"],");
    }
    out.put_slice(br#""messages":["#);
    if !system.is_empty() {
        out.put_slice(br#"{"role":"#);
        string(&mut out, role);
        out.put_slice(br#","content":"#);
        string(&mut out, system);
        out.put_u8(b'}');
    }
    out.freeze()
}

fn text_part(out: &mut BytesMut, text: &str) {
    out.put_slice(br#"{"type":"text","text":"#);
    string(out, text);
    out.put_u8(b'}');
}

fn image_part(out: &mut BytesMut, image: &Image) {
    out.put_slice(br#"{"type":"image_url","image_url":{"url":"#);
    string(out, &format!("data:{};base64,{}", image.mime, image.base64));
    out.put_slice(b"}}");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::{Expect, expect};
    use vocab::{Block, CallEnd, CallInput, Finish, Json, MessageEnd, ModelFault, Usage};

    use super::*;

    fn check(messages: &[Message], want: Expect) {
        let mut transcript = Transcript::new(true);
        messages.iter().for_each(|message| transcript.push(message));
        let all = transcript.list().concat();
        let text = String::from_utf8(all).unwrap();
        serde_json::from_str::<serde_json::Value>(&format!("[{text}]")).expect("it is JSON");
        want.assert_eq(&(text.replace(",{\"role\"", "\n{\"role\"") + "\n"));
    }

    fn user(text: &str) -> Message {
        Message::User(vec![Part::text(text)])
    }
    fn picture() -> Part {
        Part::Image(Image { mime: "image/png".into(), base64: "AAAA".into() })
    }
    fn assistant(blocks: Vec<Block>, end: MessageEnd) -> Message {
        Message::Assistant(AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() })
    }
    fn call(id: &str, input: CallInput) -> Block {
        Block::Call(Call { id: id.into(), name: "file.read".into(), input, seal: None })
    }
    fn object() -> CallInput {
        CallInput::Object(Json::trusted(r#"{"a":"\"x\""}"#))
    }
    fn result(id: &str, parts: Vec<Part>) -> Message {
        Message::Result(CallResult {
            call: id.into(),
            tool: "read_file".into(),
            end: CallEnd::Ran,
            parts,
            is_error: false,
            duration_ms: 0,
            mutation: None,
            edits: Vec::new(),
            details: None,
        })
    }
    const TOOLS: MessageEnd = MessageEnd::Finished(Finish::ToolUse);

    #[test]
    fn a_conversation_with_calls() {
        check(
            &[
                user("hi \"you\"\n\u{1}"),
                assistant(
                    vec![
                        Block::Thinking { text: "secret".into(), opaque: None },
                        Block::Text("I look".into()),
                        call("c1", object()),
                        call("c2", CallInput::Broken { text: "{\"a".into(), detail: "cut".into() }),
                    ],
                    TOOLS,
                ),
                result("c1", vec![Part::text("one")]),
                result("c2", vec![]),
                assistant(vec![Block::Text("done".into())], MessageEnd::Finished(Finish::Stop)),
            ],
            expect![[r#"
                {"role":"user","content":"hi \"you\"\n\u0001"}
                {"role":"assistant","content":"I look","tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}},{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{}"}}]}
                {"role":"tool","tool_call_id":"c1","content":"one"}
                {"role":"tool","tool_call_id":"c2","content":"[no output]"}
                {"role":"assistant","content":"done"}
            "#]],
        );
    }

    #[test]
    fn images_of_results_follow_the_whole_batch() {
        check(
            &[
                Message::User(vec![Part::text("see"), picture()]),
                assistant(vec![call("c1", object()), call("c2", object())], TOOLS),
                result("c1", vec![Part::text("a"), picture()]),
                result("c2", vec![Part::text("b")]),
                user("next"),
            ],
            expect![[r#"
                {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
                {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}},{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
                {"role":"tool","tool_call_id":"c1","content":"a\n[image 1 of this result (image/png) is in the next user message]"}
                {"role":"tool","tool_call_id":"c2","content":"b"}
                {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
                {"role":"user","content":"next"}
            "#]],
        );
    }

    #[test]
    fn half_an_answer_goes_back_as_text_and_pairs_stay_whole() {
        let failed = MessageEnd::Failed(ModelFault::new(vocab::FaultKind::StreamCut, "x"));
        check(
            &[
                user("1"),
                assistant(vec![Block::Text("par".into()), call("c1", object())], MessageEnd::Interrupted),
                result("c1", vec![Part::text("late")]),
                assistant(vec![], failed),
                assistant(vec![call("c2", object())], TOOLS),
                user("2"),
            ],
            expect![[r#"
                {"role":"user","content":"1"}
                {"role":"assistant","content":"par"}
                {"role":"user","content":"[result of read_file]\nlate"}
                {"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"file_read","arguments":"{\"a\":\"\\\"x\\\"\"}"}}]}
                {"role":"tool","tool_call_id":"c2","content":"[no result was recorded]"}
                {"role":"user","content":"2"}
            "#]],
        );
    }

    #[test]
    fn a_message_is_encoded_once_and_its_bytes_never_move() {
        let mut transcript = Transcript::new(true);
        let mut seen: Vec<(*const u8, usize)> = Vec::new();
        for round in 0..200 {
            transcript.push(&user(&"x".repeat(round * 7)));
            let now: Vec<_> = transcript.list().iter().map(|piece| (piece.as_ptr(), piece.len())).collect();
            assert_eq!(now[..seen.len()], seen[..], "round {round}");
            assert_eq!(now.len(), round + 1);
            seen = now;
        }
        assert_eq!(transcript.bytes() - 1, seen.iter().map(|(_, length)| length).sum::<usize>());
        transcript.clear();
        assert_eq!(transcript.bytes(), 0);
    }

    #[test]
    fn the_head_holds_tools_and_system() {
        let tool = ToolSpec {
            name: Arc::from("file.read"),
            description: Arc::from("Reads \"it\"."),
            schema: Json::trusted(r#"{"type":"object"}"#),
        };
        expect![[r#""tools":[{"type":"function","function":{"name":"file_read","description":"Reads \"it\".","parameters":{"type":"object"}}}],"messages":[{"role":"system","content":"be\nkind"}"#]]
            .assert_eq(std::str::from_utf8(&fixed_head("system", "be\nkind", &[tool])).unwrap());
        assert_eq!(&fixed_head("system", "", &[])[..], br#""messages":["#);
    }
}
