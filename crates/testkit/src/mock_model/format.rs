//! The four wire formats, told apart by the path of the request, and what all of them need.

use serde_json::Value;

use super::answer::Answer;
use super::steps::Step;
use super::{Request, anthropic, completions, gemini, responses};

/// A vendor's way to ask and to answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    Completions,
    Anthropic,
    Responses,
    Gemini,
}

/// How the answer is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// Event by event.
    Stream,
    /// One JSON object at the end.
    Whole,
    /// One JSON array at the end: what Gemini streams to those who do not ask for events.
    List,
}

/// What of a chat request shapes the form of its answer.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) format: Format,
    pub(super) manner: Manner,
    pub(super) model: String,
    /// How many chat requests came before: makes ids unique.
    pub(super) number: usize,
    /// Whether the sealed form of reasoning is wanted; only Responses has to be asked.
    pub(super) sealed: bool,
}

/// Says the steps of one answer in one vendor's words. It is told the whole answer at its start, because some formats
/// say early what is known late.
pub(super) trait Speaker: Send {
    /// The events of this step, which belongs to `block` of the answer.
    fn say(&mut self, at: usize, step: &Step, block: Option<usize>) -> Vec<u8>;
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Completions, Format::Anthropic, Format::Responses, Format::Gemini];

    /// The format of a chat path; `None` for every other path.
    pub(super) fn of(path: &str) -> Option<Self> {
        match path_only(path) {
            "/v1/chat/completions" => Some(Format::Completions),
            "/v1/messages" => Some(Format::Anthropic),
            "/v1/responses" => Some(Format::Responses),
            path => gemini::target(path).map(|_| Format::Gemini),
        }
    }

    /// The format whose list of models is asked for here.
    pub(super) fn of_models(request: &Request) -> Option<Self> {
        match path_only(&request.path) {
            "/v1/models" if request.header("anthropic-version").is_some() => Some(Format::Anthropic),
            "/v1/models" if request.header("x-goog-api-key").is_some() => Some(Format::Gemini),
            "/v1/models" => Some(Format::Completions),
            "/v1beta/models" => Some(Format::Gemini),
            _ => None,
        }
    }

    /// The bytes of a streamed answer of these steps, as the server would send them; steps that are not bytes are
    /// left out.
    pub fn stream(self, steps: &[Step]) -> Vec<u8> {
        let asked = Asked { format: self, manner: Manner::Stream, model: "mock".into(), number: 0, sealed: true };
        let mut speech = Speech::new(asked, steps.to_vec());
        (0..steps.len()).filter_map(|at| speech.bytes(at)).flatten().collect()
    }

    pub(super) fn asked(self, path: &str, body: &Value, number: usize) -> Asked {
        let streams = body["stream"].as_bool() == Some(true);
        let mut asked = Asked {
            format: self,
            manner: if streams { Manner::Stream } else { Manner::Whole },
            model: body["model"].as_str().unwrap_or("mock").to_owned(),
            number,
            sealed: true,
        };
        match self {
            Format::Completions | Format::Anthropic => {}
            Format::Responses => {
                let include = body["include"].as_array();
                asked.sealed = include.is_some_and(|all| all.iter().any(|one| one == "reasoning.encrypted_content"));
            }
            Format::Gemini => {
                let (model, method) = gemini::target(path_only(path)).unwrap_or_default();
                asked.model = model.to_owned();
                let events = path.split(['?', '&']).any(|piece| piece == "alt=sse");
                asked.manner = match method == gemini::STREAM {
                    true if events => Manner::Stream,
                    true => Manner::List,
                    false => Manner::Whole,
                };
            }
        }
        asked
    }

    /// An error in this vendor's shape.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Format::Completions => completions::error(message),
            Format::Anthropic => anthropic::error(status, message),
            Format::Responses => responses::error(status, message),
            Format::Gemini => gemini::error(status, message),
        }
    }

    pub(super) fn models(self) -> Value {
        match self {
            Format::Completions | Format::Responses => completions::models(),
            Format::Anthropic => anthropic::models(),
            Format::Gemini => gemini::models(),
        }
    }

    /// The last user text of a request, and how many tool results came after it.
    pub(super) fn position(self, body: &Value) -> (String, usize) {
        match self {
            Format::Completions => completions::position(body),
            Format::Anthropic => anthropic::position(body),
            Format::Responses => responses::position(body),
            Format::Gemini => gemini::position(body),
        }
    }
}

/// One answer while it is said.
pub(super) struct Speech {
    pub(super) asked: Asked,
    pub(super) steps: Vec<Step>,
    pub(super) answer: Answer,
    speaker: Box<dyn Speaker>,
}

impl Speech {
    pub(super) fn new(asked: Asked, steps: Vec<Step>) -> Self {
        let answer = Answer::of(&steps);
        let speaker: Box<dyn Speaker> = match asked.format {
            Format::Completions => Box::new(completions::Spoken),
            Format::Anthropic => Box::new(anthropic::Spoken::new(&asked, &answer)),
            Format::Responses => Box::new(responses::Spoken::new(&asked, &answer)),
            Format::Gemini => Box::new(gemini::Spoken::new(&asked, &answer)),
        };
        Self { asked, steps, answer, speaker }
    }

    /// The bytes of a step; `None` for steps that are not bytes.
    pub(super) fn bytes(&mut self, at: usize) -> Option<Vec<u8>> {
        match &self.steps[at] {
            Step::Raw(bytes) => Some(bytes.clone()),
            Step::Pause { .. } | Step::Hold | Step::Cut | Step::Eof | Step::HangUp => None,
            step => Some(self.speaker.say(at, step, self.answer.block_of[at])),
        }
    }

    /// The answer as one JSON value.
    pub(super) fn whole(&self) -> Value {
        let (asked, answer) = (&self.asked, &self.answer);
        let whole = match asked.format {
            Format::Completions => completions::whole(asked, answer),
            Format::Anthropic => anthropic::whole(asked, answer),
            Format::Responses => responses::whole(asked, answer),
            Format::Gemini => gemini::whole(asked, answer),
        };
        if asked.manner == Manner::List { Value::Array(vec![whole]) } else { whole }
    }
}

pub(super) fn path_only(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

/// One event without a name.
pub(super) fn data(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

/// One event under the name its `type` says.
pub(super) fn named(value: &Value) -> Vec<u8> {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default()).into_bytes()
}

/// Arguments as JSON; text that is none becomes a string, as no vendor would send it.
pub(super) fn arguments(text: &str) -> Value {
    match text {
        "" => Value::Object(Default::default()),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

#[cfg(test)]
mod tests;
