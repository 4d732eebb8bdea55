// Much of everything: sessions, messages, words per second. Counts are smaller in the normal run; the bounds are the same.
import assert from 'node:assert/strict';
import { until } from '../runner.mjs';
import { base, breaches, client, close, heapBytes, isFull, judge, live, longTasks, open, person, runChecks, sleep, words } from './world.mjs';

const SESSIONS = isFull ? 10_000 : 1_200;
const TURNS = isFull ? 5_000 : 250;
const STREAM_S = isFull ? 30 : 6;
/** A frame that takes longer is seen. */
const LONG_MS = 50;
const HEAP_GROWTH_MAX = 20 * 1024 * 1024;

const other = client({ timeoutMs: 300_000 });
const context = await person();

/** In waves, so that the gateway's limits are kept. */
async function many(count, each) {
  for (let at = 0; at < count; at += 40) await Promise.all(Array.from({ length: Math.min(40, count - at) }, (_, n) => each(at + n)));
}

const slow = (list) => list.filter((ms) => ms > LONG_MS);

const checks = {
  async 'many sessions are listed, scrolled and found'() {
    const maker = client({ timeoutMs: 300_000 });
    await many(SESSIONS, (n) => maker.sessions.create({ sessionId: `load:${n}`, title: `session number ${n}` }));
    maker.close();
    const page = await open(context, '#/sessions');
    await live(page);
    await page.getByText(/session number/).first().waitFor();
    const tasks = await longTasks(page);
    const list = page.locator('.virtual').first();
    for (let at = 0; at < 60; at += 1) {
      await list.evaluate((element) => (element.scrollTop += 700));
      await sleep(30);
    }
    const rows = await page.locator('.virtual-row').count();
    assert.ok(rows > 5 && rows < 120, `${rows} rows are in the document`);
    const long = slow(await tasks.read());
    console.error(`sessions: ${SESSIONS}, long tasks: ${long.join(' ') || 'none'}`);
    judge(long);
    await page.close();
  },
  async 'a long conversation scrolls, from the newest to the oldest'() {
    const sessionId = 'load:long';
    for (let at = 0; at < TURNS; at += 1) await other.send('say 20 words', { sessionId }).result;
    const page = await open(context, `#/chat/${encodeURIComponent(sessionId)}`);
    await live(page);
    await page.getByText('w20').first().waitFor();
    const tasks = await longTasks(page);
    const nodes = [];
    for (let at = 0; at < 80; at += 1) {
      await page.mouse.move(640, 400);
      await page.mouse.wheel(0, -900);
      await sleep(40);
      if (at % 20 === 0) nodes.push(await page.evaluate(() => document.querySelectorAll('*').length));
    }
    const long = slow(await tasks.read());
    console.error(`messages: ${2 * TURNS}, elements: ${nodes.join(' ')}, long tasks: ${long.join(' ') || 'none'}`);
    assert.ok(Math.max(...nodes) < 6_000, `${nodes} elements`);
    judge(long);
    await page.close();
  },
  async 'a thousand words a second cost no frame and no memory'() {
    const sessionId = 'load:stream';
    const page = await open(context, `#/chat/${encodeURIComponent(sessionId)}`);
    await live(page);
    await other.send('say 50 words', { sessionId }).result;
    await page.getByText('w50').first().waitFor();
    const before = await heapBytes(page);
    const tasks = await longTasks(page);
    // One word each millisecond, as long as it goes.
    const count = STREAM_S * 1000;
    const run = other.send(`slow 1 say ${count} words`, { sessionId });
    const result = await run.result;
    assert.equal(result.content, words(count));
    await until(async () => (await page.locator('main').textContent()).includes(`w${count}`), 'the last word');
    await sleep(500);
    const long = slow(await tasks.read());
    const grown = (await heapBytes(page)) - before;
    console.error(`words: ${count}, heap: +${(grown / 1024 / 1024).toFixed(1)} MiB, long tasks: ${long.join(' ') || 'none'}`);
    assert.ok(grown < HEAP_GROWTH_MAX, `the heap grew by ${grown}`);
    judge(long);
    await page.close();
  },
  async 'no page asked anybody else, or went against its policy'() {
    assert.deepEqual(breaches, []);
  },
};

await runChecks(checks, async () => {
  other.close();
  await close();
}, 300_000);
