//! Tools of servers over stdin and stdout.

use vocab::*;

use crate::support::{Scene, call, run, text, tool, until};

#[tokio::test]
async fn all_pages_are_listed() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    expect_test::expect![[r#"
        echo
        add
        picture
        progress
        slow
        die
        garbage
        huge
        too_long
        place
        ask_us
        wrong
        refuse
        children
        odd
        deaf"#]]
    .assert_eq(&names.join("\n"));
    let log = scene.log();
    let said: Vec<&str> = log.lines().skip(1).collect();
    assert_eq!(said, ["initialize", "notifications/initialized", "tools/list", "tools/list", "tools/list"]);
}

#[tokio::test]
async fn what_only_reads_says_so_and_everything_else_needs_full_access() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let plan = |name| tool(&tools, name).plan(&Json::empty_object()).unwrap();
    let echo = Plan { required: Required::ReadOnly, mutation: None, summary: "good: echo".into(), preview: None };
    assert_eq!(plan("echo"), echo);
    assert_eq!(tool(&tools, "echo").required(), Required::ReadOnly);
    let add = plan("add");
    assert_eq!((add.required, add.mutation), (Required::DangerFullAccess, Some("good: add".into())));
    assert_eq!(&*tool(&tools, "add").spec().description, "Does add");
}

#[tokio::test]
async fn a_servers_word_that_a_tool_only_reads_counts_where_the_user_trusts_it() {
    let scene = Scene::new();
    let tools = scene.start(McpServer { trust_hints: false, ..scene.scripted("good") }).await.unwrap();
    for name in ["echo", "add"] {
        let plan = tool(&tools, name).plan(&Json::empty_object()).unwrap();
        assert_eq!((plan.required, plan.mutation.is_some()), (Required::DangerFullAccess, true), "{name}");
    }
}

#[tokio::test]
async fn results_come_as_text_pictures_and_structure() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    assert_eq!(text(&tools, "echo", r#"{"text":"gr\u00fc\u00df"}"#).await, "gr\u{fc}\u{df}");
    let sum = call(&tools, "add", r#"{"a":2,"b":3}"#).await;
    assert_eq!((parts_text(&sum.parts), sum.details), ("5".into(), Some(Json::trusted(r#"{"sum": 5}"#))));
    let picture = call(&tools, "picture", "{}").await;
    assert_eq!(picture.parts, [Part::Image(Image { mime: "image/png".into(), base64: "AAAA".into() })]);
    let wrong = call(&tools, "wrong", "{}").await;
    assert_eq!((wrong.is_error, parts_text(&wrong.parts)), (true, "that did not work".into()));
    let refused = call(&tools, "refuse", "{}").await;
    assert!(refused.is_error);
    assert_eq!(parts_text(&refused.parts), "these arguments are refused (error -32602)");
    let odd = call(&tools, "odd", "{}").await;
    assert!(odd.is_error && parts_text(&odd.parts).starts_with("the server `good` gave a result that cannot be read"));
}

#[tokio::test]
async fn progress_is_told_while_the_call_runs() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let (running, told) = run(&tools, "progress", "{}");
    assert_eq!(parts_text(&running.await.parts), "done");
    assert_eq!(*told.lock().unwrap(), ["step (1/2)", "step (2/2)"]);
}

#[tokio::test]
async fn dropping_a_call_cancels_it_and_others_go_on() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let slow = tokio::spawn(run(&tools, "slow", "{}").0);
    scene.until_logged("slow ").await;
    assert_eq!(text(&tools, "echo", r#"{"text":"beside"}"#).await, "beside");
    assert!(!scene.log().contains("cancelled"));
    slow.abort();
    scene.until_logged("notifications/cancelled").await;
    let log = scene.log();
    let number = |word: &str| log.lines().find_map(|line| line.strip_prefix(word)).unwrap().to_owned();
    assert_eq!(number("slow "), number("notifications/cancelled "));
    assert_eq!(text(&tools, "echo", r#"{"text":"after"}"#).await, "after");
}

#[tokio::test]
async fn an_answered_call_is_not_cancelled() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    for _ in 0..3 {
        text(&tools, "echo", r#"{"text":"x"}"#).await;
    }
    drop(tools);
    scene.until_logged("end of input").await;
    assert!(!scene.log().contains("cancelled"), "{}", scene.log());
}

#[tokio::test]
async fn garbage_on_stdout_is_survived_and_huge_results_are_cut() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    assert_eq!(text(&tools, "garbage", "{}").await, "after garbage");
    let huge = text(&tools, "huge", "{}").await;
    assert!(huge.len() < mcp::TEXT_BYTES_MAX + 100 && huge.ends_with("more bytes]"), "{}", huge.len());
    let long = call(&tools, "too_long", "{}").await;
    assert!(long.is_error);
    assert_eq!(parts_text(&long.parts), "the server `good` sent a line of more than 16777216 bytes");
    assert_eq!(text(&tools, "echo", r#"{"text":"still here"}"#).await, "still here");
}

#[tokio::test]
async fn a_server_may_ask_where_we_work_and_nothing_else() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let answers: Vec<serde_json::Value> = serde_json::from_str(&text(&tools, "ask_us", "{}").await).unwrap();
    assert_eq!(answers[0], serde_json::json!({}));
    assert_eq!(answers[1]["roots"][0]["uri"], format!("file://{}", scene.workspace().display()));
    assert_eq!((&answers[2]["code"], &answers[3]["code"]), (&(-32601).into(), &(-32601).into()));
}

#[tokio::test]
async fn a_server_runs_in_the_workspace_with_a_clean_environment() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let place: serde_json::Value = serde_json::from_str(&text(&tools, "place", "{}").await).unwrap();
    assert_eq!(place["cwd"], scene.workspace().to_str().unwrap());
    assert_eq!(place["pgid"], true);
    let env: Vec<&str> = place["env"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    // A Python that is found through wrappers has some more of its own.
    assert!(["PATH", "SERVER_KEY", "SERVER_LOG"].iter().all(|name| env.contains(name)), "{env:?}");
    assert!(!["HOME", "CARGO_MANIFEST_DIR"].iter().any(|name| env.contains(name)), "{env:?}");
}

#[tokio::test]
async fn a_changed_list_counts_for_the_next_session_only() {
    let scene = Scene::new();
    let tools = scene.kind("good").await.unwrap();
    let listed = scene.log().matches("tools/list").count();
    text(&tools, "ask_us", "{}").await;
    text(&tools, "echo", "{}").await;
    assert_eq!(scene.log().matches("tools/list").count(), listed);
    scene.kind("good").await.unwrap();
    assert_eq!(scene.log().matches("tools/list").count(), 2 * listed);
}

#[tokio::test]
async fn dropping_the_last_tool_ends_the_server_and_what_it_started() {
    for kind in ["good", "stubborn"] {
        let scene = Scene::new();
        let mut tools = scene.kind(kind).await.unwrap();
        let pids = text(&tools, "children", "{}").await;
        let pids: Vec<&str> = pids.split(' ').collect();
        let last = tools.remove(0);
        drop(tools);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(pids.iter().all(|pid| crate::support::is_alive(pid)), "one tool is left");
        drop(last);
        until(|| !pids.iter().any(|pid| crate::support::is_alive(pid)), "the end of both processes").await;
        assert!(scene.log().contains("end of input"), "stdin is closed first: {}", scene.log());
    }
}
