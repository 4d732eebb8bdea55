//! `sessions export --requests`: what was sent to models, one object per line. No key is in it: what proves who we are is
//! added to a request when it leaves, and never logged.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use engine::requests::{LoggedRequest, Rewriting, replay};
use serde_json::json;
use vocab::{Entry, Sent};

use crate::print::warning;

/// Only its owner reads what was said.
const FILE_MODE: u32 = 0o600;

/// Writes them to the file, or to stdout. The exit code is 1 where one is not what was sent; it is marked, too.
pub(super) fn export(entries: &[Arc<Entry>], out: Option<&Path>) -> anyhow::Result<u8> {
    let mut out: Box<dyn Write> = match out {
        Some(file) => Box::new(private(file).with_context(|| format!("cannot write {}", file.display()))?),
        None => Box::new(std::io::stdout().lock()),
    };
    match write_all(entries, &mut out) {
        Ok((requests, doubtful)) => {
            host::note(&format!("{requests} request(s)"));
            Ok(u8::from(doubtful > 0))
        }
        // A reader that went away is no error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn private(file: &Path) -> std::io::Result<BufWriter<File>> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(file)?;
    // One that was there before keeps the rights it had.
    if opened.metadata()?.is_file() {
        opened.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    Ok(BufWriter::new(opened))
}

/// How many were written, and how many of them may differ from what was sent.
fn write_all(entries: &[Arc<Entry>], out: &mut dyn Write) -> std::io::Result<(u64, u64)> {
    let (mut requests, mut doubtful) = (0, 0);
    for request in replay(entries, rewriting) {
        if let Some(problem) = request.problem() {
            warning(&format!("the request of entry {}: {problem}", request.seq));
            doubtful += 1;
        }
        out.write_all(&line(request))?;
        requests += 1;
    }
    out.flush()?;
    Ok((requests, doubtful))
}

fn rewriting(sent: &Sent) -> Option<Rewriting> {
    let replay = providers::Replay::new(sent)?;
    let read = replay.clone();
    Some(Rewriting { chat: Box::new(replay), body: Box::new(move |sent| read.body(sent)) })
}

/// The body stands there as it was sent. One that would break the line stands there as text.
fn line(request: LoggedRequest) -> Vec<u8> {
    let problem = request.problem();
    let LoggedRequest { seq, at_ms, requested, sent, body } = request;
    let sent = sent.as_deref();
    let headers: Option<serde_json::Map<_, _>> =
        sent.map(|sent| sent.headers.iter().map(|(name, value)| (name.to_string(), json!(&**value))).collect());
    let mut fields = vec![
        ("seq", json!(seq)),
        ("at", json!(vocab::iso8601(at_ms))),
        ("turn", json!(requested.turn.as_ref().map(|turn| turn.as_str()))),
        ("model", json!(&*requested.model)),
        ("api", json!(sent.map(|sent| &*sent.api))),
        ("url", json!(sent.map(|sent| &*sent.url))),
        ("headers", json!(headers)),
        ("bytes", json!(requested.bytes)),
    ];
    if requested.summary.is_some() {
        fields.push(("summary", json!(true)));
    }
    fields.extend(problem.map(|problem| ("problem", json!(problem))));
    let mut line = b"{".to_vec();
    for (name, value) in fields {
        line.extend_from_slice(format!("\"{name}\":{value},").as_bytes());
    }
    match body {
        Some(body) if stands_in_a_line(&body) => {
            line.extend_from_slice(b"\"body\":");
            line.extend_from_slice(&body);
        }
        Some(body) => {
            line.extend_from_slice(format!("\"body_text\":{}", json!(String::from_utf8_lossy(&body))).as_bytes());
        }
        None => line.extend_from_slice(b"\"body\":null"),
    }
    line.extend_from_slice(b"}\n");
    line
}

fn stands_in_a_line(body: &[u8]) -> bool {
    !body.contains(&b'\n') && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::{Body, Message, ModelEntry, Part, Requested, UserFrom};

    fn sent(api: &str) -> Arc<Sent> {
        let manner = r#"{"images":true}"#;
        let (head, tail) = (r#"{"model":"m","messages":["#, "]}");
        let url = "http://h/v1/chat/completions".into();
        let headers = vec![("x-y".into(), "z".into())];
        Arc::new(Sent { api: api.into(), url, headers, manner: manner.into(), head: head.into(), tail: tail.into() })
    }

    fn log(requested: impl IntoIterator<Item = (Option<Arc<Sent>>, u64)>) -> Vec<Arc<Entry>> {
        let user = Body::User { turn: None, parts: vec![Part::text("hi")], from: UserFrom::Prompt };
        let requests = requested.into_iter().map(|(sent, bytes)| {
            Body::Model(ModelEntry::Requested(Requested { turn: None, model: "m".into(), summary: None, sent, bytes }))
        });
        let entry = |(at, body)| Arc::new(Entry { seq: at as u64 + 1, parent: at as u64, at_ms: 0, body, by: None });
        std::iter::once(user).chain(requests).enumerate().map(entry).collect()
    }

    fn lines(entries: &[Arc<Entry>]) -> (Vec<serde_json::Value>, u64) {
        let mut out = Vec::new();
        let (_, doubtful) = write_all(entries, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), doubtful)
    }

    #[test]
    fn what_differs_from_what_was_sent_is_marked_and_never_passed_over() {
        let known = providers::Api::Completions.as_str();
        let written = rewriting(&sent(known)).map(|mut it| {
            it.chat.push(&Message::User(vec![Part::text("hi")]));
            (it.body)(&sent(known))
        });
        let bytes = written.expect("the format is known").len() as u64;
        let (shown, doubtful) =
            lines(&log([(Some(sent(known)), bytes), (None, bytes + 1), (Some(sent("telepathy")), 7)]));
        assert_eq!(doubtful, 2);
        assert_eq!(shown[0]["body"]["messages"][0]["role"], "user");
        assert_eq!((&shown[0]["problem"], &shown[0]["headers"]["x-y"]), (&json!(null), &json!("z")));
        assert_eq!(shown[1]["body"], shown[0]["body"], "without words of its own it is as the one before");
        assert!(shown[1]["problem"].as_str().unwrap().contains("bytes"), "{}", shown[1]);
        assert!(shown[2]["problem"].as_str().unwrap().contains("`telepathy`"), "{}", shown[2]);
        assert_eq!(shown[2]["body"], json!(null));
        let (orphan, doubtful) = lines(&log([(None, 1)]));
        assert_eq!((doubtful, &orphan[0]["api"]), (1, &json!(null)));
    }

    #[test]
    fn a_body_that_would_break_the_line_stands_there_as_text() {
        let mut odd = Sent::clone(&sent(providers::Api::Completions.as_str()));
        odd.tail = "\n]}".into();
        let (shown, _) = lines(&log([(Some(Arc::new(odd)), 1)]));
        assert!(shown[0]["body_text"].as_str().unwrap().ends_with("\n]}"), "{}", shown[0]);
    }
}
