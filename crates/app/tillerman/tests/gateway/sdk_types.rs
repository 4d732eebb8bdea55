//! The client libraries as their compilers see them: TypeScript's strictest and what it makes, which is checked in, so that nobody
//! needs it to use the library; and `mypy --strict`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{WEBSOCKETS, or_skip};
use crate::peers_install::{INSTALL_PATIENCE, npm, python, run};
use crate::sdk::sdk;

const TYPESCRIPT: &str = "typescript@7.0.2";
const MYPY: &str = "mypy==2.4.1";

/// What of the TypeScript library a page loads.
const SCRIPT_BYTES_MAX: usize = 36 * 1024;

/// What the compiler makes of the sources, one file after the other.
fn compiled(tsc: &Path, options: &[&str]) -> Result<Vec<(String, String)>, String> {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(tsc);
    command.arg("-p").arg(sdk().join("typescript")).args(options).arg("--outDir").arg(out.path());
    let ended = run(&mut command, INSTALL_PATIENCE)?;
    assert!(ended.well, "it does not compile:\n{}\n{}", ended.said.join("\n"), ended.complaint);
    let mut made: Vec<(String, String)> = std::fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap()))
        .collect();
    made.sort();
    Ok(made)
}

/// Without the room at the start of lines, which a page need not load. No text in the sources has more than one line.
fn narrow(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}

#[test]
fn what_a_user_of_typescript_installs_is_what_the_sources_say() {
    let checks = || {
        let tsc = npm("sdk-typescript", &[TYPESCRIPT.to_owned()])?.join(".bin/tsc");
        let mut made = compiled(&tsc, &["--removeComments", "--declaration", "false"])?;
        made.iter_mut().for_each(|(_, text)| *text = narrow(text));
        let bytes: usize = made.iter().map(|(_, text)| text.len()).sum();
        assert!(bytes <= SCRIPT_BYTES_MAX, "{bytes} bytes of script");
        made.extend(compiled(&tsc, &["--emitDeclarationOnly"])?);
        let dist = sdk().join("typescript/dist");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let _ = std::fs::remove_dir_all(&dist);
            std::fs::create_dir_all(&dist).unwrap();
        }
        for (name, text) in &made {
            expect_test::expect_file![dist.join(name)].assert_eq(text);
        }
        let there = std::fs::read_dir(&dist).unwrap().count();
        assert_eq!(there, made.len(), "files in dist that no source has made");
        Ok(())
    };
    or_skip("what_a_user_of_typescript_installs_is_what_the_sources_say", checks());
}

/// A page's rules may forbid everything that makes code of text.
#[test]
fn the_script_makes_no_code_of_text() {
    let dist = sdk().join("typescript/dist");
    for entry in std::fs::read_dir(dist).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&entry).unwrap();
        for word in ["eval(", "Function(", "innerHTML", "document.write", "import(", "localStorage"] {
            let quoted = word == "import(" && text.contains("(await import('ws'))");
            assert!(quoted || !text.contains(word), "{word} in {}", entry.display());
        }
    }
}

#[test]
fn a_user_of_typescript_is_told_what_is_wrong() {
    let checks = || {
        let tsc = npm("sdk-typescript", &[TYPESCRIPT.to_owned()])?.join(".bin/tsc");
        let place = tempfile::tempdir().unwrap();
        let library = sdk().join("typescript/dist/index.js");
        let page = |text: &str| {
            let file: PathBuf = place.path().join("page.mts");
            std::fs::write(&file, format!("import {{ GatewayClient }} from {library:?};\n{text}\n")).unwrap();
            let mut command = Command::new(&tsc);
            command.args(["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom"]);
            run(command.args(["--types", ""]).arg(file), INSTALL_PATIENCE)
        };
        let right = "const c = new GatewayClient('ws://x');\nfor await (const e of c.send('hi')) if (e.event === 'content') e.data.text.length;\nconst n: number = (await c.sessions.list({ limit: 5 })).total;";
        let ended = page(right)?;
        assert!(ended.well, "{:?}", ended.said);
        let wrong = [
            "new GatewayClient('ws://x').sessions.list({ limit: 'five' });",
            "new GatewayClient('ws://x').sessions.get();",
            "new GatewayClient('ws://x').call('no.such');",
            "for await (const e of new GatewayClient('ws://x').send('hi')) if (e.event === 'content') e.data.tool;",
            "new GatewayClient('ws://x').send('hi', { confirm: () => 'perhaps' });",
        ];
        for text in wrong {
            assert!(!page(text)?.well, "nobody minds: {text}");
        }
        Ok(())
    };
    or_skip("a_user_of_typescript_is_told_what_is_wrong", checks());
}

#[test]
fn mypy_has_nothing_to_say() {
    let checks = || {
        let mypy = python("sdk-mypy", &[MYPY.to_owned(), WEBSOCKETS.to_owned()])?;
        let cache = tempfile::tempdir().unwrap();
        let mut command = Command::new(mypy);
        command.args(["-m", "mypy", "--strict", "--cache-dir"]).arg(cache.path()).current_dir(sdk().join("python"));
        command.arg("tillerman");
        let examples = std::fs::read_dir(sdk().join("python/examples")).unwrap().map(|entry| entry.unwrap().path());
        command.args(examples.filter(|path| path.extension().is_some_and(|it| it == "py")));
        let ended = run(&mut command, INSTALL_PATIENCE)?;
        assert!(ended.well, "{}\n{}", ended.said.join("\n"), ended.complaint);
        Ok(())
    };
    or_skip("mypy_has_nothing_to_say", checks());
}
