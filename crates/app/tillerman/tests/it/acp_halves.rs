//! Our client against our agent, in one process: the real engine and host on one side, the real connection on the other, and
//! between them a line that is slow, cuts where it likes, or breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use acp_client::{
    AcpClient, ClientEvent, ConnectOptions, Events, Memory, MemoryPeer, Offers, Workshop, connect, memory,
};
use acp_types::{ContentBlock, SessionUpdate};
use dialect_acp::Acp;
use testkit::stage::{Stage, StageOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use vocab::Mode;

use crate::acp_stage;
use crate::golden::paused;

/// How the line behaves on its way from the agent to the client.
#[derive(Clone, Copy)]
enum Way {
    Plain,
    /// Pieces of odd lengths, each late, drawn from a seed.
    Slow(u64),
    /// Ends after this many lines.
    Breaks(usize),
}

fn stage() -> Stage {
    let stage = Stage::new(StageOptions { mode: Mode::Prompt, ..StageOptions::default() });
    stage.write("one.rs", "fn one() {}\n");
    stage
}

/// Puts the agent behind the client's channel.
fn agent(stage: &Stage, way: Way) -> Memory {
    let (channel, peer) = memory(false);
    let MemoryPeer { input, mut output, errors, life } = peer;
    let engine = stage.engine.clone();
    let (mut said, writer) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let _errors = errors;
        let dialect = Acp::new(acp_stage::options());
        let ended = host::pump(dialect, &engine, input, writer, host::PumpOptions::default()).await;
        life.exit(acp_client::Exit { code: Some(ended.exit_code.into()), signal: None });
    });
    tokio::spawn(async move {
        let mut dice = dice_of(way);
        let mut lines = 0;
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = said.read(&mut buffer).await {
            let mut rest = &buffer[..count];
            while !rest.is_empty() {
                let piece = match way {
                    Way::Plain => rest.len(),
                    Way::Slow(_) => {
                        tokio::time::sleep(Duration::from_millis(dice() % 50)).await;
                        (1 + dice() as usize % 97).min(rest.len())
                    }
                    Way::Breaks(_) => rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1),
                };
                if matches!(way, Way::Breaks(most) if lines >= most) || output.write_all(&rest[..piece]).await.is_err()
                {
                    return;
                }
                lines += usize::from(rest[piece - 1] == b'\n');
                rest = &rest[piece..];
            }
        }
    });
    channel
}

/// A small generator; the same seed draws the same.
fn dice_of(way: Way) -> impl FnMut() -> u64 {
    let mut state = if let Way::Slow(seed) = way { seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 } else { 1 };
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    }
}

/// Counts the files that are written by the client.
#[derive(Default)]
struct Writes(AtomicUsize);

impl acp_client::Tap for Writes {
    fn line(&self, _: acp_client::Direction, line: &[u8]) {
        let asked = String::from_utf8_lossy(line).contains("\"method\":\"fs/write_text_file\"");
        self.0.fetch_add(usize::from(asked), Ordering::Relaxed);
    }
}

fn joined(stage: &Stage, way: Way, files: bool, writes: Arc<Writes>) -> (AcpClient, Events) {
    let root = stage.workspace().canonicalize().unwrap();
    let served = Arc::new(builtin_tools::AgentFiles::open(&root, builtin_tools::workspace::Guard::default()).unwrap());
    let workshop =
        Workshop { roots: vec![root], env: Vec::new(), files: served, launcher: Arc::new(process::GroupLauncher) };
    let offers = Offers { read_files: files, write_files: files, ..Offers::default() };
    let options = ConnectOptions { offers, workshop: Some(workshop), tap: Some(writes), ..ConnectOptions::default() };
    connect(Arc::new(agent(stage, way)), options)
}

