//! The examples of the client libraries, run as a user runs them: the library is installed by its path, without a build, and the
//! built-in model answers.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::clients::{WEBSOCKETS, WS, or_skip};
use crate::peers_install::{node, npm, python};
use crate::process::{Gateway, Place, TOKEN};
use crate::sdk::sdk;

const CONFIG: &str = "tools:\n  confirm: [file.write, shell.exec]\n";

/// How examples of one language are started.
struct Examples {
    interpreter: PathBuf,
    folder: PathBuf,
    /// Where what is on the page is tried: it finds the library from there.
    folder_of_page: PathBuf,
    end: &'static str,
    place: Place,
    gateway: Gateway,
}

impl Examples {
    fn new(interpreter: PathBuf, folder: PathBuf, end: &'static str) -> Self {
        let place = Place { model_name: "tour", ..Place::with(CONFIG) };
        std::fs::write(place.workspace().join("lib.rs"), "").unwrap();
        let gateway = place.start();
        let folder_of_page = if end == "py" { place.workspace() } else { folder.clone() };
        Self { interpreter, folder, folder_of_page, end, place, gateway }
    }
    /// The package is put beside copies of the examples, which find it by its name.
    fn typescript() -> Result<Self, String> {
        node()?;
        let packages = [WS.to_owned(), sdk().join("typescript").display().to_string()];
        let modules = npm("sdk-examples", &packages)?;
        let folder = modules.parent().unwrap().join("examples");
        std::fs::create_dir_all(&folder).unwrap();
        for entry in std::fs::read_dir(sdk().join("typescript/examples")).unwrap().map(|entry| entry.unwrap()) {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        Ok(Self::new("node".into(), folder, "mjs"))
    }
    fn python() -> Result<Self, String> {
        let packages = [WEBSOCKETS.to_owned(), "setuptools".to_owned()];
        Ok(Self::new(python("sdk-examples-python", &packages)?, sdk().join("python/examples"), "py"))
    }

    fn command(&self, name: &str, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.arg(self.folder.join(name).with_extension(self.end)).args(arguments);
        command.env("TILLERMAN_URL", format!("ws://{}", self.gateway.address)).env("TILLERMAN_TOKEN", TOKEN);
        command.env("PYTHONPATH", sdk().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
    /// What it says on stdout, given this on stdin; it ends well and complains of nothing.
    fn said(&self, name: &str, arguments: &[&OsStr], stdin: &str) -> String {
        let mut child = self.command(name, arguments).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && errors.is_empty(), "{name}: {errors}");
        String::from_utf8(ended.stdout).unwrap()
    }

    /// It says how it is called, and ends as command line tools do that are called in another way.
    fn says_its_usage(&self, name: &str, arguments: &[&str], usage: &str) {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let ended = self.command(name, &arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        let starter = if self.end == "py" { "python" } else { "node" };
        assert_eq!(errors, format!("usage: {starter} {name}.{} {usage}\n", self.end), "{name} {arguments:?}");
        assert_eq!((ended.status.code(), &*ended.stdout), (Some(2), &b""[..]), "{name} {arguments:?}");
    }

    fn all(&self, language: &str) {
        for arguments in [&[][..], &["bot:bob"], &["a", "b", "c"], &["", "cursor"]] {
            self.says_its_usage("resume", arguments, "SESSION FILE");
        }
        for arguments in [["many"], ["0"], ["-1"], ["1.5"]] {
            self.says_its_usage("watch", &arguments, "[RUNS]");
        }
        let place =
            tempfile::Builder::new().suffix(&format!(".{}", self.end)).tempfile_in(&self.folder_of_page).unwrap();
        std::fs::write(place.path(), of_page(language, self)).unwrap();
        let shown = self.said(&place.path().display().to_string(), &[], "");
        assert!(shown.contains("lib.rs") && shown.trim_end().ends_with(|it: char| it.is_ascii_digit()), "{shown}");

        let asked = self.said("ask", &["list the rust files".as_ref()], "");
        assert!(asked.contains("[file.find]") || asked.contains("lib.rs"), "{asked}");
        assert!(asked.contains("(end_turn, "), "{asked}");

        let file = self.place.workspace().join("notes.txt");
        let allowed = self.said("permissions", &["create notes.txt with hello".as_ref()], "");
        assert!(allowed.contains("file.write: write notes.txt (+1 -0): allowed\n"), "{allowed}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello");

        let answers = self.said("bot", &[], "ann: say 3 words\nbob: say 2 words\nann: create bot.txt with no\n");
        assert!(answers.contains("@ann w1 w2 w3\n") && answers.contains("@bob w1 w2\n"), "{answers}");
        assert!(!self.place.workspace().join("bot.txt").exists(), "{answers}");

        let place = self.place.home.path().join("cursor");
        let resumed = || self.said("resume", &["bot:bob".as_ref(), place.as_os_str()], "");
        assert_eq!(resumed(), "user: say 2 words\nassistant: w1 w2\n");
        assert_eq!(resumed(), "");
        self.said("bot", &[], "bob: say 4 words\n");
        assert_eq!(resumed(), "user: say 4 words\nassistant: w1 w2 w3 w4\n");

        let mut watcher = self.command("watch", &["2".as_ref()]).spawn().unwrap();
        let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.next().as_deref(), Some("watching"));
        self.said("bot", &[], "cyd: say 1 words\nbob: say 5 words\n");
        let mut seen: Vec<String> = lines.collect();
        seen.sort();
        assert_eq!(
            seen,
            ["bot:bob < say 5 words", "bot:bob > w1 w2 w3 w4 w5", "bot:cyd < say 1 words", "bot:cyd > w1"]
        );
        assert!(watcher.wait().unwrap().success());
    }
}

/// The page's example, with the place of this gateway.
fn of_page(language: &str, examples: &Examples) -> String {
    let page = std::fs::read_to_string(sdk().join("../docs/sdk.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    assert!(example.contains("ws://localhost:18800"));
    example.replace("ws://localhost:18800", &format!("ws://{}", examples.gateway.address))
}

#[test]
fn the_examples_of_typescript() {
    or_skip("the_examples_of_typescript", Examples::typescript().map(|examples| examples.all("js")));
}

#[test]
fn the_examples_of_python() {
    or_skip("the_examples_of_python", Examples::python().map(|examples| examples.all("python")));
}
