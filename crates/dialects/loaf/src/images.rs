//! Images as a controller sends them: by path, or whole in a data URL. What is no image is passed over; what is a bad one
//! fails the turn.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};
use vocab::{Image, Part};

/// The largest image, by its own bytes.
pub(crate) const IMAGE_BYTES_MAX: u64 = 8 * 1024 * 1024;
const MIMES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// One image as it was asked for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Input {
    path: Option<Arc<str>>,
    data_url: Option<Arc<str>>,
    mime: Option<Arc<str>>,
}

/// One image that a message has.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadedImage {
    pub path: Arc<str>,
    pub image: Image,
    /// Of the file, or of what stands in the data URL.
    pub bytes: u64,
}

#[derive(Serialize)]
pub(crate) struct Shown {
    path: Arc<str>,
    #[serde(rename = "mimeType")]
    mime: Arc<str>,
    #[serde(rename = "dataUrl")]
    data_url: String,
    #[serde(rename = "byteSize")]
    bytes: u64,
}

impl LoadedImage {
    pub(crate) fn shown(&self) -> Shown {
        let data_url = format!("data:{};base64,{}", self.image.mime, self.image.base64);
        Shown { path: self.path.clone(), mime: self.image.mime.clone(), data_url, bytes: self.bytes }
    }
}

/// The images of a message in the log; their names are not kept there.
pub(crate) fn of_parts(parts: &[Part], at_ms: i64) -> Vec<LoadedImage> {
    let images = parts.iter().filter_map(|part| match part {
        Part::Image(image) => Some(image),
        Part::Text(_) => None,
    });
    images.map(|image| LoadedImage { path: unnamed(at_ms), image: image.clone(), bytes: size(&image.base64) }).collect()
}

fn unnamed(at_ms: i64) -> Arc<str> {
    format!("rpc-image-{at_ms}.png").into()
}

/// What `images` holds; anything that is no image is passed over.
pub(crate) fn read(images: Option<Value>) -> Vec<Input> {
    let Some(Value::Array(entries)) = images else { return Vec::new() };
    entries.into_iter().filter_map(|entry| Input::read(&entry)).collect()
}

impl Input {
    fn read(entry: &Value) -> Option<Self> {
        let entry = entry.as_object()?;
        let [path, data_url, mime] = [["path", "path"], ["data_url", "dataUrl"], ["mime_type", "mimeType"]]
            .map(|names| names.iter().find_map(|name| text(entry, name)));
        (path.is_some() || data_url.is_some()).then_some(Self { path, data_url, mime })
    }

    /// The file to be read, unless everything is here already.
    pub(crate) fn file(&self) -> Option<&Arc<str>> {
        self.path.as_ref().filter(|_| self.data_url.is_none())
    }

    /// The image of a data URL. The error is a text of the protocol.
    pub(crate) fn decode(&self, now_ms: i64) -> Result<LoadedImage, String> {
        let invalid = || "invalid image data_url. expected data:<mime>;base64,<payload>".to_owned();
        let url = self.data_url.as_deref().ok_or_else(invalid)?;
        let (mime, payload) =
            url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).ok_or_else(invalid)?;
        let mime = self.mime.as_deref().unwrap_or(mime).trim().to_ascii_lowercase();
        let mime = if mime == "image/jpg" { "image/jpeg".to_owned() } else { mime };
        if !MIMES.contains(&mime.as_str()) {
            return Err(format!("unsupported image mime type: {mime}"));
        }
        let base64: String = payload.chars().filter(|it| !it.is_ascii_whitespace()).collect();
        if base64.is_empty() {
            return Err("image payload is empty".into());
        }
        let body = base64.trim_end_matches('=');
        let is_base64 = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/');
        if !base64.len().is_multiple_of(4) || base64.len() - body.len() > 2 || !body.bytes().all(is_base64) {
            return Err(invalid());
        }
        let bytes = size(&base64);
        if bytes > IMAGE_BYTES_MAX {
            return Err(format!("image too large ({}). max is {}", megabytes(bytes), megabytes(IMAGE_BYTES_MAX)));
        }
        let path = self.path.clone().unwrap_or_else(|| unnamed(now_ms));
        Ok(LoadedImage { path, image: Image { mime: mime.into(), base64: base64.into() }, bytes })
    }

    /// A file's image; its type is what the controller says it is.
    pub(crate) fn loaded(&self, mut loaded: LoadedImage) -> LoadedImage {
        if let Some(mime) = self.mime.as_deref().filter(|mime| MIMES.contains(mime)) {
            loaded.image.mime = mime.into();
        }
        loaded
    }
}

