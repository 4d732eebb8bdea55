//! Thinking and tools over three rounds: what the model sealed comes back to it as it left.

use vocab::Finish;

use super::*;

const ROUNDS: [&str; 3] =
    [include_str!("streams/round1.sse"), include_str!("streams/round2.sse"), include_str!("streams/round3.sse")];

/// A message as it is gathered from events: a seal belongs to the thinking or the call before it, or stands alone.
fn gathered(events: &[ModelEvent]) -> AssistantMessage {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inputs: Vec<String> = Vec::new();
    let mut end = None;
    for event in events {
        match (event, blocks.last_mut()) {
            (ModelEvent::Text(delta), Some(Block::Text(text))) => *text = format!("{text}{delta}").into(),
            (ModelEvent::Text(delta), _) => blocks.push(Block::Text((**delta).into())),
            (ModelEvent::Thinking(delta), Some(Block::Thinking { text, opaque: None })) => {
                *text = format!("{text}{delta}").into();
            }
            (ModelEvent::Thinking(delta), _) => {
                blocks.push(Block::Thinking { text: (**delta).into(), opaque: None });
            }
            (ModelEvent::Seal(seal), Some(Block::Thinking { opaque: opaque @ None, .. })) => {
                *opaque = Some((**seal).into());
            }
            (ModelEvent::Seal(seal), Some(Block::Call(call))) if call.seal.is_none() => {
                call.seal = Some((**seal).into())
            }
            (ModelEvent::Seal(seal), _) => {
                blocks.push(Block::Thinking { text: "".into(), opaque: Some((**seal).into()) });
            }
            (ModelEvent::Call { id: Some(id), name: Some(name), input, .. }, _) => {
                inputs.push(input.clone());
                let (id, name, input) = (id.as_str().into(), name.as_str().into(), object());
                blocks.push(Block::Call(Call { id, name, input, seal: None }));
            }
            (ModelEvent::Call { index, input, .. }, _) => inputs[*index as usize].push_str(input),
            (ModelEvent::Finished(finish), _) => end = Some(MessageEnd::Finished(*finish)),
            _ => {}
        }
    }
    let mut inputs = inputs.into_iter();
    for block in &mut blocks {
        if let Block::Call(call) = block {
            call.input = CallInput::Object(Json::trusted(inputs.next().unwrap()));
        }
    }
    AssistantMessage { blocks, model: MODEL.into(), end: end.unwrap(), usage: Usage::default() }
}

/// The reasoning items of a recorded stream, cut out of its text and not read as JSON.
fn items(stream: &str) -> Vec<&str> {
    let done = stream.lines().filter(|line| line.starts_with("data:") && line.contains("response.output_item.done"));
    let item = done.filter_map(|line| {
        let start = line.find("\"item\":")? + "\"item\":".len();
        Some(line[start..].strip_suffix('}')?.trim_start())
    });
    item.filter(|item| item.contains("encrypted_content")).collect()
}

#[test]
fn three_rounds_of_thinking_and_tools_carry_the_reasoning_byte_for_byte() {
    let mut conversation = conversation();
    conversation.push(&user("go"));
    let mut sealed: Vec<&str> = Vec::new();
    let mut before = String::new();
    for (round, stream) in ROUNDS.into_iter().enumerate() {
        let sent = body(&mut conversation, &spec());
        let mut rest = &*sent;
        for item in &sealed {
            let at = rest.find(item).unwrap_or_else(|| panic!("round {round} lacks {item}\nin {sent}"));
            rest = &rest[at + item.len()..];
        }
        assert_eq!(sent.matches("encrypted_content\"").count() - 1, sealed.len(), "each once, in order: {sent}");
        // Everything that was sent before is there again, unchanged, at the same place: the server's cache depends on it.
        assert!(sent.starts_with(&before), "round {round}");
        before = sent.strip_suffix("]}").unwrap().to_owned();

        let message = gathered(&read([stream.as_bytes()]));
        let calls: Vec<_> = message.calls().map(|call| call.id.clone()).collect();
        conversation.push(&Message::Assistant(message));
        for call in calls {
            conversation.push(&result(call.as_str(), vec![Part::text("ok")]));
        }
        sealed.extend(items(stream));
    }
    assert_eq!(sealed.len(), 4);
    let sent = body(&mut conversation, &spec());
    assert_eq!(sent.matches("encrypted_content\"").count() - 1, 4);
    expect_test::expect![[r#"
        message user
        reasoning rs_1
        message assistant msg_1 commentary
        function_call call_1 {"path":"a é"}
        function_call call_2 {"path":"b"}
        function_call_output call_1
        function_call_output call_2
        reasoning rs_2
        function_call call_3 {}
        reasoning rs_3
        function_call call_4 {"command":"ls"}
        function_call_output call_3
        function_call_output call_4
        reasoning rs_4
        message assistant msg_2 final_answer
    "#]]
    .assert_eq(&shape(&sent));
}

/// The kinds of the items in order, with what pairs or labels them.
fn shape(sent: &str) -> String {
    let sent: serde_json::Value = serde_json::from_str(sent).unwrap();
    let line = |item: &serde_json::Value| {
        let words = ["type", "role", "id", "call_id", "arguments", "phase"].map(|key| item[key].as_str());
        words.into_iter().flatten().collect::<Vec<_>>().join(" ") + "\n"
    };
    sent["input"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn the_first_round_is_a_tool_use() {
    let message = gathered(&read([ROUNDS[0].as_bytes()]));
    assert_eq!(message.end, MessageEnd::Finished(Finish::ToolUse));
    assert_eq!(message.text(), "I look.");
}
