//! What a peer asks without being on a session.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use testkit::fakes::CountedIds;
use testkit::stage::Actor;
use testkit::{Stage, StageOptions};
use vocab::*;

use crate::support::*;

const BANK: AccountName = AccountName::new("bank");

/// Answers everything, and remembers what it was asked. A sign-in takes a minute and gives up when it is cancelled.
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<String>>,
    cancelled: Arc<tokio::sync::Notify>,
}

impl Fake {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn signed_in() -> SignedIn {
    SignedIn { login_method: LoginMethod::Browser, account_id: Some("acc".into()), profile: None }
}

impl Accounts for Fake {
    fn list(&self) -> Later<'_, Result<AccountList, Fault>> {
        let bank = AccountInfo { name: BANK, is_ready: true, id: None, profile: None };
        Box::pin(async { Ok(AccountList { accounts: vec![bank], has_model: true }) })
    }
    fn sign_in(
        &self,
        account: AccountName,
        mode: SignInMode,
        originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        self.note(format!("sign in {account} {mode:?} {originator:?}"));
        let cancelled = self.cancelled.clone();
        Box::pin(async move {
            told(SignInStep::Started);
            told(SignInStep::Url("https://issuer.test/".into()));
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(60)) => {
                    told(SignInStep::Completed(signed_in()));
                    Ok(signed_in())
                }
                () = cancelled.notified() => {
                    told(SignInStep::Failed { message: "cancelled".into() });
                    Err(Fault::new(FaultKind::Cancelled, "the sign-in was cancelled"))
                }
            }
        })
    }
    fn cancel_sign_ins(&self, _: &str) {
        self.cancelled.notify_waiters();
    }
    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        self.note("forget".into());
        Box::pin(async { Ok(()) })
    }
}

fn with_fake() -> (Stage, Arc<Fake>) {
    let fake = Arc::new(Fake::default());
    let accounts = fake.clone();
    (stage_with(&Player::new([]), |options| options.accounts = accounts), fake)
}

/// Stages whose sessions have these names.
fn named(names: &[&str], change: impl FnOnce(&mut StageOptions)) -> Stage {
    let names = names.iter().map(|name| (IdKind::Session, (*name).to_owned())).collect();
    stage_with(&Player::new([]), |options| {
        options.ids = CountedIds::with_names(names);
        change(options);
    })
}
/// One saved session for each name, each with a turn that says it.
async fn saved(names: &[&str]) -> (Stage, Actor) {
    let stage = named(names, |_| {});
    for name in names {
        let mut actor = stage.open().await;
        actor.prompt(name).await;
        actor.until(|event| *event == Event::Settled).await;
    }
    let actor = stage.actor();
    (stage, actor)
}

fn sign_in() -> Verb {
    Verb::Directory(DirectoryVerb::SignIn {
        account: BANK,
        mode: SignInMode::DeviceCode,
        originator: Some("me".into()),
    })
}

