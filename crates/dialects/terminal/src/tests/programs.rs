//! Lines for programs.

use super::*;

#[test]
fn json_lines_tell_the_whole_turn() {
    let mut done = result_of("c1", "write_file", CallEnd::Ran, "wrote");
    done.edits.push(FileEdit { path: "n".into(), before: Snapshot::Absent, after: Snapshot::Text("x\n".into()) });
    let fault = Fault::new(FaultKind::StreamCut, "cut").hint("try again");
    let steps = vec![
        opened(),
        text("a \"quoted\"\n"),
        call("c1", "write_file", r#"{"path":"n"}"#),
        permission("ask1"),
        told(Body::Call(CallEntry::Ended { turn: turn(), result: done })),
        ended(Stop::Error, Some(fault)),
    ];
    let seen = play(run_options(AnswerPolicy::AllowAll), JsonRenderer::default(), steps);
    for line in seen.shown.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("each line is JSON");
    }
    expect![[r#"
        {"type":"session","session_id":"s1","resumed":false,"model":"tour","mode":"prompt","workspace":"/w"}
        {"type":"notice","text":"model: tour (no key, no local server)"}
        {"type":"text","delta":"a \"quoted\"\n"}
        {"type":"tool_call","id":"c1","name":"write_file","input":{"path":"n"}}
        {"type":"permission","call":"c1","tool":"write_file","summary":"write src/x.rs (+1 -1)","required":"workspace-write","decision":"allow","reason":null}
        {"type":"tool_result","id":"c1","name":"write_file","outcome":"ran","is_error":false,"text":"wrote","duration_ms":3,"edits":[{"added":1,"patch":"@@ -0,0 +1 @@\n+x\n","path":"n","removed":0}]}
        {"type":"turn_end","stop":"error","iterations":1,"usage":{"cache_read_tokens":0,"cache_write_tokens":0,"estimated":false,"input_tokens":1200,"output_tokens":34},"error":{"hints":["try again"],"kind":"stream_cut","message":"cut"},"exit_code":1,"result":"said","session_id":"s1","cost_usd":null}
        -> prompt "go"
        -> answer ask1 Allow(Once)
        -- exit 1
    "#]].assert_eq(&show(&seen));
}
