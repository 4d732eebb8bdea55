//! No message to a client on the network is longer than clients take: text of calls loses its middle, and blobs are named
//! instead of sent. Text of messages is cut into pieces before it comes here.

use serde_json::{Value, json};

/// Bytes of one message, in the longer of its two spellings (all of it ASCII). One of the clients takes 1 MiB and no more.
pub const MESSAGE_BYTES_MAX: usize = 1_000_000;
/// Of a text that loses its middle: so much of it stays at first, and half of that as often as the message is still too long.
const TEXT_BYTES_KEPT: usize = 256 * 1024;
const TEXT_BYTES_LEAST: usize = 256;
/// A blob that is longer than this is named where a message is too long.
const BLOB_BYTES_MAX: usize = 16 * 1024;
/// Bytes of one piece of a text, so that a chunk fits whatever its characters are: one becomes six at most.
pub(crate) const PIECE_BYTES_MAX: usize = 128 * 1024;

/// The message itself where it fits, else what is left of it.
pub(crate) fn bounded(frame: &[u8]) -> Option<Vec<u8>> {
    if frame.len() * 6 <= MESSAGE_BYTES_MAX || ascii_len(frame) <= MESSAGE_BYTES_MAX {
        return None;
    }
    let mut message: Value = serde_json::from_slice(frame).ok()?;
    name_blobs(&mut message);
    let mut kept = TEXT_BYTES_KEPT;
    loop {
        let bytes = serde_json::to_vec(&message).ok()?;
        if ascii_len(&bytes) <= MESSAGE_BYTES_MAX || kept < TEXT_BYTES_LEAST {
            return Some(bytes);
        }
        cut_texts(&mut message, kept);
        kept /= 2;
    }
}

/// How long JSON is when every character beyond ASCII is escaped: six bytes, or twelve where it needs a pair.
fn ascii_len(json: &[u8]) -> usize {
    json.iter()
        .map(|byte| match byte {
            0..=0x7f => 1,
            0x80..=0xbf => 0,
            0xc0..=0xef => 6,
            0xf0.. => 12,
        })
        .sum()
}

fn name_blobs(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(name_blobs),
        Value::Object(members) => {
            let blob = members.get("data").and_then(Value::as_str).map(str::len);
            if let Some(bytes) = blob.filter(|bytes| *bytes > BLOB_BYTES_MAX)
                && let Some(kind) = members.get("mimeType").and_then(Value::as_str)
            {
                let name = format!("{kind}, {} KB, left out: too large", bytes * 3 / 4 / 1000);
                *value = json!({ "type": "resource_link", "uri": "tillerman:left-out", "name": name });
                return;
            }
            members.values_mut().for_each(name_blobs);
        }
        _ => {}
    }
}

fn cut_texts(value: &mut Value, kept: usize) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|it| cut_texts(it, kept)),
        Value::Object(members) => members.values_mut().for_each(|it| cut_texts(it, kept)),
        Value::String(text) if text.len() > kept => *text = head_and_tail(text, kept),
        _ => {}
    }
}

fn head_and_tail(text: &str, kept: usize) -> String {
    let (head, tail) = (text.floor_char_boundary(kept / 2), text.ceil_char_boundary(text.len() - kept / 2));
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

/// A text in pieces that fit into chunks.
pub(crate) fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE_BYTES_MAX));
        text = rest;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_fits_is_left_as_it_is() {
        assert_eq!(bounded(b"{\"a\":1}"), None);
        let long = json!({ "text": "x".repeat(MESSAGE_BYTES_MAX - 100) }).to_string();
        assert_eq!(bounded(long.as_bytes()), None);
    }

    #[test]
    fn a_long_one_loses_middles_and_blobs() {
        let long = json!({
            "id": 7,
            "output": format!("begin{}end", "ä".repeat(900_000)),
            "more": "y".repeat(900_000),
            "image": { "type": "image", "mimeType": "image/png", "data": "A".repeat(900_000) },
        });
        let short = bounded(long.to_string().as_bytes()).unwrap();
        assert!(ascii_len(&short) <= MESSAGE_BYTES_MAX, "{}", ascii_len(&short));
        let short: Value = serde_json::from_slice(&short).unwrap();
        let output = short["output"].as_str().unwrap();
        assert!(output.starts_with("begin") && output.ends_with("end") && output.contains("bytes left out"));
        assert_eq!(short["image"]["type"], "resource_link");
        assert_eq!(short["id"], 7);
    }

    #[test]
    fn pieces_are_the_text() {
        let text = "äöü€😀".repeat(60_000);
        assert_eq!(pieces(&text).collect::<String>(), text);
        assert!(pieces(&text).all(|piece| piece.len() <= PIECE_BYTES_MAX));
        assert_eq!(pieces("").count(), 0);
    }
}
