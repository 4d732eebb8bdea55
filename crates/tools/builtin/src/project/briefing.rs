//! What a session's model is told of the place it works in: the day, the machine, the repository, the instructions that lie
//! there and the skills there are. What came with the code is told only where the user trusts it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills::{Origin, Places, Skill};
use vocab::visible::{shell_word, visible_line, visible_path};
use vocab::{Briefing, Clock, Keyring, Later, Surroundings};

use super::{BYTES_MAX, InstructionSearch, Instructions, Repository};
use crate::Workspace;
use crate::workspace::Guard;

/// Skills that are named; of more, only the number is.
const SKILLS_MAX: usize = 64;

const HEADING: &str = "Instructions of the user and of this project, each under the file it is from. Those further down are \
nearer to the workspace and count more; what the user says in the conversation counts most.";
const SKILLS: &str =
    "Skills are instructions for special tasks. When a task is what a skill is for, read its file first.";

/// What is told besides day, machine and repository.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BriefingSettings {
    /// `AGENTS.md` and `CLAUDE.md`.
    pub files: bool,
    pub skills: bool,
    /// Directories whose files the user trusts.
    pub trusted: Vec<PathBuf>,
    /// Where the user stands, if that is known: in a workspace that holds it, instructions are read down to there.
    pub here: Option<PathBuf>,
}

/// Looks at a workspace.
#[derive(Clone)]
pub struct Briefer {
    pub settings: BriefingSettings,
    pub guard: Guard,
    /// The user's configuration, and the user's own instructions.
    pub config: PathBuf,
    /// The user's own skills.
    pub data: PathBuf,
    pub secrets: Keyring,
    pub clock: Arc<dyn Clock>,
}

impl Surroundings for Briefer {
    fn briefing(&self, workspace: &Path) -> Option<Later<'static, Briefing>> {
        Some(Box::pin(self.clone().look(workspace.to_owned())))
    }
}

impl Briefer {
    pub async fn look(self, workspace: PathBuf) -> Briefing {
        let below = self.settings.here.as_deref().and_then(|here| here.strip_prefix(&workspace).ok());
        let below = below.filter(|below| !below.as_os_str().is_empty()).map(Path::to_owned);
        // Whatever lies on the way down to the user counts, too.
        let nearest = below.as_ref().map_or_else(|| workspace.clone(), |below| workspace.join(below));
        let (day, home, secrets) = (day(self.clock.now_ms()), self.guard.home.clone(), self.secrets.clone());
        let handle = Workspace::open(&workspace, self.guard.clone()).ok().map(Arc::new);
        let standing = async {
            match handle {
                Some(handle) => super::repository(handle, home, &secrets).await,
                None => None,
            }
        };
        let reading = tokio::task::spawn_blocking(move || (self.instructions(&nearest), self.skills(&nearest)));
        let (repository, read) = tokio::join!(standing, reading);
        let (found, skills) = read.unwrap_or_default();
        let instructions = [instructed(&found), listed(&skills)].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        let mut surroundings = surroundings(&day, repository.as_ref());
        if let Some(below) = below {
            let below = visible_path(&below);
            let _ = write!(
                surroundings,
                "\nThe user stands in `{below}` of the workspace: what they name without a path is probably there."
            );
        }
        Briefing { surroundings, instructions, notes: notes(&found) }
    }

    fn instructions(&self, workspace: &Path) -> Instructions {
        if !self.settings.files {
            return Instructions::default();
        }
        super::search(&InstructionSearch {
            workspace,
            guard: self.guard.clone(),
            own: Some(&self.config),
            trusted: &self.settings.trusted,
            home: self.guard.home.as_deref(),
        })
    }

    /// A stranger's are not named: their descriptions are a stranger's words.
    fn skills(&self, workspace: &Path) -> Vec<Skill> {
        let places = Places {
            cwd: workspace.to_owned(),
            data_dir: Some(self.data.clone()),
            home: self.guard.home.clone(),
            trusted: self.settings.trusted.clone(),
        };
        if !self.settings.skills || !skills::is_any(&places) {
            return Vec::new();
        }
        skills::scan(&places).skills.into_iter().filter(|skill| skill.origin != Origin::Stranger).collect()
    }
}

/// No more than the day: a text that changes by the minute is in no provider's cache.
fn day(at_ms: i64) -> String {
    let (year, month, day) = vocab::civil(at_ms);
    format!("{year:04}-{month:02}-{day:02}")
}

fn surroundings(day: &str, repository: Option<&Repository>) -> String {
    let (os, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let shell = process::leash::shell_in(std::env::var_os("PATH").as_deref());
    let mut text = format!("Date: {day} (UTC)\nSystem: {os} ({machine})\nShell: {}\n", visible_path(&shell));
    let Some(Repository { top, head, state }) = repository else {
        text.push_str("Git: no repository\n");
        return text;
    };
    let _ = write!(text, "Git repository: {}", visible_path(top));
    if let Some(head) = head {
        let _ = write!(text, "\nGit branch: {head}");
    }
    if let Some(state) = state {
        let _ = write!(text, "\nGit state at the start: {state}");
    }
    text
}

fn instructed(found: &Instructions) -> Option<String> {
    let mut text = HEADING.to_owned();
    for file in &found.texts {
        let _ = write!(text, "\n\n# {}\n\n{}", visible_path(&file.path), file.text);
        if file.cut > 0 {
            let _ = write!(text, "\n[{} bytes of this file do not fit here; read it for the rest]", file.cut);
        }
    }
    (!found.texts.is_empty()).then_some(text)
}

fn listed(skills: &[Skill]) -> Option<String> {
    let mut text = SKILLS.to_owned();
    for skill in skills.iter().take(SKILLS_MAX) {
        let path = visible_path(&skill.source_path);
        let _ = write!(text, "\n- {}: {} ({path})", skill.name, skill.description_preview());
    }
    if skills.len() > SKILLS_MAX {
        let _ = write!(text, "\nand {} more", skills.len() - SKILLS_MAX);
    }
    (!skills.is_empty()).then_some(text)
}

/// The command that trusts a directory. One whose name does not show cannot be typed; whoever stands in it need not.
fn trusting(dir: &Path) -> String {
    let add = "tillerman config add trusted_workspaces";
    match dir.to_str().filter(|name| visible_line(name) == **name) {
        Some(name) => format!("{add} {}", shell_word(name)),
        None => format!("{add} . (there)"),
    }
}

/// What people should know about all that.
fn notes(found: &Instructions) -> Vec<String> {
    let mut notes = Vec::new();
    if !found.untrusted.is_empty() {
        let files: Vec<String> = found.untrusted.iter().map(|path| visible_path(path)).collect();
        let (files, dir, trust) = (files.join(", "), visible_path(&found.to_trust), trusting(&found.to_trust));
        notes.push(format!(
            "not read, because it came with the code and you have not said that you trust {dir}: {files}. If you do: \
             {trust} (what its settings name may then start, too)"
        ));
    }
    notes.extend(found.refused.iter().map(|what| format!("not read: {what}")));
    notes.extend(found.texts.iter().filter(|file| file.cut > 0).map(|file| {
        let (path, cut, max) = (visible_path(&file.path), file.cut, BYTES_MAX);
        format!("{path}: {cut} bytes are not given to the model; {max} are for all such files together")
    }));
    notes
}
