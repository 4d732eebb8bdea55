// What people do with it: sub-agents, pictures, money, questions that are long, tokens that may do little.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { until } from '../runner.mjs';
import { axe, base, breaches, client, close, live, open, order, person, runChecks, sleep } from './world.mjs';

const { PEER_READER: reader, PEER_TALKER: talker, PEER_PICTURE: picture } = process.env;
const PAGES = ['now', 'chat', 'sessions', 'usage', 'context', 'latency', 'nodes', 'access', 'config', 'console'];
const other = client({ confirm: () => undefined });
const context = await person({ permissions: ['clipboard-read', 'clipboard-write'] });
const chat = async (sessionId, of = context) => {
  const page = await open(of, `#/chat/${encodeURIComponent(sessionId)}`);
  await live(page);
  return page;
};
const box = (page) => page.getByRole('textbox', { name: 'Message' });
const ask = (sessionId, command) => {
  const run = other.send(`call shell.exec ${JSON.stringify({ command })} then say done`, { sessionId });
  run.result.catch(() => {});
  return run;
};
/** Says no to what these sessions ask. */
const deny = async (...sessions) => {
  const { asks } = await other.asks.list({});
  for (const { sessionId, callId, askId } of asks.filter((it) => sessions.includes(it.sessionId))) await other.agent.confirmTool({ sessionId, callId, askId, decision: 'deny' });
};
const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth);

