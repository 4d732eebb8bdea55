//! Every flag that hosts of the pi family pass, as one table. Flags that mean nothing here stand in it as well, because
//! only who knows a flag knows whether a value follows.

use super::Means;

/// What follows a flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    Nothing,
    /// The next word, whatever it looks like, unless it is a flag of this table.
    Value,
    /// The next word, where it begins neither with `-` nor with `@`.
    Maybe,
}

pub struct Flag {
    pub names: &'static [&'static str],
    pub takes: Takes,
    pub means: Means,
}

const fn flag(names: &'static [&'static str], takes: Takes, means: Means) -> Flag {
    Flag { names, takes, means }
}

/// A flag that changes nothing here, and why in a word or two.
const fn none(names: &'static [&'static str], takes: Takes, why: &'static str) -> Flag {
    Flag { names, takes, means: Means::Ignored(why) }
}

use Takes::{Maybe, Nothing, Value};

pub const FLAGS: &[Flag] = &[
    flag(&["--mode"], Value, Means::Mode),
    // ---- models
    flag(&["--provider"], Value, Means::Provider),
    flag(&["--model"], Value, Means::Model),
    flag(&["--models"], Value, Means::Models),
    flag(&["--thinking"], Value, Means::Thinking),
    flag(&["--api-key"], Value, Means::ApiKey),
    flag(&["--list-models"], Maybe, Means::ListModels),
    none(&["--smol"], Value, "one model plays every role"),
    none(&["--slow"], Value, "one model plays every role"),
    none(&["--plan"], Value, "one model plays every role"),
    none(&["--provider-session-id"], Value, "no provider here keeps sessions"),
    // ---- prompts
    flag(&["--system-prompt"], Value, Means::SystemPrompt),
    flag(&["--append-system-prompt"], Value, Means::AppendSystemPrompt),
    flag(&["--prompt-template"], Value, Means::PromptTemplate),
    flag(&["--no-prompt-templates", "-np"], Nothing, Means::NoPromptTemplates),
    flag(&["--no-context-files", "-nc"], Nothing, Means::NoContextFiles),
    // ---- sessions
    flag(&["--session-dir"], Value, Means::SessionDir),
    flag(&["--no-session"], Nothing, Means::NoSession),
    flag(&["--continue", "-c"], Nothing, Means::Continue),
    flag(&["--resume", "-r"], Maybe, Means::Session),
    flag(&["--session"], Maybe, Means::Session),
    flag(&["--session-id"], Value, Means::SessionId),
    flag(&["--name", "-n"], Value, Means::Name),
    flag(&["--fork"], Value, Means::Fork),
    flag(&["--export"], Value, Means::Export),
    none(&["--no-title"], Nothing, "no titles are made up in this mode"),
    // ---- tools and permissions
    flag(&["--tools", "-t"], Value, Means::Tools),
    flag(&["--exclude-tools", "-xt"], Value, Means::ExcludeTools),
    flag(&["--no-tools", "-nt"], Nothing, Means::NoTools),
    flag(&["--no-builtin-tools", "-nbt"], Nothing, Means::NoTools),
    flag(&["--permission-mode"], Value, Means::PermissionMode),
    none(&["--no-lsp"], Nothing, "no language servers"),
    none(&["--no-pty"], Nothing, "no terminals"),
    flag(&["--no-mcp"], Nothing, Means::NoMcp),
    none(&["--no-rules"], Nothing, "no rules"),
    // ---- extensions
    flag(&["--extension", "-e"], Value, Means::Extension),
    flag(&["--no-extensions", "-ne"], Nothing, Means::NoExtensions),
    none(&["--hook"], Value, "hooks are code of another program"),
    none(&["--plugin-dir"], Value, "plugins are code of another program"),
    none(&["--skill"], Value, "no skills"),
    none(&["--skills"], Value, "no skills"),
    none(&["--no-skills", "-ns"], Nothing, "no skills"),
    // ---- this process
    flag(&["--workspace", "-w", "--cwd"], Value, Means::Workspace),
    flag(&["--config"], Value, Means::Config),
    flag(&["--attach"], Maybe, Means::Attach),
    flag(&["--log-frames"], Value, Means::LogFrames),
    flag(&["--rpc-errors"], Value, Means::RpcErrors),
    flag(&["--rpc-updates"], Value, Means::RpcUpdates),
    flag(&["--sync"], Value, Means::Sync),
    flag(&["--on-restart"], Value, Means::OnRestart),
    flag(&["--budget"], Value, Means::Budget),
    flag(&["--help", "-h"], Nothing, Means::Help),
    flag(&["--version", "-v", "-V"], Nothing, Means::Version),
    none(&["--print", "-p"], Nothing, "prompts come over stdin"),
    none(&["--allow-home"], Nothing, "every directory is allowed"),
    none(&["--theme"], Value, "no screen"),
    none(&["--no-themes"], Nothing, "no screen"),
    none(&["--use-theme"], Value, "no screen"),
    none(&["--tui-mode"], Value, "no screen"),
    none(&["--approve", "-a"], Nothing, "a project's own configuration decides little here"),
    none(&["--no-approve", "-na"], Nothing, "a project's own configuration decides little here"),
    none(&["--verbose"], Nothing, "stderr says all there is"),
    none(&["--offline"], Nothing, "nothing phones home"),
];

pub fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.names.contains(&name))
}