/// One whole conversation; every permission is given. What a person would see, and how it ended.
async fn converse(stage: &Stage, way: Way, files: bool) -> (Vec<String>, Result<(), acp_client::ClientError>) {
    let writes = Arc::new(Writes::default());
    let (client, mut events) = joined(stage, way, files, writes.clone());
    let root = stage.workspace().canonicalize().unwrap();
    let steps = async {
        client.initialize().await?;
        let session = client.new_session(&root).await?.session_id.unwrap_or_default();
        for prompt in ["list the rust files", "tour"] {
            client.prompt(&session, vec![ContentBlock::text(prompt)]).await?;
        }
        Ok(())
    };
    let mut steps = std::pin::pin!(steps);
    let mut log = Vec::new();
    let ended = loop {
        tokio::select! {
            biased;
            Some(event) = events.next() => {
                if let ClientEvent::Permission(ask) = &event {
                    let allow = ask.options.iter().find(|option| option.allows()).expect("a way to allow it");
                    client.choose(ask.ask, Some(&allow.option_id)).await;
                }
                note(&event, &mut log);
            }
            ended = &mut steps => break ended,
        }
    };
    client.stop().await;
    while let Some(event) = events.next().await {
        note(&event, &mut log);
    }
    let written = writes.0.load(Ordering::Relaxed);
    assert_eq!(written, usize::from(files && ended.is_ok()), "only where files are offered");
    (log, ended)
}

fn note(event: &ClientEvent, log: &mut Vec<String>) {
    let line = match event {
        // How words are cut into chunks depends on how fast they are read.
        ClientEvent::Update { update: SessionUpdate::AgentMessageChunk(chunk), .. } => {
            match log.last_mut().filter(|last| last.starts_with("text ")) {
                Some(last) => return last.push_str(&chunk.content.shown()),
                None => format!("text {}", chunk.content.shown()),
            }
        }
        ClientEvent::Update { update: SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call), .. } => {
            let status = call.status.as_ref().map(|status| status.as_str());
            format!("call {} {}", call.title.as_deref().unwrap_or("-"), status.unwrap_or("-"))
        }
        ClientEvent::Permission(ask) => format!("ask {}", ask.call.title.as_deref().unwrap_or("-")),
        ClientEvent::TurnEnded { turn, .. } => match turn {
            Ok(turn) => format!("end {}", turn.stop_reason.as_str()),
            Err(_) => "failed".into(),
        },
        ClientEvent::ConnectionLost(_) => "lost".into(),
        ClientEvent::Note(text) => format!("note {text}"),
        _ => return,
    };
    log.push(line);
}

#[test]
fn the_two_halves_understand_each_other() {
    let stage = stage();
    let (log, ended) = paused(converse(&stage, Way::Plain, false));
    ended.unwrap();
    expect_test::expect![[r#"
        text I'll glob for *.rs.
        call Find `**/*.rs` pending
        call - completed
        text Found one: one.rs.
        end end_turn
        text Welcome to the tour. First I look at which files are here; looking is harmless.
        call Find `*` pending
        call - completed
        text Found one: one.rs. Now I would like to write tour.txt. Writing changes your files, so you may be asked; say yes or no.
        call Write tour.txt pending
        ask Write tour.txt
        call - in_progress
        call - completed
        text Thank you: tour.txt is written. That was the tour. Next steps: try "list the rust files" or "run git status", and connect a real model: set OPENAI_BASE_URL and OPENAI_API_KEY and start again with --model NAME.
        end end_turn"#]].assert_eq(&log.join("\n"));
    assert!(stage.read("tour.txt").is_some());
}

#[test]
fn edits_go_through_the_clients_files_when_it_offers_them() {
    let stage = stage();
    let (log, ended) = paused(converse(&stage, Way::Plain, true));
    ended.unwrap();
    assert!(!log.iter().any(|line| line.contains("failed")), "{log:#?}");
    assert!(stage.read("tour.txt").is_some());
}

#[test]
fn a_slow_line_that_cuts_anywhere_changes_nothing() {
    let (whole, _) = paused(converse(&stage(), Way::Plain, false));
    for seed in 1..=20 {
        let (log, ended) = paused(converse(&stage(), Way::Slow(seed), seed % 2 == 0));
        ended.unwrap();
        assert_eq!(log, whole, "seed {seed}");
    }
}

#[test]
fn a_line_that_breaks_anywhere_is_told_once() {
    for lines in 0..30 {
        let (log, ended) = paused(converse(&stage(), Way::Breaks(lines), false));
        let lost = log.iter().filter(|line| *line == "lost").count();
        match ended {
            // The conversation was shorter than that.
            Ok(()) => assert!(lines > 15, "{log:#?}"),
            Err(error) => {
                assert!(matches!(error.problem, acp_client::ClientProblem::ProcessTerminated(_)), "{error:?}");
                assert_eq!(lost, 1, "after {lines} lines: {log:#?}");
            }
        }
    }
}
