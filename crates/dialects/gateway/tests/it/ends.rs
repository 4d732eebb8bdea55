//! Connections that end by what they asked for.

use dialect_gateway::GatewayAnswer;
use dialect_gateway::services::ServiceAnswer;
use dialect_gateway::services::config::ReloadResult;
use serde_json::json;

use crate::talk::Talk;

#[test]
fn whoever_loses_their_token_by_a_reload_hears_first_that_it_was_done() {
    for is_last in [false, true] {
        let mut talk = Talk::on(None);
        talk.ask(1, "config.reload", json!({}));
        let done = ReloadResult { success: true, changed: vec![], restart_required: vec![], changes: vec![] };
        let answer = Box::new(ServiceAnswer::Reloaded(done));
        talk.own(Ok(if is_last { GatewayAnswer::Last(answer) } else { GatewayAnswer::Service(answer) }));
        let heard = talk.frames();
        assert_eq!(heard, [r#"1 = {"changed":[],"changes":[],"restartRequired":[],"success":true}"#]);
        let closed = talk.out.close.as_ref().map(|close| close.code.number());
        assert_eq!(closed, is_last.then_some(1008), "and the host writes what is left before it closes");
    }
}
