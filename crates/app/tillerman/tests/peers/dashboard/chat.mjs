// One session in the browser: what is said arrives once and whole, whatever happens to the gateway, the page or the person beside it.
import assert from 'node:assert/strict';
import { until } from '../runner.mjs';
import { axe, base, breaches, client, close, judge, live, longTasks, open, order, person, runChecks, sleep, token, words } from './world.mjs';

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
  async 'tabs that write while the gateway is away and are closed: each message arrives once, also one from the page Now'() {
    const of = await person();
    for (const name of ['one', 'two', 'three']) await other.send('say hi', { sessionId: `chat:tab-${name}` }).result;
    const [one, two, now] = [await chat('chat:tab-one', of), await chat('chat:tab-two', of), await open(of, '#/now')];
    await live(now);
    await now.locator('summary', { hasText: 'idle' }).click();
    await now.getByRole('button', { name: 'Message for chat:tab-three' }).click();
    await order('stop');
    for (const page of [one, two, now]) await page.locator('#link-state', { hasText: 'offline' }).waitFor();
    // What has no room in the browser is in nobody's way, and says so.
    await one.locator('input[type=file]').setInputFiles({ name: 'large.txt', mimeType: 'text/plain', buffer: Buffer.alloc(4_000_000, 'x') });
    await one.locator('.upload').waitFor();
    await say(one, 'say large');
    await one.getByText('only while this page is open').waitFor();
    await say(one, 'say "from one"');
    await say(two, 'say "from two"');
    await now.getByRole('textbox', { name: 'Message for chat:tab-three' }).fill('say "from now"');
    await now.keyboard.press('Enter');
    await now.getByText('Kept; it goes out when the gateway is back').waitFor();
    // A tab that is closed before it has heard the key has nothing to keep.
    for (const text of ['from one', 'from two']) {
      const isKept = (text) => Object.values(localStorage).some((it) => it.includes(text));
      await until(() => now.evaluate(isKept, text), `the browser to keep ${text}`);
    }
    const asked = new Promise((done) => one.once('dialog', (dialog) => (done(dialog.type()), dialog.accept())));
    await one.close({ runBeforeUnload: true });
    assert.equal(await asked, 'beforeunload');
    await two.close();
    await now.close();
    await order('start');
    const page = await open(of, '#/usage');
    await live(page);
    const said = async (name) => (await history(`chat:tab-${name}`)).filter((it) => it.role === 'user').map((it) => it.content);
    for (const [name, tab] of [['one', 'one'], ['two', 'two'], ['three', 'now']]) {
      await until(async () => (await said(name)).length > 1, `the message of ${tab}`);
      assert.deepEqual(await said(name), ['say hi', `say "from ${tab}"`]);
    }
    await until(() => page.evaluate(() => !Object.keys(localStorage).some((it) => it.includes('outbox'))), 'an empty outbox');
    await of.close();
  },
  async 'what waits is shown; taken back, or stopped with the run, it is there to be sent again, whole'() {
    const page = await chat('chat:queue');
    const box = page.getByRole('textbox', { name: 'Message' });
    const long = `say "${'many words '.repeat(300)}"`;
    await say(page, 'slow 50 say 400 words');
    await until(async () => (await newest(page)).includes('w3'), 'a run');
    await say(page, long);
    await page.getByRole('button', { name: /Take back/ }).first().click();
    await until(async () => (await box.inputValue()) === long, 'the text in the composer');
    await page.getByRole('button', { name: /Take back/ }).waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /Take back/ }).waitFor();
    await say(page, 'say 5 words');
    await until(async () => (await page.getByRole('button', { name: /Take back/ }).count()) === 2, 'two that wait');
    // A page that is loaded anew knows them still.
    await page.reload();
    await page.getByRole('button', { name: 'Stop all' }).click();
    await until(async () => (await other.sessions.get({ sessionId: 'chat:queue' })).lane.state === 'idle', 'an idle lane');
    const back = page.getByRole('article', { name: 'Message on its way' });
    await back.getByRole('button', { name: 'Put back' }).click();
    await back.waitFor({ state: 'detached' });
    assert.deepEqual((await box.inputValue()).split('\n\n').sort(), [long, 'say 5 words'].sort());
    const said = (await history('chat:queue')).filter((it) => it.role === 'user').map((it) => it.content);
    assert.deepEqual(said, ['slow 50 say 400 words']);
    await page.close();
  },
  async 'a session that was deleted begins anew with the next message'() {
    const page = await chat('chat:deleted');
    await say(page, 'say 3 words');
    await until(async () => (await newest(page)).includes(words(3)), 'an answer');
    await other.sessions.delete({ sessionId: 'chat:deleted' });
    await page.getByText('This session was deleted').waitFor();
    await say(page, 'say 8 words');
    await until(async () => (await answers(page).count()) === 1 && (await newest(page)).includes(words(8)), 'the answer to it');
    assert.equal(await page.getByText('This session was deleted').count(), 0);
    await page.close();
  },
  async 'a card that is opened at the end stays where it is'() {
    const sessionId = 'chat:cards';
    for (const path of ['one', 'two']) await other.send(`call file.write ${JSON.stringify({ path, content: 'line\n'.repeat(200) })} then say done`, { sessionId }).result;
    const page = await chat(sessionId);
    const card = page.locator('details.tool > summary').last();
    await until(async () => (await answers(page).count()) === 2, 'both answers');
    const before = (await card.boundingBox()).y;
    await card.click();
    await page.locator('details.tool[open]').waitFor();
    await page.getByRole('button', { name: 'Go to the end' }).waitFor();
    assert.ok(Math.abs((await card.boundingBox()).y - before) < 2, `${before} became ${(await card.boundingBox()).y}`);
    await card.click();
    // Then one is at the end again, and stays there.
    await page.getByRole('button', { name: 'Go to the end' }).waitFor({ state: 'detached' });
    await page.close();
  },
  async 'files and long texts wait while one looks at another page, and one stands where one writes'() {
    const page = await open(context, '#/chat');
    await live(page);
    const box = page.getByRole('textbox', { name: 'Message' });
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
    await box.fill('say 2 words\nof a new one');
    await page.keyboard.press('Enter');
    await until(() => page.url().includes('#/chat/ws'), 'its session');
    await until(async () => (await focused()) === 'Message', 'the focus');
    // It is called by how it begins, on the tab too.
    await until(async () => (await page.title()).startsWith('say 2 words ·'), 'its name');
    const long = 'x'.repeat(150_000);
    await box.fill(long);
    await page.locator('input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') });
    await page.locator('.upload').waitFor();
    const { hash } = new URL(page.url());
    for (const to of ['#/now', hash]) await page.evaluate((it) => void (location.hash = it), to);
    await page.locator('.upload', { hasText: 'notes.txt' }).waitFor();
    assert.equal(await box.inputValue(), long);
    await page.getByRole('button', { name: 'Remove notes.txt' }).click();
    await box.fill('');
    await page.close();
  },
  async 'a tab that stayed open says what is new since somebody looked'() {
    const page = await chat('chat:hidden');
    await say(page, 'say 3 words');
    await until(async () => (await answers(page).count()) === 1, 'an answer');
    const hide = (isHidden) => page.evaluate((it) => {
      Object.defineProperty(document, 'hidden', { get: () => it, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
    await sleep(300);
    await hide(true);
    for (const text of ['news', 'more']) await other.send(`say "${text}"`, { sessionId: 'chat:hidden' }).result;
    await until(async () => (await answers(page).count()) === 3, 'the news');
    assert.equal(await page.locator('.unread').count(), 0);
    await hide(false);
    await page.locator('.row', { has: page.locator('.unread'), hasText: 'news' }).waitFor();
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
    await other.sessions.patch({ sessionId: 'chat:edit', title: 'To be edited' });
    await page.reload();
    await page.getByRole('heading', { name: 'To be edited' }).waitFor();
    await page.getByRole('button', { name: /edit/i }).first().click();
    await until(() => !page.url().includes('chat%3Aedit'), 'the copy');
    await page.getByRole('heading', { name: 'To be edited' }).waitFor();
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
    // A tab beside it must not take the command for one that was left behind.
    const beside = await open(context, '#/now');
    await live(beside);
    const page = await chat('chat:slash');
    await page.getByRole('textbox', { name: 'Message' }).or(page.getByRole('combobox', { name: 'Message' })).first().pressSequentially('/sta');
    await page.getByRole('option', { name: /\/status/ }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('article', { name: 'Answer of the gateway' }).waitFor();
    await beside.close();
    await page.close();
  },
  async 'everything can be reached and done by keyboard alone'() {
    const page = await open(context, '#/now');
    await live(page);
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
