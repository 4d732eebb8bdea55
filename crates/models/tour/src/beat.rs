//! What a scripted reply is made of. Prompts, script files and the friendly rules all come down to these beats, and
//! one player ([`crate::player`]) turns them into model events.

use vocab::{FaultKind, Finish, ModelFault, Usage};

/// One reply of the model: one model call.
pub(crate) type Reply = Vec<Beat>;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Beat {
    Say(Words),
    Think(Words),
    /// A delta of the answer exactly as given, however many words it has.
    Delta(String),
    Call(ScriptedCall),
    /// The next `Say` or `Think` falls silent for ever after this many words.
    Stall(u64),
    /// Silent for ever.
    Hold,
    /// From here on, wait this long between deltas.
    Slow(u64),
    /// Wait once.
    Pause(u64),
    /// Report this instead of counted characters.
    Usage(Usage),
    /// Fail here on the first `tries` tries of this reply; `None` means on every try.
    Fail {
        fault: ModelFault,
        tries: Option<u32>,
    },
    /// Finish with this reason instead of the one that fits.
    Finish(Finish),
}

/// What is said word by word.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Words {
    /// `w1 w2 ...` (`t1 t2 ...` when thinking), made up while it streams.
    Counted(u64),
    Text(String),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScriptedCall {
    /// `None`: `call_<round>_<index>`.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// Arguments as text; need not be JSON.
    pub(crate) input: String,
}

/// The end of `text`'s first word: the word and all white space up to the next one.
pub(crate) fn word_end(text: &str) -> usize {
    let start = text.len() - text.trim_start().len();
    let Some(gap) = text[start..].find(char::is_whitespace) else { return text.len() };
    let gap = start + gap;
    text[gap..].find(|c: char| !c.is_whitespace()).map_or(text.len(), |next| gap + next)
}

/// The stream ends without a finish.
pub(crate) fn cut() -> ModelFault {
    ModelFault::new(FaultKind::StreamCut, "the stream ended without a finish, as the script asked")
}

/// What a provider makes of an HTTP status, or of one of the words that name a failure without a status.
pub(crate) fn failure(name: &str) -> Option<ModelFault> {
    let (kind, status) = match name {
        "overflow" => (FaultKind::ContextOverflow, Some(400)),
        "network" => (FaultKind::Network, None),
        _ => {
            let status = name.parse::<u16>().ok()?;
            let kind = match status {
                401 | 403 => FaultKind::Auth,
                429 => FaultKind::RateLimited,
                400..=499 => FaultKind::BadRequest,
                500..=599 => FaultKind::Provider,
                _ => return None,
            };
            (kind, Some(status))
        }
    };
    let message = match (kind, status) {
        (FaultKind::ContextOverflow, _) => {
            "the conversation is longer than the model's window, as the script says".into()
        }
        (_, Some(status)) => format!("the model answered HTTP {status}, as the script asked"),
        (_, None) => "the model could not be reached, as the script asked".into(),
    };
    let mut fault = ModelFault::new(kind, message);
    fault.fault.status = status;
    Some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_the_white_space_behind_it() {
        for (text, first) in
            [("I'll glob.", "I'll "), ("glob.", "glob."), ("a\n\n b", "a\n\n "), ("  a b", "  a "), ("", "")]
        {
            assert_eq!(&text[..word_end(text)], first, "{text:?}");
        }
    }

    #[test]
    fn a_status_becomes_the_fault_a_provider_would_make_of_it() {
        let kind = |name| failure(name).map(|fault| (fault.fault.kind, fault.retryable, fault.fault.status));
        assert_eq!(kind("429"), Some((FaultKind::RateLimited, true, Some(429))));
        assert_eq!(kind("500"), Some((FaultKind::Provider, true, Some(500))));
        assert_eq!(kind("401"), Some((FaultKind::Auth, false, Some(401))));
        assert_eq!(kind("400"), Some((FaultKind::BadRequest, false, Some(400))));
        assert_eq!(kind("overflow"), Some((FaultKind::ContextOverflow, false, Some(400))));
        assert_eq!(kind("network"), Some((FaultKind::Network, true, None)));
        assert_eq!(kind("200"), None);
        assert_eq!(kind("soon"), None);
    }
}
