//! One inbound line -> one command, one reply of the host, or the words that refuse it. Unknown members are ignored, as
//! in the originals; what is missing or of the wrong kind is named.

mod commands;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use vocab::Json;

/// A command's name and id, for its response.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RpcCall {
    /// As it came: a number stays a number.
    pub(crate) id: Option<Box<str>>,
    pub(crate) command: &'static str,
}

#[derive(Debug)]
pub(crate) enum HeardLine {
    Command(RpcCall, Command),
    /// The host answers something; no response is sent to this.
    Answer(HostAnswer),
}

/// RpcPending a line has no command.
#[derive(Debug)]
pub(crate) enum Refused {
    /// No JSON at all.
    Malformed(String),
    /// `command` as it may be repeated; `None` when there is nothing to repeat.
    Unknown { id: Option<Box<str>>, command: Option<Box<str>>, shown: String },
    /// A command that we know, with members that make no sense.
    Wrong { call: RpcCall, what: String },
}

#[derive(Debug, Deserialize)]
pub(crate) struct Text {
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) images: Option<Vec<Image>>,
    #[serde(default, rename = "streamingBehavior")]
    pub(crate) behavior: Option<String>,
    #[serde(default)]
    pub(crate) locale: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Image {
    pub(crate) data: String,
    #[serde(rename = "mimeType")]
    pub(crate) mime: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PhaseMember {
    #[serde(default)]
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) tasks: Vec<Task>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Task {
    #[serde(default)]
    pub(crate) id: Option<String>,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) status: Option<String>,
    #[serde(default)]
    pub(crate) notes: Option<String>,
}

/// A host tool as it came; judged by `host_tools.rs`, whose words the originals fixed.
#[derive(Debug, Deserialize)]
pub(crate) struct HostTool {
    #[serde(default)]
    pub(crate) name: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) description: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) parameters: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) hidden: Option<bool>,
}

#[derive(Debug)]
pub(crate) enum Command {
    Prompt(Text),
    Steer(Text),
    FollowUp(Text),
    Abort,
    AbortAndPrompt(Text),
    NewSession { parent: Option<String> },
    SetLocale { locale: String },
    GetState,
    SetTodos { phases: Vec<PhaseMember> },
    SetHostTools { tools: Vec<HostTool> },
    GetIntegrations,
    SetModel { provider: String, model: String },
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel { level: String },
    CycleThinkingLevel,
    GetThinkingLevels,
    SetSteeringMode { mode: String },
    SetFollowUpMode { mode: String },
    SetInterruptMode { mode: String },
    Compact { instructions: Option<String> },
    SetAutoCompaction { enabled: bool },
    SetAutoRetry { enabled: bool },
    AbortRetry,
    AbortBash,
    Bash { command: String, aside: bool },
    GetSessionStats,
    ExportHtml { path: Option<String> },
    SwitchSession { path: String },
    Branch { entry: String },
    Clone,
    GetBranchMessages,
    GetLastAssistantText,
    SetSessionName { name: String },
    GetMessages,
    GetMessagesPage { cursor: Option<String>, limit: Option<u64> },
    GetCommands,
    ClearQueue,
    GetEntries { since: Option<String> },
    GetTree,
    GetLoginProviders,
    Login { provider: String },
    SetFastMode { enabled: bool },
    SetSubagentSubscription { level: String },
    SetEventFilter { events: Option<Vec<String>> },
    OpenSession { dir: String },
    GetSubagents,
    GetSubagentMessages,
    NegotiateProtocol { version: u64 },
    Handoff { instructions: Option<String> },
    SetHostUriSchemes { schemes: Vec<serde_json::Value> },
}

#[derive(Debug)]
pub(crate) enum HostAnswer {
    Ui { id: String, answer: UiAnswer },
    ToolUpdate { id: String, content: Vec<PromptContent> },
    ToolResult { id: String, content: Vec<PromptContent>, details: Option<Json>, is_error: bool },
}

#[derive(Debug, PartialEq)]
pub(crate) enum UiAnswer {
    Value(String),
    Confirmed(bool),
    Cancelled,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum PromptContent {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime: String,
    },
    #[serde(other)]
    Other,
}

/// Blank lines mean nothing.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type", deserialize_with = "present")]
    kind: Option<&'a RawValue>,
}

/// A member that is there is there, also when it is null.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

