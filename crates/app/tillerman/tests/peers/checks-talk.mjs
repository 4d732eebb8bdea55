// Prompts, streams, tools, queues and aborts, each against one running agent.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { isPi, mock, eventually, order, raw, roles, start, stop, textOf, until, updates, workspace } from "./world.mjs";

const ONE_TURN = ["turn_start", "message_start:user", "message_end:user", "message_start:assistant", "message_end:assistant", "turn_end"];
let client;

const last = (events, type) => events.findLast((event) => event.type === type);
const assistant = (events) => events.findLast((event) => event.type === "message_end" && event.message.role === "assistant").message;
/** Starts a prompt and waits until its answer streams; gives the index of its first event. */
async function streaming(message) {
  const since = client.events.length;
  await client.prompt(message);
  await eventually(client, (event) => event.type === "message_update", since, "an update");
  return since;
}
const rest = async (since) => {
  await eventually(client, (event) => event.type === "agent_end", since, "agent_end");
  return client.events.slice(since);
};

/** The arguments for the offered `edit` tool: agents differ in how a replacement is spelled. */
function editArguments() {
  const tool = mock.requests.at(-1).body.tools.find((offered) => offered.function.name === "edit");
  assert.ok(tool, "a tool `edit` is offered");
  const schema = tool.function.parameters.properties;
  const swap = (item) => ("old_string" in item ? { old_string: "beta", new_string: "gamma" } : { oldText: "beta", newText: "gamma" });
  if (schema.edits) return { path: "a.txt", edits: [swap(schema.edits.items.properties)] };
  return { path: "a.txt", ...swap(schema) };
}

