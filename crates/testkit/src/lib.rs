//! What tests are made of: counted ids, a fixed clock, an engine on a stage with a scripted model, the golden runner,
//! the simulator, a schema validator, garbage, a real HTTP mock model, and what drives the binary into faults. A dev-dependency only.

pub mod fakes;
pub mod faults;
pub mod faulty;
pub mod golden;
pub mod lossy;
pub mod mock_model;
pub mod neighbourhood;
pub mod odd;
pub mod peers;
pub mod pipe;
pub mod player;
pub mod schema;
pub mod sim;
pub mod stage;
pub mod stories;

pub use stage::{Stage, StageOptions};

/// The answer of a slash command as people read it.
pub fn slash_text(reply: &vocab::SlashReply) -> String {
    wire::slash::text(reply, &vocab::names::CANONICAL)
}

/// A verb as tests show it: what is wanted, without where it belongs.
pub fn verb_text(verb: &vocab::Verb) -> String {
    use vocab::{SessionVerb, Verb};
    match verb {
        Verb::Session(SessionVerb::Extension(verb)) => format!("{verb:?}"),
        Verb::Session(verb) => format!("{verb:?}"),
        Verb::Directory(verb) => format!("{verb:?}"),
        verb => format!("{verb:?}"),
    }
}