pub(crate) fn from_wire(line: &[u8]) -> Result<HeardLine, Refused> {
    let text = wire::check(line).map_err(|error| Refused::Malformed(error.to_string()))?;
    let text = wire::replace_lone_surrogates(text);
    if !text.trim_start().starts_with('{') {
        return Err(Refused::Unknown { id: None, command: None, shown: "undefined".into() });
    }
    let envelope: Envelope<'_> = serde_json::from_str(&text).map_err(|error| Refused::Malformed(error.to_string()))?;
    let id: Option<Box<str>> = envelope.id.map(|id| id.get().into());
    if id.as_deref().is_some_and(|id| wire::is_replaced(&text, id)) {
        return Err(Refused::Malformed("the id is no text that can be repeated".into()));
    }
    let Some(kind) = envelope.kind else {
        return Err(Refused::Unknown { id, command: None, shown: "undefined".into() });
    };
    let Ok(name) = serde_json::from_str::<String>(kind.get()) else {
        let shown = shorten(kind.get()).to_owned();
        return Err(Refused::Unknown { id, command: Some(shown.clone().into()), shown });
    };
    match answer(&name, &text) {
        ReadAnswer::Whole(answer) => return Ok(HeardLine::Answer(answer)),
        ReadAnswer::Incomplete => return Err(unknown(id, &name)),
        ReadAnswer::OtherType => {}
    }
    let Some(command) = COMMANDS.iter().find(|(known, _)| *known == name).map(|(known, _)| *known) else {
        return Err(unknown(id, &name));
    };
    let call = RpcCall { id, command };
    match read(command, &text) {
        Ok(read) => Ok(HeardLine::Command(call, read)),
        Err(what) => Err(Refused::Wrong { call, what }),
    }
}

fn unknown(id: Option<Box<str>>, name: &str) -> Refused {
    let shown = shorten(name);
    let mut quoted = Vec::new();
    wire::escape_into(shown, &mut quoted);
    let command = String::from_utf8(quoted).ok().map(String::into_boxed_str);
    Refused::Unknown { id, command, shown: shown.to_owned() }
}

/// Characters of a foreign name that an error repeats.
const SHOWN_CHARS_MAX: usize = 200;

fn shorten(name: &str) -> &str {
    name.char_indices().nth(SHOWN_CHARS_MAX).map_or(name, |(cut, _)| &name[..cut])
}

/// Every command and what it is for.
pub const COMMANDS: &[(&str, &str)] = &[
    ("prompt", "Start a run; with `streamingBehavior` it is queued while one streams."),
    ("steer", "Into the running run at its next safe point."),
    ("follow_up", "After everything else the running run wants to do."),
    ("abort", "Stop the run and wait until it has stopped."),
    ("abort_and_prompt", "Both, in this order."),
    ("new_session", "Start over."),
    ("set_locale", "The language to answer in."),
    ("get_state", "The session as it stands."),
    ("set_todos", "Replace the list of tasks."),
    ("set_host_tools", "Replace the host's own tools."),
    ("get_integrations", "What is connected."),
    ("set_model", "Use this model from the next call on."),
    ("cycle_model", "Use the next model."),
    ("get_available_models", "All models with credentials."),
    ("set_thinking_level", "How much to think; clamped to what the model can."),
    ("cycle_thinking_level", "The next level."),
    ("get_available_thinking_levels", "All levels of the model."),
    ("set_steering_mode", "`all` or `one-at-a-time`."),
    ("set_follow_up_mode", "`all` or `one-at-a-time`."),
    ("set_interrupt_mode", "`immediate` or `wait`."),
    ("compact", "Summarise older messages."),
    ("set_auto_compaction", "Switch it."),
    ("set_auto_retry", "Switch it."),
    ("abort_retry", "End a retry wait."),
    ("bash", "Run a command of the user's own."),
    ("abort_bash", "Stop it."),
    ("get_session_stats", "Counts, tokens, cost."),
    ("export_html", "Write a page to read."),
    ("switch_session", "Go to another session file."),
    ("branch", "A new session from before one user message."),
    ("fork", "As `branch`."),
    ("clone", "A new session with everything."),
    ("get_branch_messages", "User messages that can be branched from."),
    ("get_fork_messages", "As `get_branch_messages`."),
    ("get_last_assistant_text", "What was said last."),
    ("set_session_name", "Give it a name."),
    ("get_messages", "What the model sees."),
    ("get_messages_page", "The same in pages."),
    ("get_commands", "Slash commands of extensions."),
    ("get_available_commands", "As `get_commands`."),
    ("clear_queue", "Take everything back that waits."),
    ("get_entries", "Lines of the session file."),
    ("get_tree", "The same as a tree."),
    ("get_login_providers", "Who could be logged in to."),
    ("login", "Not in this mode."),
    ("set_fast_mode", "Off is accepted; there is one speed."),
    ("set_subagent_subscription", "Accepted; a sub-agent is seen as its call."),
    ("set_event_filter", "Only these events from now on; `null` for all."),
    ("open_session", "The newest session of a directory, or a new one there."),
    ("get_subagents", "None."),
    ("get_subagent_messages", "None."),
    ("negotiate_protocol", "Agree on version 1."),
    ("handoff", "Summarise and go on in a new session."),
    ("set_host_uri_schemes", "Accepted when empty."),
];

