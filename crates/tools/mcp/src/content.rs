//! From what a server answered to what a model reads. Pure.

use vocab::{Image, Json, Outcome, Part};

use crate::frames::{Content, McpToolResult, Resource};

/// Text of one result; the rest is cut, and that is told.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Base64 text of all images of one result; one that does not fit is named instead.
pub const IMAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Structured content for dialects that have a place for it; more is left out.
pub const STRUCTURED_BYTES_MAX: usize = 256 * 1024;

pub(crate) fn outcome(result: McpToolResult) -> Outcome {
    let mut parts = ContentParts {
        parts: Vec::new(),
        text_room: TEXT_BYTES_MAX,
        image_room: IMAGE_BYTES_MAX,
        in_line: false,
        cut: 0,
    };
    for content in result.content {
        parts.add(content);
    }
    let structured = result.structured_content;
    if parts.parts.is_empty() && parts.cut == 0 {
        // Servers should say the same as text; some do not.
        parts.text(structured.as_ref().map_or("(the tool returned nothing)", |it| it.get()));
    }
    let details = structured.filter(|it| it.get().len() <= STRUCTURED_BYTES_MAX);
    let details = details.map(|it| Json::trusted(it.get()));
    Outcome { parts: parts.finish(), is_error: result.is_error, edits: Vec::new(), details, todos: None }
}

struct ContentParts {
    parts: Vec<Part>,
    text_room: usize,
    image_room: usize,
    /// The text so far does not end with a line break.
    in_line: bool,
    /// Bytes of text that did not fit.
    cut: usize,
}

impl ContentParts {
    fn add(&mut self, content: Content) {
        let Content { kind, text, data, mime_type, uri, name, description, resource } = content;
        match (kind.as_str(), text, data, resource) {
            ("text", Some(text), ..) => self.text(&text),
            ("image", _, Some(data), _) => self.image(mime_type.as_deref().unwrap_or("image/png"), &data),
            ("resource", _, _, Some(resource)) => self.resource(resource),
            ("resource_link", ..) => {
                let words = [name, uri, description].into_iter().flatten().collect::<Vec<_>>();
                self.text(&format!("[resource: {}]", words.join(", ")));
            }
            (kind, ..) => self.text(&format!("[{kind} {}: not shown]", mime_type.as_deref().unwrap_or("content"))),
        }
    }

    fn resource(&mut self, resource: Resource) {
        let Resource { uri, mime_type, text, blob } = resource;
        let mime = mime_type.as_deref().unwrap_or("application/octet-stream");
        match (text, blob) {
            (Some(text), _) => self.text(&format!("[resource: {uri}]\n{text}")),
            (None, Some(blob)) if mime.starts_with("image/") => self.image(mime, &blob),
            (None, _) => self.text(&format!("[resource: {uri}, {mime}: not shown]")),
        }
    }

    /// Every text is a part of its own, on a line of its own.
    fn text(&mut self, text: &str) {
        let separator = if self.in_line { "\n" } else { "" };
        let room = self.text_room.saturating_sub(separator.len());
        let kept = &text[..text.floor_char_boundary(room)];
        self.cut += text.len() - kept.len();
        self.text_room -= (kept.len() + separator.len()).min(self.text_room);
        if !kept.is_empty() {
            self.in_line = !kept.ends_with('\n');
            self.parts.push(Part::text(format!("{separator}{kept}")));
        }
    }

    fn image(&mut self, mime: &str, base64: &str) {
        if base64.len() > self.image_room {
            return self.text(&format!("[{mime}, {} bytes of base64: too large, not shown]", base64.len()));
        }
        self.image_room -= base64.len();
        self.parts.push(Part::Image(Image { mime: mime.into(), base64: base64.into() }));
    }

    fn finish(mut self) -> Vec<Part> {
        if self.cut > 0 {
            self.parts.push(Part::text(format!("\n[cut: {} more bytes]", self.cut)));
        }
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::parts_text;

    fn read(text: &str) -> Outcome {
        outcome(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn every_kind_of_content_becomes_something_a_model_can_read() {
        let result = read(
            r#"{"content":[
                {"type":"text","text":"one"},
                {"type":"text","text":"two\n"},
                {"type":"image","data":"AAAA","mimeType":"image/jpeg"},
                {"type":"resource_link","uri":"file:///x","name":"x","mimeType":"text/plain"},
                {"type":"resource","resource":{"uri":"file:///y","text":"inside y"}},
                {"type":"resource","resource":{"uri":"file:///z","mimeType":"image/png","blob":"BBBB"}},
                {"type":"resource","resource":{"uri":"file:///b","blob":"CCCC"}},
                {"type":"audio","data":"DDDD","mimeType":"audio/wav"},
                {"type":"hologram","depth":3}
            ],"structuredContent":{"n": 1},"isError":true,"_meta":{}}"#,
        );
        expect_test::expect![[r#"
            one
            two
            [resource: x, file:///x]
            [resource: file:///y]
            inside y
            [resource: file:///b, application/octet-stream: not shown]
            [audio audio/wav: not shown]
            [hologram content: not shown]"#]]
        .assert_eq(&parts_text(&result.parts));
        let images: Vec<&Part> = result.parts.iter().filter(|part| matches!(part, Part::Image(_))).collect();
        assert_eq!(images.len(), 2);
        assert!(result.is_error);
        assert_eq!(result.details, Some(Json::trusted(r#"{"n": 1}"#)));
    }

    #[test]
    fn a_result_without_content_is_told_by_its_structure_or_as_nothing() {
        assert_eq!(parts_text(&read(r#"{"structuredContent":{"n":1}}"#).parts), r#"{"n":1}"#);
        assert_eq!(parts_text(&read(r#"{"content":[]}"#).parts), "(the tool returned nothing)");
    }

    #[test]
    fn a_huge_result_is_cut_and_says_so() {
        let piece = "\u{e4}".repeat(TEXT_BYTES_MAX / 4);
        let content = serde_json::json!({ "type": "text", "text": piece });
        let image =
            serde_json::json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(IMAGE_BYTES_MAX + 1) });
        let result = serde_json::json!({
            "content": [image, content, content, content, content],
            "structuredContent": { "x": "y".repeat(STRUCTURED_BYTES_MAX) },
        });
        let outcome = read(&result.to_string());
        let text = parts_text(&outcome.parts);
        assert!(text.len() < TEXT_BYTES_MAX + 100, "{}", text.len());
        assert!(
            text.starts_with("[image/png, 8388609 bytes of base64: too large, not shown]\n\u{e4}"),
            "{}",
            &text[..90]
        );
        assert!(text.ends_with("more bytes]"), "{}", &text[text.len() - 40..]);
        assert!(outcome.parts.iter().all(|part| matches!(part, Part::Text(_))));
        assert_eq!(outcome.details, None);
    }
}
