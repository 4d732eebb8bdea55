//! The user's skills as an extension of every session: when a turn begins, those that its prompt calls for are given to the model, for
//! this turn, and people are told which. The disk is looked at anew each time, so that a skill counts as soon as it is
//! written; only where there is no directory for skills at all, that is remembered for a moment, and turns of that moment
//! cost nothing.

mod nowhere;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use engine::{Engine, Extension};
use skills::{Origin, Places, SkillScan};
use tokio::task::JoinSet;
use vocab::{
    Command, Event, ExtensionEvent, ExtensionVerb, Hears, HookCall, HookKind, HookVerdict, Hooks, Notice, NoticeLevel,
    Offers, Part, SessionId, SessionVerb, Tag, Target, Told, TurnFilter, Verb, parts_text,
};

use nowhere::Nowhere;

/// What people read when something is wrong with it.
const NAME: &str = "skills";
const SOURCE: &str = "built-in:skills";
/// Skills listed where one is not known; of more, only the number is.
const LISTED_MAX: usize = 32;
/// No reply to what is said here is waited for.
const TAG: Tag = Tag(0);

/// Answers the hooks of all sessions until it is dropped or shut down.
pub struct SkillsExtension(JoinSet<()>);

/// Skills are looked for in the workspace of each session, whatever `places.cwd` says.
pub fn start_skills(engine: &Engine, places: Places) -> SkillsExtension {
    // It reads files, and what it has to show waits its turn in the session: nothing of a prompt that is lost remains.
    let hooks = Hooks { before_turn: true, only_looks: true, ..Hooks::default() };
    let nowhere = Arc::new(Nowhere::default());
    let known = nowhere.clone();
    let turns = TurnFilter::new(move |workspace, opening| mentions_any(opening) || !known.is_known(workspace));
    let offers = Offers { hooks, hears: Hears::Questions, turns: Some(turns), ..Offers::default() };
    let extension = engine.extension(NAME, SOURCE, offers);
    let mut tasks = JoinSet::new();
    tasks.spawn(answer_hooks(extension, places, nowhere));
    SkillsExtension(tasks)
}

impl SkillsExtension {
    pub async fn shutdown(mut self) {
        self.0.shutdown().await;
    }
}

/// Whether a prompt may mean a skill that is not there: what is said of that is said, whatever is known of the disk.
fn mentions_any(opening: &[Part]) -> bool {
    opening.iter().any(|part| matches!(part, Part::Text(text) if text.contains("/skill:") || text.contains('$')))
}

/// Each hook call is a task of its own, so that none waits for the disk of another.
async fn answer_hooks(extension: Extension, places: Places, nowhere: Arc<Nowhere>) {
    let extension = Arc::new(extension);
    let mut advising = JoinSet::new();
    let mut told = Vec::new();
    while extension.events(&mut told).await {
        while advising.try_join_next().is_some() {}
        for Told { session, event, .. } in told.drain(..) {
            if let Event::Extension(ExtensionEvent::Hook(HookCall { id, workspace, kind: HookKind::Turn { parts } })) =
                event
            {
                let places = Places { cwd: workspace, ..places.clone() };
                let looking = look(parts_text(&parts), places, nowhere.clone());
                advising.spawn(advise(extension.clone(), session, id, looking));
            }
        }
    }
}

/// People are told before the model is.
async fn advise(extension: Arc<Extension>, session: SessionId, hook: u64, looking: impl Future<Output = Advice>) {
    let Advice { notices, verdict } = looking.await;
    let verbs = notices
        .into_iter()
        .map(|notice| Verb::Session(SessionVerb::Extension(ExtensionVerb::Show(notice))))
        .chain([Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone { hook, verdict }))]);
    for verb in verbs {
        extension.submit(Command::of(TAG, Target::Session(session.clone()), verb)).await;
    }
}

/// What comes of a prompt.
#[derive(PartialEq, Debug)]
struct Advice {
    notices: Vec<Notice>,
    verdict: HookVerdict,
}

async fn look(prompt: String, places: Places, nowhere: Arc<Nowhere>) -> Advice {
    if !skills::is_any(&places) {
        nowhere.learn(places.cwd);
        return advice(&prompt, &SkillScan::default());
    }
    let looking = tokio::task::spawn_blocking(move || advice(&prompt, &skills::scan(&places)));
    let failed = || HookVerdict::Failed("the skills could not be looked at".into());
    looking.await.unwrap_or_else(|_| Advice { notices: Vec::new(), verdict: failed() })
}

fn advice(prompt: &str, found: &SkillScan) -> Advice {
    let mentions = skills::matching(prompt, &found.skills);
    let mut notices = Vec::new();
    let mut say = |text: String, level| notices.push(Notice::Say { text: text.into(), level });
    if !mentions.unknown.is_empty() {
        say(unknown(&mentions.unknown, found), NoticeLevel::Warning);
    }
    for skill in &mentions.held {
        let name = &skill.name;
        say(format!("{name} is a skill that came with this workspace; ${name} applies it"), NoticeLevel::Info);
    }
    if mentions.applied.is_empty() {
        return Advice { notices, verdict: HookVerdict::Fine };
    }
    let names: Vec<String> = mentions.applied.iter().map(|skill| whose(skill)).collect();
    say(format!("skills applied: {}", names.join(", ")), NoticeLevel::Info);
    let system = Some(skills::text_for_model(&mentions.applied).into());
    Advice { notices, verdict: HookVerdict::Context { system, message: None } }
}

/// A skill's name, and that it is none of the user's where it is not.
fn whose(skill: &skills::Skill) -> String {
    match skill.origin {
        Origin::Own => skill.name.clone(),
        Origin::Trusted | Origin::Stranger => format!("{} (from this workspace)", skill.name),
    }
}

/// What is missing, what there is instead, and what may be the reason.
fn unknown(names: &[String], found: &SkillScan) -> String {
    let mut text = format!("unknown skill: {}; ", names.join(", "));
    let known: Vec<String> = found.skills.iter().take(LISTED_MAX).map(whose).collect();
    match found.skills.len() - known.len() {
        0 if known.is_empty() => text.push_str("there are no skills here"),
        0 => text.push_str(&format!("there are: {}", known.join(", "))),
        more => text.push_str(&format!("there are: {} and {more} more", known.join(", "))),
    }
    match found.errors.as_slice() {
        [] => {}
        [error] => text.push_str(&format!(" (not understood: {error})")),
        [error, rest @ ..] => text.push_str(&format!(" (not understood: {error}, and {} more)", rest.len())),
    }
    text
}
