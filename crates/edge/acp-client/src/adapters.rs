//! Programs that people start as agents and that speak ACP only when they are told to, or through another program. Pure.

/// How a program comes to speak ACP.
enum AdapterWay {
    /// With this word behind its name.
    Word(&'static str),
    /// Through a command that comes with it.
    Command(&'static str),
    /// Through a command that is installed by itself.
    Package { command: &'static str, install: &'static str },
}

const CODEX: AdapterWay =
    AdapterWay::Package { command: "codex-acp", install: "npm install -g @agentclientprotocol/codex-acp" };
const CLAUDE: AdapterWay = AdapterWay::Package {
    command: "claude-agent-acp",
    install: "npm install -g @agentclientprotocol/claude-agent-acp",
};
const PI: AdapterWay = AdapterWay::Package { command: "pi-acp", install: "npm install -g pi-acp" };

const WAYS: [(&str, AdapterWay); 16] = [
    ("codex", CODEX),
    ("claude", CLAUDE),
    ("claude-code", CLAUDE),
    ("pi", PI),
    ("hermes", AdapterWay::Command("hermes-acp")),
    ("vibe", AdapterWay::Command("vibe-acp")),
    ("gemini", AdapterWay::Word("--acp")),
    ("gemini-cli", AdapterWay::Word("--acp")),
    ("qwen", AdapterWay::Word("--acp")),
    ("copilot", AdapterWay::Word("--acp")),
    ("auggie", AdapterWay::Word("--acp")),
    ("cline", AdapterWay::Word("--acp")),
    ("nanocoder", AdapterWay::Word("--acp")),
    ("opencode", AdapterWay::Word("acp")),
    ("goose", AdapterWay::Word("acp")),
    ("tillerman", AdapterWay::Word("acp")),
];

/// What to start instead of a command that is known not to speak ACP as it stands.
pub fn advice(words: &[String]) -> Option<String> {
    let (name, rest) = program(words)?;
    let (_, way) = WAYS.iter().find(|(known, _)| *known == name)?;
    // Some have more than one spelling; a user who writes `--experimental-acp` knows the way.
    if rest.iter().any(|word| word.contains("acp")) {
        return None;
    }
    Some(match way {
        AdapterWay::Word(word) => format!("`{name}` speaks ACP when it is started as `{name} {word}`"),
        AdapterWay::Command(command) => {
            format!("`{name}` speaks no ACP itself: start `{command}`, which comes with it")
        }
        AdapterWay::Package { command, install } => {
            format!("`{name}` speaks no ACP itself; it needs the adapter `{command}` (`{install}`)")
        }
    })
}

/// How a command that is not there is installed.
pub(crate) fn install(name: &str) -> Option<&'static str> {
    [CODEX, CLAUDE, PI].into_iter().find_map(|way| match way {
        AdapterWay::Package { command, install } if command == name => Some(install),
        _ => None,
    })
}

/// The program's own name and the words behind it; one that a package runner starts is meant, not the runner.
fn program(words: &[String]) -> Option<(&str, &[String])> {
    const RUNNERS: [&str; 4] = ["npx", "bunx", "uvx", "pnpx"];
    let is_name = |word: &&String| !word.starts_with('-');
    let first = words.first().map(|word| file_name(word))?;
    let at = match RUNNERS.contains(&first) {
        true => 1 + words[1..].iter().position(|word| is_name(&word))?,
        false => 0,
    };
    let name = file_name(&words[at]);
    // `codex@latest`; the scope in front went with the slash.
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    Some((name, &words[at + 1..]))
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        advice(&words).unwrap_or_default()
    }

    #[test]
    fn a_program_that_needs_a_word_or_an_adapter_is_known() {
        for line in ["codex", "/opt/bin/codex --full-auto", "npx -y @openai/codex@latest"] {
            assert!(said(line).contains("adapter `codex-acp` (`npm install -g"), "{line}: {}", said(line));
        }
        assert!(said("claude").contains("`claude-agent-acp`"));
        assert_eq!(said("gemini -m x"), "`gemini` speaks ACP when it is started as `gemini --acp`");
        assert_eq!(said("hermes"), "`hermes` speaks no ACP itself: start `hermes-acp`, which comes with it");
        for fine in
            ["gemini --acp", "gemini --experimental-acp", "opencode acp", "codex-acp", "npx codex-acp", "npx", "x"]
        {
            assert_eq!(said(fine), "", "{fine}");
        }
        assert_eq!(install("pi-acp"), Some("npm install -g pi-acp"));
        assert_eq!(install("pi"), None);
    }
}
