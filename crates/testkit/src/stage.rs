//! An engine on a stage: in-memory store, real file tools in a temporary workspace, a model that plays a script.

use std::path::Path;
use std::sync::Arc;

use engine::{Config, Engine, IdlePolicy, Peer, Ports, Slow};
use store::MemoryStore;
use vocab::{
    Accounts, Command, Delta, Event, Gate, McpServers, Mode, Open, Provider, Reply, SessionVerb, Settings, Store, Tag,
    Target, Told, Toolbox, Verb, Which,
};

use crate::fakes::{CountedIds, Notebook, TickingClock};

/// What everybody on a stage is told about us.
pub const VERSION: &str = "0.1.0";

/// A test that waits longer for an event has failed. With time paused it takes no time; it is longer than the engine
/// waits for a silent model.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(700);

pub struct StageOptions {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    pub store: Arc<dyn Store>,
    /// As in the engine's configuration.
    pub turns_max: Option<usize>,
    pub mode: Mode,
    pub gate: Gate,
    pub tune: Box<dyn FnOnce(&mut Settings)>,
    pub toolbox: Option<Arc<dyn Toolbox>>,
    pub ids: CountedIds,
    pub clock: Arc<TickingClock>,
    pub accounts: Arc<dyn Accounts>,
    pub servers: Arc<dyn McpServers>,
    /// As in a process for many; `None` as in one for one controller.
    pub idle: Option<IdlePolicy>,
    pub fit_image: vocab::FitImage,
}

impl Default for StageOptions {
    fn default() -> Self {
        Self {
            provider: Arc::new(tour::Tour::default()),
            model: "tour".into(),
            store: Arc::new(MemoryStore::new()),
            turns_max: None,
            mode: Mode::DangerFullAccess,
            gate: Gate::Ladder,
            tune: Box::new(|_| {}),
            toolbox: None,
            ids: CountedIds::default(),
            clock: Arc::default(),
            accounts: Arc::new(vocab::NoAccounts),
            servers: Arc::new(vocab::NoMcp),
            idle: None,
            fit_image: vocab::as_it_is,
        }
    }
}

pub struct Stage {
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub notebook: Arc<Notebook>,
    workspace: tempfile::TempDir,
    /// Exports and spilled output, outside the workspace as in the product.
    home: tempfile::TempDir,
}

impl Stage {
    pub fn new(options: StageOptions) -> Self {
        let workspace = folder();
        Self::in_workspace(options, workspace)
    }

    pub fn in_workspace(options: StageOptions, workspace: tempfile::TempDir) -> Self {
        let home = folder();
        let notebook = Arc::new(Notebook::default());
        let toolbox = options.toolbox.unwrap_or_else(|| Arc::new(file_tools(home.path())));
        let ports = Ports {
            provider: options.provider,
            toolbox,
            store: options.store.clone(),
            archive: Arc::new(export::FileArchive::new(options.store.clone(), home.path().to_owned())),
            preferences: notebook.clone(),
            ids: Arc::new(options.ids),
            clock: options.clock,
            read_object: wire::read_object,
            fit_image: options.fit_image,
            keyring: vocab::Keyring::default(),
            accounts: options.accounts,
            surroundings: Arc::new(vocab::NoSurroundings),
            servers: options.servers,
        };
        let mut defaults = Settings::new(workspace.path(), options.model);
        defaults.mode = options.mode;
        defaults.gate = options.gate;
        (options.tune)(&mut defaults);
        let (notices, user) = (Vec::new(), vocab::Principal::user("ann"));
        let config = Config {
            defaults,
            version: VERSION.into(),
            notices,
            user,
            idle: options.idle,
            turns_max: options.turns_max,
        };
        Self { engine: Engine::new(ports, config), store: options.store, notebook, workspace, home }
    }

    pub fn workspace(&self) -> &Path {
        self.workspace.path()
    }
    pub fn home(&self) -> &Path {
        self.home.path()
    }
    pub fn write(&self, name: &str, content: &str) {
        let path = self.workspace.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directories");
        std::fs::write(path, content).expect("a file in the workspace");
    }
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.workspace.path().join(name)).ok()
    }

    pub fn actor(&self) -> Actor {
        Actor::on(self.engine.connect(Slow::Wait))
    }
    /// A peer on a new session.
    pub async fn open(&self) -> Actor {
        let mut actor = self.actor();
        actor.open(Open::new(Which::New)).await.expect("a new session opens");
        actor
    }
}

/// A directory whose path has the same length on every machine: it is part of the prompt, whose tokens are counted.
fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("stage-").tempdir_in("/tmp").expect("a temporary directory")
}