const checks = {
  async 'a sub-agent is a card in the card of its call, with its task, its own rows and its answer'() {
    const sessionId = 'work:parent';
    const page = await chat(sessionId);
    const task = 'call file.list {"path":"."} then say "**Looked** around."';
    await other.send(`call subagent.spawn ${JSON.stringify({ task, label: 'Look around' })} then say "All is seen."`, { sessionId }).result;
    const card = page.locator('details.tool', { hasText: 'Look around' });
    await card.locator('> summary').click();
    await card.getByRole('group', { name: 'Task' }).getByText('Looked').waitFor();
    await card.getByRole('group', { name: 'Answer' }).locator('strong', { hasText: 'Looked' }).waitFor();
    await card.getByRole('button', { name: /^Show what/ }).click();
    const rows = card.getByRole('list', { name: 'What the sub-agent does' });
    await rows.locator('details.tool', { hasText: 'List' }).waitFor();
    await rows.getByText('around.').last().waitFor();
    assert.equal(await rows.locator('.said-user strong').innerText(), 'Task', 'nobody here has said it');
    assert.deepEqual(await axe(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.ok((await wide(page)) <= 360, 'nested cards fit a phone');
    await card.getByRole('link', { name: 'Open it as a page' }).click();
    await page.getByRole('link', { name: 'The session that it works for' }).waitFor();
    assert.ok(!page.url().includes('parent'), page.url());
    await page.close();
  },
  async 'pictures are pasted and dropped, seen, sent and still there after a reload'() {
    const page = await chat('work:pictures');
    await box(page).focus();
    await page.evaluate(async (data) => {
      const bytes = Uint8Array.from(atob(data), (it) => it.charCodeAt(0));
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': new Blob([bytes], { type: 'image/png' }) })]);
    }, picture);
    await page.keyboard.press('Control+V');
    await page.locator('.upload', { hasText: 'image.png' }).waitFor();
    const files = await page.evaluateHandle((data) => {
      const list = new DataTransfer();
      list.items.add(new File([Uint8Array.from(atob(data), (it) => it.charCodeAt(0))], 'dropped.png', { type: 'image/png' }));
      list.items.add(new File(['some notes'], 'notes.txt', { type: 'text/plain' }));
      list.items.add(new File([new Uint8Array([0, 255])], 'odd.bin'));
      return list;
    }, picture);
    const composer = page.locator('.composer');
    for (const name of ['dragenter', 'dragover']) await composer.dispatchEvent(name, { dataTransfer: files });
    await page.getByText('Drop files to attach them').waitFor();
    await composer.dispatchEvent('drop', { dataTransfer: files });
    await until(async () => (await page.locator('.upload').count()) === 3, 'three files');
    await page.getByText(/odd\.bin is neither text nor an image/).waitFor();
    await box(page).fill('say seen');
    await page.keyboard.press('Enter');
    const message = page.getByRole('article', { name: 'Message', exact: true }).first();
    const shown = () => message.locator('img');
    await until(async () => (await shown().count()) === 2, 'two pictures');
    assert.match(await message.innerText(), /say seen\s+\[notes\.txt\]\s+some notes/);
    // Nothing that comes by the clock: a phone that is turned has to be enough.
    await page.addInitScript(() => void (window.setInterval = () => 0));
    await page.reload();
    await until(async () => (await shown().count()) === 2, 'the same after a reload');
    assert.ok(await shown().first().evaluate((it) => it.complete && it.naturalWidth > 0), 'it is a picture');
    // Who was away begins where they stopped to read; at the end one stays, with pictures that come later than their rows.
    for (const button of await page.getByRole('button', { name: /Go to the end|New messages/ }).all()) await button.click();
    for (const [width, height] of [[360, 500], [740, 360]]) {
      await page.setViewportSize({ width, height });
      await until(() => page.locator('.rows-view').evaluate((it) => it.scrollHeight > it.clientHeight && it.scrollHeight - it.scrollTop - it.clientHeight < 10), `the end at ${width} px`);
    }
    await page.close();
  },
  async 'a picture that a tool gives is in its card'() {
    await writeFile('seen.png', Buffer.from(picture, 'base64'));
    const page = await chat('work:tool-picture');
    await other.send('call file.read {"path":"seen.png"} then say done', { sessionId: 'work:tool-picture' }).result;
    await page.locator('details.tool > summary', { hasText: 'seen.png' }).click();
    await until(async () => (await page.locator('img.tool-picture').evaluateAll((all) => all.map((it) => it.naturalWidth > 0)))[0], 'a picture');
    await page.close();
  },
  async 'what it costs stands above the conversation, in the sums and under the budget'() {
    await other.send('count 1000000 0 0 100000 and say dear', { sessionId: 'work:dear' }).result;
    const page = await chat('work:dear');
    await until(async () => /Cost\s*\$4\.50/.test(await page.locator('.chat-head').innerText()), 'what it cost');
    await page.evaluate(() => void (location.hash = '#/usage?range=7&unit=usd&by=model'));
    const model = page.getByRole('region', { name: 'Usage by model' });
    await until(async () => /\$4\.5/.test(await model.innerText()), 'the sum of a model');
    assert.match(await page.locator('.plot-limits').first().textContent(), /budget of a day: \$20/);
    await page.getByRole('button', { name: 'Session', exact: true }).click();
    await until(async () => /work:dear[^]*\$4\.50/.test(await page.getByRole('region', { name: 'Usage by session' }).innerText()), 'the sum of a session');
    await page.getByRole('button', { name: 'Tool', exact: true }).click();
    await until(async () => /read_file|file\.read/.test(await page.locator('main').innerText()), 'tools by calls');
    assert.match(await page.locator('.figures').innerText(), /% of the day's budget/);
    // Who comes in the middle of a run is told the same of it.
    const run = other.send('count 100000 0 0 10000 and slow 60 say 60 words', { sessionId: 'work:late' });
    await sleep(500);
    const late = await chat('work:late');
    await late.getByRole('button', { name: 'Stop' }).waitFor();
    await run.result;
    await until(async () => /\$0\.45 · mock\/alpha/.test(await late.locator('.run-end').innerText()), 'what the run cost');
    await late.close();
    await page.close();
  },
  async 'nobody allows a command whose end they did not see, on a desk or on a phone'() {
    const lines = Array.from({ length: 200 }, (_, at) => `echo ${at} \u202edrawkcab\u202c \u001b[31m${'x'.repeat(20)}`);
    const command = `${lines.join('\n')}\nrm -rf /the/end`;
    for (const [width, colorScheme, sessionId] of [[1280, 'light', 'work:desk'], [360, 'dark', 'work:phone']]) {
      const page = await open(await person({ viewport: { width, height: 740 }, colorScheme }), '#/now');
      await live(page);
      const run = ask(sessionId, command);
      const approval = page.locator('.approval');
      await approval.waitFor();
      for (const name of PAGES) {
        await page.evaluate((it) => void (location.hash = `#/${it}`), name);
        await page.locator(`.page-${name}`).waitFor();
        assert.ok((await approval.textContent()).includes('rm -rf /the/end'), `whole on ${name}`);
        assert.ok((await wide(page)) <= width, `${name} is ${await wide(page)} px wide`);
      }
      const text = await approval.textContent();
      assert.ok(text.includes('‹U+202E›drawkcab') && text.includes('‹U+001B›[31m') && !text.includes('\u202e'), 'signs are written out');
      assert.deepEqual(await axe(page), [], `${width} px`);
      const allow = approval.getByRole('button', { name: 'Allow once' });
      // Everything holds still for a moment after a question has come.
      await sleep(800);
      await allow.click({ force: true });
      await page.locator('.toast', { hasText: 'Scroll to the end' }).waitFor();
      assert.ok((await other.asks.list({})).asks.some((it) => it.sessionId === sessionId), 'it was not allowed');
      assert.equal(await page.evaluate(() => document.activeElement.textContent.includes('rm -rf /the/end')), true, 'the text has the focus');
      await page.keyboard.press('End');
      await approval.getByText('There is more of it than is seen').waitFor({ state: 'detached' });
      await approval.getByRole('button', { name: 'Deny' }).click();
      await approval.waitFor({ state: 'detached' });
      assert.equal((await run.result).content, 'done');
      await page.context().close();
    }
  },
  async 'a browser is asked for notifications when somebody wants them, and a question in the background is one'() {
    const of = await person();
    await of.addInitScript(() => {
      window.asked = 0;
      window.told = [];
      window.Notification = class {
        static permission = 'default';
        static async requestPermission() {
          window.asked += 1;
          return (this.permission = 'granted');
        }
        constructor(title, { body }) {
          window.told.push(`${title} ${body}`);
        }
      };
    });
    const page = await open(of, '#/now');
    await live(page);
    const first = ask('work:notify', 'echo one');
    const questions = page.locator('.approvals');
    await questions.waitFor();
    assert.equal(await page.evaluate(() => window.asked), 0, 'nobody wanted it yet');
    await questions.getByRole('button', { name: 'Notify me' }).click();
    await questions.getByRole('button', { name: 'Stop notifying me' }).waitFor();
    await page.evaluate(() => Object.defineProperty(document, 'hidden', { get: () => true }));
    const second = ask('work:notify-two', 'echo two');
    await until(async () => (await page.evaluate(() => window.told)).some((it) => it.includes('echo two')), 'a notification');
    assert.deepEqual(await page.evaluate(() => [window.asked, window.told.length]), [1, 1]);
    await deny('work:notify', 'work:notify-two');
    await Promise.all([first.result, second.result]);
    await of.close();
  },
  async 'a token that may only read sees every page and every word, and is offered nothing else'() {
    await other.send('say "for readers"', { sessionId: 'work:read' }).result;
    const of = await person({ token: reader });
    const page = await open(of, '#/now');
    await live(page);
    for (const name of PAGES) {
      await page.evaluate((it) => void (location.hash = `#/${it}`), name);
      await page.locator(`.page-${name} h1`).first().waitFor();
      await until(async () => !(await page.locator('main').innerText()).includes('Loading…'), name);
      assert.equal(await page.getByText('could not be shown').count(), 0, name);
      assert.deepEqual(await page.locator('main').getByRole('button', { name: /^(?:Change|Compact|Clear…|Read again)/ }).allInnerTexts(), [], name);
    }
    await page.evaluate(() => void (location.hash = '#/sessions'));
    await page.getByRole('button', { name: /^More for/ }).first().click();
    const menu = page.locator('.sessions-menu');
    await menu.getByText('Copy its id').waitFor();
    assert.equal(await menu.getByRole('button', { name: /Delete|Rename|Copy as/ }).count(), 0);
    await page.keyboard.press('Escape');
    await page.evaluate(() => void (location.hash = '#/chat/work%3Aread'));
    await page.getByRole('article', { name: 'Answer' }).getByText('for readers').waitFor();
    await page.getByText('it lacks the scope chat').waitFor();
    assert.equal(await box(page).count(), 0);
    // What is said while it looks on arrives too, and is read then, also when the page knows by now what it may not.
    await sleep(600);
    await other.send('say "and more"', { sessionId: 'work:read' }).result;
    await page.getByRole('article', { name: 'Answer' }).getByText('and more').waitFor();
    const { seq } = (await other.sessions.get({ sessionId: 'work:read' })).history.at(-1);
    await until(() => page.evaluate((last) => new Map(JSON.parse(localStorage['tillerman.read'] ?? '[]')).get('work:read')?.seq >= last, seq), 'how far it was read');
    await of.close();
  },
  async 'a token that may chat talks, and is told that it cannot answer'() {
    const of = await person({ token: talker });
    const page = await chat('work:talk', of);
    await box(page).fill('say "hello talker"');
    await page.keyboard.press('Enter');
    await page.getByRole('article', { name: 'Answer' }).getByText('hello talker').waitFor();
    const run = ask('work:talk', 'echo may-i');
    await page.locator('.approval').getByText('it lacks the scope tools').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Allow once' }).count(), 0);
    await deny('work:talk');
    await run.result;
    await of.close();
  },
  async 'a setting is changed after it was seen what that does, and what waits for a restart holds after one'() {
    const page = await open(context, '#/config?find=connection_grace');
    await live(page);
    const line = page.locator('.config-line', { hasText: 'acp.connection_grace_s' });
    await line.getByRole('button', { name: /^Change/ }).click();
    await line.getByRole('spinbutton').fill('700');
    await line.getByRole('button', { name: 'See what would change' }).click();
    await line.getByRole('button', { name: 'Save and reload' }).click();
    await line.getByText('waits for a restart').waitFor();
    await order('stop');
    await page.locator('#link-state', { hasText: 'offline' }).waitFor();
    await order('start');
    await live(page);
    await line.getByText('waits for a restart').waitFor({ state: 'detached' });
    await line.getByText('700', { exact: true }).waitFor();
    assert.equal(await page.getByText('Nothing can be changed').count(), 0);
    await page.close();
  },
  async 'long names and those from right to left break nothing'() {
    const sessionId = 'work:names';
    await other.sessions.create({ sessionId, title: `שלום עולם ${'averylongwordwithoutanyspace'.repeat(6)}` });
    await other.send(`say "مرحبا بالعالم ${'x'.repeat(300)}"`, { sessionId }).result;
    const page = await open(await person({ viewport: { width: 360, height: 740 } }), '#/now');
    await live(page);
    for (const hash of ['now', 'chat', 'sessions', 'usage', 'context', 'chat/work%3Anames']) {
      await page.evaluate((it) => void (location.hash = `#/${it}`), hash);
      await page.getByText('שלום').first().waitFor({ state: 'attached' });
      assert.ok((await wide(page)) <= 360, `${hash} is ${await wide(page)} px wide`);
    }
    await page.context().close();
  },
  async 'logging out everywhere ends every browser of that credential'() {
    const [one, two] = [await person(), await person()];
    const [here, there] = [await open(one, '#/access'), await open(two, '#/now')];
    await live(here);
    await live(there);
    await here.getByRole('button', { name: 'Log out everywhere…' }).click();
    await here.getByRole('button', { name: 'Log out everywhere', exact: true }).click();
    for (const page of [here, there]) await page.getByLabel('Token').waitFor();
    assert.equal((await two.request.get(`${base}/api/health`)).status(), 401);
    for (const colorScheme of ['light', 'dark']) {
      await here.emulateMedia({ colorScheme });
      assert.deepEqual(await axe(here), [], `the login, ${colorScheme}`);
    }
    await one.close();
    await two.close();
  },
  async 'no page asked anybody else, or went against its policy'() {
    assert.deepEqual(breaches, []);
  },
};

await runChecks(checks, async () => {
  other.close();
  await close();
}, 120_000);
