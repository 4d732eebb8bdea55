//! The exact layer: a prompt that is a script. Steps are joined by ` then `, each step is one reply. A prompt is a
//! script as a whole or not at all, so that ordinary sentences are never half obeyed.

use crate::beat::Reply;
use crate::parts::{KEYWORDS, Next, Parts, Trouble};

/// Replies one prompt may script; more is refused.
const STEPS_MAX: usize = 10_000;

/// The replies a prompt asks for. `None`: it does not even begin like a script.
pub(crate) fn parse(prompt: &str) -> Option<Result<Vec<Reply>, Trouble>> {
    let text = skip_paths(prompt);
    let first = text.split_whitespace().next()?;
    let failing = first.strip_prefix("fail").is_some_and(|status| status.parse::<u16>().is_ok());
    (failing || KEYWORDS.contains(&first))
        .then(|| steps(text).map_err(|trouble| Trouble { at: trouble.at + (prompt.len() - text.len()), ..trouble }))
}

fn steps(text: &str) -> Result<Vec<Reply>, Trouble> {
    let mut parts = Parts::new(text);
    let mut replies = Vec::new();
    let mut reply = Reply::new();
    loop {
        match parts.next()? {
            Next::Part => reply.extend(parts.part()?),
            end @ (Next::Then | Next::End) => {
                if reply.is_empty() || parts.take_id().is_some() {
                    return Err(Trouble { at: text.len(), why: "a step says, calls and fails nothing".into() });
                }
                replies.push(std::mem::take(&mut reply));
                if replies.len() > STEPS_MAX {
                    return Err(Trouble { at: text.len(), why: format!("at most {STEPS_MAX} steps") });
                }
                if end == Next::End {
                    return Ok(replies);
                }
            }
        }
    }
}

/// Leading words that begin with `/` are no commands when they reach a model; a script may follow them.
fn skip_paths(prompt: &str) -> &str {
    let mut text = prompt.trim_start();
    while text.starts_with('/') {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        text = text[end..].trim_start();
    }
    text
}
