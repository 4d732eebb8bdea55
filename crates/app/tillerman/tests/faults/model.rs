//! The model server: whatever it does, the turn ends with an error that names it, and the next turn works.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use testkit::faults::{Driver, brief, count, peak_kib};
use testkit::mock_model::{MockModel, Reply, Step};

use crate::drivers::{Serve, all, first, said};
use crate::worlds::with;

/// The error of a turn that failed, right before its end.
fn failed(serve: &mut Serve, prompt: &str, about: &str) -> (Value, Vec<Value>) {
    let seen = serve.turn(prompt);
    assert_eq!(seen.last().unwrap()["stop_reason"], "error", "{about}: {}", brief(&seen));
    let errors = all(&seen, "error");
    assert_eq!(errors.len(), 1, "{about}: {}", brief(&seen));
    assert_eq!(seen[seen.len() - 2]["type"], "error", "{about}: something came between the error and the end");
    assert_eq!(errors[0]["turn_id"], first(&seen, "turn_started")["turn_id"], "{about}");
    ((*errors[0]).clone(), seen)
}

fn busy_reply(status: u16, after: Option<&str>) -> Reply {
    let reply = Reply::error(status, "come back later");
    match after {
        Some(after) => reply.header("retry-after", after),
        None => reply,
    }
}

#[test]
fn m1_a_busy_server_is_asked_again_when_it_says() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    world.quick_retries();
    let mut serve = Serve::new(&world, &[]);
    let date = |seconds: u64| {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds;
        http_date(at)
    };
    let mut cases = 0;
    // Seconds and date: at least that long.
    for (after, least) in [(Some(1), 1000), (None, 900), (Some(0), 0)] {
        let after = after.map_or_else(|| date(2), |seconds: u32| seconds.to_string());
        model.push(busy_reply(429, Some(&after)));
        let start = Instant::now();
        serve.good_turn("say back");
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(least), "retry-after {after}: waited only {took:?}");
        assert!(took < Duration::from_millis(least + 4000), "retry-after {after}: {took:?}");
        cases += 1;
    }
    for status in [500, 502, 503, 504, 529, 429] {
        model.push(busy_reply(status, None));
        model.push(busy_reply(status, None));
        serve.good_turn("say back");
        cases += 1;
    }
    // One try and three more, then it gives up.
    for (status, code) in [(503, "provider_error"), (429, "rate_limited")] {
        let before = model.counts().chats;
        (0..4).for_each(|_| model.push(busy_reply(status, None)));
        let (error, _) = failed(&mut serve, "say never", &status.to_string());
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(error["origin"], "remote");
        assert_eq!(model.counts().chats - before, 4, "{status}");
        assert_eq!(model.waiting(), 0);
        serve.good_turn("say after");
        cases += 1;
    }
    // Longer than anybody wants to wait: said at once, with the time.
    for after in ["31".to_owned(), "100000".to_owned(), date(300)] {
        let before = model.counts().chats;
        model.push(busy_reply(429, Some(&after)));
        let start = Instant::now();
        let (error, _) = failed(&mut serve, "say never", &after);
        assert!(start.elapsed() < Duration::from_secs(2), "{after}: {:?}", start.elapsed());
        assert_eq!(error["code"], "rate_limited", "{error}");
        let text = error["message"].as_str().unwrap();
        assert!(text.chars().any(|c| c.is_ascii_digit()), "the time is not named: {text}");
        assert!(after != "31" || text.contains("31"), "the time is not named: {text}");
        assert_eq!(model.counts().chats - before, 1);
        cases += 1;
    }
    // A wait can be left at once.
    model.push(busy_reply(429, Some("25")));
    serve.prompt("say never");
    serve.until("turn_started");
    std::thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    serve.interrupt();
    let seen = serve.until("turn_complete");
    assert_eq!(seen.last().unwrap()["stop_reason"], "interrupted", "{}", brief(&seen));
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    serve.good_turn("say after");
    println!("M1: {} cases, left a wait after {:?}", cases + 1, start.elapsed());
}

/// As in `Retry-After: Wed, 21 Oct 2015 07:28:00 GMT`.
fn http_date(at: u64) -> String {
    let (days, rest) = (at / 86_400, at % 86_400);
    // Civil date from days since 1970 (Hinnant).
    let z = days as i64 + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let name = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months[month as usize - 1];
    format!("{name}, {day:02} {month} {year} {:02}:{:02}:{:02} GMT", rest / 3600, rest / 60 % 60, rest % 60)
}

