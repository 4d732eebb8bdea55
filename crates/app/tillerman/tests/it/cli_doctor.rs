//! `doctor`: what works is told, and what does not work fails.

use testkit::mock_model::{MockModel, Reply};

use crate::cli::{Place, Ran};

fn place(config: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.home()).unwrap();
    std::fs::write(place.home().join("config.toml"), config).unwrap();
    place
}

/// It fails with this line, and a hint behind it where one is wanted.
#[track_caller]
fn fails(ran: &Ran, line: &str, hint: &str) {
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    let at = ran.out.find(&format!("fail  {line}")).unwrap_or_else(|| panic!("{line:?} is not in: {}", ran.out));
    let rest: Vec<&str> = ran.out[at..].lines().take(2).collect();
    assert!(hint.is_empty() || rest[1].contains(&format!("hint: {hint}")), "{}", ran.out);
}

#[test]
fn the_doctor_tells_and_fails_when_something_is_broken() {
    let place = Place::new();
    let healthy = place.run(&["doctor"]).ok();
    for what in ["version", "data", "config", "mode", "model", "openat2", "subreaper", "bash", "workspace"] {
        assert!(healthy.contains(&format!("  {what}")), "{what} is not in: {healthy}");
    }
    assert!(healthy.contains("tour: built in, asked for by name"), "{healthy}");
    assert!(!place.home().exists(), "a look leaves no trace");
    std::fs::create_dir(place.home()).unwrap();
    std::fs::write(place.home().join("config.toml"), "mode = 3\n").unwrap();
    let broken = place.run(&["doctor"]);
    assert_eq!(broken.code, Some(1));
    assert!(broken.out.contains("fail  config"), "{}", broken.out);
}

#[test]
fn a_damaged_database_fails() {
    let place = Place::new();
    for prompt in ["list the rust files", "what can you do?"] {
        place.run(&["run", prompt]).ok();
    }
    let whole = place.run(&["doctor"]).ok();
    assert!(whole.contains("sessions     2 saved, the database is whole"), "{whole}");
    let file = place.home().join("sessions.db");
    let bytes = std::fs::read(&file).unwrap();
    // Every page but the first is noise.
    let torn: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| if at < 4096 { *byte } else { 0x5a }).collect();
    for aside in ["sessions.db-wal", "sessions.db-shm"] {
        let _ = std::fs::remove_file(place.home().join(aside));
    }
    std::fs::write(&file, torn).unwrap();
    fails(&place.run(&["doctor"]), "sessions ", "keep a copy of the file");
    std::fs::write(&file, "something else").unwrap();
    fails(&place.run(&["doctor"]), "sessions     cannot read ", "move the file away");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "something else", "a look changes nothing");
}

#[test]
fn a_home_that_cannot_be_made_fails() {
    let place = Place::new();
    let nowhere = place.file("one.rs/home").display().to_string();
    let place = place.env("TILLERMAN_HOME", &nowhere);
    fails(&place.run(&["doctor"]), "data         cannot make ", "set TILLERMAN_HOME");
}

#[test]
fn keys_that_cannot_be_had_fail_with_the_reason() {
    let mock = MockModel::start_blocking();
    let url = &mock.base_url;
    let place = place(&format!(
        "[providers.file]\nbase_url = '{url}'\nkey_file = '/no/such/file.key'\n\
         [providers.command]\nbase_url = '{url}'\nsecret_command = 'echo the vault is locked >&2; exit 4'\n\
         [providers.open]\nbase_url = '{url}'\nkey_file = 'open.key'\n"
    ));
    let open = place.home().join("open.key");
    std::fs::write(&open, "sk-canary-0123456789").unwrap();
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let ran = place.run(&["doctor"]);
    fails(&ran, "provider     file: the file with the API key of file cannot be read", "it has the key");
    fails(
        &ran,
        "provider     command: the command for the API key of command failed (exit status: 4): the vault is locked",
        "",
    );
    fails(&ran, "provider     open: the file with the API key of open can be read by others (mode 644)", "it has");
    assert!(!ran.out.contains("canary"), "{}", ran.out);
}

#[test]
fn model_servers_are_asked_and_one_that_does_not_answer_fails() {
    let mock = MockModel::start_blocking();
    let up = place(&format!("[providers.up]\nbase_url = '{}'\n", mock.base_url));
    let well = up.run(&["doctor"]).ok();
    assert!(well.contains("ok    provider     up: ") && well.contains(" lists 2 models"), "{well}");
    mock.set_models(Reply::error(401, "who are you"));
    fails(&up.run(&["doctor"]), "provider     up: 401 who are you", "");
    mock.set_models(Reply::error(404, "no such page"));
    let listless = up.run(&["doctor"]).ok();
    assert!(
        listless.contains("warn  provider     up: ") && listless.contains("gives no list of models: 404"),
        "{listless}"
    );
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let down = place(&format!("[providers.down]\nbase_url = 'http://127.0.0.1:{port}/v1'\n"));
    fails(&down.run(&["doctor"]), "provider     down: cannot reach ", "is the server at ");
    // One that takes connections and says nothing.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", mute.local_addr().unwrap());
    let mute_place = place(&format!("[providers.mute]\nbase_url = '{url}'\n"));
    fails(&mute_place.run(&["doctor"]), "provider     mute: ", "");
}

#[test]
fn no_real_model_is_only_a_warning() {
    let ran = Place::new().env("TILLERMAN_MODEL", "").run(&["doctor"]);
    assert!(ran.out.contains("warn  model        tour: no key in the environment"), "{}", ran.out);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
}

#[test]
fn servers_of_tools_are_started_and_one_that_cannot_start_fails() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/mcp/tests/scripted.py");
    let place = place(&format!(
        "[servers.py]\ncommand = 'python3'\nargs = ['{script}']\n[servers.gone]\ncommand = 'no-such-program'\n"
    ));
    let ran = place.run(&["doctor"]);
    fails(&ran, "server       gone: ", "");
    assert!(ran.out.contains("ok    server       py: ") && ran.out.contains(" tools\n"), "{}", ran.out);
}
