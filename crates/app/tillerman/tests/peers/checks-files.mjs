// Session files: what the agent writes is read by the real SessionManager and by the real agent, and the other way round.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { RpcClient, SessionManager, complaints, home, isPi, lines, mock, plain, roles, start, stop, textOf, withClient, workspace } from "./world.mjs";

let client;
let written;
let foreign;

/** A talk with every kind of message, held by whichever agent `client` is; gives its file and its messages. */
async function talkAboutEverything(agent) {
  await agent.promptAndWait("TEXT first");
  await agent.promptAndWait('TOOL:read:{"path":"a.txt"}');
  await agent.bash("echo by hand; exit 2");
  await agent.setModel("mock", "mock-3");
  await agent.setThinkingLevel("low");
  await agent.promptAndWait("THINK hard");
  await agent.setSessionName("a named talk");
  await agent.promptAndWait("SAY odd \u2028 \u{1f6a2} \"quoted\" text");
  const state = await agent.getState();
  return { file: state.sessionFile, id: state.sessionId, messages: plain(await agent.getMessages()) };
}
const EVERYTHING = ["user", "assistant", "user", "assistant", "toolResult", "assistant", "bashExecution", "user", "assistant", "user", "assistant"];

/** A file as only pi's own library writes it: a branch with summary and label, custom entries, a compaction. */
function treeFile(name) {
  const manager = SessionManager.create(workspace, path.join(home, name));
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  const user = (text) => manager.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
  const answer = (text) =>
    manager.appendMessage({ role: "assistant", content: [{ type: "text", text }], api: "openai-completions", provider: "mock", model: "mock-2", usage, stopReason: "stop", timestamp: 2 });
  manager.appendModelChange("mock", "mock-2");
  manager.appendThinkingLevelChange("off");
  user("lost in the summary");
  answer("lost too");
  const kept = user("kept question");
  const fork = answer("kept answer");
  manager.appendCompaction("the early part", kept, 4321, { readFiles: [], modifiedFiles: [] }, false);
  manager.appendCustomMessageEntry("note", "a custom message", true, { x: 1 });
  user("a wrong turn");
  answer("an abandoned answer");
  manager.appendCustomEntry("state", { n: 1 });
  const leaf = manager.getBranch().find((entry) => entry.type === "custom_message").id;
  const summary = manager.branchWithSummary(leaf, "what the wrong turn taught", { readFiles: [], modifiedFiles: [] }, false);
  manager.appendLabelChange(fork, "good");
  manager.appendLabelChange(summary, "back");
  user("the right turn");
  answer("the last answer");
  return manager;
}

