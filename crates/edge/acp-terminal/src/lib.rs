//! A terminal for another agent: what an agent says over ACP as text for a person or as lines for a program, and what is
//! typed as prompts, commands and answers to it.

mod answer;
mod choices;
mod conversation;
mod recorder;
mod typed_line;
mod view;

pub use conversation::{AgentConversation, ConversationInputs, ConversationStart, OpeningOutcome, SessionWishes};
pub use recorder::Recorder;
pub use view::{AgentView, Beginning, DiffText, JsonView, TextView, ViewOutput};