#[test]
fn m2_silence_ends_the_turn_and_keep_alives_are_silence() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    world.config("idle_timeout_s = 1\n[retry]\nretries_max = 0\n");
    let mut serve = Serve::new(&world, &[]);
    let comments: Vec<Step> = (0..200)
        .flat_map(|_| [Step::Comment, Step::Pause { ms: 50 }])
        .chain([Step::text("late"), Step::Done])
        .collect();
    let mut after_text = vec![Step::text("part ")];
    after_text.extend(comments.clone());
    let cases = [
        ("silence", vec![Step::Hold]),
        ("silence after text", vec![Step::text("part "), Step::Hold]),
        ("keep-alives only", comments),
        ("keep-alives after text", after_text),
    ];
    for (about, steps) in cases {
        model.push(Reply::stream(steps));
        let start = Instant::now();
        let (error, seen) = failed(&mut serve, "hello", about);
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(900) && took < Duration::from_secs(4), "{about}: {took:?}");
        assert!(!error["message"].as_str().unwrap().is_empty());
        assert_eq!(said(&seen), if about.ends_with("text") { "part " } else { "" });
        println!("M2: {about}: {} after {took:?}: {}", error["code"], error["message"]);
        serve.good_turn("say after");
    }
    // A slow but living stream is none of these.
    let slow: Vec<Step> = (0..6).flat_map(|_| [Step::text("x"), Step::Pause { ms: 400 }]).collect();
    model.push(Reply::stream([slow, vec![Step::finish("stop"), Step::Done]].concat()));
    assert_eq!(said(&serve.good_turn("hello")), "xxxxxx");
    // And it can be left.
    model.push(Reply::stream(vec![Step::text("part"), Step::Hold]));
    serve.prompt("hello");
    serve.until("text_delta");
    let start = Instant::now();
    serve.interrupt();
    assert_eq!(serve.until("turn_complete").last().unwrap()["stop_reason"], "interrupted");
    assert!(start.elapsed() < Duration::from_millis(500));
}

#[test]
fn m3_a_broken_stream_is_an_error_and_what_was_said_is_kept() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    world.config("[retry]\nretries_max = 0\n");
    let mut serve = Serve::new(&world, &[]);
    let part = || Step::text("part ");
    let raw = |text: &str| Step::Raw(text.as_bytes().to_vec());
    let chunk = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n";
    let cases = [
        ("cut in the middle", Reply::stream(vec![part(), Step::Eof]), true),
        ("reset", Reply::stream(vec![part(), Step::Cut]), true),
        ("ended without a finish", Reply::stream(vec![part(), Step::HangUp]), true),
        ("half a chunk", Reply::stream(vec![part(), raw(&chunk[..40]), Step::Eof]), true),
        ("bad JSON", Reply::stream(vec![part(), raw("data: {\"choices\":[{]}\n\n"), Step::Hold]), true),
        (
            "bad UTF-8",
            Reply::stream(vec![part(), Step::Raw(b"data: {\"choices\":\"\xff\xfe\"}\n\n".to_vec()), Step::Hold]),
            true,
        ),
        (
            "an error object",
            Reply::stream(vec![part(), raw("data: {\"error\":{\"message\":\"boom\"}}\n\n"), Step::Done]),
            true,
        ),
        ("a huge event", Reply::stream(vec![part(), Step::Raw(vec![b'x'; 20 << 20]), Step::Hold]), true),
        ("HTML with 200", Reply::plain(200, "text/html", "<html><body>Please log in</body></html>"), false),
        (
            "HTML as a stream",
            Reply::Stream { content_type: "text/html".into(), steps: vec![raw("<html>no</html>")] },
            false,
        ),
        ("nothing with 200", Reply::plain(200, "text/event-stream", ""), false),
        ("no answer at all", Reply::Drop, false),
        ("401", Reply::error(401, "bad key"), false),
        ("400", Reply::error(400, "no such parameter"), false),
        ("a redirect", Reply::plain(302, "text/plain", "").header("location", "http://127.0.0.1:1/"), false),
    ];
    let kinds = cases.len();
    for (about, reply, text) in cases {
        if matches!(reply, Reply::Drop) {
            // A kept connection that turns out to be closed is replaced without a word.
            model.push(Reply::Drop);
        }
        model.push(reply);
        let (error, seen) = failed(&mut serve, "hello", about);
        assert_eq!(model.waiting(), 0, "{about}");
        assert_eq!(said(&seen), if text { "part " } else { "" }, "{about}");
        let origin = error["origin"].as_str().unwrap();
        assert!(matches!(origin, "remote" | "unknown"), "{about}: {error}");
        println!("M3: {about}: {} {}", error["code"], error["message"]);
        let after = serve.good_turn("say after");
        assert_eq!(said(&after), "after");
        if text {
            // The model sees what the user saw.
            let messages = model.last_chat()["messages"].as_array().unwrap().clone();
            let kept = messages.iter().rev().find(|m| m["role"] == "assistant").unwrap();
            assert!(kept["content"].to_string().contains("part"), "{about}: {kept}");
        }
    }
    // Every cut of a recorded stream: the whole text or an error, never something else.
    let stream =
        [part(), Step::text("é→😀 "), Step::text("end"), Step::finish("stop"), Step::usage(1, 0, 1), Step::Done];
    let bytes: Vec<u8> = stream.iter().flat_map(|step| step.bytes().unwrap()).collect();
    let stride = count(37, 1);
    let (mut whole, mut errors) = (0, 0);
    for cut in (1..bytes.len()).step_by(stride) {
        // Once the rest comes late, once never.
        model.push(Reply::stream(vec![Step::Raw(bytes[..cut].to_vec()), Step::Raw(bytes[cut..].to_vec())]));
        assert_eq!(said(&serve.good_turn("hello")), "part é→😀 end", "split at {cut}");
        model.push(Reply::stream(vec![Step::Raw(bytes[..cut].to_vec()), Step::Eof]));
        let seen = serve.turn("hello");
        assert!("part é→😀 end".starts_with(&said(&seen)), "cut at {cut}: {}", said(&seen));
        match seen.last().unwrap()["stop_reason"].as_str().unwrap() {
            "end_turn" => whole += 1,
            _ => errors += 1,
        }
        if cut % (stride * 8) == 1 {
            serve.slash("clear", "");
        }
    }
    println!("M3: {kinds} kinds; {} cuts: {whole} whole, {errors} errors", whole + errors);
}