export const files = {
  async no_file_before_the_first_answer() {
    client = await start();
    const { sessionFile } = await client.getState();
    assert.equal(fs.existsSync(sessionFile), false);
    await client.promptAndWait("TEXT hello");
    assert.equal(fs.existsSync(sessionFile), true);
    await client.newSession();
  },
  async the_file_is_version_3_json_lines() {
    written = await talkAboutEverything(client);
    assert.deepEqual(roles(written.messages), EVERYTHING);
    const [header, ...entries] = lines(written.file);
    assert.deepEqual([header.type, header.version, header.id, header.cwd], ["session", 3, written.id, workspace]);
    assert.ok(!Number.isNaN(Date.parse(header.timestamp)));
    const time = header.timestamp.replaceAll(/[:.]/g, "-");
    assert.equal(path.basename(written.file), `${time}_${written.id}.jsonl`);
    let parent = null;
    const ids = new Set();
    for (const entry of entries) {
      assert.match(entry.id, /^[0-9a-f]{8}$/);
      assert.equal(entry.parentId, parent, `${entry.type} hangs on its predecessor`);
      assert.match(entry.timestamp, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      assert.ok(!ids.has(entry.id));
      ids.add((parent = entry.id));
    }
    const kinds = new Set(entries.map((entry) => entry.type));
    for (const kind of ["message", "model_change", "thinking_level_change"]) assert.ok(kinds.has(kind), kind);
  },
  async the_real_session_manager_reads_the_file() {
    const before = fs.readFileSync(written.file);
    const manager = SessionManager.open(written.file);
    const context = manager.buildSessionContext();
    assert.deepEqual(plain(context.messages), written.messages);
    assert.deepEqual([context.model, context.thinkingLevel], [{ provider: "mock", modelId: "mock-3" }, "low"]);
    assert.equal(manager.getSessionName(), "a named talk");
    assert.deepEqual(fs.readFileSync(written.file), before, "nothing had to be migrated");
    const listed = await SessionManager.list(workspace, path.dirname(written.file));
    const info = listed.find((it) => it.path === written.file);
    assert.deepEqual([info?.id, info?.name, info?.firstMessage], [written.id, "a named talk", "TEXT first"]);
  },
  async the_real_agent_goes_on_in_the_file() {
    const copy = path.join(home, "for-pi.jsonl");
    fs.copyFileSync(written.file, copy);
    await withClient(["--session", copy], async (pi) => {
      assert.deepEqual(plain(await pi.getMessages()), written.messages);
      assert.equal((await pi.getState()).sessionId, written.id);
      await pi.promptAndWait("TEXT by pi");
      const asked = mock.requests.at(-1).body.messages.map(textOf).join("\n");
      for (const said of ["TEXT first", "by hand", "odd \u2028"]) assert.ok(asked.includes(said), said);
    }, { pi: true });
    const added = lines(copy).slice(lines(written.file).length).filter((entry) => entry.type === "message");
    assert.deepEqual(roles(added.map((entry) => entry.message)), ["user", "assistant"]);
  },
  async new_session_starts_empty_beside_the_old_one() {
    assert.deepEqual(await client.newSession(written.file), { cancelled: false });
    const state = await client.getState();
    assert.notEqual(state.sessionId, written.id);
    assert.deepEqual([state.messageCount, state.sessionName ?? null], [0, null]);
    assert.equal(path.dirname(state.sessionFile), path.dirname(written.file));
    await client.promptAndWait("TEXT in the new one");
    assert.equal(lines(state.sessionFile)[0].parentSession, written.file);
  },
  async switch_session_brings_everything_back() {
    assert.deepEqual(await client.switchSession(written.file), { cancelled: false });
    assert.deepEqual(plain(await client.getMessages()), written.messages);
    const state = await client.getState();
    assert.deepEqual([state.sessionId, state.sessionFile, state.sessionName], [written.id, written.file, "a named talk"]);
    await client.promptAndWait("TEXT and on");
    assert.equal((await client.getMessages()).length, written.messages.length + 2);
    assert.equal(SessionManager.open(written.file).buildSessionContext().messages.length, written.messages.length + 2);
  },
  async a_missing_path_becomes_a_new_session_there() {
    const file = path.join(home, "fresh.jsonl");
    assert.deepEqual(await client.switchSession(file), { cancelled: false });
    const state = await client.getState();
    assert.deepEqual([state.sessionFile, state.messageCount], [file, 0]);
    await client.promptAndWait("TEXT there");
    assert.deepEqual(lines(file)[0].type, "session");
    assert.equal(SessionManager.open(file).buildSessionContext().messages.length, 2);
  },
  async fork_cuts_before_a_user_message_into_a_new_file() {
    await client.switchSession(written.file);
    const before = fs.readFileSync(written.file);
    const choices = await client.getForkMessages();
    assert.deepEqual(choices.map((choice) => choice.text).slice(0, 3), ["TEXT first", 'TOOL:read:{"path":"a.txt"}', "THINK hard"]);
    assert.deepEqual(await client.fork(choices[2].entryId), { text: "THINK hard", cancelled: false });
    assert.deepEqual(plain(await client.getMessages()), written.messages.slice(0, 7));
    const { sessionFile, sessionId } = await client.getState();
    assert.ok(sessionFile !== written.file && sessionId !== written.id);
    const [header, ...entries] = lines(sessionFile);
    assert.equal(header.parentSession, written.file);
    const old = new Set(lines(written.file).map((entry) => entry.id));
    for (const entry of entries.filter((it) => it.type === "message")) assert.ok(old.has(entry.id), "ids are unchanged");
    assert.deepEqual(fs.readFileSync(written.file), before, "the old file is untouched");
    await client.promptAndWait("TEXT other way");
    assert.equal(SessionManager.open(sessionFile).buildSessionContext().messages.length, 9);
  },
  async fork_before_the_first_message_is_an_empty_session() {
    const [first] = await client.getForkMessages();
    assert.deepEqual(await client.fork(first.entryId), { text: "TEXT first", cancelled: false });
    assert.equal((await client.getState()).messageCount, 0);
    assert.deepEqual(await client.getForkMessages(), []);
  },
  async fork_needs_a_user_message() {
    await client.switchSession(written.file);
    const answer = lines(written.file).find((entry) => entry.message?.role === "assistant").id;
    for (const id of ["nope", answer]) await assert.rejects(client.fork(id), { message: /^Invalid entry ID for (fork|branch)ing$/ });
    assert.equal((await client.getState()).sessionId, written.id);
  },
  async clone_copies_the_branch() {
    const messages = plain(await client.getMessages());
    assert.deepEqual(await client.clone(), { cancelled: false });
    const { sessionFile, sessionId } = await client.getState();
    assert.notEqual(sessionId, written.id);
    assert.deepEqual(plain(await client.getMessages()), messages);
    assert.equal(lines(sessionFile)[0].parentSession, written.file);
    await stop(client);
  },
  async a_file_of_the_real_agent_opens_with_session() {
    foreign = await withClient(["--session-dir", path.join(home, "foreign")], talkAboutEverything, { pi: true });
    assert.deepEqual(roles(foreign.messages), EVERYTHING);
    const copy = path.join(home, "copy.jsonl");
    fs.copyFileSync(foreign.file, copy);
    await withClient(["--session", copy], async (agent) => {
      assert.deepEqual(plain(await agent.getMessages()), foreign.messages);
      const state = await agent.getState();
      assert.deepEqual([state.sessionId, state.sessionFile, state.sessionName], [foreign.id, copy, "a named talk"]);
      await agent.promptAndWait("TEXT going on");
    });
    const manager = SessionManager.open(copy);
    assert.deepEqual(plain(manager.buildSessionContext().messages).slice(0, -2), foreign.messages);
    assert.equal(textOf(manager.buildSessionContext().messages.at(-2)), "TEXT going on");
    const kept = new Set(lines(copy).map((entry) => entry.id));
    for (const entry of lines(foreign.file)) assert.ok(kept.has(entry.id), `${entry.type} is still there`);
  },
  async a_stored_model_is_restored() {
    await withClient(["--session", foreign.file], async (agent) => {
      const state = await agent.getState();
      assert.deepEqual([state.model.id, state.thinkingLevel], ["mock-3", "low"]);
    }, { model: {} });
  },
  async a_file_of_the_real_agent_opens_with_switch_session() {
    client = await start();
    await client.switchSession(foreign.file);
    assert.deepEqual(plain(await client.getMessages()), foreign.messages);
    const choices = await client.getForkMessages();
    const users = lines(foreign.file).filter((entry) => entry.message?.role === "user");
    assert.deepEqual(choices.map((choice) => choice.entryId), users.map((entry) => entry.id));
  },
  async branches_labels_custom_entries_and_compaction_are_understood() {
    const manager = treeFile("tree");
    const expected = plain(manager.buildSessionContext().messages);
    assert.deepEqual(roles(expected), ["compactionSummary", "user", "assistant", "custom", "branchSummary", "user", "assistant"]);
    await client.switchSession(manager.getSessionFile());
    assert.deepEqual(plain(await client.getMessages()), expected);
    await client.promptAndWait("TEXT in the tree");
    const asked = mock.requests.at(-1).body.messages.map((message) => textOf(message)).join("\n");
    for (const said of ["the early part", "kept question", "a custom message", "what the wrong turn taught", "the right turn"]) assert.ok(asked.includes(said), said);
    for (const lost of ["lost in the summary", "a wrong turn", "an abandoned answer"]) assert.ok(!asked.includes(lost), lost);
    const again = SessionManager.open(manager.getSessionFile());
    assert.equal(again.getLabel(manager.getEntries().find((entry) => entry.message?.content?.[0]?.text === "kept answer").id), "good");
    assert.equal(again.buildSessionContext().messages.length, expected.length + 2);
  },
  async a_version_1_file_is_migrated() {
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
    const timestamp = "2025-01-01T00:00:00.000Z";
    const old = [
      { type: "session", id: "old-one", timestamp, cwd: workspace, provider: "mock", modelId: "mock-1", thinkingLevel: "off" },
      { type: "message", timestamp, message: { role: "user", content: "old text", timestamp: 1 } },
      { type: "message", timestamp, message: { role: "assistant", content: [{ type: "text", text: "old answer" }], api: "openai-completions", provider: "mock", model: "mock-1", usage, stopReason: "stop", timestamp: 2 } },
      { type: "message", timestamp, message: { role: "user", content: "kept", timestamp: 3 } },
      { type: "compaction", timestamp, summary: "sum", firstKeptEntryIndex: 3, tokensBefore: 77 },
      { type: "message", timestamp, message: { role: "hookMessage", customType: "h", content: "from a hook", display: true, timestamp: 4 } },
    ];
    const file = path.join(home, "v1.jsonl");
    fs.writeFileSync(file, `${old.map((entry) => JSON.stringify(entry)).join("\n")}\n`);
    await client.switchSession(file);
    const messages = await client.getMessages();
    assert.deepEqual(roles(messages), ["compactionSummary", "user", "custom"]);
    assert.deepEqual([messages[0].summary, textOf(messages[1]), textOf(messages[2])], ["sum", "kept", "from a hook"]);
    await client.promptAndWait("TEXT after migration");
    const context = SessionManager.open(file).buildSessionContext();
    assert.deepEqual(roles(context.messages), ["compactionSummary", "user", "custom", "user", "assistant"]);
  },
  async bad_lines_and_a_torn_tail_cost_only_themselves() {
    const file = path.join(home, "torn.jsonl");
    const good = fs.readFileSync(foreign.file, "utf8").split("\n").filter(Boolean);
    const torn = [...good.slice(0, 3), "{broken", "", ...good.slice(3)].join("\n");
    fs.writeFileSync(file, `${torn}\n{"type":"message","id":"0bad`);
    await client.switchSession(file);
    assert.deepEqual(plain(await client.getMessages()), foreign.messages);
    await client.promptAndWait("TEXT behind the tear");
    // pi appends its first line to the fragment and loses it; nobody has to repeat that.
    const context = SessionManager.open(file).buildSessionContext();
    if (!isPi) assert.deepEqual(plain(context.messages).slice(0, -2), foreign.messages);
    assert.equal(textOf(context.messages.at(-1)), "Hello from mock.");
    await stop(client);
  },
  async continue_opens_the_newest_and_session_dir_is_used() {
    const dir = path.join(home, "own-dir");
    const first = await withClient(["--session-dir", dir], async (agent) => {
      await agent.promptAndWait("TEXT newest");
      return agent.getState();
    });
    assert.equal(path.dirname(first.sessionFile), dir);
    await withClient(["--session-dir", dir, "--continue"], async (agent) => {
      const state = await agent.getState();
      assert.deepEqual([state.sessionId, state.messageCount], [first.sessionId, 2]);
    });
    await withClient(["--session-dir", dir, "--fork", first.sessionFile], async (agent) => {
      const state = await agent.getState();
      assert.notEqual(state.sessionId, first.sessionId);
      assert.equal(state.messageCount, 2);
      assert.equal(lines(state.sessionFile)[0].parentSession, first.sessionFile);
    });
  },
  async without_a_session_nothing_is_written() {
    const dir = path.join(home, "unused");
    await withClient(["--no-session", "--session-dir", dir], async (agent) => {
      await agent.promptAndWait("TEXT unwritten");
      const state = await agent.getState();
      assert.deepEqual([state.sessionFile ?? null, state.messageCount], [null, 2]);
    });
    assert.deepEqual(fs.existsSync(dir) ? fs.readdirSync(dir) : [], []);
  },
  async stop_ends_the_process_before_it_is_killed() {
    const agent = await start();
    await agent.getState();
    const { process: child } = agent;
    const asked = Date.now();
    await stop(agent);
    assert.ok(Date.now() - asked < 950, "RpcClient had to kill it");
    assert.notEqual(child.signalCode, "SIGKILL");
    assert.ok(RpcClient.prototype.stop, "the real client");
  },
  async nothing_was_complained_about_on_stderr() {
    // Ours says which torn bytes it moved aside, once; there is nothing else to say.
    const unasked = complaints.flatMap((text) => text.split("\n")).filter((line) => line && !/torn bytes, now in/.test(line));
    assert.deepEqual(unasked, []);
  },
};
