//! `repl`: line after line. On a terminal they are typed at a console with history and completion, also ahead; otherwise
//! they come from stdin as it is, so that a script can talk too. Either way a line is taken only when the conversation
//! wants one.

mod completion;

use console::{FEED_BYTES, Interaction, KeyboardUse, StandardStreams, feed_lines};
use dialect_terminal::{AnswerPolicy, TerminalDialect, TerminalOptions};

use crate::args;
use crate::compose;
use crate::extension_host;
use crate::print::warning;
use crate::setup::Prepared;

use super::run::{BUILTINS, GRACE, LOOKING, STARTING, frame_log, prepare, price_of};
pub(super) use completion::{Completion, CompletionWords};

pub(crate) fn run(args: args::Repl) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = match super::attached::gateway(args.attach.attach.as_ref())? {
        Some(found) => runtime.block_on(super::attached::repl(&found, &args))?,
        None => runtime.block_on(start(args))?,
    };
    // A thread may still sit in a read that nothing can end.
    runtime.shutdown_background();
    Ok(code)
}

async fn start(args: args::Repl) -> anyhow::Result<u8> {
    let streams = StandardStreams::look();
    let Prepared { setup, config, mut open, home, extensions } = prepare(&args.basics, args.continues)?;
    let frame_log = frame_log(&args.basics, &setup.models.keyring)?;
    let history = (!args.basics.no_session).then(|| home.history_file());
    let interaction = Interaction::take(&streams, KeyboardUse::All { history })?;
    interaction.console.waits(Some(LOOKING));
    let wired = compose::build(setup).await?;
    interaction.console.waits(None);
    wired.notes.iter().for_each(|line| warning(line));
    interaction.console.waits(Some(STARTING));
    open.model = open.model.map(|_| wired.settings.model.clone());
    let skills = extension_host::skill_places(&wired, &home, &config);
    let extension_host = extension_host::start(&wired, extensions, Some(skills)).await;
    let completion = Completion::fetch(&wired.ports, wired.engine.extension_commands());
    interaction.console.completes_with(Box::new(move |line| completion.complete(line)));
    let answers = match () {
        () if args.yes => AnswerPolicy::AllowAll,
        // A script knows what it answers; a person who cannot read the question does not.
        () if streams.stdin_terminal && !streams.stdout_terminal => AnswerPolicy::Nobody,
        () => AnswerPolicy::Person,
    };
    let way_back = (!args.basics.no_session).then(|| "tillerman repl --resume".to_owned());
    let options = TerminalOptions {
        open,
        once: None,
        answers,
        way_back,
        bound: args.basics.mode,
        is_shared: false,
        builtins: BUILTINS,
    };
    let terminal = TerminalDialect::new(options, streams.text_renderer(true).with_prices(price_of(&wired)));
    let options = host::PumpOptions { grace: GRACE, frame_log, ..host::PumpOptions::default() };
    interaction.console.waits(None);
    interaction.begins();
    let (_guard, output, lines) = interaction.parts();
    let (feed, reader) = tokio::io::duplex(FEED_BYTES);
    tokio::spawn(feed_lines(lines, feed));
    let ended = host::pump(terminal, &wired.engine, reader, output, options).await;
    wired.engine.shutdown().await;
    extension_host.shutdown().await;
    Ok(ended.exit_code)
}