fn text(entry: &Map<String, Value>, name: &str) -> Option<Arc<str>> {
    entry.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty()).map(Into::into)
}

/// Of what base64 text stands for.
fn size(base64: &str) -> u64 {
    let padding = base64.len() - base64.trim_end_matches('=').len();
    (base64.len() / 4 * 3).saturating_sub(padding) as u64
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2} mb", bytes as f64 / (1024.0 * 1024.0))
}

/// A waiting message's images, in the form they can be sent in.
pub(crate) fn inputs(images: &[LoadedImage]) -> Vec<Value> {
    let one =
        |it: &LoadedImage| json!({ "path": it.path, "mime_type": it.image.mime, "data_url": it.shown().data_url });
    images.iter().map(one).collect()
}

/// The text with a label for each image that it does not name itself.
pub(crate) fn labelled(text: &str, count: usize) -> String {
    let mut labelled = text.trim().to_owned();
    for number in 1..=count {
        let label = format!("[Image {number}]");
        if !labelled.contains(&label) {
            if !labelled.is_empty() {
                labelled.push(' ');
            }
            labelled.push_str(&label);
        }
    }
    labelled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(entry: Value) -> Input {
        read(Some(json!([entry]))).pop().unwrap()
    }

    #[test]
    fn what_is_no_image_is_passed_over() {
        for value in
            [json!("x"), json!({"path": "a.png"}), json!([1, null, {}, { "path": " " }, { "mime_type": "image/png" }])]
        {
            assert_eq!(read(Some(value)), []);
        }
        assert_eq!(read(None), []);
        assert_eq!(one(json!({ "path": "a.png" })).file().map(|path| &**path), Some("a.png"));
        assert_eq!(one(json!({ "path": "a.png", "dataUrl": "data:x" })).file(), None);
    }

    #[test]
    fn a_data_url_is_taken_apart() {
        let loaded = one(json!({ "data_url": "data:image/png;base64,aGk=" })).decode(7).unwrap();
        assert_eq!((&*loaded.path, &*loaded.image.mime, loaded.bytes), ("rpc-image-7.png", "image/png", 2));
        let named = one(json!({ "path": "b.gif", "data_url": "data:text/x;base64,aGkh", "mimeType": "image/gif" }));
        let loaded = named.decode(7).unwrap();
        assert_eq!((&*loaded.path, &*loaded.image.mime, loaded.bytes), ("b.gif", "image/gif", 3));
    }

    #[test]
    fn a_bad_one_has_its_text() {
        let expected = "invalid image data_url. expected data:<mime>;base64,<payload>";
        for (url, text) in [
            ("x", expected),
            ("data:image/png,aGk=", expected),
            ("data:image/png;base64,a*k=", expected),
            ("data:image/png;base64,aGk", expected),
            ("data:image/png;base64,a===", expected),
            ("data:image/tiff;base64,aGk=", "unsupported image mime type: image/tiff"),
            ("data:image/png;base64, \t", "image payload is empty"),
        ] {
            assert_eq!(one(json!({ "data_url": url })).decode(0).unwrap_err(), text, "{url}");
        }
        let large = "A".repeat(12 * 1024 * 1024);
        let text = one(json!({ "data_url": format!("data:image/png;base64,{large}") })).decode(0).unwrap_err();
        assert_eq!(text, "image too large (9.00 mb). max is 8.00 mb");
    }

    #[test]
    fn labels_are_added_where_they_are_missing() {
        assert_eq!(labelled(" look ", 2), "look [Image 1] [Image 2]");
        assert_eq!(labelled("see [Image 1]", 2), "see [Image 1] [Image 2]");
        assert_eq!(labelled("", 1), "[Image 1]");
        assert_eq!(labelled("plain", 0), "plain");
    }
}
