//! Slash commands: the table, and what a line means. A command never enters the lane, asks no model and leaves no message.

pub(crate) mod show;
pub(crate) mod subagents;

use std::sync::Arc;

use vocab::LanePolicy;

use crate::Gateway;
use crate::ledger::RequestId;
use crate::own::{GatewayRefusal, Out, Scopes};
use crate::params::{CoalesceWord, LaneModeWord, OverflowWord, QueuePart};
use crate::results::{CommandsResult, SlashRow};
use crate::shape::{Count, Nothing};
use subagents::SubagentWish;

/// Minutes that an elevation may last.
const ELEVATE_MINUTES_MAX: i64 = 480;
/// Bytes of a channel's name, or of a code.
const PAIR_WORD_MAX: usize = 64;

/// What a command needs to be carried out.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum CommandPlan {
    /// The lane's rules as they are, with a change, or without the session's own.
    Queue(QueueChange),
    /// Everything that runs and waits. The name that was typed.
    Stop(&'static str),
    /// Session, lane, model and usage: what several commands say.
    Status,
    /// The engine has a command of this name.
    Engine {
        shown: &'static str,
        name: &'static str,
        args: String,
    },
    Help,
    /// The conversation starts over.
    Reset,
    /// So many minutes; `None`: no more.
    Elevate(Option<i64>),
    /// Codes by which unknown senders are let in.
    Pair(PairWish),
    /// Sessions that worked for calls of this one.
    Subagents(SubagentWish),
    /// It cannot be done, and why.
    Refused {
        shown: &'static str,
        text: String,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PairWish {
    /// For this channel, or for any.
    Generate(Option<Arc<str>>),
    List,
    Revoke(Arc<str>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum QueueChange {
    None,
    Set(QueuePart),
    Usual,
}

impl CommandPlan {
    /// As results name it.
    pub(crate) fn shown(&self) -> &'static str {
        match self {
            CommandPlan::Queue(_) => "/queue",
            CommandPlan::Stop(shown) | CommandPlan::Engine { shown, .. } | CommandPlan::Refused { shown, .. } => shown,
            CommandPlan::Status => "/status",
            CommandPlan::Help => "/help",
            CommandPlan::Reset => "/reset",
            CommandPlan::Elevate(_) => "/elevate",
            CommandPlan::Pair(_) => "/pair",
            CommandPlan::Subagents(_) => "/subagents",
        }
    }
    /// What its sender must be allowed to do beyond chatting.
    pub(crate) fn scope(&self) -> Scopes {
        match self {
            CommandPlan::Elevate(_) | CommandPlan::Pair(_) => Scopes::ADMIN,
            CommandPlan::Subagents(SubagentWish::Delete(_)) => Scopes::ADMIN,
            _ => Scopes::NONE,
        }
    }
}

/// One command, as help shows it.
struct CommandRow {
    name: &'static str,
    args: &'static str,
    summary: &'static str,
    plan: fn(&str) -> Result<CommandPlan, String>,
}

static COMMANDS: &[CommandRow] = &[
    row("/queue", "[set k=v … | MODE | reset]", "Show or change the rules of this session's lane.", queue),
    row("/stop", "", "Stop what runs and what waits.", |_| Ok(CommandPlan::Stop("/stop"))),
    row("/cancel", "", "The same.", |_| Ok(CommandPlan::Stop("/cancel"))),
    row("/context", "", "Show how full the context window is.", |_| Ok(engine("/context", "context", ""))),
    row("/status", "", "Show session, lane, model and usage.", |_| Ok(CommandPlan::Status)),
    row("/model", "[tier]", "Show or change the model.", |args| Ok(engine("/model", "model", args))),
    row("/compact", "[what to keep]", "Summarise older messages.", |args| Ok(engine("/compact", "compact", args))),
    row("/tools", "", "List the tools.", |_| Ok(engine("/tools", "tools", ""))),
    row("/reset", "", "Start the conversation over.", |_| Ok(CommandPlan::Reset)),
    row("/elevate", "MINUTES | off", "Ask nobody for a while.", elevate),
    row("/pair", "[generate [CHANNEL] | list | revoke CODE]", "Let an unknown sender in.", pair),
    row("/subagents", "[list | summary ID | delete ID]", "Sub-agents of this session.", subagents::plan),
    row("/runtime", "", "Which backend runs the sessions.", |_| Ok(no_backends("/runtime"))),
    row("/backend", "", "The same.", |_| Ok(no_backends("/backend"))),
    row("/help", "", "Show this list.", |_| Ok(CommandPlan::Help)),
];

const fn row(
    name: &'static str,
    args: &'static str,
    summary: &'static str,
    plan: fn(&str) -> Result<CommandPlan, String>,
) -> CommandRow {
    CommandRow { name, args, summary, plan }
}

fn engine(shown: &'static str, name: &'static str, args: &str) -> CommandPlan {
    CommandPlan::Engine { shown, name, args: args.to_owned() }
}

fn no_backends(shown: &'static str) -> CommandPlan {
    CommandPlan::Refused { shown, text: "no other backends are built in: every session runs here".to_owned() }
}

/// What a message means where its first word is a command; `None`: it is for the model, as `/etc/hosts` is.
pub(crate) fn plan(message: &str) -> Option<CommandPlan> {
    let line = message.trim();
    let (word, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let row = COMMANDS.iter().find(|row| row.name == word)?;
    Some((row.plan)(args.trim()).unwrap_or_else(|why| CommandPlan::Refused {
        shown: row.name,
        text: format!("{why}\nusage: {} {}", row.name, row.args).trim_end().to_owned(),
    }))
}

/// All of them, as help shows them.
pub(crate) fn list(gateway: &mut Gateway, id: RequestId, _: Nothing, out: &mut Out) -> Result<(), GatewayRefusal> {
    let info = |row: &CommandRow| SlashRow { name: row.name, args: row.args, summary: row.summary };
    gateway.answer(id, &CommandsResult { commands: COMMANDS.iter().map(info).collect() }, out);
    Ok(())
}

/// The first words of messages that are commands.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|row| row.name)
}

pub(crate) fn help() -> String {
    let heads: Vec<String> = COMMANDS.iter().map(|row| format!("{} {}", row.name, row.args)).collect();
    let width = heads.iter().map(|head| head.chars().count()).max().unwrap_or(0);
    let lines = COMMANDS.iter().zip(&heads).map(|(row, head)| format!("{head:width$}  {}", row.summary));
    lines.collect::<Vec<_>>().join("\n")
}

fn queue(args: &str) -> Result<CommandPlan, String> {
    let nothing = QueuePart {
        mode: None,
        cap: None,
        overflow: None,
        debounce_ms: None,
        summarize_overflow: None,
        coalesce: None,
    };
    let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let change = match word {
        "" => QueueChange::None,
        "reset" if rest.trim().is_empty() => QueueChange::Usual,
        "set" => {
            let pairs = rest.split_whitespace();
            let set = pairs.clone().try_fold(nothing, queue_pair)?;
            if pairs.count() == 0 {
                return Err("nothing is said to be set".to_owned());
            }
            QueueChange::Set(set)
        }
        mode if rest.trim().is_empty() => QueueChange::Set(queue_pair(nothing, &format!("mode={mode}"))?),
        _ => return Err(format!("`{word}` is not understood")),
    };
    Ok(CommandPlan::Queue(change))
}

/// `k=v` or `k:v`.
fn queue_pair(mut set: QueuePart, pair: &str) -> Result<QueuePart, String> {
    let (key, value) = pair.split_once(['=', ':']).ok_or_else(|| format!("`{pair}` is no k=v"))?;
    let words = |words: &[&str]| format!("`{key}` is one of {}", words.join(", "));
    match key {
        "mode" => set.mode = Some(LaneModeWord::parse(value).ok_or_else(|| words(LaneModeWord::WORDS))?),
        "overflow" => set.overflow = Some(OverflowWord::parse(value).ok_or_else(|| words(OverflowWord::WORDS))?),
        "coalesce" => set.coalesce = Some(CoalesceWord::parse(value).ok_or_else(|| words(CoalesceWord::WORDS))?),
        "cap" => {
            let cap = value.parse().ok().filter(|cap| (1..=1000).contains(cap));
            set.cap = Some(Count(cap.ok_or("`cap` is 1..1000")?));
        }
        "debounce" | "debounceMs" => {
            let ms = duration_ms(value).filter(|ms| (0..=60_000).contains(ms));
            set.debounce_ms = Some(Count(ms.ok_or("`debounce` is 0..60000 ms, as 500ms or 2s")?));
        }
        "summarize" | "summarizeOverflow" => {
            let on = match value {
                "true" | "on" | "yes" => Some(true),
                "false" | "off" | "no" => Some(false),
                _ => None,
            };
            set.summarize_overflow = Some(on.ok_or("`summarize` is true or false")?);
        }
        _ => return Err(format!("`{key}` is none of mode, cap, overflow, debounce, summarize, coalesce")),
    }
    Ok(set)
}

/// `500`, `500ms`, `2s`.
fn duration_ms(text: &str) -> Option<i64> {
    match text.strip_suffix("ms") {
        Some(ms) => ms.parse().ok(),
        None => match text.strip_suffix('s') {
            Some(seconds) => seconds.parse::<i64>().ok()?.checked_mul(1000),
            None => text.parse().ok(),
        },
    }
}

fn elevate(args: &str) -> Result<CommandPlan, String> {
    if args == "off" {
        return Ok(CommandPlan::Elevate(None));
    }
    let minutes = args.parse().ok().filter(|minutes| (1..=ELEVATE_MINUTES_MAX).contains(minutes));
    Ok(CommandPlan::Elevate(Some(minutes.ok_or(format!("minutes are 1..{ELEVATE_MINUTES_MAX}"))?)))
}

fn pair(args: &str) -> Result<CommandPlan, String> {
    let words: Vec<&str> = args.split_whitespace().collect();
    let wish = match words.as_slice() {
        [] | ["generate"] => PairWish::Generate(None),
        ["generate", channel] if channel.len() <= PAIR_WORD_MAX => PairWish::Generate(Some((*channel).into())),
        ["list"] => PairWish::List,
        ["revoke", code] if code.len() <= PAIR_WORD_MAX => PairWish::Revoke((*code).into()),
        _ => return Err("that is not understood".to_owned()),
    };
    Ok(CommandPlan::Pair(wish))
}

/// The rules of a lane in one line.
pub(crate) fn lane_line(lane: &LanePolicy, depth: usize, is_own: bool) -> String {
    let shown = crate::results::QueuePolicy::from(lane);
    let own = if is_own { "this session's own" } else { "as usual" };
    format!(
        "queue: mode={} cap={} overflow={} debounce={}ms summarize={} coalesce={} ({own}); {depth} waiting",
        shown.mode.as_str(),
        shown.cap,
        shown.overflow.as_str(),
        shown.debounce_ms,
        shown.summarize_overflow,
        shown.coalesce.as_str(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_command_is_for_the_model() {
        for line in ["/etc/hosts say 2 words", "/", "hello /queue", "/Queue", "/queued", "", "  "] {
            assert_eq!(plan(line), None, "{line}");
        }
        assert_eq!(plan(" /stop now ").map(|it| it.shown()), Some("/stop"));
    }

    #[test]
    fn the_lane_is_set_by_pairs_or_by_its_mode() {
        let set = |line: &str| match plan(line) {
            Some(CommandPlan::Queue(QueueChange::Set(part))) => part.wish().over(LanePolicy::default()),
            other => panic!("{line}: {other:?}"),
        };
        let lane = set("/queue set mode=followup cap:1 overflow=drop_new debounce=2s summarize=on coalesce=never");
        let shown = lane_line(&lane, 3, true);
        assert_eq!(
            shown,
            "queue: mode=followup cap=1 overflow=drop_new debounce=2000ms summarize=true coalesce=never (this session's own); 3 waiting"
        );
        assert_eq!(set("/queue steer").mode, vocab::LaneMode::Steer);
        assert_eq!(set("/queue set debounce=500ms").debounce_ms, 500);
        assert_eq!(set("/queue set debounce=7").debounce_ms, 7);
        assert_eq!(plan("/queue"), Some(CommandPlan::Queue(QueueChange::None)));
        assert_eq!(plan("/queue reset"), Some(CommandPlan::Queue(QueueChange::Usual)));
    }

    #[test]
    fn bad_arguments_get_the_usage() {
        for line in [
            "/queue set mode=bogus",
            "/queue set",
            "/queue set cap=0",
            "/queue set cap=1001",
            "/queue set debounce=61s",
            "/queue set debounce=99999999999999999s",
            "/queue set nonsense",
            "/queue set x=1",
            "/queue bogus",
            "/queue reset all",
            "/elevate",
            "/elevate 0",
            "/elevate 481",
            "/pair revoke",
            "/pair nonsense",
            "/pair list all",
            "/subagents what",
            "/subagents summary",
        ] {
            let Some(CommandPlan::Refused { text, .. }) = plan(line) else { panic!("{line}") };
            assert!(text.contains("usage: /"), "{line}: {text}");
        }
        assert_eq!(plan("/pair"), Some(CommandPlan::Pair(PairWish::Generate(None))));
        assert_eq!(plan("/pair revoke AB12"), Some(CommandPlan::Pair(PairWish::Revoke("AB12".into()))));
        assert_eq!(plan("/pair list").map(|it| it.scope()), Some(Scopes::ADMIN));
        assert_eq!(plan("/subagents"), Some(CommandPlan::Subagents(SubagentWish::List)));
        assert_eq!(plan("/subagents delete x").map(|it| it.scope()), Some(Scopes::ADMIN));
        assert_eq!(plan("/elevate 30"), Some(CommandPlan::Elevate(Some(30))));
        assert_eq!(plan("/elevate off").map(|it| it.scope()), Some(Scopes::ADMIN));
    }
}
