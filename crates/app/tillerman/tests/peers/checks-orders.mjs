// Commands beside the talk: models, thinking, bash, retry, compaction, statistics, export, names.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { SUMMARY } from "./mock-model.mjs";
import { RETRY_DELAY_MS, agentDir, eventually, home, lines, mock, order, roles, start, stop, textOf, until, updates } from "./world.mjs";

let client;
const sent = () => mock.requests.at(-1).body;
const retries = (events) => events.filter((event) => event.type.startsWith("auto_retry"));
/** Everything from `since` until the agent has neither a run nor a retry before it. */
async function settled(since, ended) {
  await eventually(client, ended, since, "the end of the retries");
  await until(async () => !(await client.getState()).isStreaming, "an idle agent");
  return client.events.slice(since);
}

export const orders = {
  async available_models_are_those_of_models_json() {
    client = await start();
    const models = (await client.getAvailableModels()).filter((model) => model.provider === "mock");
    assert.deepEqual(models.map((model) => model.id), ["mock-1", "mock-2", "mock-3"]);
    const { name, api, baseUrl, reasoning, input, cost, contextWindow, maxTokens } = models[2];
    assert.deepEqual([name, api, baseUrl, reasoning, input], ["Mock Thinker", "openai-completions", mock.baseUrl, true, ["text", "image"]]);
    assert.deepEqual([cost, contextWindow, maxTokens], [{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }, 128000, 4096]);
    assert.ok(!JSON.stringify(models).includes("mock-key"), "a key is told");
  },
  async set_model_answers_with_the_model_and_the_next_call_uses_it() {
    const model = await client.setModel("mock", "mock-2");
    assert.deepEqual([model.id, model.name, model.provider], ["mock-2", "Mock Two", "mock"]);
    assert.equal((await client.getState()).model.id, "mock-2");
    const events = await client.promptAndWait("TEXT two");
    assert.equal(sent().model, "mock-2");
    assert.equal(mock.requests.at(-1).headers.authorization, "Bearer mock-key");
    assert.equal(events.findLast((event) => event.type === "turn_end").message.model, "mock-2");
  },
  async an_unknown_model_is_refused_by_name() {
    await assert.rejects(client.setModel("mock", "nope"), { message: "Model not found: mock/nope" });
    await assert.rejects(client.setModel("elsewhere", "mock-1"), { message: "Model not found: elsewhere/mock-1" });
    assert.equal((await client.getState()).model.id, "mock-2");
  },
  async cycle_model_goes_round() {
    const count = (await client.getAvailableModels()).length;
    const seen = [];
    for (let i = 0; i < count; i++) {
      const { model, isScoped } = await client.cycleModel();
      assert.equal(isScoped, false);
      seen.push(`${model.provider}/${model.id}`);
    }
    assert.equal(new Set(seen).size, count, seen.join(" "));
    assert.equal(seen.at(-1), "mock/mock-2", "round to where it began");
  },
  async thinking_levels_are_clamped_to_the_model() {
    await client.setModel("mock", "mock-1");
    await client.setThinkingLevel("high");
    assert.equal((await client.getState()).thinkingLevel ?? "off", "off");
    assert.equal(await client.cycleThinkingLevel(), null);
    await client.setModel("mock", "mock-3");
    await client.setThinkingLevel("low");
    assert.equal((await client.getState()).thinkingLevel, "low");
    await client.setThinkingLevel("xhigh");
    assert.equal((await client.getState()).thinkingLevel, "high");
  },
  async cycle_thinking_level_goes_round() {
    const seen = [];
    for (let i = 0; i < 5; i++) seen.push((await client.cycleThinkingLevel()).level);
    assert.deepEqual(seen, ["off", "minimal", "low", "medium", "high"]);
  },
  async thinking_is_a_block_of_its_own() {
    const events = await client.promptAndWait("THINK now");
    const { content } = events.findLast((event) => event.type === "message_end").message;
    assert.deepEqual(content.map((block) => block.type), ["thinking", "text"]);
    assert.equal(content[0].thinking, "I think.");
    assert.equal(updates(events, "thinking_delta").map((update) => update.delta).join(""), "I think.");
    const [end] = updates(events, "thinking_end");
    assert.deepEqual([end.contentIndex, end.content], [0, "I think."]);
    assert.equal(updates(events, "text_end")[0].contentIndex, 1);
    await client.setModel("mock", "mock-1");
  },
  async queue_modes_are_kept_in_the_state() {
    await client.setSteeringMode("all");
    assert.equal((await client.getState()).steeringMode, "all");
    await client.setSteeringMode("one-at-a-time");
    assert.equal((await client.getState()).steeringMode, "one-at-a-time");
  },
  async bash_answers_with_output_and_exit_code() {
    const since = client.events.length;
    const result = await client.bash("echo hi; echo err >&2; exit 3");
    assert.deepEqual([result.output, result.exitCode, result.cancelled, result.truncated], ["hi\nerr\n", 3, false, false]);
    assert.equal((await client.bash("pwd")).output.trim(), fs.realpathSync(path.join(home, "work")));
    assert.deepEqual(order(client.events.slice(since)), [], "bash emits no events");
    const message = (await client.getMessages()).findLast((it) => it.role === "bashExecution");
    assert.deepEqual([message.command, message.exitCode, message.cancelled], ["pwd", 0, false]);
  },
  async the_model_sees_bash_with_the_next_prompt() {
    await client.bash("echo seen-by-the-model; exit 4");
    await client.promptAndWait("TEXT after bash");
    const [before, prompt] = sent().messages.slice(-2);
    assert.deepEqual([before.role, textOf(prompt)], ["user", "TEXT after bash"]);
    assert.match(textOf(before), /echo seen-by-the-model; exit 4[^]*seen-by-the-model\n[^]*4/);
  },
  async long_bash_output_keeps_its_tail() {
    const result = await client.bash("seq 1 5000");
    assert.equal(result.truncated, true);
    assert.ok(result.output.trimEnd().endsWith("\n5000"), result.output.slice(-40));
    assert.ok(result.output.length < 60_000);
  },
  async abort_bash_stops_the_command() {
    const asked = Date.now();
    const marker = path.join(home, "work", "begun");
    const running = client.bash(`echo begun; touch ${marker}; sleep 30`);
    await until(() => fs.existsSync(marker), "the command");
    await client.abortBash();
    const result = await running;
    assert.deepEqual([result.output, result.cancelled, "exitCode" in result], ["begun\n", true, false]);
    assert.ok(Date.now() - asked < 5000);
    await client.abortBash();
  },
  async session_name_is_trimmed_and_never_empty() {
    await client.setSessionName("  a fine name ");
    assert.equal((await client.getState()).sessionName, "a fine name");
    await client.setSessionName("   ");
    assert.equal((await client.getState()).sessionName, "a fine name");
  },
  async last_assistant_text_is_trimmed_text() {
    await client.promptAndWait("SLOW:3:1");
    assert.equal(await client.getLastAssistantText(), "w0 w1 w2");
  },
  async commands_are_listed_with_their_source() {
    const commands = await client.getCommands();
    assert.ok(Array.isArray(commands));
    for (const command of commands) {
      assert.equal(typeof command.name, "string");
      assert.ok(["extension", "prompt", "skill"].includes(command.source), command.source);
    }
  },
  async statistics_are_sums_over_the_session() {
    await client.newSession();
    const empty = await client.getSessionStats();
    assert.deepEqual([empty.totalMessages, empty.tokens.total, empty.cost], [0, 0, 0]);
    await client.promptAndWait("TEXT one");
    await client.promptAndWait('TOOL:read:{"path":"a.txt"}');
    const stats = await client.getSessionStats();
    const { userMessages, assistantMessages, toolCalls, toolResults, totalMessages } = stats;
    assert.deepEqual([userMessages, assistantMessages, toolCalls, toolResults, totalMessages], [2, 3, 1, 1, 6]);
    assert.deepEqual(stats.tokens, { input: 300, output: 60, cacheRead: 0, cacheWrite: 0, total: 360 });
    assert.ok(Math.abs(stats.cost - 0.00042) < 1e-12, String(stats.cost));
    const { sessionFile, sessionId } = await client.getState();
    assert.deepEqual([stats.sessionFile, stats.sessionId], [sessionFile, sessionId]);
    if (stats.contextUsage) assert.deepEqual([stats.contextUsage.tokens, stats.contextUsage.contextWindow], [120, 128000]);
  },
  async messages_are_the_whole_talk() {
    const messages = await client.getMessages();
    assert.deepEqual(roles(messages), ["user", "assistant", "user", "assistant", "toolResult", "assistant"]);
    assert.equal(textOf(messages.at(-1)), "Tool done.");
    assert.equal(messages[4].toolCallId, messages[3].content.find((block) => block.type === "toolCall").id);
  },
  async export_writes_one_readable_page() {
    const wanted = path.join(home, "talk.html");
    assert.deepEqual(await client.exportHtml(wanted), { path: wanted });
    const page = fs.readFileSync(wanted, "utf8");
    assert.match(page, /^<!doctype html>/i);
    assert.match(page, /<\/html>\s*$/i);
    assert.doesNotMatch(page, /<(?:script|link|img)[^>]+(?:src|href)=["']https?:/i, "the page needs no network");
    // pi's page carries the talk in base64.
    const packed = /id="session-data"[^>]*>([A-Za-z0-9+/=]+)</.exec(page);
    const shown = packed ? page + Buffer.from(packed[1], "base64") : page;
    for (const said of ["TEXT one", "Hello from mock.", "Tool done."]) assert.ok(shown.includes(said), said);
    const { path: named } = await client.exportHtml();
    const file = path.resolve(home, "work", named);
    assert.ok(fs.existsSync(file) && path.basename(file).includes((await client.getState()).sessionId), named);
    fs.rmSync(file);
  },
  async nothing_to_export_is_said() {
    await client.newSession();
    await assert.rejects(client.exportHtml(path.join(home, "none.html")), { message: "Nothing to export yet - start a conversation first" });
    await stop(client);
  },
};

/** A failed check may leave queued words or a run behind; the next one gets an agent of its own. */
export async function renew() {
  if (client) await stop(client);
  client = await start();
}

/** Failures of the model and the size of the context. */
export const replies = {
  async a_server_error_is_retried_without_a_user_message() {
    client = await start();
    const since = client.events.length;
    await client.prompt("E500:1 once");
    const events = await settled(since, (event) => event.type === "auto_retry_end");
    const [begun, ended] = retries(events);
    assert.deepEqual([begun.attempt, begun.maxAttempts], [1, 3]);
    assert.match(begun.errorMessage, /^500 /);
    assert.deepEqual([ended.success, ended.attempt], [true, 1]);
    const told = order(events);
    const again = told.slice(told.indexOf("auto_retry_start") + 1);
    assert.deepEqual(again, ["agent_start", "turn_start", "message_start:assistant", "message_end:assistant", "auto_retry_end", "turn_end", "agent_end"]);
    const failed = events.find((event) => event.type === "agent_end").messages;
    assert.deepEqual([failed.length, failed[1].stopReason, failed[1].content], [2, "error", []]);
    assert.deepEqual(roles(await client.getMessages()), ["user", "assistant"], "the failed attempt leaves the live messages");
  },
  async the_delay_is_that_of_the_settings_file_and_doubles() {
    const since = client.events.length;
    await client.prompt("E429:2 twice");
    const events = await settled(since, (event) => event.type === "auto_retry_end");
    const delays = retries(events).filter((event) => event.type === "auto_retry_start").map((event) => event.delayMs);
    assert.deepEqual(delays, [RETRY_DELAY_MS, 2 * RETRY_DELAY_MS]);
  },
  async three_retries_are_all() {
    const since = client.events.length;
    const asked = mock.requests.length;
    await client.prompt("E503");
    const events = await settled(since, (event) => event.type === "auto_retry_end");
    const { success, attempt, finalError } = events.find((event) => event.type === "auto_retry_end");
    assert.deepEqual([success, attempt], [false, 3]);
    assert.match(finalError, /^503 /);
    assert.equal(mock.requests.length - asked, 4);
    assert.equal((await client.getMessages()).at(-1).stopReason, "error");
  },
  async a_bad_request_is_not_retried() {
    const events = await client.promptAndWait("E400");
    const message = events.findLast((event) => event.type === "message_end").message;
    assert.equal(message.stopReason, "error");
    assert.match(message.errorMessage, /^400 /);
    await new Promise((resolve) => setTimeout(resolve, 3 * RETRY_DELAY_MS));
    assert.deepEqual(retries(client.events.slice(client.events.indexOf(events[0]))), []);
  },
  async auto_retry_can_be_switched_off() {
    await client.setAutoRetry(false);
    const since = client.events.length;
    const asked = mock.requests.length;
    await client.promptAndWait("E500");
    await new Promise((resolve) => setTimeout(resolve, 3 * RETRY_DELAY_MS));
    await client.setAutoRetry(true);
    assert.deepEqual(retries(client.events.slice(since)), []);
    assert.equal(mock.requests.length - asked, 1);
  },
  async abort_retry_ends_the_waiting() {
    await stop(client);
    const settings = path.join(agentDir, "settings.json");
    const before = fs.readFileSync(settings);
    fs.writeFileSync(settings, JSON.stringify({ retry: { baseDelayMs: 20_000 } }));
    client = await start();
    const since = client.events.length;
    await client.prompt("E500");
    const retry = await eventually(client, (event) => event.type === "auto_retry_start", since, "the retry");
    assert.equal(retry.delayMs, 20_000);
    // Not earlier: an agent that starts slowly has not read the settings when the client is there.
    fs.writeFileSync(settings, before);
    await client.abortRetry();
    const events = await settled(since, (event) => event.type === "auto_retry_end");
    const { success, attempt, finalError } = retries(events).at(-1);
    assert.deepEqual([success, attempt, finalError], [false, 1, "Retry cancelled"]);
    await client.abortRetry();
    const on = await client.promptAndWait("TEXT on");
    assert.equal(textOf(on.findLast((event) => event.type === "agent_end").messages.at(-1)), "Hello from mock.");
  },
  async auto_compaction_is_a_switch() {
    await client.setAutoCompaction(false);
    assert.equal((await client.getState()).autoCompactionEnabled, false);
    await client.setAutoCompaction(true);
    assert.equal((await client.getState()).autoCompactionEnabled, true);
  },
  async a_small_session_is_not_worth_compacting() {
    await client.newSession();
    // pi itself summarises even nothing; the error is what it and the seed document promise.
    const result = await client.compact().catch((why) => why.message);
    if (typeof result === "string") assert.equal(result, "Nothing to compact (session too small)");
    else assert.equal(result.tokensBefore, 0);
  },
  async compact_puts_a_summary_before_what_is_kept() {
    await client.newSession();
    for (const name of ["one", "two", "three"]) await client.promptAndWait(`TEXT ${name} ${"lorem ipsum ".repeat(4000)}`);
    const result = await client.compact("mind the gap");
    assert.ok(result.summary.startsWith(SUMMARY), result.summary.slice(0, 80));
    assert.match(result.firstKeptEntryId, /^[0-9a-f]{8}$/);
    assert.ok(result.tokensBefore > 0);
    assert.ok(mock.requests.some(({ body }) => JSON.stringify(body.messages).includes("mind the gap")), "the instructions reach the model");
    const messages = await client.getMessages();
    assert.equal(messages[0].role, "compactionSummary");
    assert.equal(messages[0].summary, result.summary);
    assert.ok(messages.length < 7, String(messages.length));
    await assert.rejects(client.compact(), { message: "Already compacted" });
  },
  async the_model_sees_the_summary_instead_of_the_past() {
    await client.promptAndWait("TEXT after compaction");
    const said = JSON.stringify(sent().messages);
    assert.ok(said.includes("A mock summary."), "the summary is sent");
    assert.ok(!said.includes("TEXT one lorem"), "the past is not");
    assert.equal(textOf(sent().messages.at(-1)), "TEXT after compaction");
    const file = (await client.getState()).sessionFile;
    const entry = lines(file).find((it) => it.type === "compaction");
    assert.ok(entry.summary.startsWith(SUMMARY));
    assert.match(entry.firstKeptEntryId, /^[0-9a-f]{8}$/);
    await stop(client);
  },
};