/// Everything told that carries this tag.
fn told(actor: &Actor, tag: Tag) -> Vec<String> {
    let word = |told: &Told| match &told.event {
        Event::SignIn { tag: of, account, step } if *of == tag => Some(format!("{account} {step:?}")),
        Event::Reply { tag: of, result } if *of == tag => {
            Some(result.as_ref().map_or_else(|fault| format!("{:?}", fault.kind), |_| "signed in".into()))
        }
        _ => None,
    };
    actor.told.iter().filter_map(word).collect()
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_a_sign_in_carry_its_tag_and_come_before_the_reply() {
    let (stage, fake) = with_fake();
    let mut actor = stage.actor();
    let tag = actor.send(sign_in()).await;
    assert_eq!(actor.reply(tag).await, Ok(Reply::SignedIn(Box::new(signed_in()))));
    let steps = told(&actor, tag);
    assert_eq!(steps[..2], ["bank Started", "bank Url(\"https://issuer.test/\")"]);
    assert!(steps[2].starts_with("bank Completed"), "{steps:?}");
    assert_eq!(steps[3..], ["signed in"]);
    assert_eq!(fake.asked(), ["sign in bank DeviceCode Some(\"me\")"]);
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_that_takes_its_time_holds_nobody_up() {
    let (stage, _fake) = with_fake();
    let mut actor = stage.actor();
    let began = tokio::time::Instant::now();
    let tag = actor.send(sign_in()).await;
    assert!(
        matches!(ask_for(&mut actor, Verb::Directory(DirectoryVerb::Accounts)).await, Ok(Reply::Accounts(it)) if it.is_ready(BANK))
    );
    actor.open(Open::new(Which::New)).await.unwrap();
    actor.prompt("go").await;
    actor.turn_end().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(told(&actor, tag).len(), 2, "it still runs");
    actor.reply(tag).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn sign_ins_that_are_cancelled_say_so_and_end() {
    let (stage, _fake) = with_fake();
    let mut actor = stage.actor();
    let (first, second) = (actor.send(sign_in()).await, actor.send(sign_in()).await);
    actor.settle().await;
    assert_eq!(ask_for(&mut actor, Verb::Directory(DirectoryVerb::CancelSignIns)).await, Ok(Reply::Done));
    for tag in [first, second] {
        assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Cancelled);
        assert_eq!(told(&actor, tag)[2..], ["bank Failed { message: \"cancelled\" }", "Cancelled"]);
    }
}

#[tokio::test(start_paused = true)]
async fn each_question_finds_its_answer() {
    let (stage, fake) = with_fake();
    let mut actor = stage.actor();
    let mut ask = async |verb: Verb| ask_for(&mut actor, verb).await;
    assert_eq!(ask(Verb::Directory(DirectoryVerb::Forget)).await, Ok(Reply::Done));
    let Ok(Reply::Models(models)) = ask(Verb::Directory(DirectoryVerb::Models)).await else { panic!() };
    assert_eq!(models.len(), 2);
    assert_eq!(fake.asked(), ["forget"]);
}

#[tokio::test(start_paused = true)]
async fn where_there_are_no_accounts_that_is_the_answer() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.actor();
    assert_eq!(ask_for(&mut actor, sign_in()).await.unwrap_err().kind, FaultKind::Unsupported);
    assert_eq!(
        ask_for(&mut actor, Verb::Directory(DirectoryVerb::Accounts)).await,
        Ok(Reply::Accounts(Box::default()))
    );
    assert_eq!(ask_for(&mut actor, Verb::Directory(DirectoryVerb::Forget)).await, Ok(Reply::Done));
}

#[tokio::test(start_paused = true)]
async fn tools_are_shown_without_a_session_as_every_session_has_them() {
    for (only, want) in [(None, vec!["look", "change", "danger"]), (Some("look"), vec!["look"])] {
        let stage = named(&[], |options| {
            options.tune = Box::new(move |settings| settings.only_tools = only.map(|name| vec![name.into()]));
        });
        let Ok(Reply::Tools(tools)) = ask_for(&mut stage.actor(), Verb::Directory(DirectoryVerb::Tools)).await else {
            panic!()
        };
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), want);
        assert!(stage.engine.live().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_sessions_says_how_many_there_are_in_all() {
    let (_stage, mut actor) = saved(&["s-a", "s-b", "s-c"]).await;
    for (limit, offset, want) in [
        (None, 0, vec!["s-c", "s-b", "s-a"]),
        (Some(2), 0, vec!["s-c", "s-b"]),
        (Some(2), 2, vec!["s-a"]),
        (Some(2), 9, vec![]),
    ] {
        let query = Query { limit, offset, ..Query::default() };
        let Ok(Reply::Sessions(page)) = ask_for(&mut actor, Verb::Directory(DirectoryVerb::Sessions(query))).await
        else {
            panic!()
        };
        let ids: Vec<&str> = page.list.iter().map(|saved| saved.summary.id.as_str()).collect();
        assert_eq!((ids, page.total), (want, 3), "{limit:?} {offset}");
    }
}

async fn recall(actor: &mut Actor, which: Which) -> Result<Recalled, Fault> {
    match ask_for(actor, Verb::Directory(DirectoryVerb::Recall(which))).await? {
        Reply::Recalled(recalled) => Ok(*recalled),
        other => panic!("{other:?}"),
    }
}
/// What its user said.
fn said(recalled: &Recalled) -> String {
    let user = |entry: &Arc<Entry>| match &entry.body {
        Body::User { parts, .. } => Some(parts_text(parts)),
        _ => None,
    };
    recalled.entries.iter().find_map(user).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_session_is_recalled_by_its_id_or_the_beginning_of_it() {
    let (_stage, mut actor) = saved(&["abc1", "abd2", "abd"]).await;
    for (text, want) in [
        ("abc1", Ok("abc1")),
        ("ABC1", Ok("abc1")),
        ("abc", Ok("abc1")),
        // The whole of one and the beginning of another: meant is the whole one.
        ("abd", Ok("abd")),
        ("AbD", Ok("abd")),
        ("abd2", Ok("abd2")),
        ("ab", Err("`ab` could be more than one session: abd (abd), abd2 (abd2), abc1 (abc1)")),
        ("zz", Err("no session matches `zz`")),
    ] {
        let got = recall(&mut actor, Which::Id(text.into())).await;
        match (&got, want) {
            (Ok(recalled), Ok(id)) => {
                assert_eq!((recalled.saved.summary.id.as_str(), said(recalled).as_str()), (id, id), "{text}");
            }
            (Err(fault), Err(message)) => {
                assert_eq!((fault.kind, &*fault.message), (FaultKind::NotFound, message));
                assert!(!fault.hints.is_empty());
            }
            _ => panic!("{text}: {got:?}"),
        }
    }
    assert_eq!(recall(&mut actor, Which::New).await.unwrap_err().kind, FaultKind::Invalid);
    let named = |id: &str| Which::Named(id.into());
    assert_eq!(recall(&mut actor, named("abc")).await.unwrap_err().kind, FaultKind::NotFound, "exactly this one");
    assert_eq!(recall(&mut actor, named("abc1")).await.unwrap().saved.summary.id.as_str(), "abc1");
}

#[tokio::test(start_paused = true)]
async fn the_latest_is_recalled_wherever_it_was_and_nothing_is_opened() {
    let (stage, mut actor) = saved(&["a1", "b2"]).await;
    stage.engine.shutdown().await;
    assert_eq!(said(&recall(&mut actor, Which::Latest).await.unwrap()), "b2");
    assert!(stage.engine.live().is_empty());
    let (_empty, mut actor) = saved(&[]).await;
    assert_eq!(recall(&mut actor, Which::Latest).await.unwrap_err().kind, FaultKind::NotFound);
}

#[tokio::test(start_paused = true)]
async fn only_the_active_branch_is_recalled() {
    let (stage, mut actor) = saved(&["a1"]).await;
    actor.open(Open::new(Which::Id("a1".into()))).await.unwrap();
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    actor.settle().await;
    assert_eq!(said(&recall(&mut actor, Which::Latest).await.unwrap()), "");
    assert!(log_of(&stage, "a1").await.contains("user (Prompt): a1"), "the log has it");
}

#[tokio::test(start_paused = true)]
async fn a_place_is_one_that_a_list_has_shown_and_no_file_is_read() {
    let (stage, mut actor) = saved(&["a1", "b2"]).await;
    let Ok(Reply::Sessions(page)) =
        ask_for(&mut actor, Verb::Directory(DirectoryVerb::Sessions(Query::default()))).await
    else {
        panic!()
    };
    for saved in &page.list {
        let recalled = recall(&mut actor, Which::Path(saved.place.clone())).await.unwrap();
        assert_eq!(recalled.saved, *saved);
    }
    // A session file that an opening would read.
    actor.open(Open::new(Which::Id("a1".into()))).await.unwrap();
    let Ok(Reply::Exported(exported)) =
        ask_for(&mut actor, Verb::Session(SessionVerb::Export { file: Some("out.jsonl".into()) })).await
    else {
        panic!()
    };
    let unknown = page.list[0].place.display().to_string().replace("b2", "c3");
    let elsewhere = format!("{}#a1", exported.path.display());
    let before = stage.store.count(Query::default()).await.unwrap();
    for path in [exported.path, unknown.into(), elsewhere.into(), PathBuf::from("#a1"), PathBuf::from("")] {
        let fault = recall(&mut actor, Which::Path(path.clone())).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::NotFound, "{}", path.display());
    }
    assert_eq!(stage.store.count(Query::default()).await.unwrap(), before, "nothing was taken in");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_open_is_not_deleted() {
    let (stage, mut actor) = saved(&["one", "two"]).await;
    let delete = |id: &str| Verb::Directory(DirectoryVerb::Delete { session: id.into(), open_too: false });
    let mut user = stage.actor();
    user.open(Open::new(Which::Id("one".into()))).await.unwrap();
    let fault = ask_for(&mut actor, delete("one")).await.unwrap_err();
    assert_eq!((fault.kind, &*fault.message), (FaultKind::SessionBusy, "session one is open"));
    let fault = ask_for(&mut user, delete("one")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::SessionBusy, "nor by the one who is on it");
    assert!(stage.store.summary(&"one".into()).await.unwrap().is_some());
    // Closed and deleted in one breath: the end of the session is waited for.
    user.send(Verb::Leave).await;
    assert_eq!(ask_for(&mut user, delete("one")).await, Ok(Reply::Done));
    assert_eq!(ask_for(&mut actor, delete("one")).await.unwrap_err().kind, FaultKind::NotFound);
    assert_eq!(ask_for(&mut actor, delete("two")).await, Ok(Reply::Done));
    assert!(stage.store.list(Query::default()).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_new_session_and_one_that_works_alone_are_open_too() {
    let stage = stage(&Player::new([held("x")]));
    let mut user = stage.open().await;
    let mut actor = stage.actor();
    let delete = || Verb::Directory(DirectoryVerb::Delete { session: "s1".into(), open_too: false });
    assert_eq!(ask_for(&mut actor, delete()).await.unwrap_err().kind, FaultKind::SessionBusy, "never written");
    user.prompt("go").await;
    text_of(&mut user, "x").await;
    drop(user);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ask_for(&mut actor, delete()).await.unwrap_err().kind, FaultKind::SessionBusy, "its turn runs on");
}
