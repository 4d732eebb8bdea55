//! The words of a script: one parser for what stands between two `then` of a prompt and on the lines of a script
//! file. It knows text and beats; which replies they form is for [`crate::grammar`] and [`crate::script`].

use serde::de::IgnoredAny;
use vocab::{Finish, Usage};

use crate::beat::{self, Beat, ScriptedCall, Words};

/// Words one `say N words` may ask for; more is refused. They are made up while streaming, so this bounds time only.
const WORDS_MAX: u64 = 10_000_000;
/// The longest delay a script may ask for, an hour; more is refused.
const DELAY_MS_MAX: u64 = 3_600_000;
/// The largest token count `usage` takes; more is refused, so that sums over a session cannot overflow.
const TOKENS_MAX: u64 = 1_000_000_000_000;

/// Every word that can begin a part.
pub(crate) const KEYWORDS: [&str; 16] = [
    "say", "think", "delta", "call", "id", "stall", "hold", "hang", "slow", "pause", "usage", "fail", "cut", "length",
    "refuse", "finish",
];

/// Where the text stopped being a script, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trouble {
    /// Byte offset into the text given.
    pub(crate) at: usize,
    pub(crate) why: String,
}

/// What may follow a whole part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Part,
    /// The word `then`: another reply.
    Then,
    End,
}