export const talk = {
  async start_then_get_state_has_the_documented_shape() {
    client = await start();
    const state = await client.getState();
    assert.equal(state.model.id, "mock-1");
    assert.equal(state.model.provider, "mock");
    assert.deepEqual([state.isStreaming, state.isCompacting, state.messageCount, state.pendingMessageCount], [false, false, 0, 0]);
    assert.deepEqual([state.steeringMode, state.followUpMode], ["one-at-a-time", "one-at-a-time"]);
    assert.equal(state.autoCompactionEnabled, true);
    assert.match(state.sessionId, /^[0-9a-f-]{36}$/);
    assert.ok(path.isAbsolute(state.sessionFile) && state.sessionFile.endsWith(`_${state.sessionId}.jsonl`), state.sessionFile);
    assert.equal(state.thinkingLevel ?? "off", "off");
  },
  async last_assistant_text_is_empty_before_the_first_answer() {
    assert.equal((await client.getLastAssistantText()) ?? null, null);
  },
  async prompt_and_wait_for_idle_tell_the_events_in_order() {
    const idle = client.waitForIdle();
    const since = client.events.length;
    await client.prompt("TEXT hi");
    await idle;
    assert.deepEqual(order(client.events.slice(since)), ["agent_start", ...ONE_TURN, "agent_end"]);
  },
  async prompt_and_wait_returns_this_run_only() {
    const events = await client.promptAndWait("TEXT again");
    const end = last(events, "agent_end");
    assert.deepEqual(roles(end.messages), ["user", "assistant"]);
    assert.equal(textOf(end.messages[0]), "TEXT again");
    assert.equal(textOf(end.messages[1]), "Hello from mock.");
    assert.equal((await client.getState()).messageCount, 4);
  },
  async the_user_message_is_a_block_array_with_a_time() {
    const events = await client.promptAndWait("TEXT blocks");
    const { message } = events.find((event) => event.type === "message_end");
    assert.deepEqual(message.content, [{ type: "text", text: "TEXT blocks" }]);
    assert.ok(Math.abs(message.timestamp - Date.now()) < 60_000);
  },
  async an_image_reaches_the_model_and_the_history() {
    const image = { type: "image", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=", mimeType: "image/png" };
    const events = await client.promptAndWait("TEXT see", [image]);
    assert.deepEqual(last(events, "agent_end").messages[0].content[1], image);
    const sent = mock.requests.at(-1).body.messages.at(-1).content;
    assert.equal(sent.find((part) => part.type === "image_url").image_url.url, `data:image/png;base64,${image.data}`);
  },
  async text_deltas_concatenate_to_the_final_text() {
    const events = await client.promptAndWait("SAY one two three four five six seven");
    const final = textOf(assistant(events));
    assert.equal(final, "one two three four five six seven");
    assert.equal(updates(events, "text_delta").map((update) => update.delta).join(""), final);
    const ends = updates(events, "text_end");
    assert.deepEqual([updates(events, "text_start").length, ends.length, ends[0].contentIndex, ends[0].content], [1, 1, 0, final]);
  },
  async every_update_carries_the_full_message_and_partial() {
    const events = await client.promptAndWait("SLOW:8:5");
    const final = textOf(assistant(events));
    let said = "";
    for (const { message, assistantMessageEvent: update } of events.filter((event) => event.type === "message_update")) {
      said += update.delta ?? "";
      assert.deepEqual(update.partial, message);
      for (const key of ["role", "api", "provider", "model", "usage", "stopReason", "timestamp"]) assert.ok(key in message, key);
      const soFar = textOf(message);
      assert.ok(soFar.startsWith(said) && final.startsWith(soFar), `${said} / ${soFar}`);
    }
    assert.equal(said, final);
  },
  async usage_and_cost_are_the_models() {
    const { usage, stopReason } = assistant(await client.promptAndWait("TEXT usage"));
    assert.deepEqual([usage.input, usage.output, usage.cacheRead, usage.cacheWrite, usage.totalTokens], [100, 20, 0, 0, 120]);
    assert.ok(Math.abs(usage.cost.total - 0.00014) < 1e-12, String(usage.cost.total));
    assert.equal(stopReason, "stop");
  },
  async separators_of_unicode_stay_inside_a_line() {
    const odd = "SAY a\u2028b\u2029c\u0085d \u{1f6a2} \"q\" \\ end";
    assert.equal(textOf(assistant(await client.promptAndWait(odd))), odd.slice(4));
  },
  async the_read_tool_runs_between_two_turns() {
    const events = await client.promptAndWait('TOOL:read:{"path":"a.txt"}');
    assert.deepEqual(order(events), [
      "agent_start", ...ONE_TURN.slice(0, 5), "tool_execution_start", "tool_execution_end", "message_start:toolResult", "message_end:toolResult",
      "turn_end", "turn_start", "message_start:assistant", "message_end:assistant", "turn_end", "agent_end",
    ]);
    const begun = last(events, "tool_execution_start");
    const ended = last(events, "tool_execution_end");
    assert.deepEqual([begun.toolName, begun.args], ["read", { path: "a.txt" }]);
    assert.deepEqual([ended.toolCallId, ended.isError], [begun.toolCallId, false]);
    assert.match(textOf(ended.result), /alpha beta/);
    const [first] = events.filter((event) => event.type === "turn_end");
    assert.deepEqual([first.message.stopReason, first.toolResults.length, first.toolResults[0].toolCallId], ["toolUse", 1, begun.toolCallId]);
    const sent = mock.requests.at(-1).body.messages.at(-1);
    assert.deepEqual([sent.role, sent.tool_call_id], ["tool", begun.toolCallId]);
    assert.match(JSON.stringify(sent.content), /alpha beta/);
  },
  async a_tool_call_streams_its_arguments() {
    const events = await client.promptAndWait('TOOL:read:{"path":"a.txt"}');
    assert.equal(updates(events, "toolcall_start").length, 1);
    assert.equal(updates(events, "toolcall_delta").map((update) => update.delta).join(""), '{"path":"a.txt"}');
    const [end] = updates(events, "toolcall_end");
    assert.deepEqual([end.toolCall.type, end.toolCall.name, end.toolCall.arguments], ["toolCall", "read", { path: "a.txt" }]);
  },
  async the_bash_tool_reports_output_and_failure() {
    const good = last(await client.promptAndWait('TOOL:bash:{"command":"echo o; echo e >&2"}'), "tool_execution_end");
    assert.equal(good.isError, false);
    assert.match(textOf(good.result), /o\n/);
    assert.match(textOf(good.result), /e\n/);
    const bad = last(await client.promptAndWait('TOOL:bash:{"command":"echo out; exit 7"}'), "tool_execution_end");
    assert.equal(bad.isError, true);
    assert.match(textOf(bad.result), /out[^]*7/);
  },
  async bash_updates_are_cumulative() {
    const events = await client.promptAndWait('TOOL:bash:{"command":"echo first; sleep 0.4; echo second"}');
    const texts = events.filter((event) => event.type === "tool_execution_update").map((event) => textOf(event.partialResult));
    assert.ok(texts.some((text) => text.includes("first") && !text.includes("second")), JSON.stringify(texts));
    const full = textOf(last(events, "tool_execution_end").result);
    for (const text of texts) assert.ok(full.startsWith(text.trimEnd()), `${full} / ${text}`);
  },
  async the_write_and_edit_tools_change_files() {
    const file = path.join(workspace, "sub", "b.txt");
    await client.promptAndWait('TOOL:write:{"path":"sub/b.txt","content":"one\\ntwo\\n"}');
    assert.equal(fs.readFileSync(file, "utf8"), "one\ntwo\n");
    const events = await client.promptAndWait(`TOOL:edit:${JSON.stringify(editArguments())}`);
    assert.equal(last(events, "tool_execution_end").isError, false, textOf(last(events, "tool_execution_end").result));
    assert.equal(fs.readFileSync(path.join(workspace, "a.txt"), "utf8"), "alpha gamma\n");
  },
  async two_calls_in_one_message_are_answered_in_call_order() {
    const events = await client.promptAndWait('TOOLS:[["bash",{"command":"sleep 0.1; echo slow"}],["read",{"path":"sub/b.txt"}]]');
    const results = events.find((event) => event.type === "turn_end").toolResults;
    assert.deepEqual(results.map((result) => result.toolName), ["bash", "read"]);
    assert.match(textOf(results[0]), /slow/);
    assert.match(textOf(results[1]), /one/);
    const starts = events.filter((event) => event.type === "tool_execution_start").map((event) => event.toolName);
    assert.deepEqual(starts, ["bash", "read"]);
    assert.equal(events.filter((event) => event.type === "tool_execution_end").length, 2);
  },
  async an_unknown_tool_and_bad_arguments_are_results_not_ends() {
    const unknown = await client.promptAndWait("TOOL:nosuch:{}");
    const result = last(unknown, "tool_execution_end");
    assert.deepEqual([result.isError, textOf(result.result)], [true, "Tool nosuch not found"]);
    assert.equal(textOf(assistant(unknown)), "Tool done.");
    const invalid = last(await client.promptAndWait('TOOL:read:{"pth":1}'), "tool_execution_end");
    assert.equal(invalid.isError, true);
    assert.match(textOf(invalid.result), /^Validation failed for tool "read":/);
  },
  async steering_joins_the_same_run_after_the_turn() {
    const since = await streaming("SLOW:6:25");
    await client.steer("TEXT steered");
    assert.equal((await client.getState()).pendingMessageCount, 1);
    const events = await rest(since);
    assert.deepEqual(order(events), ["agent_start", ...ONE_TURN, ...ONE_TURN, "agent_end"]);
    assert.equal(textOf(events.find((event) => event.type === "turn_end").message), "w0 w1 w2 w3 w4 w5 ", "the stream was not cut");
    assert.equal(textOf(last(events, "agent_end").messages[2]), "TEXT steered");
    assert.equal((await client.getState()).pendingMessageCount, 0);
  },
  async follow_ups_come_after_steering_one_per_turn() {
    const since = await streaming("SLOW:6:25");
    await client.followUp("TEXT f1");
    await client.followUp("TEXT f2");
    await client.steer("TEXT s1");
    const events = await rest(since);
    const users = last(events, "agent_end").messages.filter((message) => message.role === "user").map(textOf);
    assert.deepEqual(users, ["SLOW:6:25", "TEXT s1", "TEXT f1", "TEXT f2"]);
    assert.equal(events.filter((event) => event.type === "turn_start").length, 4);
  },
  async follow_up_mode_all_puts_them_into_one_turn() {
    await client.setFollowUpMode("all");
    assert.equal((await client.getState()).followUpMode, "all");
    const since = await streaming("SLOW:6:25");
    await client.followUp("TEXT f1");
    await client.followUp("TEXT f2");
    const events = await rest(since);
    await client.setFollowUpMode("one-at-a-time");
    assert.equal(events.filter((event) => event.type === "turn_start").length, 2);
    assert.deepEqual(roles(last(events, "agent_end").messages), ["user", "assistant", "user", "user", "assistant"]);
  },
  async steering_while_idle_waits_for_the_next_prompt() {
    const asked = mock.requests.length;
    await client.steer("TEXT idle steer");
    assert.equal((await client.getState()).pendingMessageCount, 1);
    assert.equal(mock.requests.length, asked, "no run was started");
    const users = last(await client.promptAndWait("TEXT now"), "agent_end").messages.filter((message) => message.role === "user").map(textOf);
    assert.deepEqual(users, ["TEXT now", "TEXT idle steer"]);
  },
  async abort_in_mid_stream_keeps_the_partial_text() {
    const since = await streaming("SLOW:200:20");
    const asked = Date.now();
    await client.abort();
    assert.ok(Date.now() - asked < 1500, "abort took too long");
    const events = await rest(since);
    assert.deepEqual(order(events), ["agent_start", ...ONE_TURN, "agent_end"]);
    const message = assistant(events);
    assert.deepEqual([message.stopReason, message.errorMessage], ["aborted", "Request was aborted"]);
    assert.match(textOf(message), /^w0 /);
    assert.equal((await client.getState()).isStreaming, false);
    await until(() => mock.openStreams() === 0, "the model's stream to be closed");
  },
  async abort_keeps_the_queue_for_the_next_prompt() {
    const since = await streaming("SLOW:200:20");
    await client.followUp("TEXT later");
    await client.steer("TEXT soon");
    await client.abort();
    await rest(since);
    assert.equal((await client.getState()).pendingMessageCount, 2);
    const users = last(await client.promptAndWait("TEXT next"), "agent_end").messages.filter((message) => message.role === "user").map(textOf);
    assert.deepEqual(users, ["TEXT next", "TEXT soon", "TEXT later"]);
    assert.equal((await client.getState()).pendingMessageCount, 0);
  },
  async abort_during_a_tool_ends_with_an_empty_aborted_message() {
    const since = client.events.length;
    await client.prompt('TOOL:bash:{"command":"echo begun; sleep 30"}');
    await eventually(client, (event) => event.type === "tool_execution_update" && /begun/.test(textOf(event.partialResult)), since, "output of the tool");
    const asked = Date.now();
    await client.abort();
    assert.ok(Date.now() - asked < 3000, "abort took too long");
    const events = await rest(since);
    const ended = last(events, "tool_execution_end");
    assert.equal(ended.isError, true);
    // pi repeats the output so far; ours was told as updates, and the result says how it ended.
    assert.match(textOf(ended.result), /begun|interrupted/);
    assert.deepEqual(order(events).slice(-6), ["turn_end", "turn_start", "message_start:assistant", "message_end:assistant", "turn_end", "agent_end"]);
    const message = assistant(events);
    assert.deepEqual([message.stopReason, message.content], ["aborted", []]);
  },
  async abort_when_idle_is_fine() {
    await client.abort();
    assert.equal(textOf(assistant(await client.promptAndWait("TEXT on"))), "Hello from mock.");
  },
  async the_model_sees_neither_aborted_nor_lost_calls() {
    const { messages } = mock.requests.at(-1).body;
    for (const [at, message] of messages.entries()) {
      for (const [next, call] of (message.tool_calls ?? []).entries()) {
        const answer = messages[at + 1 + next];
        assert.deepEqual([answer?.role, answer?.tool_call_id], ["tool", call.id], roles(messages).join(" "));
      }
    }
    assert.ok(!JSON.stringify(messages).includes('"content":""'), "an empty message was sent");
    await stop(client);
  },
};

/** A failed check may leave queued words or a run behind; the next one gets an agent of its own. */
export async function renew() {
  if (client) await stop(client);
  client = await start();
}

/** Things RpcClient hides: what comes before its first command, and answers it does not wait for. */
export const wire = {
  async the_response_to_prompt_precedes_its_run() {
    const agent = raw();
    await agent.ask({ id: "s", type: "get_state" });
    const since = agent.frames.length;
    agent.send({ id: "p", type: "prompt", message: "TEXT hi" });
    await agent.wait((frame) => frame.type === "agent_end");
    const types = agent.frames.slice(since).map((frame) => frame.type).filter((type) => type === "response" || type === "agent_start");
    assert.deepEqual(types, ["response", "agent_start"]);
    assert.deepEqual(agent.bad, [], "only frames are on stdout");
    const first = agent.frames[0];
    assert.ok(first.type === "response" || (first.type === "ready" && typeof first.version === "string"), JSON.stringify(first));
    assert.deepEqual((await agent.end()).code, 0);
  },
  async a_prompt_while_streaming_is_refused_under_its_id() {
    const agent = raw();
    agent.send({ id: "p", type: "prompt", message: "SLOW:12:30" });
    await agent.wait((frame) => frame.type === "message_update");
    agent.send({ id: "q", type: "prompt", message: "TEXT refused" });
    await agent.wait((frame) => frame.type === "agent_end");
    const answers = agent.frames.filter((frame) => frame.id === "q");
    // The seed's form is an acknowledgement and then the error; pi has the error alone.
    assert.deepEqual(answers.map((frame) => frame.success), answers.length === 2 ? [true, false] : [false]);
    assert.match(answers.at(-1).error, /^Agent is already processing\. /);
    const { data } = await agent.ask({ id: "m", type: "get_messages" });
    assert.deepEqual(roles(data.messages), ["user", "assistant"]);
    agent.send({ id: "b", type: "prompt", message: "SLOW:8:30" });
    const since = agent.frames.length;
    await agent.wait((frame) => frame.type === "message_update", { since });
    assert.equal((await agent.ask({ id: "st", type: "prompt", message: "TEXT steered", streamingBehavior: "steer" })).success, true);
    const end = await agent.wait((frame) => frame.type === "agent_end", { since });
    assert.deepEqual(end.messages.filter((message) => message.role === "user").map(textOf), ["SLOW:8:30", "TEXT steered"]);
    await agent.end();
  },
  async bad_lines_are_answered_and_survived() {
    const agent = raw();
    agent.send("{nonsense");
    const parse = await agent.wait((frame) => frame.type === "response");
    assert.deepEqual([parse.command, parse.success, "id" in parse], ["parse", false, false]);
    assert.match(parse.error, /^Failed to parse command: /);
    agent.send({ id: "u", type: "frobnicate" });
    const unknown = await agent.wait((frame) => frame.command === "frobnicate");
    // The first pi left the id out, so that its clients waited in vain; later ones do not.
    assert.deepEqual([unknown.error, "id" in unknown], ["Unknown command: frobnicate", !isPi]);
    agent.send({ id: 7, type: "get_state" });
    await agent.wait((frame) => frame.id === 7, { what: "a number as id" });
    agent.send({ type: "abort_bash" });
    assert.equal("id" in (await agent.wait((frame) => frame.command === "abort_bash")), false);
    agent.process.stdin.write('{"id":"crlf","type":"abort_retry"}\r\n');
    await agent.wait((frame) => frame.id === "crlf");
    agent.process.stdin.write('{"id":"tail","type":"get_last_assistant_text"}');
    const { code } = await agent.end();
    assert.equal(code, 0);
    assert.ok(agent.frames.some((frame) => frame.id === "tail"), "an unterminated last line is a line");
  },
  async a_failing_handler_reports_its_reason() {
    const agent = raw();
    agent.send({ id: "f", type: "fork", entryId: "nope" });
    const failed = await agent.wait((frame) => frame.type === "response" && frame.success === false);
    // The seed's form drops id and command; pi keeps both.
    if (failed.command === "parse") assert.match(failed.error, /^Failed to parse command: Invalid entry ID for (fork|branch)ing$/);
    else assert.deepEqual([failed.id, failed.command, failed.error], ["f", "fork", "Invalid entry ID for forking"]);
    await agent.end();
  },
  async abort_is_not_held_up_by_bash() {
    const agent = raw();
    agent.send({ id: "b", type: "bash", command: "echo start; sleep 30" });
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const type of ["abort", "abort_retry", "get_state", "abort_bash"]) await agent.ask({ id: type, type });
    const { data } = await agent.wait((frame) => frame.type === "response" && frame.id === "b");
    assert.equal(data.cancelled, true);
    await agent.end();
  },
  async end_of_input_ends_the_process_even_in_mid_stream() {
    const agent = raw();
    agent.send({ id: "p", type: "prompt", message: "SLOW:500:20" });
    await agent.wait((frame) => frame.type === "message_update");
    const asked = Date.now();
    assert.deepEqual(await agent.end(), { code: 0, signal: null });
    assert.ok(Date.now() - asked < 2000);
    await until(() => mock.openStreams() === 0, "the model's stream to be closed");
  },
  async sigterm_ends_the_process_at_once() {
    const agent = raw();
    await agent.ask({ id: "s", type: "get_state" });
    const asked = Date.now();
    agent.process.kill("SIGTERM");
    await agent.exit;
    assert.ok(Date.now() - asked < 1000, "RpcClient kills after one second");
  },
  async a_file_argument_is_refused() {
    const agent = raw(["--provider", "mock", "--model", "mock-1", "@a.txt"]);
    const { code } = await agent.exit;
    assert.equal(code, 1);
    assert.match(agent.stderr, /@file arguments are not supported in RPC mode/);
    assert.deepEqual(agent.frames.filter((frame) => frame.type !== "ready"), []);
  },
};
