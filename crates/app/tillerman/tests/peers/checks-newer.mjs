// What clients of newer versions read: dispositions, levels, queues, trees, sessions by id, errors at once.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { eventually, home, mock, roles, start, stop, textOf, until, updates, withClient, workspace } from "./world.mjs";

let client;

/** Far below the 30 s after which the client itself gives up, far above what a busy machine needs. */
const AT_ONCE_MS = 10_000;

/** The message of a request that must fail, and fail by an answer. */
async function refused(asking) {
  const asked = Date.now();
  const failed = await asking.then((value) => ({ value }), (error) => ({ error }));
  assert.ok(failed.error, `it was accepted: ${JSON.stringify(failed.value)}`);
  assert.ok(Date.now() - asked < AT_ONCE_MS, `nothing was answered: ${failed.error.message}`);
  return failed.error.message;
}
const users = (events) => events.findLast((event) => event.type === "agent_end").messages.filter((message) => message.role === "user").map(textOf);
async function streaming(message) {
  const since = client.events.length;
  assert.equal(await client.prompt(message), "started");
  await eventually(client, (event) => event.type === "message_update", since, "an update");
  return since;
}
async function settled(since) {
  await eventually(client, (event) => event.type === "agent_settled", since, "agent_settled");
  return client.events.slice(since);
}