fn get<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        // `missing field `x` at line 1 column 30`: the place is of no use, the whole command is one line.
        let error = error.to_string();
        error.split(" at line ").next().unwrap_or_default().to_owned()
    })
}

/// The members that commands have, each optional here; what a command needs is asked for by name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandMembers {
    locale: Option<String>,
    provider: Option<String>,
    model_id: Option<String>,
    level: Option<String>,
    mode: Option<String>,
    custom_instructions: Option<String>,
    enabled: Option<bool>,
    command: Option<String>,
    exclude_from_context: Option<bool>,
    output_path: Option<String>,
    session_path: Option<String>,
    parent_session: Option<String>,
    entry_id: Option<String>,
    name: Option<String>,
    cursor: Option<String>,
    limit: Option<u64>,
    since: Option<String>,
    provider_id: Option<String>,
    protocol_version: Option<u64>,
    session_dir: Option<String>,
}

fn need<T>(name: &str, value: Option<T>) -> Result<T, String> {
    value.ok_or_else(|| format!("missing field `{name}`"))
}

#[derive(Deserialize)]
struct SetTodos {
    phases: Vec<PhaseMember>,
}
#[derive(Deserialize)]
struct SetHostTools {
    tools: Vec<HostTool>,
}
#[derive(Deserialize)]
struct Schemes {
    #[serde(default)]
    schemes: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct EventFilter {
    /// Whoever leaves it out may have meant another command.
    #[serde(deserialize_with = "Deserialize::deserialize")]
    events: Option<Vec<String>>,
}

fn read(name: &str, text: &str) -> Result<Command, String> {
    let it = || get::<CommandMembers>(text);
    Ok(match name {
        "prompt" => Command::Prompt(get(text)?),
        "steer" => Command::Steer(get(text)?),
        "follow_up" => Command::FollowUp(get(text)?),
        "abort" => Command::Abort,
        "abort_and_prompt" => Command::AbortAndPrompt(get(text)?),
        "new_session" => Command::NewSession { parent: it()?.parent_session },
        "set_locale" => Command::SetLocale { locale: need("locale", it()?.locale)? },
        "get_state" => Command::GetState,
        "set_todos" => Command::SetTodos { phases: get::<SetTodos>(text)?.phases },
        "set_host_tools" => Command::SetHostTools { tools: get::<SetHostTools>(text)?.tools },
        "get_integrations" => Command::GetIntegrations,
        "set_model" => {
            let it = it()?;
            let (provider, model) = (need("provider", it.provider)?, need("modelId", it.model_id)?);
            Command::SetModel { provider: provider.trim().to_owned(), model: model.trim().to_owned() }
        }
        "cycle_model" => Command::CycleModel,
        "get_available_models" => Command::GetAvailableModels,
        "set_thinking_level" => Command::SetThinkingLevel { level: need("level", it()?.level)? },
        "cycle_thinking_level" => Command::CycleThinkingLevel,
        "get_available_thinking_levels" => Command::GetThinkingLevels,
        "set_steering_mode" => Command::SetSteeringMode { mode: need("mode", it()?.mode)? },
        "set_follow_up_mode" => Command::SetFollowUpMode { mode: need("mode", it()?.mode)? },
        "set_interrupt_mode" => Command::SetInterruptMode { mode: need("mode", it()?.mode)? },
        "compact" => Command::Compact { instructions: it()?.custom_instructions },
        "set_auto_compaction" => Command::SetAutoCompaction { enabled: need("enabled", it()?.enabled)? },
        "set_auto_retry" => Command::SetAutoRetry { enabled: need("enabled", it()?.enabled)? },
        "abort_retry" => Command::AbortRetry,
        "abort_bash" => Command::AbortBash,
        "bash" => {
            let it = it()?;
            let aside = it.exclude_from_context.unwrap_or(false);
            Command::Bash { command: need("command", it.command)?, aside }
        }
        "get_session_stats" => Command::GetSessionStats,
        "export_html" => Command::ExportHtml { path: it()?.output_path },
        // An empty one names no file; below a directory it would be the directory.
        "switch_session" => {
            let path = it()?.session_path.filter(|path| !path.trim().is_empty());
            Command::SwitchSession { path: need("sessionPath", path)? }
        }
        "branch" | "fork" => Command::Branch { entry: need("entryId", it()?.entry_id)? },
        "clone" => Command::Clone,
        "get_branch_messages" | "get_fork_messages" => Command::GetBranchMessages,
        "get_last_assistant_text" => Command::GetLastAssistantText,
        "set_session_name" => Command::SetSessionName { name: need("name", it()?.name)? },
        "get_messages" => Command::GetMessages,
        "get_messages_page" => {
            let it = it()?;
            Command::GetMessagesPage { cursor: it.cursor, limit: it.limit }
        }
        "get_commands" | "get_available_commands" => Command::GetCommands,
        "clear_queue" => Command::ClearQueue,
        "get_entries" => Command::GetEntries { since: it()?.since },
        "get_tree" => Command::GetTree,
        "get_login_providers" => Command::GetLoginProviders,
        "login" => Command::Login { provider: need("providerId", it()?.provider_id)? },
        "set_fast_mode" => Command::SetFastMode { enabled: need("enabled", it()?.enabled)? },
        "set_subagent_subscription" => Command::SetSubagentSubscription { level: need("level", it()?.level)? },
        "set_event_filter" => Command::SetEventFilter { events: get::<EventFilter>(text)?.events },
        "open_session" => Command::OpenSession { dir: need("sessionDir", it()?.session_dir)? },
        "get_subagents" => Command::GetSubagents,
        "get_subagent_messages" => Command::GetSubagentMessages,
        "negotiate_protocol" => {
            Command::NegotiateProtocol { version: need("protocolVersion", it()?.protocol_version)? }
        }
        "handoff" => Command::Handoff { instructions: it()?.custom_instructions },
        "set_host_uri_schemes" => Command::SetHostUriSchemes { schemes: get::<Schemes>(text)?.schemes },
        other => unreachable!("{other} is in the table and not here; the test of every command would have found it"),
    })
}

#[derive(Deserialize)]
struct UiResponse {
    id: String,
    value: Option<String>,
    confirmed: Option<bool>,
    cancelled: Option<bool>,
}

#[derive(Deserialize)]
struct HostResult {
    id: String,
    #[serde(alias = "partialResult")]
    result: HostContent,
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct HostContent {
    content: Vec<PromptContent>,
    #[serde(default)]
    details: Option<Box<RawValue>>,
}

/// A frame, read as an answer of the host.
enum ReadAnswer {
    Whole(HostAnswer),
    /// It lacks what would make it one.
    Incomplete,
    /// Its type is that of a command, or of nothing.
    OtherType,
}

fn answer(name: &str, text: &str) -> ReadAnswer {
    let answer = match name {
        "extension_ui_response" => serde_json::from_str::<UiResponse>(text).ok().and_then(|it| {
            let UiResponse { id, value, confirmed, cancelled } = it;
            let answer = match (cancelled, value, confirmed) {
                (Some(true), _, _) => UiAnswer::Cancelled,
                (_, Some(value), _) => UiAnswer::Value(value),
                (_, _, Some(confirmed)) => UiAnswer::Confirmed(confirmed),
                _ => return None,
            };
            Some(HostAnswer::Ui { id, answer })
        }),
        "host_tool_update" => serde_json::from_str::<HostResult>(text)
            .ok()
            .map(|it| HostAnswer::ToolUpdate { id: it.id, content: it.result.content }),
        "host_tool_result" => serde_json::from_str::<HostResult>(text).ok().map(|it| HostAnswer::ToolResult {
            id: it.id,
            content: it.result.content,
            details: it.result.details.map(|details| Json::trusted(details.get())),
            is_error: it.is_error.unwrap_or(false),
        }),
        _ => return ReadAnswer::OtherType,
    };
    answer.map_or(ReadAnswer::Incomplete, ReadAnswer::Whole)
}
