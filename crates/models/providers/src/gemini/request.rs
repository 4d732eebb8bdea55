//! A request in Gemini's format.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use vocab::ToolSpec;

use super::cloud_code::Wrap;
use super::model::{Effort, GeminiThinking};
use super::quirks::GeminiQuirks;
use super::schema;
use crate::call_pairing::function_name;
use crate::format::{Draft, WrittenBody};
use crate::json::string;

/// The encoded system prompt and tools, good as long as the next call shares the same ones.
#[derive(Clone)]
pub(super) struct GeminiPrefix {
    pub(super) system: Arc<str>,
    pub(super) tools: Arc<[ToolSpec]>,
    /// Schemas in the old words.
    pub(super) old: bool,
    pub(super) bytes: Bytes,
}

impl GeminiPrefix {
    pub(super) fn new(system: &Arc<str>, tools: &Arc<[ToolSpec]>, old: bool) -> Self {
        Self { system: system.clone(), tools: tools.clone(), old, bytes: prefix_head(system, tools, old) }
    }
    pub(super) fn is_for(&self, system: &Arc<str>, tools: &Arc<[ToolSpec]>, old: bool) -> bool {
        Arc::ptr_eq(&self.system, system) && Arc::ptr_eq(&self.tools, tools) && self.old == old
    }
}

/// One request, ready to be written as often as it must be sent.
pub(super) struct GeminiDraft {
    pub(super) model: Arc<str>,
    pub(super) max_tokens: u64,
    pub(super) wish: Option<GeminiThinking>,
    pub(super) prefix: GeminiPrefix,
    pub(super) messages: Vec<Bytes>,
    /// Behind the messages, up to the end of their list.
    pub(super) tail: Bytes,
    pub(super) wrap: Option<Wrap>,
    pub(super) quirks: Arc<GeminiQuirks>,
}

impl GeminiDraft {
    fn wish(&self) -> Option<GeminiThinking> {
        let wish = self.wish.filter(|_| !self.quirks.has(GeminiQuirks::NO_THINKING))?;
        Some(if self.quirks.has(GeminiQuirks::COARSE_THINKING) { wish.coarse() } else { wish })
    }
}

impl Draft for GeminiDraft {
    fn path(&self) -> Cow<'static, str> {
        match &self.wrap {
            Some(_) => "/v1internal:streamGenerateContent?alt=sse".into(),
            None => format!("/models/{}:streamGenerateContent?alt=sse", segment(&self.model)).into(),
        }
    }

    fn write(&self) -> WrittenBody {
        let mut head = BytesMut::with_capacity(256);
        if let Some(wrap) = &self.wrap {
            wrap.open(&mut head, &self.model);
        }
        head.put_u8(b'{');
        let max_tokens = if self.quirks.has(GeminiQuirks::NO_LIMIT) { 0 } else { self.max_tokens };
        generation_config(&mut head, max_tokens, self.wish());
        let old = self.quirks.has(GeminiQuirks::OLD_SCHEMA);
        // Learned since this was drafted.
        let prefix = if self.prefix.old == old {
            self.prefix.bytes.clone()
        } else {
            prefix_head(&self.prefix.system, &self.prefix.tools, old)
        };
        let tail = [&self.tail[..], if self.wrap.is_some() { b"}}" } else { b"}" }].concat();
        WrittenBody { head: vec![head.freeze(), prefix], messages: self.messages.clone(), tail: tail.into() }
    }

    fn learn(&self, status: u16, body: &[u8]) -> bool {
        self.quirks.learn(status, body)
    }
}

/// One segment of a path, whatever the name is. A name from the list may still have its collection.
fn segment(model: &str) -> String {
    let mut out = String::with_capacity(model.len());
    for byte in model.strip_prefix("models/").unwrap_or(model).bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("memory takes it");
        }
    }
    out
}