export const newer = {
  async a_prompt_that_starts_a_run_says_so() {
    client = await start();
    const idle = client.waitForIdle();
    assert.equal(await client.prompt("TEXT hi"), "started");
    await idle;
    assert.equal(await client.getLastAssistantText(), "Hello from mock.");
  },
  async prompt_and_wait_ends_when_all_is_settled() {
    const events = await client.promptAndWait("TEXT settled");
    assert.equal(events.at(-1).type, "agent_settled");
    assert.deepEqual(users(events), ["TEXT settled"]);
  },
  async what_waits_says_that_it_is_queued() {
    const since = await streaming("SLOW:12:40");
    assert.equal(await client.steer("TEXT steered"), "queued");
    assert.equal(await client.followUp("TEXT followed"), "queued");
    assert.equal(await client.prompt("TEXT prompted", undefined, "followUp"), "queued");
    const events = await settled(since);
    assert.deepEqual(users(events), ["SLOW:12:40", "TEXT steered", "TEXT followed", "TEXT prompted"]);
  },
  async what_waits_for_the_next_prompt_is_queued_too() {
    assert.equal(await client.steer("TEXT early"), "queued");
    assert.deepEqual(users(await client.promptAndWait("TEXT now")), ["TEXT now", "TEXT early"]);
  },
  async a_second_prompt_without_a_wish_is_refused_at_once() {
    const since = await streaming("SLOW:200:20");
    assert.match(await refused(client.prompt("TEXT second")), /^Agent is already processing\. /);
    await client.abort();
    await settled(since);
  },
  async clear_queue_gives_the_texts_back() {
    const since = await streaming("SLOW:200:20");
    await client.steer("TEXT one");
    await client.followUp("TEXT two");
    assert.deepEqual(await client.clearQueue(), { steering: ["TEXT one"], followUp: ["TEXT two"] });
    assert.equal((await client.getState()).pendingMessageCount, 0);
    await client.abort();
    await settled(since);
  },
  async an_aborted_text_ends_before_its_message() {
    const since = await streaming("SLOW:200:20");
    await client.abort();
    const events = await settled(since);
    const ends = updates(events, "text_end");
    assert.equal(ends.length, 1, "one text_end");
    const end = events.findIndex((event) => event.assistantMessageEvent?.type === "text_end");
    const message = events.findIndex((event) => event.type === "message_end" && event.message.role === "assistant");
    assert.ok(end < message, `${end} ${message}`);
    assert.equal(ends[0].content, textOf(events[message].message));
  },
  async the_thinking_level_is_always_told() {
    assert.equal((await client.getState()).thinkingLevel, "off");
    assert.deepEqual(await client.getAvailableThinkingLevels(), ["off"]);
    await client.setModel("mock", "mock-3");
    const levels = await client.getAvailableThinkingLevels();
    for (const level of levels) {
      await client.setThinkingLevel(level);
      assert.equal((await client.getState()).thinkingLevel, level);
    }
    await client.setThinkingLevel("off");
    assert.equal((await client.getState()).thinkingLevel, "off");
    assert.ok(levels.includes((await client.cycleThinkingLevel()).level));
    assert.equal(typeof (await client.cycleModel()).thinkingLevel, "string");
    await client.setModel("mock", "mock-1");
  },
  async a_model_is_the_same_in_the_state_and_in_the_list() {
    for (const id of ["mock-1", "mock-3"]) {
      await client.setModel("mock", id);
      const listed = (await client.getAvailableModels()).find((model) => model.provider === "mock" && model.id === id);
      assert.deepEqual((await client.getState()).model, listed);
    }
    await client.setModel("mock", "mock-1");
  },
  async a_command_nobody_knows_is_answered_at_once() {
    for (const type of ["frobnicate", "set_event_filter_of_tomorrow"]) {
      const asked = Date.now();
      const answer = await client.send({ type });
      assert.deepEqual([answer.success, answer.command, answer.error], [false, type, `Unknown command: ${type}`]);
      assert.ok(Date.now() - asked < AT_ONCE_MS);
    }
  },
  async errors_are_answers() {
    assert.equal(await refused(client.setModel("nope", "x")), "Model not found: nope/x");
    assert.match(await refused(client.fork("nope")), /^Invalid entry ID/);
    assert.match(await refused(client.getEntries("nope")), /nope/);
    assert.equal((await client.getState()).model.id, "mock-1", "the model stays");
    await client.newSession();
    assert.match(await refused(client.compact()), /^Nothing to compact/);
  },
  async bash_tells_its_output_while_it_runs() {
    const since = client.events.length;
    const marker = path.join(workspace, "go");
    const running = client.bash(`echo first; until [ -e ${marker} ]; do sleep 0.05; done; echo second`);
    const told = () => client.events.slice(since).filter((event) => event.type === "bash_execution_update");
    await until(() => told().map((event) => event.delta).join("") === "first\n", "the first line");
    fs.writeFileSync(marker, "");
    assert.equal((await running).output, "first\nsecond\n");
    assert.equal(told().map((event) => event.delta).join(""), "first\nsecond\n");
    assert.equal(new Set(told().map((event) => event.id)).size, 1);
    assert.match(told()[0].id, /^req_\d+$/);
  },
  async an_edit_tells_its_difference() {
    fs.writeFileSync(path.join(workspace, "d.txt"), "one\ntwo\nthree\n");
    const events = await client.promptAndWait('TOOL:edit:{"path":"d.txt","old_string":"two","new_string":"2"}');
    const { result, isError } = events.find((event) => event.type === "tool_execution_end");
    assert.equal(isError, false, textOf(result));
    assert.match(result.details.diff, /^-\s*2 two$/m);
    assert.match(result.details.diff, /^\+\s*2 2$/m);
    const kept = (await client.getMessages()).findLast((message) => message.role === "toolResult");
    assert.equal(kept.details.diff, result.details.diff);
  },
  async entries_and_tree_are_the_whole_session() {
    await client.newSession();
    assert.deepEqual(await client.getEntries(), { entries: [], leafId: null });
    await client.promptAndWait("TEXT one");
    const first = await client.getEntries();
    assert.equal(first.entries.at(-1).id, first.leafId);
    await client.promptAndWait("TEXT two");
    const second = await client.getEntries(first.leafId);
    assert.deepEqual(roles(second.entries.filter((entry) => entry.type === "message").map((entry) => entry.message)), ["user", "assistant"]);
    const { tree, leafId } = await client.getTree();
    const chain = [];
    for (let nodes = tree; nodes.length > 0; nodes = nodes[0].children) chain.push(nodes[0].entry.id);
    assert.deepEqual(chain, (await client.getEntries()).entries.map((entry) => entry.id));
    assert.deepEqual([leafId, second.leafId], [chain.at(-1), chain.at(-1)]);
  },
  async sessions_are_begun_switched_forked_and_cloned() {
    const old = await client.getState();
    assert.deepEqual(await client.newSession(old.sessionFile), { cancelled: false });
    assert.equal((await client.getState()).messageCount, 0);
    assert.deepEqual(await client.switchSession(old.sessionFile), { cancelled: false });
    const [, second] = await client.getForkMessages();
    assert.equal(second.text, "TEXT two");
    assert.deepEqual(await client.clone(), { cancelled: false });
    const copy = await client.getState();
    assert.deepEqual([copy.messageCount, copy.sessionId === old.sessionId], [4, false]);
    await client.switchSession(old.sessionFile);
    assert.deepEqual(await client.fork(second.entryId), { text: "TEXT two", cancelled: false });
    assert.deepEqual((await client.getMessages()).map(textOf), ["TEXT one", "Hello from mock."]);
  },
  async names_statistics_pages_and_commands_are_told() {
    await client.setSessionName("a talk");
    assert.equal((await client.getState()).sessionName, "a talk");
    await client.promptAndWait("TEXT counted");
    const stats = await client.getSessionStats();
    assert.deepEqual([stats.userMessages, stats.assistantMessages], [2, 2]);
    assert.ok(stats.contextUsage.contextWindow > 0);
    const { path: page } = await client.exportHtml(path.join(workspace, "page.html"));
    assert.match(fs.readFileSync(page, "utf8"), /TEXT counted/);
    for (const command of await client.getCommands()) assert.equal(typeof command.name, "string");
  },
  async a_session_id_finds_its_session_again() {
    const args = ["--session-id", "demo-1"];
    const first = await withClient(args, async (fresh) => {
      await fresh.promptAndWait("TEXT remember");
      return fresh.getState();
    });
    assert.deepEqual([first.sessionId, first.messageCount], ["demo-1", 2]);
    await withClient(args, async (again) => {
      const state = await again.getState();
      assert.deepEqual([state.sessionId, state.messageCount, state.sessionFile], ["demo-1", 2, first.sessionFile]);
      await again.promptAndWait("TEXT more");
      const sent = mock.requests.at(-1).body.messages.filter((message) => message.role !== "system").map(textOf);
      assert.deepEqual(sent, ["TEXT remember", "Hello from mock.", "TEXT more"]);
    });
  },
  async a_name_is_given_at_the_start() {
    await withClient(["--name", "by the host"], async (named) => {
      assert.equal((await named.getState()).sessionName, "by the host");
      await named.promptAndWait("TEXT named");
      assert.equal((await named.getState()).sessionName, "by the host");
    });
  },
  async a_server_from_the_environment_has_its_own_models_only() {
    const env = { OPENAI_BASE_URL: mock.baseUrl, OPENAI_API_KEY: "mock-key", PI_CODING_AGENT_DIR: path.join(home, "empty") };
    await withClient([], async (plain) => {
      const listed = await plain.getAvailableModels();
      assert.deepEqual(listed.map((model) => model.id).sort(), ["mock-1", "mock-2", "mock-3"]);
      const { model } = await plain.getState();
      assert.deepEqual(listed.find((it) => it.id === model.id), model);
      assert.equal(await refused(plain.setModel("nope", "x")), "Model not found: nope/x");
      assert.equal(await refused(plain.setModel("nope", "mock-2")), "Model not found: nope/mock-2");
      assert.equal((await plain.setModel(model.provider, "mock-2")).id, "mock-2");
    }, { model: {}, env });
  },
  async an_agent_that_has_ended_is_not_waited_for() {
    await client.getState();
    client.process.kill("SIGTERM");
    await until(() => client.ended, "its end");
    await refused(client.prompt("TEXT nobody there"));
    await stop(client);
  },
};

/** A fresh agent for the checks after one that failed. */
export async function renew() {
  await stop(client);
  client = await start();
}
