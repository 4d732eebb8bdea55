//! The gateway's own dialect behind the server: strangers, logins, the end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dialect_gateway::{AuthState, Code, Gateway, GatewayAnswer, GatewayOptions, GatewayOwn, GatewayRefusal};
use engine::Engine;
use gateway::{Caller, Entrance, EntranceRules, GatewayServer, MessagePipe, ServerHandle, ServerOptions};
use host::{DaemonEnding, Ended, PumpOptions, pump_messages};
use testkit::{Stage, StageOptions};
use vocab::{Later, Secret};

use crate::server::{Client, TOKEN, Texts, bearer, dial};

struct Door {
    engine: Engine,
    options: Arc<GatewayOptions>,
}

/// What a service takes for its answer.
const ANSWER_TIME: Duration = Duration::from_millis(100);

impl Entrance for Door {
    fn serve(&self, caller: Caller, (hears, says): MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        let auth = match caller.is_known() {
            true => AuthState::Known { scopes: caller.scopes },
            false => AuthState::Unknown,
        };
        let dialect = Gateway::new(self.options.clone(), caller.connection.clone(), auth, caller.trace.clone());
        let (engine, principal) = (self.engine.clone(), caller.principal.clone());
        let own = move |call: GatewayOwn| {
            let answer = answer(&caller, call);
            async move {
                tokio::time::sleep(ANSWER_TIME).await;
                answer
            }
        };
        let options = PumpOptions { principal, ending: Some(ending), ..PumpOptions::new(own) };
        Box::pin(async move { pump_messages(dialect, &engine, hears, says, options).await })
    }
    fn refuses(&self, caller: &Caller) -> Option<String> {
        gateway::takes_no_arguments(caller)
    }
    fn rules(&self) -> EntranceRules {
        EntranceRules { takes_strangers: true, ..EntranceRules::default() }
    }
}

fn answer(caller: &Caller, call: GatewayOwn) -> Result<GatewayAnswer, GatewayRefusal> {
    let refusal = |code, message: &str| GatewayRefusal::new(code, message.to_owned());
    match call {
        GatewayOwn::Login { token } => match caller.login.login(&token) {
            Ok((name, scopes)) => Ok(GatewayAnswer::LoggedIn { name, scopes }),
            Err(_) => Err(refusal(Code::AuthFailed, "this credential is not known here")),
        },
        _ => Err(refusal(Code::Internal, "there is no service here")),
    }
}

/// The dialect behind a server of its own.
pub(crate) async fn serving(stage: &Stage, home: &Path) -> ServerHandle {
    let ids = Arc::new(testkit::fakes::CountedIds::default());
    let options = Arc::new(GatewayOptions::new("test", Arc::new(host::WallClock), ids));
    let door: Arc<dyn Entrance> = Arc::new(Door { engine: stage.engine.clone(), options });
    let mut options = ServerOptions::new(home.to_owned(), "127.0.0.1:0".parse().expect("an address"));
    options.access.token = Secret::new(TOKEN);
    let handle = GatewayServer::start(options, stage.engine.clone(), vec![("/", door)], Arc::<Texts>::default()).await;
    handle.expect("a server")
}

async fn asked(client: &mut Client, frame: &str) -> serde_json::Value {
    let answer = client.ask(frame).await.expect("an answer");
    serde_json::from_str(&answer).expect("JSON")
}

#[tokio::test]
async fn strangers_log_in_and_everybody_is_told_of_the_end() {
    let home = tempfile::tempdir().expect("a directory");
    let stage = Stage::new(StageOptions::default());
    let handle = serving(&stage, home.path()).await;
    let address = handle.addresses()[0];

    let mut silent = dial(address, "/", &[]).await.expect("a socket");
    let came = Instant::now();
    let mut stranger = dial(address, "/", &[]).await.expect("a socket");
    let list = r#"{"id":1,"method":"tools.list"}"#;
    assert_eq!(asked(&mut stranger, list).await["error"]["code"], -4);
    let wrong = asked(&mut stranger, r#"{"id":2,"method":"auth.login","params":{"token":"wrong"}}"#).await;
    assert_eq!((&wrong["id"], &wrong["error"]["code"]), (&2.into(), &(-5).into()));
    let good = format!(r#"{{"id":3,"method":"auth.login","params":{{"token":"{TOKEN}"}}}}"#);
    let good = asked(&mut stranger, &good).await;
    assert_eq!(good["result"]["authenticated"], true, "{good}");
    assert_ne!(asked(&mut stranger, list).await["error"]["code"], -4);

    let token = bearer(TOKEN);
    let mut known = dial(address, "/", &[("Authorization", &token)]).await.expect("a socket");
    assert_ne!(asked(&mut known, list).await["error"]["code"], -4);
    let mut leaves = dial(address, "/", &[("Authorization", &token)]).await.expect("a socket");
    assert!(asked(&mut leaves, r#"{"id":1,"method":"system.disconnect"}"#).await["result"].is_object());
    assert_eq!(leaves.close_of_server().await.expect("a close").0, 1000);

    assert_eq!(silent.close_of_server().await.expect("a close").0, 1008, "who says nothing is not waited for");
    assert!((9..20).contains(&came.elapsed().as_secs()), "{:?}", came.elapsed());
    let ending = tokio::spawn(handle.shutdown(std::future::pending()));
    assert_eq!(stranger.close_of_server().await.expect("a close").0, 1001);
    assert_eq!(known.close_of_server().await.expect("a close").0, 1001);
    tokio::time::timeout(Duration::from_secs(20), ending).await.expect("in time").expect("no panic");
}
