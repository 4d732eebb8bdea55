//! What the commands take that sign in and out.

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub struct LoginArgs {
    #[arg(default_value = "openai")]
    pub account: SignInTo,
    /// With a code to type, instead of a browser that comes back here.
    #[arg(long)]
    pub device: bool,
}

#[derive(Args, Debug)]
pub struct LogoutArgs {
    /// Which one; `tillerman accounts` says what is there.
    #[arg(conflicts_with = "all")]
    pub account: Option<SignInTo>,
    /// All of them, and every key.
    #[arg(long)]
    pub all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum SignInTo {
    Openai,
    Antigravity,
    /// A key.
    Openrouter,
    /// A key, for the tool web_search.
    Exa,
    // Who asks for these is told where their keys go.
    #[value(hide = true)]
    Anthropic,
    #[value(hide = true, alias = "gemini")]
    Google,
    #[value(hide = true)]
    Deepseek,
    #[value(hide = true)]
    Xai,
    #[value(hide = true)]
    Mistral,
    #[value(hide = true)]
    Groq,
}