/// Reads parts from left to right.
pub(crate) struct Parts<'a> {
    text: &'a str,
    at: usize,
    /// Set by `id`, taken by the next `call`.
    id: Option<String>,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut parts = Self { text, at: 0, id: None };
        parts.skip_space();
        parts
    }

    /// Gives the id that `id` left for a call on a later line.
    pub(crate) fn with_id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }

    pub(crate) fn take_id(&mut self) -> Option<String> {
        self.id.take()
    }

    /// What comes now. Takes `then` and a joining `and`; a part stays where it is.
    pub(crate) fn next(&mut self) -> Result<Next, Trouble> {
        if self.rest().is_empty() {
            return Ok(Next::End);
        }
        match self.peek() {
            "then" => {
                self.word();
                Ok(Next::Then)
            }
            "and" => {
                self.word();
                if self.rest().is_empty() { Err(self.trouble("nothing follows `and`")) } else { Ok(Next::Part) }
            }
            _ => Ok(Next::Part),
        }
    }

    /// Reads one part; `id` gives none.
    pub(crate) fn part(&mut self) -> Result<Option<Beat>, Trouble> {
        let start = self.at;
        let keyword = self.word();
        let beat = match keyword {
            "say" => Beat::Say(self.words()?),
            "think" => Beat::Think(self.words()?),
            "delta" => Beat::Delta(self.quoted()?),
            "call" => Beat::Call(self.call()?),
            "id" => {
                let id = self.word();
                if id.is_empty() {
                    return Err(self.trouble("`id` needs the id of the next call"));
                }
                self.id = Some(id.to_owned());
                return Ok(None);
            }
            "stall" => Beat::Stall(self.number("words", WORDS_MAX)?),
            "hold" | "hang" => Beat::Hold,
            "slow" => Beat::Slow(self.number("milliseconds", DELAY_MS_MAX)?),
            "pause" => Beat::Pause(self.number("milliseconds", DELAY_MS_MAX)?),
            "usage" => {
                let input = self.number("input tokens", TOKENS_MAX)?;
                let output = self.number("output tokens", TOKENS_MAX)?;
                Beat::Usage(Usage { input, output, ..Usage::default() })
            }
            "cut" => Beat::Fail { fault: beat::cut(), tries: None },
            "length" => Beat::Finish(Finish::Length),
            "refuse" => Beat::Finish(Finish::Refusal),
            "finish" => Beat::Finish(self.finish()?),
            "fail" => {
                let status = self.word();
                self.fail(status)?
            }
            _ => match keyword.strip_prefix("fail") {
                Some(status) => self.fail(status)?,
                None => {
                    let why = format!("`{}` is not a word of a script", shorten(keyword));
                    return Err(Trouble { at: start, why });
                }
            },
        };
        Ok(Some(beat))
    }

    fn words(&mut self) -> Result<Words, Trouble> {
        if self.rest().starts_with('"') {
            return self.quoted().map(Words::Text);
        }
        let start = self.at;
        let word = self.word();
        if word.is_empty() {
            return Err(self.trouble("nothing to say: expected `N words`, a word or \"text\""));
        }
        if let Ok(count) = word.parse::<u64>()
            && matches!(self.peek(), "word" | "words")
        {
            self.word();
            if count > WORDS_MAX {
                return Err(Trouble { at: start, why: format!("at most {WORDS_MAX} words") });
            }
            return Ok(Words::Counted(count));
        }
        Ok(Words::Text(word.to_owned()))
    }

    fn call(&mut self) -> Result<ScriptedCall, Trouble> {
        let name = self.word().to_owned();
        if name.is_empty() {
            return Err(self.trouble("`call` needs the name of a tool"));
        }
        let input = if self.peek() == "badjson" {
            self.word();
            self.raw()
        } else if self.rest().starts_with('{') {
            self.json()?
        } else {
            "{}".to_owned()
        };
        Ok(ScriptedCall { id: self.id.take(), name, input })
    }

    /// One JSON value; strings inside may hold anything, also `then` and braces.
    fn json(&mut self) -> Result<String, Trouble> {
        let rest = self.rest();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                let json = rest[..values.byte_offset()].to_owned();
                self.at += json.len();
                self.skip_space();
                Ok(json)
            }
            Some(Err(error)) => {
                Err(self.trouble(format!("the arguments are not JSON ({error}); `badjson` sends any text")))
            }
            None => Err(self.trouble("the arguments are missing")),
        }
    }

    /// Everything up to ` then `, ` and call ` or the end, as it stands.
    fn raw(&mut self) -> String {
        let rest = self.rest();
        let end = [" then ", " and call "].iter().filter_map(|stop| rest.find(stop)).min().unwrap_or(rest.len());
        let raw = rest[..end].to_owned();
        self.at += end;
        self.skip_space();
        raw
    }

    fn finish(&mut self) -> Result<Finish, Trouble> {
        let start = self.at;
        match self.word() {
            "stop" => Ok(Finish::Stop),
            "length" => Ok(Finish::Length),
            "refusal" => Ok(Finish::Refusal),
            "tool_use" => Ok(Finish::ToolUse),
            _ => Err(Trouble { at: start, why: "`finish` knows stop, length, refusal and tool_use".into() }),
        }
    }

    fn fail(&mut self, status: &str) -> Result<Beat, Trouble> {
        let Some(mut fault) = beat::failure(status) else {
            return Err(self.trouble("`fail` needs a status from 400 to 599, `overflow` or `network`"));
        };
        let mut tries = None;
        loop {
            if self.peek() == "retry-after" {
                self.word();
                fault.retry_after_ms = Some(self.number("milliseconds", DELAY_MS_MAX)?);
            } else if tries.is_none() && self.peek().starts_with(|c: char| c.is_ascii_digit()) {
                tries = Some(self.number("tries", u32::MAX.into())? as u32);
            } else {
                return Ok(Beat::Fail { fault, tries });
            }
        }
    }

    fn number(&mut self, unit: &str, max: u64) -> Result<u64, Trouble> {
        let start = self.at;
        match self.word().parse::<u64>() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(Trouble { at: start, why: format!("expected a number of {unit}, at most {max}") }),
        }
    }

    /// A string in double quotes; `\"`, `\\`, `\n` and `\t` are understood.
    fn quoted(&mut self) -> Result<String, Trouble> {
        let Some(rest) = self.rest().strip_prefix('"') else {
            return Err(self.trouble("expected text in double quotes"));
        };
        let mut text = String::new();
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += 1 + at + 1;
                    self.skip_space();
                    return Ok(text);
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(c @ ('"' | '\\')) => text.push(c),
                    _ => {
                        let why = "after a backslash come \", \\, n or t".into();
                        return Err(Trouble { at: self.at + 1 + at, why });
                    }
                },
                c => text.push(c),
            }
        }
        Err(self.trouble("the closing quote is missing"))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> &'a str {
        let rest = self.rest();
        &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())]
    }

    /// Takes the next word and the white space behind it.
    fn word(&mut self) -> &'a str {
        let word = self.peek();
        self.at += word.len();
        self.skip_space();
        word
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn trouble(&self, why: impl Into<String>) -> Trouble {
        Trouble { at: self.at, why: why.into() }
    }
}

/// Characters of a user's word that an error repeats.
const ECHO_CHARS_MAX: usize = 24;

fn shorten(word: &str) -> String {
    match word.char_indices().nth(ECHO_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_owned(),
    }
}
