// One session in the browser: what is said arrives once and whole, whatever happens to the gateway, the page or the person beside it.
import assert from 'node:assert/strict';
import { runChecks, until } from '../runner.mjs';
import { axe, base, breaches, client, close, judge, live, longTasks, open, order, person, sleep, token, words } from './world.mjs';

const other = client();
let context = await person();
const chat = async (sessionId, of = context) => {
  const page = await open(of, `#/chat/${encodeURIComponent(sessionId)}`);
  await live(page);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  return page;
};
const say = async (page, text) => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};
const answers = (page) => page.getByRole('article', { name: 'Answer', exact: true });
/** The newest answer, with all blanks alike. */
const newest = async (page) => ((await answers(page).last().textContent()) ?? '').replace(/\s+/g, ' ');
const history = async (sessionId) => (await other.sessions.get({ sessionId })).history;

const checks = {
  async 'a message is sent by Enter, streams, and is there after a reload'() {
    const page = await chat('chat:plain');
    await say(page, 'say 40 words');
    await until(async () => (await newest(page)).includes('w40'), 'the last word');
    await page.reload();
    await until(async () => (await newest(page)).includes(words(40)), 'the same words');
    assert.equal((await history('chat:plain')).filter((it) => it.role === 'user').length, 1);
    assert.deepEqual(await axe(page), []);
    await page.close();
  },
  async 'a thousand words stream without a long task'() {
    const page = await chat('chat:long');
    const tasks = await longTasks(page);
    await say(page, 'slow 1 say 1000 words');
    await until(async () => (await newest(page)).includes('w1000'), 'the last word');
    const long = (await tasks.read()).filter((ms) => ms > 50);
    console.error(`1,000 words, long tasks: ${long.join(' ') || 'none'}`);
    judge(long);
    await page.close();
  },
  async 'two tabs are in step, and a program sees the same'() {
    const [one, two] = [await chat('chat:tabs'), await chat('chat:tabs')];
    await say(one, 'say 25 words');
    for (const page of [one, two]) await until(async () => (await newest(page)).includes(words(25)), 'both tabs');
    await say(two, 'say 3 words');
    await until(async () => (await answers(one).count()) === 2, 'the second answer in the first tab');
    assert.equal((await history('chat:tabs')).length, 4);
    await one.close();
    await two.close();
  },
  async 'a gateway that is killed in mid-stream and restarted: the same text as in history'() {
    const page = await chat('chat:killed');
    await say(page, 'slow 10 say 300 words');
    await until(async () => (await newest(page)).includes('w60'), 'the middle');
    await order('kill');
    await page.locator('#link-state', { hasText: 'offline' }).waitFor();
    await order('start');
    // The page comes back by itself, with the cookie that it has.
    await live(page);
    await until(async () => (await newest(page)).includes('w300'), 'the end');
    const last = (await history('chat:killed')).at(-1);
    assert.equal(last.content, words(300));
    assert.ok((await newest(page)).includes(words(300)), 'the page has it whole');
    await page.close();
  },
  async 'a message that is written while the gateway is away arrives once'() {
    const page = await chat('chat:away');
    await say(page, 'say 2 words');
    await until(async () => (await answers(page).count()) === 1, 'the first answer');
    await order('stop');
    await page.locator('#link-state', { hasText: 'offline' }).waitFor();
    await say(page, 'say 7 words');
    await page.getByText(/kept|waiting|sending|offline/i).first().waitFor();
    await order('start');
    await until(async () => (await newest(page)).includes(words(7)), 'the answer to it');
    await page.reload();
    await sleep(1000);
    const said = (await history('chat:away')).filter((it) => it.role === 'user').map((it) => it.content);
    assert.deepEqual(said, ['say 2 words', 'say 7 words']);
    await page.close();
  },
  async 'what waits is shown, and can be taken back; the run can be stopped'() {
    const page = await chat('chat:queue');
    await say(page, 'slow 50 say 400 words');
    await until(async () => (await newest(page)).includes('w3'), 'a run');
    await say(page, 'say 5 words');
    await page.getByRole('button', { name: /Take back/ }).first().click();
    await page.getByRole('button', { name: /Take back/ }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Stop' }).first().click();
    await until(async () => (await other.sessions.get({ sessionId: 'chat:queue' })).lane.state === 'idle', 'an idle lane');
    const said = (await history('chat:queue')).filter((it) => it.role === 'user').map((it) => it.content);
    assert.deepEqual(said, ['slow 50 say 400 words']);
    await page.close();
  },
  async 'a tool has a card with its output, and thinking is folded'() {
    const page = await chat('chat:tools');
    await say(page, 'think "deep thoughts" and say "look:" and call file.write {"path":"card.txt","content":"one\\ntwo\\n"} then say done');
    await until(async () => (await newest(page)).includes('done'), 'the end');
    await page.getByText('card.txt').first().waitFor();
    // What only ears are told must not make the page longer than the window.
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight + 1), 'the page is as high as the window');
    const text = await page.getByRole('region', { name: 'Conversation' }).textContent();
    assert.ok(/Thinking|Thought/i.test(text), 'thinking is there');
    assert.deepEqual(await axe(page), []);
    await page.close();
  },
  async 'a question is answered in the page while an ACP client is on the session, and that client sees it settled'() {
    const { WebSocket } = (await import('node:module')).createRequire(process.env.PEER_MODULES + '/')('ws');
    const socket = new WebSocket(base.replace('http', 'ws') + '/acp', ['acp.v1'], { headers: { Authorization: `Bearer ${token}` } });
    const heard = [];
    const waiting = new Map();
    socket.on('message', (data) => {
      const frame = JSON.parse(data);
      heard.push(frame);
      if (frame.id !== undefined && !frame.method) waiting.get(frame.id)?.(frame);
    });
    await new Promise((done) => socket.on('open', done));
    let number = 0;
    const ask = (method, params) => new Promise((done) => {
      const id = ++number;
      waiting.set(id, done);
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
    await ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
    const { result } = await ask('session/new', { cwd: '/tmp', mcpServers: [] });
    const page = await open(context, '#/now');
    await live(page);
    const prompted = ask('session/prompt', { sessionId: result.sessionId, prompt: [{ type: 'text', text: 'call bash {"command":"echo from-acp"} then say done' }] });
    await page.locator('.approval', { hasText: 'echo from-acp' }).waitFor();
    await until(() => heard.some((it) => it.method === 'session/request_permission'), 'the question at the editor');
    await page.getByRole('button', { name: 'Allow once' }).click();
    const answer = await prompted;
    assert.equal(answer.result?.stopReason, 'end_turn', JSON.stringify(answer));
    assert.ok(heard.some((it) => JSON.stringify(it).includes('from-acp') && it.params?.update?.sessionUpdate === 'tool_call_update'), 'the editor sees what it printed');
    await page.locator('.approval').waitFor({ state: 'detached' });
    socket.close();
    await page.close();
  },
  async 'a message is edited and sent again in a copy'() {
    const page = await chat('chat:edit');
    await say(page, 'say 4 words');
    await until(async () => (await newest(page)).includes('w4'), 'the answer');
    await page.getByRole('button', { name: /edit/i }).first().click();
    await until(() => !page.url().includes('chat%3Aedit'), 'the copy');
    await until(async () => (await page.getByRole('textbox', { name: 'Message' }).inputValue()) === 'say 4 words', 'the text to change');
    await say(page, 'say 6 words');
    await until(async () => (await newest(page)).includes('w6'), 'the other answer');
    assert.equal((await history('chat:edit')).length, 2);
    await page.close();
  },
  async 'a link leads to its message'() {
    for (let at = 0; at < 60; at += 1) await other.send(`say "answer number ${at}"`, { sessionId: 'chat:link' }).result;
    const { seq } = (await history('chat:link')).find((it) => it.content.includes('answer number 3') && it.role === 'assistant');
    const page = await open(context, `#/chat/chat%3Alink?at=${seq}`);
    await live(page);
    const row = page.getByText('answer number 3', { exact: true }).first();
    await row.waitFor();
    assert.ok(await row.evaluate((it) => { const box = it.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; }), 'it is in view');
    await page.close();
  },
  async 'a slash completes by keyboard, and its answer is shown'() {
    const page = await chat('chat:slash');
    await page.getByRole('textbox', { name: 'Message' }).or(page.getByRole('combobox', { name: 'Message' })).first().pressSequentially('/sta');
    await page.getByRole('option', { name: /\/status/ }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('article', { name: 'Answer of the gateway' }).waitFor();
    await page.close();
  },
  async 'everything can be reached and done by keyboard alone'() {
    const page = await chat('chat:keys');
    await page.goto(`${base}/#/now`);
    await page.locator('.page-now h1').waitFor();
    const seen = new Set();
    for (let at = 0; at < 60; at += 1) {
      await page.keyboard.press('Tab');
      const what = await page.evaluate(() => {
        const it = document.activeElement;
        const box = it.getBoundingClientRect();
        const style = getComputedStyle(it);
        return { name: (it.getAttribute('aria-label') ?? it.textContent ?? '').trim().slice(0, 40), isSeen: box.width > 0 && box.height > 0, hasRing: style.outlineStyle !== 'none' && style.outlineWidth !== '0px' };
      });
      if (what.name === '') continue;
      assert.ok(what.isSeen && what.hasRing, `focus is not seen on ${JSON.stringify(what)}`);
      seen.add(what.name);
      if (what.name === 'Chat') break;
    }
    assert.ok([...seen].some((it) => it.startsWith('Skip')) && seen.has('Chat'), [...seen].join(', '));
    await page.keyboard.press('Enter');
    await page.locator('.page-chat').waitFor();
    await page.close();
  },
  async 'no page asked anybody else, or went against its policy'() {
    assert.deepEqual(breaches, []);
  },
};

await runChecks(checks, async () => {
  other.close();
  await close();
}, 120_000);
