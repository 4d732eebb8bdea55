//! Prompts of the user's own, read from files: `prompts/*.md` of the agent directory, and what the command line names. Those
//! of a project directory are a stranger's words and are not read.

use std::path::{Path, PathBuf};

use dialect_rpc::Template;

use rpc_flags::Flags;

/// Files read; the rest is passed over.
const FILES_MAX: usize = 500;
/// Larger files are no prompts and are passed over.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Of one name the first counts, and the command line comes first.
pub fn load(agent_dir: &Path, flags: &Flags) -> Vec<Template> {
    let named = flags.prompts.templates.iter().map(|path| super::expand(path));
    let own = (!flags.prompts.no_templates).then(|| agent_dir.join("prompts"));
    let mut templates: Vec<Template> = Vec::new();
    for file in named.chain(own).flat_map(files).take(FILES_MAX) {
        let Some(name) = file.file_stem().and_then(|name| name.to_str()) else { continue };
        if templates.iter().any(|known| *known.name == *name) {
            continue;
        }
        // A file that went away or cannot be read is no prompt.
        if let Some(text) = read(&file) {
            templates.push(Template::parse(name, &file.display().to_string(), &text));
        }
    }
    templates
}

/// The file itself, or the prompts of a directory by name.
fn files(path: PathBuf) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(&path) else {
        return if path.is_file() { vec![path] } else { Vec::new() };
    };
    let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|file| file.extension().is_some_and(|it| it == "md")).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Option<String> {
    safefile::read_regular_text(file, FILE_BYTES_MAX).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rpc_flags::PromptFlags;

    #[test]
    fn prompts_come_from_the_agent_directory_and_the_command_line() {
        let place = tempfile::tempdir().unwrap();
        let prompts = place.path().join("prompts");
        std::fs::create_dir(&prompts).unwrap();
        for (name, text) in [("b.md", "---\ndescription: Says b\n---\nbe $1"), ("a.md", "alpha"), ("c.txt", "no")] {
            std::fs::write(prompts.join(name), text).unwrap();
        }
        std::fs::write(prompts.join("huge.md"), vec![b'x'; FILE_BYTES_MAX as usize + 1]).unwrap();
        std::fs::write(place.path().join("a.md"), "another a").unwrap();
        let files = vec![place.path().join("a.md"), "/no/such".into()];
        let with = |no_templates| Flags {
            prompts: PromptFlags { templates: files.clone(), no_templates, ..PromptFlags::default() },
            ..Flags::default()
        };
        let shown = |flags: &Flags| {
            let all = load(place.path(), flags);
            all.iter().map(|it| format!("{}: {}", it.name, it.body)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&Flags::default()), ["a: alpha", "b: be $1"]);
        assert_eq!(shown(&with(false)), ["a: another a", "b: be $1"]);
        assert_eq!(shown(&with(true)), ["a: another a"]);
    }
}
