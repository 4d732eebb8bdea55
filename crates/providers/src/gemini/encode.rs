//! Messages in Gemini's format, each encoded once.
//!
//! Decided here: a signature goes back at the part it came with, to the model that made it, and nowhere else. Thinking goes
//! back only where it is signed: Gemini reads nothing from a thought without its signature. All results of a batch stand
//! in one content right behind their calls, as the server demands.

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use vocab::{AssistantMessage, Block, Call, CallResult, Image, Message, Part};

use super::INVENTED_ID;
use crate::json::string;
use crate::pairs::{NO_IMAGES, NO_OUTPUT, NO_RESULT, Pairs, function_name, is_whole, orphan};
use crate::ribbon::Ribbon;

/// The documented word for a call that this model did not make: no signature exists, and none is asked for.
const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";
/// Between two answers in a row: Gemini refuses a call that does not follow something said to the model.
const GO_ON: &str = "[go on]";
/// A result must say something even where its images say it all.
const SEE_IMAGES: &str = "[see the images of this result]";

/// How messages are written.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Manner {
    pub(super) images: bool,
    /// The slug of the model that reads: its own signatures go back.
    pub(super) model: String,
    /// Calls need signatures, and results may hold images.
    pub(super) strict: bool,
}

/// The history.
pub(super) struct Transcript {
    manner: Manner,
    ribbon: Ribbon,
    pairs: Pairs,
    /// Images of results: they may only follow when the whole batch of results is there.
    pictures: Vec<Image>,
    /// A content with results is open.
    batch: bool,
    /// Who spoke last.
    last: Option<Role>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Model,
}

impl Transcript {
    pub(super) fn new(manner: Manner) -> Self {
        let (ribbon, pairs) = (Ribbon::default(), Pairs::default());
        Self { manner, ribbon, pairs, pictures: Vec::new(), batch: false, last: None }
    }

    pub(super) fn manner(&self) -> &Manner {
        &self.manner
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.manner.clone());
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
        for (call, name) in self.pairs.give_up() {
            let missing = Response { name: &name, id: call.as_str(), key: "error", text: NO_RESULT, images: &[] };
            self.response(missing);
        }
        if std::mem::take(&mut self.batch) {
            self.close();
        }
        if !self.pictures.is_empty() {
            let pictures: Vec<Part> = self.pictures.drain(..).map(Part::Image).collect();
            self.user(&pictures);
        }
    }

    fn open(&mut self, role: Role) {
        let name = match role {
            Role::User => "user",
            Role::Model => "model",
        };
        self.ribbon.open.put_slice(format!(r#",{{"role":"{name}","parts":["#).as_bytes());
        self.last = Some(role);
    }
    /// The place of the next part of the open content.
    fn part(&mut self) -> &mut BytesMut {
        let out = &mut self.ribbon.open;
        if out.last() != Some(&b'[') {
            out.put_u8(b',');
        }
        out
    }
    fn close(&mut self) {
        self.ribbon.open.put_slice(b"]}");
    }

    fn user(&mut self, parts: &[Part]) {
        let silent = |part: &&Part| !matches!(part, Part::Text(text) if text.is_empty());
        let parts: Vec<&Part> = parts.iter().filter(silent).collect();
        if parts.is_empty() {
            return;
        }
        self.open(Role::User);
        for part in parts {
            match part {
                Part::Text(text) => text_part(self.part(), text),
                Part::Image(image) if self.manner.images => image_part(self.part(), image),
                Part::Image(_) => text_part(self.part(), NO_IMAGES),
            }
        }
        self.close();
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        let whole = is_whole(message);
        let calls: Vec<&Call> = message.calls().filter(|_| whole).collect();
        if calls.is_empty() && message.text().is_empty() {
            return;
        }
        if self.last != Some(Role::User) {
            self.user(&[Part::text(GO_ON)]);
        }
        self.open(Role::Model);
        let own = whole && *message.model == *self.manner.model;
        let mut signed = !self.manner.strict;
        for block in &message.blocks {
            match block {
                Block::Text(text) if !text.is_empty() => text_part(self.part(), text),
                Block::Thinking { text, opaque: Some(seal) } if own => sealed_part(self.part(), text, seal),
                Block::Redacted(seal) if own => sealed_part(self.part(), "", seal),
                Block::Call(call) if whole => {
                    let skip = (!std::mem::replace(&mut signed, true)).then_some(SKIP_SIGNATURE);
                    let seal = call.seal.as_deref().filter(|_| own).or(skip);
                    call_part(self.part(), call, seal);
                }
                Block::Text(_) | Block::Thinking { .. } | Block::Redacted(_) | Block::Call(_) => {}
            }
        }
        self.close();
        self.pairs.announce(calls);
    }

    fn result(&mut self, result: &CallResult) {
        let images: Vec<&Image> = result.parts.iter().filter_map(image_of).collect();
        let mut text = result.text();
        let mut add = |note: &str| {
            let gap = if text.is_empty() { "" } else { "\n" };
            text = format!("{text}{gap}{note}");
        };
        let Some(name) = self.pairs.answer(result) else {
            if result.parts.is_empty() {
                add(NO_OUTPUT);
            }
            self.settle();
            let images = result.parts.iter().filter(|part| image_of(part).is_some()).cloned();
            return self.user(&orphan(result, &text).into_iter().chain(images).collect::<Vec<_>>());
        };
        let mut inside = &images[..];
        if !self.manner.images {
            images.iter().for_each(|_| add(NO_IMAGES));
            inside = &[];
        } else if !self.manner.strict {
            for (number, image) in images.iter().enumerate() {
                add(&format!("[image {} of this result ({}) is in the next user message]", number + 1, image.mime));
            }
            self.pictures.extend(images.iter().copied().cloned());
            inside = &[];
        }
        if text.is_empty() {
            text.push_str(if inside.is_empty() { NO_OUTPUT } else { SEE_IMAGES });
        }
        let key = if result.is_error { "error" } else { "output" };
        self.response(Response { name: &name, id: result.call.as_str(), key, text: &text, images: inside });
        if self.pairs.is_settled() {
            self.settle();
        }
    }

    fn response(&mut self, response: Response<'_>) {
        if !std::mem::replace(&mut self.batch, true) {
            self.open(Role::User);
        }
        response.put(self.part());
    }
}

fn image_of(part: &Part) -> Option<&Image> {
    match part {
        Part::Image(image) => Some(image),
        Part::Text(_) => None,
    }
}

/// The result of one call.
struct Response<'a> {
    name: &'a str,
    id: &'a str,
    key: &'static str,
    text: &'a str,
    images: &'a [&'a Image],
}

