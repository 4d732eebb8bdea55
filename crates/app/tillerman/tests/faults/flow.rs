//! Flow control, and the death of a client: a reader that stops costs no memory and loses nothing, an interrupt gets
//! through, and nobody stays behind.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::faults::{Driver, End, MIB, PATIENCE, Witness, count, mark, most_kib, peak_kib, running, within};
use testkit::mock_model::{MockModel, Reply, Step};

use crate::drivers::{Rpc, Serve, every_dialect};
use crate::worlds;

/// A text that shows every loss and every change of order.
pub(crate) fn piece(at: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut line = 0;
    while text.len() < bytes {
        text.push_str(&format!("{at}.{line} "));
        line += 1;
    }
    text
}

pub(crate) const PIECE_BYTES: usize = 32 * 1024;

pub(crate) fn flood(mib: usize) -> (Reply, usize) {
    let pieces = mib * MIB / PIECE_BYTES;
    let mut steps: Vec<Step> = (0..pieces).map(|at| Step::Text(piece(at, PIECE_BYTES))).collect();
    steps.extend([Step::finish("stop"), Step::usage(1, 0, 1), Step::Done]);
    (Reply::stream(steps), pieces)
}

/// What memory may grow by while nobody reads.
const GROWTH_MIB_MAX: u64 = 64;
/// What may be left of a flood that was interrupted: what stood in buffers.
const LEFT_BYTES_MAX: usize = 4 * MIB;

fn stopped_reader<D: Driver>(args: &[&str], mib: usize) {
    let model = MockModel::start_blocking();
    let world = worlds::with(&model);
    let mut driver = D::begin(&world, args);
    driver.whole_turn("say warm");
    let (reply, pieces) = flood(mib);
    model.push(reply);
    driver.say("flood");
    let mut turn = driver.until_text();
    turn.text.reserve(mib * MIB);
    let before = driver.rss_kib();
    let most = most_kib(&driver, Duration::from_secs(count(3, 20) as u64));
    let grown = most.saturating_sub(before) / 1024;
    assert_eq!(driver.read_on(&mut turn), End::Done);
    let mut at = 0;
    for n in 0..pieces {
        let want = piece(n, PIECE_BYTES);
        assert!(turn.text[at..].starts_with(&want), "piece {n} of {pieces} is not where it belongs");
        at += want.len();
    }
    // What is beyond the bound of a kept reply is told all the same; the end may say that it was not kept.
    let note = &turn.text[at..];
    let is_note = note.starts_with("\n[") && note.ends_with("were said and not kept]");
    assert!(note.is_empty() || (D::NOTES_WHAT_IS_NOT_KEPT && is_note), "more came than was sent: {note:?}");
    let peak = peak_kib(driver.pid()) / 1024;
    println!(
        "F1 {} {args:?}: {mib} MiB, {} MiB before, +{grown} MiB while stopped, peak {peak} MiB at the end, longest line {} bytes",
        D::NAME,
        before / 1024,
        turn.line_bytes
    );
    assert!(grown < GROWTH_MIB_MAX, "+{grown} MiB while nobody read");
    assert!(peak < D::LIMITS.flood_peak, "{peak} MiB at the peak");
    driver.shutdown();
}

every_dialect!(f1_a_reader_that_stops_costs_no_memory_and_loses_nothing);
fn f1_a_reader_that_stops_costs_no_memory_and_loses_nothing<D: Driver>() {
    stopped_reader::<D>(&[], count(D::LIMITS.flood, 200));
}

#[test]
fn f1_the_same_in_rpc_with_deltas_alone() {
    stopped_reader::<Rpc>(&["--rpc-updates", "delta"], count(40, 200));
}

