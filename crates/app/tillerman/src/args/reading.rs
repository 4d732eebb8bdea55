//! From the words of a command line to its meaning, or to what was probably meant.

use std::ffi::OsString;
use std::io::Write;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Error, FromArgMatches};
use vocab::visible::shell_word;

use super::{CommandArgs, CommandLine, RpcArgs};
use vocab::nearest::{distance, nearest};

/// Edits that make a single word a command: `rum` is `run`, but `hello` is not `help`.
const SLIPS_MAX: usize = 1;

/// Flags that every conversation has and hardly anybody types: `run --help` lists them.
const RARE: [&str; 10] = [
    "config",
    "max_tokens",
    "max_iterations",
    "system_prompt",
    "append_system_prompt",
    "log_frames",
    "extensions",
    "no_extensions",
    "no_session",
    "no_context_files",
];

/// The table, with what means nothing in a place left out of its help.
pub(crate) fn line() -> clap::Command {
    let hide = |arg: clap::Arg| arg.hide(true);
    let mut line = CommandLine::command();
    for rare in RARE {
        line = line.mut_arg(rare, hide);
    }
    // Clients name the directory and the session over the wire; who starts us with these flags all the same gets an answer.
    line.mut_subcommand("acp", |acp| acp.mut_arg("workspace", hide).mut_arg("resume", hide).mut_arg("no_session", hide))
        .mut_subcommand("loaf", |loaf| loaf.mut_arg("resume", hide).mut_arg("no_session", hide))
        .mut_subcommand("gateway", |gateway| {
            ["resume", "on_restart", "no_session", "log_frames"]
                .into_iter()
                .fold(gateway, |it, arg| it.mut_arg(arg, hide))
        })
}

/// Reads the process's arguments; help, version and wrong usage end it here (usage with code 2). A controller that starts
/// `serve` reads nothing but stdout, so there wrong usage is said as a line of the dialect; one that starts `loaf` looks for
/// that dialect's one line on stderr.
pub(crate) fn parse() -> CommandLine {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // `help --help` is a call for help, and so is `help run -h`.
    if words.first().is_some_and(|first| first == "help") {
        words.retain(|word| word != "--help" && word != "-h");
    }
    let words = attach::joined(words);
    if let Some(words) = rpc_words(&words) {
        return CommandLine {
            command: Some(CommandArgs::Rpc(RpcArgs { words: words.to_vec() })),
            ..CommandLine::default()
        };
    }
    if let Some(command) = driven(&words) {
        return CommandLine { command: Some(command), ..CommandLine::default() };
    }
    read(&words).unwrap_or_else(|error| {
        let text = error.render().to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let first = words.first().filter(|_| error.use_stderr()).and_then(|first| first.to_str());
        let code = match first {
            Some("serve") => crate::cmd::serve::refuse_flags(message),
            Some("loaf") => crate::cmd::loaf::refuse(message),
            Some("acp") => crate::cmd::acp::refuse(message),
            _ => show(&error),
        };
        std::process::exit(code.into())
    })
}

/// The commands that programs start, over and over: read by their own flags alone, since the whole table takes longer than
/// the rest of a start. Whatever is not plainly right (help, too) is left to the table.
fn driven(words: &[OsString]) -> Option<CommandArgs> {
    fn alone<T: Args>(words: &[OsString]) -> Option<T> {
        only::<T>(words).ok()
    }
    let (first, rest) = words.split_first()?;
    match first.to_str()? {
        "serve" => alone(rest).map(CommandArgs::Serve),
        "loaf" => alone(rest).map(CommandArgs::Loaf),
        "acp" => alone(rest).map(CommandArgs::Acp),
        _ => None,
    }
}

/// The words behind one command, read by its own flags.
pub(crate) fn only<T: Args>(words: &[OsString]) -> Result<T, Error> {
    let table = T::augment_args(clap::Command::new("tillerman").no_binary_name(true));
    T::from_arg_matches_mut(&mut table.try_get_matches_from(words)?)
}

/// Help or wrong usage, and the code to end with. A page that could not be written was not shown.
fn show(error: &Error) -> u8 {
    let shown = error.print().and_then(|()| std::io::stdout().flush());
    match shown {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
            crate::print::error(&format!("cannot write: {why}"), &[]);
            crate::cmd::USAGE
        }
        _ => u8::try_from(error.exit_code()).unwrap_or(crate::cmd::USAGE),
    }
}

/// Words behind the program's name.
pub(crate) fn read(words: &[OsString]) -> Result<CommandLine, Error> {
    let mut table = line();
    let all = std::iter::once(OsString::from("tillerman")).chain(words.iter().cloned());
    let read = table.try_get_matches_from_mut(all).and_then(|mut found| CommandLine::from_arg_matches_mut(&mut found));
    let line = read.map_err(|error| suggest_flag(error, &table, words))?;
    match &line.command {
        Some(_) => Ok(line),
        None => match slip(&table, &line.bare.prompt) {
            Some(error) => Err(error),
            None => Ok(line),
        },
    }
}

