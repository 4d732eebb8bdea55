//! The recorded model `script:FILE`: replies read from a text file and played in order, whatever the user says.

use std::path::Path;
use std::sync::Arc;

use vocab::{CallSpec, Chat, Fault, FaultKind, Later, Message, ModelFault, ModelInfo, ModelStream, Provider};

use crate::beat::{Beat, Reply};
use crate::memory::Memory;
use crate::parts::{Next, Parts, Trouble};
use crate::player::{self, Stage};

/// Larger files are refused.
const SCRIPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// What a recorded model claims to hold; nothing in it depends on the number.
const SCRIPT_WINDOW: u64 = 128_000;
/// The name of a script that was not read from a file.
const NAMELESS: &str = "(text)";

/// A recorded model. Each chat plays it from the start.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    model: ModelInfo,
    replies: Arc<[Reply]>,
}

impl Script {
    /// Reads a script file; the slug is `script:` and the path as given.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Fault> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let cannot = |error: std::io::Error| {
            let kind = match error.kind() {
                std::io::ErrorKind::FileTooLarge | std::io::ErrorKind::InvalidInput => FaultKind::Invalid,
                _ => FaultKind::NotFound,
            };
            Fault::new(kind, format!("cannot read the script {name}: {error}"))
        };
        Self::read(&name, &safefile::read_regular_text(path, SCRIPT_BYTES_MAX).map_err(cannot)?)
    }

    /// A script from text at hand; its slug is `script:(text)`.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        Self::read(NAMELESS, text)
    }

    /// The one slug this model has.
    pub fn slug(&self) -> &str {
        &self.model.slug
    }

    fn read(name: &str, text: &str) -> Result<Self, Fault> {
        let replies =
            replies(text).map_err(|(line, why)| Fault::new(FaultKind::Invalid, format!("{name}:{line}: {why}")))?;
        if replies.is_empty() {
            return Err(Fault::new(FaultKind::Invalid, format!("{name}: the script has no replies")));
        }
        let mut model = crate::model(format!("script:{name}"), SCRIPT_WINDOW);
        // Recorded usage may stand for any model's; what it cost is unknown.
        model.prices = None;
        Ok(Self { model, replies: replies.into() })
    }
}

impl Provider for Script {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        if slug == &*self.model.slug {
            return Ok(self.model.clone());
        }
        Err(crate::unknown(slug, std::slice::from_ref(&self.model)))
    }

    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(std::future::ready(Ok(vec![self.model.clone()])))
    }

    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.resolve(&model.slug)?;
        Ok(Box::new(ScriptChat { script: self.clone(), next: 0, memory: Memory::default() }))
    }
}

struct ScriptChat {
    script: Script,
    /// Replies played so far. Each call plays one, also a call that is a retry or comes after `clear`.
    next: usize,
    memory: Memory,
}

impl Chat for ScriptChat {
    fn push(&mut self, message: &Message) {
        self.memory.push(message);
    }

    fn clear(&mut self) {
        self.memory = Memory::default();
    }

    fn bytes(&self) -> usize {
        self.memory.bytes
    }

    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        let reply = match self.script.replies.get(self.next) {
            Some(reply) => reply.clone(),
            None => vec![Beat::Fail { fault: self.exhausted(), tries: None }],
        };
        let stage = Stage {
            round: self.next as u64,
            tries: 0,
            chars_in: self.memory.chars + spec.system.chars().count(),
            word_delay_ms: 0,
        };
        self.next = self.next.saturating_add(1);
        player::play(reply, stage)
    }
}

impl ScriptChat {
    fn exhausted(&self) -> ModelFault {
        let replies = self.script.replies.len();
        let slug = &self.script.model.slug;
        ModelFault::new(FaultKind::BadRequest, format!("{slug} has {replies} replies and all of them were played"))
    }
}

/// The replies of a script file, or the number of the line that is wrong and why.
fn replies(text: &str) -> Result<Vec<Reply>, (usize, String)> {
    let mut replies = Vec::new();
    let mut reply = Reply::new();
    // An id waits for its call; the line is kept to blame it if none comes.
    let mut id: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        match line {
            "" | "reply" | "turn" => {
                no_open_id(id.take())?;
                if !reply.is_empty() {
                    replies.push(std::mem::take(&mut reply));
                }
            }
            _ if line.starts_with('#') => {}
            _ => {
                let waiting = id.take().map(|(_, id)| id);
                let (beats, left) = beats(line, waiting).map_err(|trouble| {
                    let column = line[..trouble.at.min(line.len())].chars().count() + 1;
                    (number, format!("{} (column {column})", trouble.why))
                })?;
                reply.extend(beats);
                id = left.map(|left| (number, left));
            }
        }
    }
    no_open_id(id)?;
    if !reply.is_empty() {
        replies.push(reply);
    }
    Ok(replies)
}

fn no_open_id(id: Option<(usize, String)>) -> Result<(), (usize, String)> {
    id.map_or(Ok(()), |(line, id)| Err((line, format!("the id `{id}` is followed by no call"))))
}

/// The beats of one line, and an id that still waits for its call.
fn beats(line: &str, id: Option<String>) -> Result<(Vec<Beat>, Option<String>), Trouble> {
    let mut parts = Parts::new(line).with_id(id);
    let mut beats = Vec::new();
    loop {
        match parts.next()? {
            Next::Part => {
                if let Some(beat) = parts.part()? {
                    if matches!(beat, Beat::Fail { tries: Some(_), .. }) {
                        let why = "in a file each reply is one try: write the failing reply as often as it is to fail";
                        return Err(Trouble { at: 0, why: why.into() });
                    }
                    beats.push(beat);
                }
            }
            Next::Then => {
                return Err(Trouble {
                    at: 0,
                    why: "replies are separated by a blank line or `reply`, not `then`".into(),
                });
            }
            Next::End => return Ok((beats, parts.take_id())),
        }
    }
}