impl Response<'_> {
    fn put(&self, out: &mut BytesMut) {
        out.put_slice(br#"{"functionResponse":{"#);
        identity(out, self.name, self.id);
        out.put_slice(format!(r#","response":{{"{}":"#, self.key).as_bytes());
        string(out, self.text);
        out.put_u8(b'}');
        for (number, image) in self.images.iter().enumerate() {
            out.put_slice(if number == 0 { br#","parts":["# } else { b"," });
            image_part(out, image);
        }
        out.put_slice(if self.images.is_empty() { b"}}" } else { b"]}}" });
    }
}

/// An id goes back only where the server gave one: what we made up means nothing to it.
fn identity(out: &mut BytesMut, name: &str, id: &str) {
    if !id.starts_with(INVENTED_ID) {
        out.put_slice(br#""id":"#);
        string(out, id);
        out.put_u8(b',');
    }
    out.put_slice(br#""name":"#);
    string(out, &function_name(name));
}

fn text_part(out: &mut BytesMut, text: &str) {
    out.put_slice(br#"{"text":"#);
    string(out, text);
    out.put_u8(b'}');
}

/// A signature with its thought, or alone in an empty text, as it came behind the text that it signs.
fn sealed_part(out: &mut BytesMut, thought: &str, seal: &str) {
    out.put_slice(br#"{"text":"#);
    string(out, thought);
    if !thought.is_empty() {
        out.put_slice(br#","thought":true"#);
    }
    put_seal(out, seal);
    out.put_u8(b'}');
}

fn call_part(out: &mut BytesMut, call: &Call, seal: Option<&str>) {
    out.put_slice(br#"{"functionCall":{"#);
    identity(out, &call.name, call.id.as_str());
    out.put_slice(br#","args":"#);
    out.put_slice(call.input.json().as_str().as_bytes());
    out.put_u8(b'}');
    if let Some(seal) = seal {
        put_seal(out, seal);
    }
    out.put_u8(b'}');
}

fn put_seal(out: &mut BytesMut, seal: &str) {
    out.put_slice(br#","thoughtSignature":"#);
    string(out, seal);
}

fn image_part(out: &mut BytesMut, image: &Image) {
    out.put_slice(br#"{"inlineData":{"mimeType":"#);
    string(out, &image.mime);
    out.put_slice(br#","data":"#);
    string(out, &image.base64);
    out.put_slice(b"}}");
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use vocab::{CallEnd, CallInput, Finish, Json, MessageEnd, ModelFault, Usage};

    use super::*;

    const MODEL: &str = "google/gemini";
    const TOOLS: MessageEnd = MessageEnd::Finished(Finish::ToolUse);
    const STOP: MessageEnd = MessageEnd::Finished(Finish::Stop);

    fn transcript(strict: bool) -> Transcript {
        Transcript::new(Manner { images: true, model: MODEL.into(), strict })
    }
    fn check_by(mut transcript: Transcript, messages: &[Message], want: Expect) {
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
    fn picture() -> Part {
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
                    vec![
                        text("I look"),
                        call("c1", None),
                        Block::Call(Call { input, ..broken }),
                        call(&invented, None),
                    ],
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
            Message::User(vec![Part::text("see"), picture()]),
            assistant(vec![call("c1", Some("S1")), call("c2", None)], TOOLS),
            result("c1", vec![Part::text("a"), picture()]),
            result("c2", vec![picture(), picture()]),
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
        let blind = Transcript::new(Manner { images: false, model: MODEL.into(), strict: true });
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
                assistant(
                    vec![thinking("hm", Some("S0")), text("par"), call("c1", Some("S1"))],
                    MessageEnd::Interrupted,
                ),
                assistant(vec![call("c0", Some("S2"))], TOOLS),
                user("2"),
                result("c1", vec![Part::text("late"), picture()]),
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
    fn a_message_is_encoded_once_and_its_bytes_never_move() {
        let mut transcript = transcript(true);
        let mut seen: Vec<(*const u8, usize)> = Vec::new();
        for round in 0..100 {
            transcript.push(&user(&"x".repeat(round * 7)));
            transcript.push(&assistant(vec![text("t"), call("c", Some("S"))], TOOLS));
            transcript.push(&result("c", vec![Part::text("y"), picture()]));
            let now: Vec<_> = transcript.list().iter().map(|piece| (piece.as_ptr(), piece.len())).collect();
            assert_eq!(now[..seen.len()], seen[..], "round {round}");
            assert_eq!(now.len(), round + 1);
            seen = now;
        }
        assert_eq!(transcript.bytes() - 1, seen.iter().map(|(_, length)| length).sum::<usize>());
        transcript.clear();
        assert_eq!(transcript.bytes(), 0);
    }
}