/// A prompt that was probably meant as a command is sent to nobody.
fn slip(table: &clap::Command, prompt: &[String]) -> Option<Error> {
    let first = prompt.first().filter(|first| !first.contains(char::is_whitespace))?;
    let names = || table.get_subcommands().flat_map(|it| it.get_name_and_visible_aliases());
    if names().any(|name| name == first) {
        let message = format!("the command comes first: `tillerman {first} ...`, its flags behind it\n");
        return Some(Error::raw(ErrorKind::ArgumentConflict, message).with_cmd(table));
    }
    let near = nearest(first, names().filter(|name| distance(first, name) <= SLIPS_MAX))?;
    // Of several words only a verb behind it tells a command from a sentence.
    let verb = |word: &String| table.find_subcommand(near).is_some_and(|it| it.find_subcommand(word).is_some());
    let meant = prompt.get(1).is_none_or(verb);
    meant.then(|| {
        let mut error = Error::new(ErrorKind::InvalidSubcommand).with_cmd(table);
        error.insert(ContextKind::InvalidSubcommand, ContextValue::String(first.clone()));
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()]));
        let anyway = format!("to ask a model about it, use `tillerman run {}`", shell_word(first));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![anyway.into()]));
        error
    })
}

/// The tip of an unknown flag by our own measure: `--modle` is `--model`, not `--mode`.
fn suggest_flag(mut error: Error, table: &clap::Command, words: &[OsString]) -> Error {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return error };
    if error.kind() != ErrorKind::UnknownArgument || !wrong.starts_with("--") {
        return error;
    }
    let mut command = table;
    for word in words.iter().map_while(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(inner) => command = inner,
            None => break,
        }
    }
    let flags: Vec<&str> =
        command.get_arguments().filter(|it| !it.is_hide_set()).filter_map(|it| it.get_long()).collect();
    if let Some(near) = nearest(&wrong[2..], flags) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{near}")));
        // It was made up from the wrong guess.
        error.remove(ContextKind::Usage);
    }
    error
}

/// What belongs to `rpc`: everything behind that word, or the whole line where `--mode rpc` is in it and no other command
/// begins it.
fn rpc_words(words: &[OsString]) -> Option<&[OsString]> {
    let (first, rest) = words.split_first()?;
    if first == "rpc" {
        return Some(rest);
    }
    let flags = words.split(|word| word == "--").next().unwrap_or_default();
    let pair = flags.windows(2).any(|pair| pair[0] == "--mode" && pair[1] == "rpc");
    if !pair && !flags.iter().any(|word| word == "--mode=rpc") {
        return None;
    }
    let other = first == "help" || CommandLine::command().get_subcommands().any(|command| first == command.get_name());
    (!other).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn rpc(line: &str) -> Option<Vec<String>> {
        let own = |words: &[OsString]| words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        rpc_words(&words(line)).map(own)
    }

    #[test]
    fn rpc_is_a_command_and_a_mode_in_any_place() {
        for line in [
            "--mode rpc",
            "--mode=rpc",
            "--model x --mode rpc -c",
            "--frob --mode rpc",
            "@f --mode rpc",
            "hello --mode rpc",
        ] {
            assert_eq!(rpc(line).map(|words| words.join(" ")).as_deref(), Some(line));
        }
        assert_eq!(rpc("rpc --model x").unwrap(), ["--model", "x"]);
        assert_eq!(rpc("rpc").unwrap().len(), 0);
        for line in
            ["", "run --mode rpc x", "serve --mode=rpc", "--mode text", "--mode", "-- --mode rpc", "help --mode rpc"]
        {
            assert_eq!(rpc(line), None, "{line}");
        }
    }

    #[test]
    fn what_programs_start_is_read_alone_as_in_the_table() {
        for line in [
            "serve",
            "serve --model x --workspace /w --permission-mode plan --max-iterations 7",
            "serve --resume latest --thinking high",
            "loaf --model=x",
            "acp --model x --on-restart continue",
        ] {
            let both = [driven(&words(line)), read(&words(line)).unwrap().command];
            let [alone, table] = both.map(|command| format!("{command:?}"));
            assert_eq!(alone, table, "{line}");
            assert_ne!(alone, "None", "{line}");
        }
        for line in ["", "serve --help", "serve --frob", "serve too many", "loaf --max-iterations 0", "run hi", "serv"]
        {
            assert!(driven(&words(line)).is_none(), "{line}");
        }
    }

    #[test]
    fn a_line_without_a_command_is_a_prompt_with_the_flags_of_run() {
        for (line, prompt) in [
            ("", ""),
            ("fix the bug", "fix the bug"),
            ("-p fix", "fix"),
            ("-c -m tour -y --mode plan go on", "go on"),
            ("hello", "hello"),
            ("please run the tests", "please run the tests"),
            ("rum and coke", "rum and coke"),
            ("-", "-"),
            ("-- --strange", "--strange"),
        ] {
            let read = read(&words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(read.command.is_none(), "{line}");
            assert_eq!(read.bare.prompt.join(" "), prompt, "{line}");
        }
        let quoted = read(&["rum is a drink".into()]).unwrap();
        assert_eq!(quoted.bare.prompt, ["rum is a drink"]);
    }

    #[test]
    fn a_slip_in_a_command_or_a_flag_is_a_tip_and_no_prompt() {
        for (line, tip) in [
            ("rum", "'run'"),
            ("sesions", "'sessions'"),
            ("sesions list", "'sessions'"),
            ("-m tour run hello", "the command comes first: `tillerman run ...`"),
            ("run --modle x hi", "'--model'"),
            ("--modle x hi", "'--model'"),
            ("sessions export x --request", "'--requests'"),
        ] {
            let said = read(&words(line)).map(|_| ()).unwrap_err().render().to_string();
            assert!(said.contains(tip), "{line}: {said}");
        }
    }
}