/// The results of one reply's calls, by the model's id.
fn results(serve: &mut Serve, reply: Reply, model: &MockModel) -> Vec<Value> {
    model.push(reply);
    model.push(Reply::text("done"));
    let seen = serve.turn("go");
    let starts = all(&seen, "tool_start").len();
    let results: Vec<Value> = all(&seen, "tool_result").into_iter().cloned().collect();
    assert_eq!(starts, results.len(), "{}", brief(&seen));
    results
}

#[test]
fn m4_calls_that_make_no_sense_get_an_error_result() {
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut serve = Serve::new(&world, &[]);
    let broken = [
        "",
        "{",
        "{\"command\":",
        "[]",
        "null",
        "\"x\"",
        "{\"command\":5}",
        "{\"command\":\"a\"}{}",
        "{'command':'a'}",
        "{\"command\":\"echo \\ud800\"",
        "{\"path\":1,\"path\":2}",
        "{\"nope\":true}",
    ];
    for arguments in broken {
        let before = model.counts().chats;
        let results = results(&mut serve, Reply::calls(&[("bash", arguments)]), &model);
        assert_eq!(results.len(), 1, "{arguments}");
        assert_eq!(results[0]["is_error"], true, "{arguments}: {}", results[0]);
        assert_eq!(model.counts().chats - before, 2, "{arguments}: the model did not learn of it");
        let messages = model.last_chat()["messages"].as_array().unwrap().clone();
        assert_eq!(messages.last().unwrap()["role"], "tool", "{arguments}");
    }
    let unknown = results(&mut serve, Reply::calls(&[("no_such_tool", "{}"), ("", "{}")]), &model);
    assert!(unknown.iter().all(|result| result["is_error"] == true), "{}", brief(&unknown));
    // Enormous arguments, whole and in pieces.
    let before = serve.rss_kib();
    let huge = "x".repeat(1 << 20);
    let mut steps = vec![Step::call(0, "big", "write_file", "{\"path\":\"big.txt\",\"content\":\"")];
    steps.extend((0..count(20, 200)).map(|_| Step::more(0, &huge)));
    steps.extend([Step::more(0, "\"}"), Step::finish("tool_calls"), Step::Done]);
    model.push(Reply::stream(steps));
    model.push(Reply::text("done"));
    let seen = serve.turn("go");
    let ended = seen.last().unwrap();
    assert!(!world.workspace.join("big.txt").exists(), "20 MiB of arguments were obeyed");
    let told =
        all(&seen, "tool_result").iter().any(|result| result["is_error"] == true) || ended["stop_reason"] == "error";
    assert!(told, "{}", brief(&seen));
    let grown = peak_kib(serve.pid()).saturating_sub(before) / 1024;
    drop(serve);
    // A thousand calls at once.
    let model = MockModel::start_blocking();
    let world = with(&model);
    let mut serve = Serve::new(&world, &[]);
    let calls: Vec<(&str, &str)> = (0..1000).map(|_| ("glob_search", "{\"pattern\":\"*\"}")).collect();
    model.push(Reply::calls(&calls));
    model.push(Reply::text("done"));
    let seen = serve.turn("go");
    let ran = all(&seen, "permission_request").len();
    let ended = seen.last().unwrap()["stop_reason"].clone();
    assert!(ran <= 128, "{ran} calls ran");
    if ended == "end_turn" {
        let request = model.last_chat();
        let messages = request["messages"].as_array().unwrap();
        let asked: usize = messages.iter().map(|m| m["tool_calls"].as_array().map_or(0, Vec::len)).sum();
        let answered = messages.iter().filter(|m| m["role"] == "tool").count();
        assert_eq!(asked, answered);
    } else {
        assert_eq!(first(&seen, "error")["turn_id"], first(&seen, "turn_started")["turn_id"]);
    }
    serve.good_turn("say after");
    assert!(serve.next(Duration::from_millis(50)).is_none_or(|value| value["type"] == "state_changed"));
    println!("M4: {} broken, unknown, huge (+{grown} MiB), 1000 at once: {ran} ran, then {ended}", broken.len());
}
