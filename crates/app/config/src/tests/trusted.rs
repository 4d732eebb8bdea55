//! What a workspace may start once the user trusts it, and what not even then.

use super::*;

#[test]
fn a_workspace_brings_no_providers_and_no_names_not_even_a_trusted_one() {
    let text = "ca_file = 'evil.pem'\n[providers.anthropic]\nbase_url = 'http://127.0.0.1:1'\nsecret_command = 'echo x'\n\
        [aliases]\nmine = 'a/b'\n[tiers]\ndefault = 'script:evil'\n";
    let work = place(&[("work/.tillerman.toml", text)]);
    let trusted = format!("trusted_workspaces = ['{}']\n", work.root.path().join("work").display());
    std::fs::write(work.root.path().join("user/config.toml"), trusted).unwrap();
    let config = work.load(None).unwrap();
    assert!(config.providers().is_empty() && config.slugs("aliases").is_empty() && config.slugs("tiers").is_empty());
    let ignored = config.warnings.iter().filter(|it| it.contains("a workspace cannot choose it")).count();
    assert_eq!((ignored, config.ca_file()), (4, None), "{:?}", config.warnings);
    let own = place(&[("user/config.toml", "ca_file = 'own.pem'")]);
    assert_eq!(own.load(None).unwrap().ca_file(), Some(own.user().join("own.pem")), "from where the file is");
}

#[test]
fn a_workspace_starts_extensions_only_where_the_user_trusts_it() {
    let work = ("work/.tillerman.toml", "extensions = ['tools/x.py']");
    let stranger = place(&[("user/config.toml", "extensions = ['mine.py', '/abs.py']"), work]);
    check(
        &stranger,
        expect![[r#"
            extensions = /user/mine.py,/abs.py  # /user/config.toml
            warning: /work/.tillerman.toml: `extensions` is ignored: nothing from a workspace is run unless `trusted_workspaces` in your own configuration names it
        "#]],
    );
    // A workspace cannot trust itself, and a link to a trusted directory is not that directory's parent or neighbour.
    let own = place(&[("work/.tillerman.toml", "trusted_workspaces = ['.']\nextensions = ['x.py']")]);
    let config = own.load(None).unwrap();
    assert_eq!((config.extensions().count(), config.warnings.len()), (0, 2));
    let trusting = place(&[work]);
    let root = trusting.root.path().display();
    std::fs::write(
        trusting.user().join("config.toml"),
        format!("extensions = ['mine.py']\ntrusted_workspaces = ['{root}/work/../work']"),
    )
    .unwrap();
    let config = trusting.load(None).unwrap();
    let names: Vec<String> = config
        .extensions()
        .map(|path| path.strip_prefix(trusting.root.path()).unwrap().display().to_string())
        .collect();
    assert_eq!((names, config.warnings.len()), (vec!["user/mine.py".to_owned(), "work/tools/x.py".to_owned()], 0));
    std::fs::write(trusting.user().join("config.toml"), format!("trusted_workspaces = ['{root}']")).unwrap();
    assert_eq!(trusting.load(None).unwrap().extensions().count(), 0, "a directory above it is not it");
}

#[test]
fn servers_are_read_and_those_of_a_workspace_need_trust() {
    let user = "[servers.Files]\ncommand = 'npx'\nargs = ['-y', 'files']\nenv = { API_KEY = 'canary-1', EMPTY = '' }\n\
                [servers.web]\nurl = 'https://x.example/mcp'\nheaders = { Authorization = 'canary-2' }\ntrust_hints = true\n";
    let work =
        ("work/.tillerman.toml", "[servers.theirs]\ncommand = 'x'\ntrust_hints = true\n[servers.web]\ncommand = 'y'\n");
    let stranger = place(&[("user/config.toml", user), work]);
    check(
        &stranger,
        expect![[r#"
            servers = Files,web  # /user/config.toml
            warning: /work/.tillerman.toml: `servers` is ignored: nothing from a workspace is run unless `trusted_workspaces` in your own configuration names it
        "#]],
    );
    let config = stranger.load(None).unwrap();
    assert!(!format!("{config:?}").contains("canary"), "{config:?}");
    let secret = |text: &str| vocab::Secret::new(text).unwrap();
    let files = vocab::McpTransport::Process {
        command: "npx".into(),
        args: vec!["-y".into(), "files".into()],
        env: vec![("API_KEY".into(), secret("canary-1"))],
    };
    let headers = vec![("Authorization".into(), secret("canary-2"))];
    let web = vocab::McpTransport::Http { url: "https://x.example/mcp".into(), headers };
    assert_eq!(config.servers().iter().map(|server| server.way.clone()).collect::<Vec<_>>(), [files, web.clone()]);

    let trusting = place(&[work]);
    let root = trusting.root.path().display();
    let text = format!("trusted_workspaces = ['{root}/work']\n{user}");
    std::fs::write(trusting.user().join("config.toml"), text).unwrap();
    let config = trusting.load(None).unwrap();
    let names: Vec<&str> = config.servers().iter().map(|server| &*server.name).collect();
    assert_eq!((names, &config.servers()[1].way), (vec!["Files", "web", "theirs"], &web), "the user's own counts");
    let trusted: Vec<bool> = config.servers().iter().map(|server| server.trust_hints).collect();
    assert_eq!(trusted, [false, true, false], "whose word counts is the user's to say");

    for (text, want) in [
        ("servers = 3", "`servers` wants a table of servers, has a whole number"),
        ("[servers.x]\nargs = []", "`servers.x` wants either command or url"),
        ("[servers.x]\ncommand = 'a'\nurl = 'b'", "`servers.x` wants either command or url"),
        ("[servers.x]\ncommand = 'a'\nargs = 'b c'", "`servers.x.args` wants a list of texts, has text"),
        ("[servers.x]\ncommand = 'a'\nenv = ['canary']", "`servers.x.env` wants a table of texts, has a list"),
        (
            "[servers.x]\ncomand = 'a'",
            "`servers.x.comand` is unknown; a server has command, args, env, url, headers, trust_hints",
        ),
    ] {
        let fault = place(&[("user/config.toml", text)]).load(None).unwrap_err();
        assert!(fault.message.ends_with(want), "{text}: {}", fault.message);
    }
}