/// The built-in tools. A command's leash is the test binary itself, which works where it has a `__leash` test.
fn file_tools(home: &Path) -> impl Toolbox + use<> {
    builtin_tools::Builtin::new(builtin_tools::BuiltinOptions::new(home.join(".spill")))
}

/// A peer under the control of a test.
pub struct Actor {
    pub peer: Peer,
    /// Everything told and not yet taken.
    pub told: Vec<Told>,
    tag: u64,
}

impl Actor {
    pub fn on(peer: Peer) -> Self {
        Self { peer, told: Vec::new(), tag: 0 }
    }
    pub async fn send(&mut self, verb: Verb) -> Tag {
        self.send_to(Target::Current, verb).await
    }
    pub async fn send_to(&mut self, target: Target, verb: Verb) -> Tag {
        self.send_command(target, verb, |_| {}).await
    }
    /// With a key, or for somebody else.
    pub async fn send_with(&mut self, verb: Verb, with: impl FnOnce(&mut Command)) -> Tag {
        self.send_command(Target::Current, verb, with).await
    }
    async fn send_command(&mut self, target: Target, verb: Verb, with: impl FnOnce(&mut Command)) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        let mut command = Command::of(tag, target, verb);
        with(&mut command);
        self.peer.submit(command).await;
        tag
    }
    pub async fn open(&mut self, open: Open) -> Result<vocab::Opened, vocab::Fault> {
        let open = Open { controller: open.controller.or_else(|| Some("a tester".into())), ..open };
        let tag = self.send(Verb::Open(open)).await;
        match self.reply(tag).await? {
            Reply::Opened(opened) => Ok(*opened),
            other => panic!("not an opening: {other:?}"),
        }
    }
    pub async fn prompt(&mut self, text: &str) -> Tag {
        self.deliver(text, vocab::Delivery::RejectIfBusy).await
    }
    pub async fn deliver(&mut self, text: &str, delivery: vocab::Delivery) -> Tag {
        self.send(Verb::Session(SessionVerb::Prompt { parts: vec![vocab::Part::text(text)], delivery })).await
    }

    /// Waits for an event; everything up to and including it stays in `told`.
    pub async fn until(&mut self, mut wanted: impl FnMut(&Event) -> bool) -> Event {
        let mut seen = 0;
        loop {
            while seen < self.told.len() {
                seen += 1;
                if wanted(&self.told[seen - 1].event) {
                    return self.told[seen - 1].event.clone();
                }
            }
            let more = tokio::time::timeout(PATIENCE, self.peer.events(&mut self.told)).await;
            let more = more.unwrap_or_else(|_| panic!("it does not come; told so far: {:#?}", self.told));
            assert!(more, "nothing more will come; told so far: {:#?}", self.told);
        }
    }
    pub async fn reply(&mut self, tag: Tag) -> Result<Reply, vocab::Fault> {
        let event = self.until(|event| matches!(event, Event::Reply { tag: got, .. } if *got == tag)).await;
        match event {
            Event::Reply { result, .. } => result,
            other => panic!("not a reply: {other:?}"),
        }
    }
    /// The end of the running turn; clears what was told before it.
    pub async fn turn_end(&mut self) -> vocab::TurnEnd {
        let event = self.until(|event| turn_end_of(event).is_some()).await;
        turn_end_of(&event).expect("that is what was waited for")
    }
    pub async fn ask(&mut self) -> vocab::Ask {
        let event = self.until(|event| ask_of(event).is_some()).await;
        ask_of(&event).expect("that is what was waited for")
    }
    /// Forgets what was told, so that the next wait sees only news.
    pub fn forget(&mut self) {
        self.told.clear();
    }
    /// All text deltas told, joined.
    pub fn text(&self) -> String {
        self.told
            .iter()
            .filter_map(|told| match &told.event {
                Event::Delta(Delta::Text { delta, .. }) => Some(delta.as_str()),
                _ => None,
            })
            .collect()
    }
    /// Everything that is there without waiting for more; lets every task run first.
    pub async fn settle(&mut self) {
        let quiet = std::time::Duration::from_millis(200);
        while let Ok(true) = tokio::time::timeout(quiet, self.peer.events(&mut self.told)).await {}
    }
}

fn turn_end_of(event: &Event) -> Option<vocab::TurnEnd> {
    match event {
        Event::Logged(entry) => match &entry.body {
            vocab::Body::Turn(vocab::TurnEntry::Ended(end)) => Some(end.clone()),
            _ => None,
        },
        Event::TurnLost(end) => Some(end.clone()),
        _ => None,
    }
}

fn ask_of(event: &Event) -> Option<vocab::Ask> {
    match event {
        Event::Logged(entry) => match &entry.body {
            vocab::Body::Ask(vocab::AskEntry::Opened(ask)) => Some(ask.clone()),
            _ => None,
        },
        _ => None,
    }
}