fn generation_config(out: &mut BytesMut, max_tokens: u64, wish: Option<GeminiThinking>) {
    let limit = (max_tokens > 0).then(|| format!(r#""maxOutputTokens":{max_tokens}"#));
    let thinking = wish.map(|GeminiThinking { show, effort }| {
        let show = if show { r#""includeThoughts":true,"# } else { "" };
        let effort = match effort {
            Effort::Budget(tokens) => format!(r#""thinkingBudget":{tokens}"#),
            Effort::Level(word) => format!(r#""thinkingLevel":"{word}""#),
        };
        format!(r#""thinkingConfig":{{{show}{effort}}}"#)
    });
    let members: Vec<String> = limit.into_iter().chain(thinking).collect();
    if !members.is_empty() {
        out.put_slice(format!(r#""generationConfig":{{{}}},"#, members.join(",")).as_bytes());
    }
}

/// System prompt and tools: what stands before the messages and rarely changes. Ends inside the list of messages.
fn prefix_head(system: &str, tools: &[ToolSpec], old: bool) -> Bytes {
    let mut out = BytesMut::new();
    if !system.is_empty() {
        out.put_slice(br#""systemInstruction":{"parts":[{"text":"#);
        string(&mut out, system);
        out.put_slice(b"}]},");
    }
    for (number, tool) in tools.iter().enumerate() {
        out.put_slice(if number == 0 { br#""tools":[{"functionDeclarations":["# } else { b"," });
        out.put_slice(br#"{"name":"#);
        string(&mut out, &function_name(&tool.name));
        out.put_slice(br#","description":"#);
        string(&mut out, &tool.description);
        if old {
            out.put_slice(br#","parameters":"#);
            out.put_slice(schema::plain(tool.schema.as_str()).as_bytes());
        } else {
            out.put_slice(br#","parametersJsonSchema":"#);
            out.put_slice(tool.schema.as_str().as_bytes());
        }
        out.put_u8(b'}');
    }
    if !tools.is_empty() {
        out.put_slice(b"]}],");
    }
    out.put_slice(br#""contents":["#);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use vocab::Json;

    use super::super::model;
    use super::*;

    fn frame(id: &str, level: &str) -> GeminiDraft {
        let tool = ToolSpec {
            name: "file.read".into(),
            description: "Reads \"it\".".into(),
            schema: Json::trusted(r#"{"type":"object","additionalProperties":false}"#),
        };
        GeminiDraft {
            model: id.into(),
            max_tokens: 1000,
            wish: model::wish(id, level, 1000),
            prefix: GeminiPrefix::new(&"be\nkind".into(), &vec![tool].into(), false),
            messages: Vec::new(),
            tail: Bytes::from_static(b"]"),
            wrap: None,
            quirks: Arc::new(GeminiQuirks::new(false)),
        }
    }
    fn text(frame: &GeminiDraft) -> String {
        let written = frame.write();
        let body = [written.head.concat(), written.messages.concat(), written.tail.to_vec()].concat();
        serde_json::from_slice::<serde_json::Value>(&body).expect("it is JSON");
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn a_request_holds_limits_system_and_tools() {
        expect![[r#"{"generationConfig":{"maxOutputTokens":1000,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}},"systemInstruction":{"parts":[{"text":"be\nkind"}]},"tools":[{"functionDeclarations":[{"name":"file_read","description":"Reads \"it\".","parametersJsonSchema":{"type":"object","additionalProperties":false}}]}],"contents":[]}"#]].assert_eq(&text(&frame("gemini-3-flash", "low")));
        let bare = GeminiDraft {
            max_tokens: 0,
            wish: None,
            prefix: GeminiPrefix::new(&"".into(), &Arc::from([]), false),
            ..frame("m", "")
        };
        expect![[r#"{"contents":[]}"#]].assert_eq(&text(&bare));
    }

    #[test]
    fn cloud_code_wraps_the_same_request() {
        let wrap = Some(Wrap { project: "p \"1\"".into(), request_id: "r".into() });
        let wrapped = GeminiDraft { wrap, ..frame("../gemini-3-flash", "low") };
        assert_eq!(wrapped.path(), "/v1internal:streamGenerateContent?alt=sse");
        let inner = text(&frame("../gemini-3-flash", "low"));
        let want = format!(
            r#"{{"project":"p \"1\"","model":"../gemini-3-flash","userAgent":"tillerman","requestId":"r","request":{inner}}}"#
        );
        assert_eq!(text(&wrapped), want);
    }

    #[test]
    fn a_name_stays_one_segment() {
        for (id, want) in [
            ("gemini-2.5-pro", "gemini-2.5-pro"),
            ("models/gemini-2.5-pro", "gemini-2.5-pro"),
            ("../../v1/x?key=1#a", "..%2F..%2Fv1%2Fx%3Fkey%3D1%23a"),
            ("..", ".."),
            ("a:deleteEverything", "a%3AdeleteEverything"),
            ("\u{e9} %2F\r\n", "%C3%A9%20%252F%0D%0A"),
        ] {
            let path = frame(id, "").path();
            assert_eq!(path, format!("/models/{want}:streamGenerateContent?alt=sse"));
            assert!(format!("http://x/v1beta{path}").parse::<net::Uri>().is_ok(), "{id}");
        }
    }

    #[test]
    fn what_is_refused_is_left_out_next_time() {
        let refuse =
            |message: &str| format!(r#"{{"error":{{"code":400,"message":"{message}","status":"INVALID_ARGUMENT"}}}}"#);
        let frame = frame("gemini-3-flash", "medium");
        assert!(text(&frame).contains(r#""thinkingLevel":"MEDIUM""#));
        let level = refuse("Thinking level MEDIUM is not supported for this model.");
        assert!(frame.learn(400, level.as_bytes()));
        assert!(text(&frame).contains(r#""thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}"#));
        assert!(frame.learn(400, refuse("Unknown name thinkingConfig").as_bytes()));
        assert!(!text(&frame).contains("thinking"));
        assert!(!frame.learn(400, level.as_bytes()), "there is nothing left to learn");

        let schema = refuse("Unknown name parametersJsonSchema at 'tools[0].function_declarations[0]'");
        assert!(!frame.learn(500, schema.as_bytes()));
        assert!(frame.learn(400, schema.as_bytes()));
        assert!(text(&frame).contains(r#""parameters":{"type":"object"}"#), "{}", text(&frame));
        assert!(text(&frame).contains("maxOutputTokens"));
        assert!(frame.learn(400, refuse("maxOutputTokens must be below 8193").as_bytes()));
        assert!(!text(&frame).contains("maxOutputTokens"));
        assert!(!frame.learn(400, refuse("something else").as_bytes()));
    }

    #[test]
    fn a_refused_budget_becomes_the_models_own() {
        let frame = frame("gemini-2.5-flash", "off");
        assert!(text(&frame).contains(r#""thinkingConfig":{"thinkingBudget":0}"#));
        assert!(
            frame
                .learn(400, br#"{"error":{"message":"Budget 0 is invalid. This model only works in thinking mode."}}"#)
        );
        assert!(text(&frame).contains(r#""thinkingConfig":{"thinkingBudget":-1}"#));
    }
}
