// The pages of numbers and things: usage, context, latency, companions and canvas, settings. By hand and by keys, in both themes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { until } from '../runner.mjs';
import { axe, breaches, client, close, live, open, order, person, runChecks, token } from './world.mjs';

const PAGES = ['usage', 'usage?unit=usd', 'latency', 'latency?minutes=1440', 'context', 'nodes/numbers%3Acanvas', 'config'];
const other = client();
const context = await person();
const today = new Date().toISOString().slice(0, 10);
const page = await open(context, '#/now');
const go = async (hash) => {
  await page.evaluate((it) => void (location.hash = it), `#/${hash}`);
  await live(page);
};
const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
const main = () => page.locator('main').innerText();

const checks = {
  async 'what was used today is a bar that keys reach, and opens what made it'() {
    await other.sessions.create({ sessionId: 'numbers:used', title: 'A title, with a comma' });
    await other.send('say 300 words', { sessionId: 'numbers:used' }).result;
    await live(page);
    await go('usage?range=7');
    const hits = page.locator('.plot-hit');
    await until(async () => (await hits.count()) === 7, 'seven days');
    assert.equal(await page.locator('.plot-hit[tabindex="0"]').count(), 1, 'one stop of the Tab key');
    await page.locator('.plot-hit[tabindex="0"]').focus();
    await until(async () => /input [1-9]/.test(await focused()), 'the bar of today');
    assert.match(await page.locator('.plot-tip').innerText(), /input/);
    await page.keyboard.press('Home');
    await until(async () => /no data|not used/.test(await focused()), 'a day without anything');
    await page.keyboard.press('Escape');
    await until(async () => (await page.locator('.plot-tip').count()) === 0, 'nothing told');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.locator('#usage-runs').getByText('A title, with a comma').first().waitFor();
    assert.ok(page.url().includes(`day=${today}`), page.url());
  },
  async 'each plot has its numbers as a table'() {
    await page.locator('.plot-table summary').first().click();
    await until(async () => (await page.locator('.plot-table tbody tr').count()) === 7, 'a row for each day');
  },
  async 'a table is sorted by its heads and saved for spreadsheets'() {
    const card = page.getByRole('region', { name: 'Usage by session' });
    await card.getByRole('button', { name: 'Calls' }).click();
    // Drawn with the next frame.
    await card.locator('th[aria-sort="descending"]', { hasText: 'Calls' }).waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as CSV' }).click()]);
    const text = await readFile(await file.path(), 'utf8');
    assert.match(text, /^session,title,calls,/);
    assert.ok(text.includes('numbers:used,"A title, with a comma",'), text);
  },
  async 'a session in memory has a bar, and is compacted on demand'() {
    await go('context');
    await page.getByRole('meter').first().waitFor();
    assert.match(await main(), /Only sessions in memory are listed/);
    const row = page.locator('.context-row', { hasText: 'numbers:used' }).or(page.locator('.context-row', { hasText: 'A title, with a comma' })).first();
    await row.getByRole('button', { name: /^History/ }).click();
    await until(async () => /never compacted|does not tell|Compactions|Before/.test(await row.innerText()), 'what was before');
    await row.getByRole('button', { name: /^Compact now/ }).click();
    await page.locator('.toast').first().waitFor();
  },
  async 'latency says since when it counts, and keeps the window in the address'() {
    await go('latency');
    await page.getByText(/Counted since/).waitFor();
    await page.getByRole('button', { name: '24 hours' }).click();
    await until(async () => page.url().includes('minutes=1440'), 'the address');
    await page.getByRole('region', { name: 'Latency by model' }).waitFor();
    assert.ok((await page.locator('.plot-hit').count()) <= 3 * 300, 'at most 300 points in each plot');
    const over = await page.locator('.plot-svg text').evaluateAll((all) => all.filter((it) => it.getBoundingClientRect().right > it.closest('.plot-svg').getBoundingClientRect().right).map((it) => it.textContent));
    assert.deepEqual(over, [], 'names beyond the edge');
  },
  async 'a companion comes and goes by itself'() {
    const phone = client();
    await go('nodes');
    await phone.node.register({ nodeId: 'phone', role: 'companion', protocolVersion: 1, capabilities: ['location', 'telepathy'] });
    await phone.node.status.set({ deviceName: 'A phone', batteryPct: 12, powerSource: 'battery' });
    await phone.node.location.set({ latitude: 52.5, longitude: -13.4, accuracyMeters: 10 });
    await page.getByRole('heading', { name: 'A phone' }).waitFor();
    await until(async () => /12 %, on battery, low/.test(await main()) && /52\.50000° N, 13\.40000° W ± 10 m/.test(await main()), 'how it does and where it is');
    assert.match(await main(), /telepathy: not granted/);
    phone.close();
    await until(async () => !(await main()).includes('A phone'), 'it is gone');
  },
  async 'what is on the canvas is shown as what it is, and goes when somebody is sure'() {
    const sessionId = 'numbers:canvas';
    await other.sessions.create({ sessionId });
    await other.canvas.put({ sessionId, artifactId: 'data', type: 'json', content: { a: [1, 2] } });
    await other.canvas.put({ sessionId, artifactId: 'plan', type: 'markdown', content: 'a **bold** word' });
    await other.canvas.put({ sessionId, artifactId: 'page', type: 'html', content: '<h1 style="color:red" onclick="x()">In a frame</h1><style>h1{}</style><script>parent.x=1</script><a href="http://other.example/">go</a>' });
    await go('nodes/numbers%3Acanvas?artifact=plan');
    await page.locator('.canvas-one strong', { hasText: 'bold' }).waitFor();
    await go('nodes/numbers%3Acanvas?artifact=page');
    const frame = page.locator('iframe.canvas-frame');
    await frame.waitFor();
    assert.equal(await frame.getAttribute('sandbox'), '');
    await page.frameLocator('iframe.canvas-frame').getByRole('heading', { name: 'In a frame' }).waitFor();
    await page.getByRole('button', { name: 'Raw' }).click();
    await page.getByText('parent.x=1').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await until(async () => (await page.locator('.canvas-list li').count()) === 2, 'two are left');
    await page.getByRole('button', { name: 'Clear…' }).click();
    await page.getByRole('button', { name: 'Keep' }).click();
    assert.equal((await other.canvas.list({ sessionId })).total, 2, 'nobody was sure');
  },
  async 'a canvas that was emptied stays where it is'() {
    for (const sessionId of ['numbers:one', 'numbers:two']) {
      await other.sessions.create({ sessionId });
      await other.send('say x', { sessionId }).result;
      await other.canvas.put({ sessionId, artifactId: 'a', type: 'text', content: sessionId });
    }
    await go('now');
    await go('nodes');
    await page.getByRole('button', { name: 'Clear…' }).click();
    const shown = await page.getByRole('combobox', { name: 'Session' }).inputValue();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Nothing is on this canvas').waitFor();
    assert.equal(await page.getByRole('combobox', { name: 'Session' }).inputValue(), shown);
    assert.equal(await page.getByRole('button', { name: 'Clear…' }).count(), 0);
    // Who comes back looks for one that has something.
    await go('now');
    await go('nodes');
    await page.getByRole('button', { name: 'Clear…' }).waitFor();
    assert.notEqual(await page.getByRole('combobox', { name: 'Session' }).inputValue(), shown);
  },
  async 'a clock that is ahead counts nothing wrong'() {
    const ahead = await person();
    await ahead.addInitScript((ms) => {
      const now = Date.now;
      Date.now = () => now() + ms;
    }, 360_000);
    const phone = client();
    await phone.node.register({ nodeId: 'ahead', role: 'companion', protocolVersion: 1, capabilities: [] });
    const there = await open(ahead, '#/access');
    await there.getByRole('button', { name: 'Make a code' }).click();
    await there.getByText(/good for [45] min/).waitFor();
    await there.evaluate(() => void (location.hash = '#/nodes'));
    await there.locator('.node').getByText('here', { exact: true }).waitFor();
    assert.match(await there.locator('.node').innerText(), /Last heard\s+(?:just now|\d+ s ago)/);
    phone.close();
    await ahead.close();
  },
  async 'who stands on a frame of the console stays there'() {
    await go('console');
    const head = page.locator('.frame-head').nth(2);
    await head.focus();
    const focusedFrame = () => page.evaluate(() => document.activeElement.innerText);
    const stands = await focusedFrame();
    const before = await page.locator('.frame-head').count();
    await other.send('say x', { sessionId: 'numbers:used' }).result;
    await until(async () => (await page.locator('.frame-head').count()) > before, 'another frame');
    assert.equal(await focusedFrame(), stands);
  },
  async 'words that are looked for again are found anew'() {
    await other.send('say "a quick brown fox"', { sessionId: 'numbers:fox' }).result;
    await go('sessions?q=brown fox&in=text');
    const found = (sessionId) => page.locator('.hit', { hasText: sessionId }).first().waitFor();
    await found('numbers:fox');
    await go('now');
    await other.send('say "another brown fox"', { sessionId: 'numbers:foxes' }).result;
    await go('sessions?q=brown fox&in=text');
    await found('numbers:foxes');
  },
  async 'settings are found, and no secret is among them'() {
    await go('config');
    await page.getByText('server.token').first().waitFor();
    assert.ok(!(await page.content()).includes(token), 'the token is in the page');
    await page.getByRole('searchbox').fill('queue mode');
    await until(async () => (await page.locator('.config-line').count()) === 1, 'the one that was meant');
    assert.match(await page.locator('.config-line').innerText(), /collect/);
    await page.getByRole('searchbox').fill('');
    await page.getByRole('button', { name: /^Read again/ }).click();
    await page.getByText(/Nothing (has|would) change/).first().waitFor();
    // Its file is YAML: that is said once, and nothing is offered that would be refused.
    await page.getByText(/Nothing can be changed from here: .* no TOML/).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Change/ }).count(), 0);
  },
  async 'settings are those of the gateway that is there'() {
    const told = [];
    page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => told.push(String(payload))));
    await order('stop');
    await page.locator('#link-state', { hasText: 'offline' }).waitFor();
    await order('start');
    await live(page);
    await until(async () => told.some((it) => it.includes('"config.get"')), 'they are read again');
  },
  async 'all of it can be read by everybody, on a desk and on a phone'() {
    for (const [width, colorScheme] of [[1280, 'light'], [360, 'dark'], [1280, 'dark'], [360, 'light']]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      for (const hash of PAGES) {
        await go(hash);
        await until(async () => !(await main()).includes('Loading…'), hash);
        assert.deepEqual(await axe(page), [], `${hash}, ${width} px, ${colorScheme}`);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${hash} is wider than ${width} px`);
      }
    }
  },
  async 'no page asked anybody else, or went against its policy'() {
    assert.deepEqual(breaches, []);
  },
};

await runChecks(checks, async () => {
  other.close();
  await close();
}, 120_000);
