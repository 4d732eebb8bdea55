//! The system prompt. Stable from call to call, so that providers can cache it.

use std::fmt::Write as _;

use vocab::visible::visible_path;
use vocab::{Briefing, Gadget, Mode, Settings};

const WHO: &str = "You are a coding agent. You work in the user's workspace with the tools you are given. Look before you \
change; keep changes small; say briefly what you did. When a tool call is denied, do not repeat it: adapt or ask.";

/// `briefing`: what is known of the place, once the port has looked.
pub(crate) fn system(settings: &Settings, gadgets: &[Gadget], briefing: Option<&Briefing>) -> String {
    let mut text = match &settings.system_prompt {
        Some(own) => own.to_string(),
        None => WHO.to_owned(),
    };
    let _ = write!(text, "\n\nWorkspace: {}", visible_path(&settings.workspace));
    if let Some(about) = briefing.map(|it| it.surroundings.trim_end()).filter(|text| !text.is_empty()) {
        let _ = write!(text, "\n{about}");
    }
    match settings.mode {
        Mode::Plan => text.push_str("\nMode: plan. Only read and think. Propose a plan; change nothing."),
        Mode::ReadOnly => text.push_str("\nMode: read-only. Nothing may be changed."),
        Mode::WorkspaceWrite | Mode::DangerFullAccess | Mode::Prompt => {}
    }
    if let Some(locale) = &settings.locale {
        let _ = write!(text, "\nAnswer in the language of the locale {locale} unless the user writes in another.");
    }
    for prompt in gadgets.iter().filter_map(|gadget| gadget.prompt.as_deref()) {
        let _ = write!(text, "\n\n{prompt}");
    }
    if let Some(wanted) = briefing.map(|it| it.instructions.trim_end()).filter(|text| !text.is_empty()) {
        let _ = write!(text, "\n\n{wanted}");
    }
    if let Some(more) = &settings.append_system_prompt {
        let _ = write!(text, "\n\n{more}");
    }
    text
}