every_dialect!(f2_an_interrupt_gets_through_a_blocked_output);
fn f2_an_interrupt_gets_through_a_blocked_output<D: Driver>() {
    let model = MockModel::start_blocking();
    for round in 0..4 {
        let world = worlds::with(&model);
        let mut driver = D::begin(&world, &[]);
        let (reply, _) = flood(20);
        model.push(reply);
        driver.say("flood");
        let mut turn = driver.until_text();
        std::thread::sleep(Duration::from_millis(if round % 2 == 0 { 300 } else { 0 }));
        driver.interrupt();
        std::thread::sleep(Duration::from_millis(if round < 2 { 300 } else { 0 }));
        let resumed = Instant::now();
        let end = driver.read_on(&mut turn);
        let (took, bytes) = (resumed.elapsed(), turn.text.len());
        assert_eq!(end, End::Interrupted);
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(bytes < LEFT_BYTES_MAX, "{bytes} bytes of the flood were still produced");
        driver.check_idle();
        driver.whole_turn("say after");
        println!("F2 {}: round {round}: ended {took:?} after reading resumed, {bytes} bytes of 20 MiB said", D::NAME);
    }
}

/// A turn that runs a command which outlives everything unless somebody ends it.
pub(crate) fn busy<D: Driver>(driver: &mut D, line: &str, mark: &str) {
    let command = line.replace("MARK", mark);
    driver.say(&format!("call bash {} then say done", json!({ "command": command })));
    let up = within(PATIENCE, || {
        driver.allow_for(Duration::from_millis(20));
        !running(mark).is_empty()
    });
    assert!(up.is_some(), "{}: `{line}` never came up", D::NAME);
}

/// What is asked to end has this long, and is killed then.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// Until its death is seen: to hear that the client is gone, and two looks at all processes.
const SEEN_MAX: Duration = Duration::from_millis(500);
const EXIT_MAX: Duration = Duration::from_secs(5);

every_dialect!(f4_when_the_client_dies_so_do_we_and_our_children);
fn f4_when_the_client_dies_so_do_we_and_our_children<D: Driver>() {
    let mut slowest = (Duration::ZERO, Duration::ZERO);
    let rounds = count(5, 50);
    for round in 0..rounds {
        let case = round % 5;
        let world = worlds::tour();
        let mut driver = D::begin(&world, &[]);
        let mark = mark();
        match case {
            4 => driver.busy_in_its_way(&world, &mark),
            3 => busy(&mut driver, "trap '' TERM HUP INT; sleep MARK; sleep MARK", &mark),
            2 => busy(&mut driver, "setsid sleep MARK & sleep MARK", &mark),
            _ => busy(&mut driver, "sleep MARK", &mark),
        }
        // All that a dead client leaves: closed pipes.
        driver.stdout = None;
        driver.close_stdin();
        let (start, witness) = (Instant::now(), Witness::begin(TERM_GRACE));
        let children = within(Duration::from_secs(8), || running(&mark).is_empty());
        let children = children.unwrap_or_else(|| panic!("case {case}: children live on"));
        let status = driver.ended(Duration::from_secs(8)).unwrap_or_else(|| panic!("case {case}: lives on"));
        let exit = start.elapsed();
        assert_eq!(status.code(), Some(0), "{status:?}");
        if children > TERM_GRACE + SEEN_MAX || exit > EXIT_MAX {
            // A machine that lets a plain `sleep` wait makes us wait, too: for the news, and for the end of the grace.
            let late = witness.lateness();
            let about = format!(
                "case {case}: children gone after {children:?}, exit after {exit:?}, a sleep was {late:?} late"
            );
            assert!(children <= TERM_GRACE + SEEN_MAX + 2 * late && exit <= EXIT_MAX + 2 * late, "{about}");
            println!("F4 {}: {about}", D::NAME);
        }
        slowest = (slowest.0.max(children), slowest.1.max(exit));
    }
    let (children, exit) = slowest;
    println!("F4 {}: {rounds} dead clients, children gone after {children:?}, exit after {exit:?} at most", D::NAME);
}

/// In `serve` alone the end of input is not the end of the client.
#[test]
fn f4_a_controller_that_only_closes_its_end_still_gets_the_answer() {
    let world = worlds::tour();
    let mut serve = Serve::new(&world, &[]);
    serve.acknowledged("slow 20 say 30 words");
    serve.close_stdin();
    let turn = serve.rest();
    assert_eq!(turn.end, Some(End::Done), "{turn:?}");
    assert!(turn.text.ends_with("w30"), "{turn:?}");
    assert_eq!(serve.ended(PATIENCE).unwrap().code(), Some(0));
}
