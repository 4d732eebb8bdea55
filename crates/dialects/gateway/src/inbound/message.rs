//! A message of `agent.send` as the engine takes it: text, images, and files that are text.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use vocab::{Image, ImageFlaw, Part};

use crate::faults;
use crate::own::GatewayRefusal;
use crate::params::{ATTACHED_BYTES_MAX, AttachmentPart};

/// Media types beside `text/*` whose bytes are text.
const TEXT_TYPES: &[&str] = &["application/json", "application/xml", "application/x-yaml", "application/toml"];

pub(crate) fn parts(message: &Arc<str>, attachments: &[AttachmentPart]) -> Result<Vec<Part>, GatewayRefusal> {
    if message.trim().is_empty() && attachments.is_empty() {
        let refusal = GatewayRefusal::wrong_param("message", "`message` must not be empty where nothing is attached");
        return Err(refusal);
    }
    let mut parts = Vec::with_capacity(1 + attachments.len());
    if !message.is_empty() {
        parts.push(Part::Text(message.clone()));
    }
    let mut total = 0;
    for (at, attachment) in attachments.iter().enumerate() {
        let (part, bytes) = attached(at, attachment, !parts.is_empty())?;
        total += bytes;
        if total > ATTACHED_BYTES_MAX {
            let message = format!("attachments are more than {ATTACHED_BYTES_MAX} bytes together");
            return Err(GatewayRefusal::wrong_param("attachments", message));
        }
        parts.push(part);
    }
    Ok(parts)
}

/// `is_behind`: a part precedes it; the blank line keeps its name off that part's last word.
fn attached(at: usize, attachment: &AttachmentPart, is_behind: bool) -> Result<(Part, usize), GatewayRefusal> {
    let data = &attachment.data.0;
    let bytes = STANDARD.decode(data.as_bytes()).map_err(|_| {
        let param = format!("attachments[{at}].data");
        GatewayRefusal::wrong_param(&param, format!("`{param}` must be base64"))
    })?;
    let mime = attachment.mime_type.0.to_ascii_lowercase();
    if mime.starts_with("image/") {
        let image = Image { mime: mime.into(), base64: data.clone() };
        image.check().map_err(|flaw| flawed(at, flaw))?;
        return Ok((Part::Image(image), bytes.len()));
    }
    let plain = mime.split(';').next().unwrap_or_default().trim();
    let is_text = plain.starts_with("text/") || TEXT_TYPES.contains(&plain);
    let text = is_text.then(|| String::from_utf8(bytes).ok()).flatten();
    let Some(text) = text else {
        let message = format!("attachments of the type {} are not understood", vocab::visible::visible_line(&mime));
        return Err(unsupported(at, message));
    };
    let name = attachment.filename.as_ref().map_or("attachment", |name| &name.0);
    let head = vocab::visible::visible_line(name);
    let len = text.len();
    let gap = if is_behind { "\n\n" } else { "" };
    Ok((Part::text(format!("{gap}[{head}]\n{text}")), len))
}

fn unsupported(at: usize, message: String) -> GatewayRefusal {
    GatewayRefusal::invalid("unsupported_attachment", message).with("param", format!("attachments[{at}].mimeType"))
}

/// The engine would say the same of the whole message, without which one it is.
fn flawed(at: usize, flaw: ImageFlaw) -> GatewayRefusal {
    let shown = |text: &str| faults::message(text);
    match flaw {
        ImageFlaw::Type(text) => unsupported(at, shown(&text)),
        ImageFlaw::Data(text) => GatewayRefusal::wrong_param(&format!("attachments[{at}].data"), shown(&text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{LongText, Text};

    /// How every PNG begins.
    const PNG: &str = "iVBORw0KGgo=";

    fn attachment(mime: &str, data: &str, name: Option<&str>) -> AttachmentPart {
        AttachmentPart {
            mime_type: Text(mime.into()),
            data: LongText(data.into()),
            filename: name.map(|name| Text(name.into())),
        }
    }

    #[test]
    fn text_files_become_text_and_images_stay_images() {
        let list =
            [attachment("text/plain; charset=utf-8", "aGk=", Some("a\nb.txt")), attachment("image/PNG", PNG, None)];
        let parts = parts(&"look".into(), &list).unwrap();
        let image = Image { mime: "image/png".into(), base64: PNG.into() };
        assert_eq!(parts, [Part::text("look"), Part::text("\n\n[a␊b.txt]\nhi"), Part::Image(image)]);
    }

    #[test]
    fn what_cannot_be_taken_says_which_one() {
        let reason = |message: &str, list: &[AttachmentPart]| parts(&message.into(), list).unwrap_err().reason.unwrap();
        assert_eq!(reason("", &[]), "invalid_params");
        assert_eq!(reason(" \n", &[]), "invalid_params");
        assert_eq!(reason("x", &[attachment("text/plain", "??", None)]), "invalid_params");
        assert_eq!(reason("x", &[attachment("application/zip", "aGk=", None)]), "unsupported_attachment");
        assert_eq!(reason("x", &[attachment("text/plain", "/w==", None)]), "unsupported_attachment");
        let param = |mime: &str, data: &str| {
            let refusal = parts(&"x".into(), &[attachment(mime, data, None)]).unwrap_err();
            format!("{} {}", refusal.reason.unwrap(), refusal.data.unwrap().as_str())
        };
        assert_eq!(param("image/png", "aGk="), r#"invalid_params {"param":"attachments[0].data"}"#);
        assert_eq!(param("image/x", PNG), r#"unsupported_attachment {"param":"attachments[0].mimeType"}"#);
        let large = STANDARD.encode(vec![b'x'; ATTACHED_BYTES_MAX / 2 + 1]);
        assert_eq!(
            reason("x", &[attachment("text/plain", &large, None), attachment("text/plain", &large, None)]),
            "invalid_params"
        );
        assert!(parts(&"".into(), &[attachment("text/plain", "aGk=", None)]).is_ok());
    }
}
