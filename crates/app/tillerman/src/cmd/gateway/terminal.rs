//! `/terminal`: the dialect for people, spoken here to a screen that is somewhere else. The first message says what was typed
//! on the command line and what the screen can do; every message behind it is a line, and what comes back is text.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dialect_terminal::{
    AnswerPolicy, JsonRenderer, Paint, ScreenSize, SideChannel, TerminalDialect, TerminalOptions, TextRenderer,
};
use gateway::{Caller, DoorEnd, Entrance, EntranceRules, MessagePipe, converse_text, turn_away};
use host::{DaemonEnding, Ended};
use serde::{Deserialize, Serialize};
use vocab::{Abilities, Later, Mode, Open, Part, Which};
use wire::Close;

use super::arguments::{Wished, first_line};
use super::doors::{DRIVES, DoorParts};
use crate::args::{self, CommandArgs, RunArgs};
use crate::cmd::repl::CompletionWords;
use crate::cmd::run::{BUILTINS, price_of};

/// How long a screen may take to say what it is.
const HELLO: Duration = Duration::from_secs(10);

/// How long lists of models may take that are wanted for completion; then there are none.
const WORDS: Duration = Duration::from_secs(10);

/// The first message of who wants no conversation, only the words that are completed with: [`CompletionWords`], once.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cmd) struct WantsWords {
    pub(in crate::cmd) completes: bool,
}

/// The first message.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cmd) struct Hello {
    /// Of the whole command line.
    pub(in crate::cmd) words: Vec<String>,
    /// Where it was typed, if that is a directory of this machine.
    pub(in crate::cmd) from: Option<PathBuf>,
    /// The one prompt of `run`; without it lines are prompts.
    pub(in crate::cmd) prompt: Option<String>,
    /// Somebody is there who can answer questions.
    pub(in crate::cmd) answers: bool,
    pub(in crate::cmd) screen: ScreenFacts,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cmd) struct ScreenFacts {
    pub(in crate::cmd) colours: bool,
    /// Everything is one flow of text; otherwise only the answer is.
    pub(in crate::cmd) inline: bool,
    /// Columns and rows.
    pub(in crate::cmd) size: Option<(usize, usize)>,
}

pub(super) struct TerminalDoor(pub(super) Arc<DoorParts>);

impl Entrance for TerminalDoor {
    fn serve(&self, caller: Caller, mut pipe: MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        let parts = self.0.clone();
        Box::pin(async move {
            let first = tokio::time::timeout(HELLO, poll_fn(|context| pipe.0.poll_receive(context))).await;
            let first = first.ok().flatten().unwrap_or_default();
            if let Ok(WantsWords { completes: true }) = serde_json::from_slice(&first) {
                return tell_words(&parts, pipe).await;
            }
            let hello = serde_json::from_slice::<Hello>(&first).ok();
            let wish = match hello {
                Some(hello) => wish(&parts, &hello).map(|wish| (wish, hello)),
                None => Err("the first message says what the screen is".to_owned()),
            };
            match wish {
                Ok(((args, wished), hello)) => talk(&parts, caller, pipe, ending, (args, wished, hello)).await,
                Err(why) => turn_away(pipe, why).await,
            }
        })
    }
    fn refuses(&self, caller: &Caller) -> Option<String> {
        gateway::takes_no_arguments(caller)
    }
    fn rules(&self) -> EntranceRules {
        EntranceRules { on_close: DoorEnd::JustGoes.on_close(), scopes: DRIVES, ..EntranceRules::default() }
    }
}

/// Says the words, and that this was all.
async fn tell_words(parts: &DoorParts, (_, mut sink): MessagePipe) -> Ended {
    let commands = parts.wired.engine.extension_commands();
    let gathered = CompletionWords::gather(&parts.wired.ports, &commands);
    let words = tokio::time::timeout(WORDS, gathered).await.unwrap_or_default();
    let message = serde_json::json!(words).to_string();
    let close = Close::normal();
    if poll_fn(|context| sink.poll_send(context, message.as_bytes())).await.is_ok() {
        poll_fn(|context| sink.poll_close(context, &close)).await;
    }
    Ended { close, exit_code: 0 }
}

fn wish(parts: &DoorParts, hello: &Hello) -> Result<(RunArgs, Wished), String> {
    let words: Vec<_> = hello.words.iter().map(Into::into).collect();
    let line = args::read(&words).map_err(|error| first_line(&error))?;
    let args = match line.command {
        None => line.bare,
        Some(CommandArgs::Run(args)) => args,
        Some(CommandArgs::Repl(args::Repl { yes, continues, basics, .. })) => {
            RunArgs { yes, continues, basics, ..RunArgs::default() }
        }
        Some(_) => return Err("run and repl are spoken here".to_owned()),
    };
    let mut usual = parts.usual();
    // A person is asked, unless the owner has said otherwise.
    usual.mode = parts.config.mode().unwrap_or(Mode::Prompt);
    let mut basics = args.basics.clone();
    if basics.workspace.is_none() {
        basics.workspace = hello.from.as_deref().and_then(builtin_tools::project::enclosing);
    }
    let asked = basics.mode.take();
    let mut wished = parts.wished(&basics, hello.from.as_deref(), usual)?;
    (wished.mode, wished.usual.mode) = (asked, asked.unwrap_or(wished.usual.mode));
    if args.continues {
        wished.which = Which::Latest;
    }
    Ok((args, wished))
}

async fn talk(
    parts: &DoorParts,
    caller: Caller,
    pipe: MessagePipe,
    ending: DaemonEnding,
    (args, wished, hello): (RunArgs, Wished, Hello),
) -> Ended {
    let Wished { which, workspace, model, mode, usual } = wished;
    let answers = match () {
        () if args.yes => AnswerPolicy::AllowAll,
        () if hello.answers => AnswerPolicy::Person,
        () => AnswerPolicy::Others,
    };
    let open = Open {
        // A session that is there already stays where it is.
        workspace: (which == Which::New || which == Which::Latest).then_some(workspace),
        model,
        mode,
        thinking: args.basics.thinking.map(Arc::from),
        controller: Some("terminal".into()),
        // Where nobody is at a keyboard, a question is for whoever else is here, or comes.
        abilities: Abilities {
            answers: answers != AnswerPolicy::Others,
            only_listens: answers == AnswerPolicy::Others,
            ..Abilities::default()
        },
        usual: Some(Arc::new(usual)),
        ..Open::new(which)
    };
    let talks = hello.prompt.is_none();
    let options = TerminalOptions {
        open,
        once: hello.prompt.map(|prompt| vec![Part::text(prompt)]),
        answers,
        way_back: Some(format!("tillerman repl {} --resume", attach::given(&hello.words))),
        bound: args.basics.mode,
        is_shared: true,
        builtins: BUILTINS,
    };
    let engine = parts.wired.engine.clone();
    if args.json {
        let lines = JsonRenderer::with_prices(price_of(&parts.wired));
        return converse_text(TerminalDialect::new(options, lines), &engine, caller, pipe, ending).await;
    }
    let ScreenFacts { colours, inline, size } = hello.screen;
    let side = if inline { SideChannel::Inline } else { SideChannel::Lines };
    let size = Box::new(move || size.map(|(cols, rows)| ScreenSize { cols, rows }));
    let text = TextRenderer::new(Paint { on: colours }, side, size, talks).with_prices(price_of(&parts.wired));
    let text = if args.quiet { text.quiet() } else { text };
    converse_text(TerminalDialect::new(options, text), &engine, caller, pipe, ending).await
}
