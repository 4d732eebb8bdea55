//! The extension that the recordings were made with: `/ask` shows everything and asks everything, `/boom` fails.

use std::sync::Arc;

use engine::{Engine, Extension};
use tokio::task::JoinHandle;
use vocab::{
    Answer, AskKind, Command, CommandInfo, Event, ExtensionEvent, ExtensionVerb, HookKind, HookVerdict, Notice,
    NoticeLevel, Offers, Reply, SessionId, SessionVerb, Tag, Target, Told, Verb,
};

/// Lives as long as the task.
pub(crate) fn start(engine: &Engine) -> JoinHandle<()> {
    let command = |name: &str| CommandInfo { name: name.into(), description: None, source: "/ext/ask".into() };
    let offers = Offers { commands: vec![command("ask"), command("boom")], ..Offers::default() };
    let end = engine.extension("ask", "/ext/ask", offers);
    tokio::spawn(Played { end, told: Vec::new(), tag: 0 }.run())
}

struct Played {
    end: Extension,
    told: Vec<Told>,
    tag: u64,
}

impl Played {
    async fn run(mut self) {
        while let Some((session, hook)) = self
            .told_of(|event| match event {
                Event::Extension(ExtensionEvent::Hook(hook)) => Some(hook.clone()),
                _ => None,
            })
            .await
        {
            let HookKind::Command { name, .. } = &hook.kind else { continue };
            let verdict = match &**name {
                "boom" => HookVerdict::Failed("kaboom".into()),
                _ => {
                    self.ask_everything(&session).await;
                    HookVerdict::Fine
                }
            };
            self.send(
                &session,
                Verb::Session(SessionVerb::Extension(ExtensionVerb::HookDone { hook: hook.id, verdict })),
            )
            .await;
        }
    }

    async fn ask_everything(&mut self, session: &SessionId) {
        let text = |text: &str| -> Arc<str> { text.into() };
        for notice in [
            Notice::Say { text: text("hello"), level: NoticeLevel::Info },
            Notice::Status { key: text("k"), text: Some(text("busy")) },
            Notice::Status { key: text("k"), text: None },
            Notice::Widget { key: text("w"), lines: Some(vec![text("l1"), text("l2")]), below: false },
            Notice::EditorText { text: text("draft") },
        ] {
            self.send(session, Verb::Session(SessionVerb::Extension(ExtensionVerb::Show(notice)))).await;
        }
        let confirm = |title, message| AskKind::Confirm { title: text(title), message: text(message) };
        let questions = [
            (AskKind::Select { title: text("Pick"), options: vec![text("x"), text("y")] }, None),
            (confirm("Sure", "Really?"), Some(60_000)),
            (AskKind::Input { title: text("Name"), placeholder: Some(text("ph")) }, None),
            (AskKind::Editor { title: text("Edit"), prefill: Some(text("pre")) }, None),
            (confirm("Late", "x"), Some(700)),
        ];
        let mut got = Vec::new();
        for (kind, timeout_ms) in questions {
            let confirms = matches!(kind, AskKind::Confirm { .. });
            got.push(match self.ask(session, kind, timeout_ms).await {
                Some(Answer::Text(text)) => format!("{text:?}"),
                Some(Answer::Confirmed(yes)) => yes.to_string(),
                _ if confirms => "false".to_owned(),
                _ => "null".to_owned(),
            });
        }
        let got = format!("got [{}]", got.join(","));
        self.send(
            session,
            Verb::Session(SessionVerb::Extension(ExtensionVerb::Show(Notice::Say {
                text: got.into(),
                level: NoticeLevel::Warning,
            }))),
        )
        .await;
    }

    async fn ask(&mut self, session: &SessionId, kind: AskKind, timeout_ms: Option<u64>) -> Option<Answer> {
        let tag =
            self.send(session, Verb::Session(SessionVerb::Extension(ExtensionVerb::Ask { kind, timeout_ms }))).await;
        let reply = self.told_of(|event| match event {
            Event::Reply { tag: got, result } if *got == tag => Some(result.clone()),
            _ => None,
        });
        match reply.await {
            Some((_, Ok(Reply::Answered(answer)))) => Some(answer),
            _ => None,
        }
    }

    async fn send(&mut self, session: &SessionId, verb: Verb) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        self.end.submit(Command::of(tag, Target::Session(session.clone()), verb)).await;
        tag
    }

    /// Waits for an event and forgets everything up to it.
    async fn told_of<T>(&mut self, mut pick: impl FnMut(&Event) -> Option<T>) -> Option<(SessionId, T)> {
        loop {
            let found = self.told.iter().enumerate().find_map(|(at, told)| Some((at, pick(&told.event)?)));
            if let Some((at, found)) = found {
                let session = self.told[at].session.clone();
                self.told.drain(..=at);
                return Some((session, found));
            }
            self.told.clear();
            if !self.end.events(&mut self.told).await {
                return None;
            }
        }
    }
}
