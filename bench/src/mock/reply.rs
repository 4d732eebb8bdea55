//! Renders what the model says. Each SSE event is an HTTP chunk of its own, as real servers send them; an unpaced
//! answer is rendered once, kept, and written in one piece.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{now_ns, said};
use crate::format::Format;
use crate::script::Step;

pub(super) const MODELS: &str = r#"{"object":"list","data":[{"id":"mock/alpha","object":"model","owned_by":"bench"}]}"#;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
const BEFORE: &str = r#"data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1,"model":"mock/alpha","choices":[{"index":0,"delta":"#;
/// Rendered answers kept; a benchmark uses a handful, and beyond this they are rendered anew each time.
const KEPT_MAX: usize = 16;

/// Slow words and calls are measured in one format only.
pub(super) fn plays(format: Format, step: &Step<'_>) -> bool {
    format == Format::Completions || matches!(step, Step::Say { every_us: None, .. })
}

pub(super) fn play(format: Format, step: &Step<'_>, out: &mut TcpStream) -> io::Result<()> {
    match *step {
        Step::Say { words, every_us: None } => out.write_all(&said(format, words)),
        Step::Say { words, every_us: Some(every_us) } => paced(words, every_us, out),
        Step::Call { tool, input } => out.write_all(call(tool, input).as_bytes()),
    }
}

fn said(format: Format, words: usize) -> Arc<Vec<u8>> {
    static KEPT: OnceLock<Mutex<Kept>> = OnceLock::new();
    let mut kept = KEPT.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = kept.get(&(format, words)) {
        return answer.clone();
    }
    let mut answer = String::from(HEAD);
    said::events(format, words, &mut answer);
    answer.push_str("0\r\n\r\n");
    let answer = Arc::new(answer.into_bytes());
    if kept.len() < KEPT_MAX {
        kept.insert((format, words), answer.clone());
    }
    answer
}

type Kept = HashMap<(Format, usize), Arc<Vec<u8>>>;

pub(super) fn completions(words: usize, into: &mut String) {
    delta(into, r#"{"role":"assistant","content":""}"#, None);
    for n in 1..=words {
        let gap = if n < words { " " } else { "" };
        delta(into, &format!(r#"{{"content":"w{n}{gap}"}}"#), None);
    }
    finish(into, "stop", words);
}

/// One write per word, each stamped with the moment just before it.
fn paced(words: usize, every_us: u64, out: &mut TcpStream) -> io::Result<()> {
    let mut chunk = String::from(HEAD);
    delta(&mut chunk, r#"{"role":"assistant","content":""}"#, None);
    out.write_all(chunk.as_bytes())?;
    let start = Instant::now();
    for n in 1..=words {
        let due = Duration::from_micros(every_us * n as u64);
        thread::sleep(due.saturating_sub(start.elapsed()));
        chunk.clear();
        delta(&mut chunk, &format!(r#"{{"content":"@{} "}}"#, now_ns()), None);
        out.write_all(chunk.as_bytes())?;
    }
    chunk.clear();
    end(&mut chunk, "stop", words);
    out.write_all(chunk.as_bytes())
}

fn call(tool: &str, input: &str) -> String {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    let id = CALLS.fetch_add(1, Ordering::Relaxed);
    let tool = serde_json::to_string(tool).expect("text is always JSON");
    let input = serde_json::to_string(input).expect("text is always JSON");
    let mut answer = String::from(HEAD);
    let open = format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{{"index":0,"id":"call_{id}","type":"function","function":{{"name":{tool},"arguments":""}}}}]}}"#
    );
    delta(&mut answer, &open, None);
    let arguments = format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{input}}}}}]}}"#);
    delta(&mut answer, &arguments, None);
    end(&mut answer, "tool_calls", 1);
    answer
}

fn delta(into: &mut String, delta: &str, finish: Option<&str>) {
    let finish = finish.map_or("null".into(), |finish| format!("\"{finish}\""));
    chunk(into, &format!("{BEFORE}{delta},\"finish_reason\":{finish}}}]}}\n\n"));
}

fn end(into: &mut String, reason: &str, tokens: usize) {
    finish(into, reason, tokens);
    into.push_str("0\r\n\r\n");
}

fn finish(into: &mut String, reason: &str, tokens: usize) {
    delta(into, "{}", Some(reason));
    let usage = format!(
        r#"data: {{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1,"model":"mock/alpha","choices":[],"usage":{{"prompt_tokens":10,"completion_tokens":{tokens},"total_tokens":{}}}}}"#,
        tokens + 10
    );
    chunk(into, &format!("{usage}\n\n"));
    chunk(into, "data: [DONE]\n\n");
}

pub(super) fn chunk(into: &mut String, event: &str) {
    write!(into, "{:x}\r\n{event}\r\n", event.len()).expect("a String takes everything");
}
