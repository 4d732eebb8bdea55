// Text from outside in every field that can carry it, on every page: none of it may run, become markup or reach for another address.
import assert from 'node:assert/strict';
import { base, breaches, client, close, live, open, person, runChecks, sleep } from './world.mjs';

const ALARM = 'window.pwned=(window.pwned||0)+1';
/** Each one would do something where it is taken for markup, a script, a style or an address. */
const CORPUS = [
  `<script>${ALARM}</script>`,
  `<img src=x onerror="${ALARM}">`,
  `<svg onload="${ALARM}"><circle/></svg>`,
  `"><b onmouseover="${ALARM}" autofocus onfocus="${ALARM}" tabindex=1>x</b>`,
  `'-(${ALARM})-'`,
  `[click](javascript:${ALARM})`,
  `[click](JaVaScRiPt:${ALARM})`,
  `[click](java\tscript:${ALARM})`,
  `[click](&#106;avascript:${ALARM})`,
  `[click](data:text/html,<script>parent.${ALARM}</script>)`,
  `[click](vbscript:msgbox)`,
  `![x](javascript:${ALARM})`,
  `![x](http://evil.example/pixel.png)`,
  `<a href="javascript:${ALARM}">x</a>`,
  `<iframe srcdoc="<script>parent.${ALARM}</script>"></iframe>`,
  `<object data="javascript:${ALARM}"></object><embed src="javascript:${ALARM}">`,
  `<style>*{background:url(http://evil.example/s)}</style>`,
  `<link rel=stylesheet href=http://evil.example/s.css>`,
  `<meta http-equiv=refresh content="0;url=http://evil.example/">`,
  `<base href="http://evil.example/">`,
  `<form action="http://evil.example/"><button>x</button></form>`,
  `\`\`\`js"><script>${ALARM}</script>\n<script>${ALARM}</script>\n\`\`\``,
  `| a | b |\n|---|---|\n| <img src=x onerror=${ALARM}> | [x](javascript:${ALARM}) |`,
  `</textarea></title></style></script><script>${ALARM}</script>`,
  `\u202e<script>${ALARM}</script>`,
  `\u001b]8;;javascript:${ALARM}\u001b\\link\u001b]8;;\u001b\\ \u001b[31m<b>red</b>\u001b[0m`,
  `{{constructor.constructor('${ALARM}')()}}`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${ALARM}&gt;">`,
];

const other = client({ confirm: () => 'deny' });
const quoted = (text) => JSON.stringify(text);

async function plant() {
  let number = 0;
  for (const text of CORPUS) {
    const sessionId = `xss:${number++}`;
    await other.sessions.create({ sessionId, title: text.slice(0, 200) });
    await other.send(`say ${quoted(text)}`, { sessionId }).result;
    await other.canvas.put({ sessionId, artifactId: 'md', type: 'markdown', title: text, content: text });
    await other.canvas.put({ sessionId, artifactId: 'html', type: 'html', title: text, content: text });
    await other.canvas.put({ sessionId, artifactId: 'json', type: 'json', title: text, content: { [text]: text } });
  }
  const all = CORPUS.join('\n\n');
  const sessionId = 'xss:all';
  await other.sessions.create({ sessionId, title: 'all' });
  await other.send(all, { sessionId }).result.catch(() => {});
  await other.send(`think ${quoted(all)} and say ${quoted(all)}`, { sessionId }).result;
  for (const text of CORPUS) {
    await other.send(`call file.read {"path":${quoted(text)}} then say done`, { sessionId }).result.catch(() => {});
    await other.send(`call file.write {"path":"x.txt","content":${quoted(text)}} then say done`, { sessionId }).result.catch(() => {});
  }
  await other.send(`call no.such.${'<b>'} {"a":${quoted(all)}} then say done`, { sessionId }).result.catch(() => {});
  await other.node.register({ nodeId: CORPUS[0].slice(0, 100), role: 'companion', protocolVersion: 1, capabilities: CORPUS.slice(0, 10).map((it) => it.slice(0, 60)) });
  await other.node.status.set({ deviceName: CORPUS[1].slice(0, 60), statusText: CORPUS[3].slice(0, 100), platform: CORPUS[2].slice(0, 30) });
  // A question that nobody has answered stays on every page.
  other.send(`call shell.exec {"command":${quoted(all.slice(0, 3000))}} then say done`, { sessionId: 'xss:ask' }).result.catch(() => {});
}

/** What markup from outside would have left behind. */
async function intruders(page) {
  return page.evaluate(() => {
    const found = [];
    if (window.pwned) found.push(`a script ran ${window.pwned} times`);
    if (document.querySelectorAll('script').length !== 1) found.push('there is another script');
    if (document.querySelectorAll('style, link[rel=stylesheet]').length !== 1) found.push('there is another style');
    if (document.querySelectorAll('base, meta[http-equiv], object, embed, math').length) found.push('there is foreign markup');
    for (const frame of document.querySelectorAll('iframe')) if (/allow-(scripts|same-origin)/.test(frame.getAttribute('sandbox') ?? 'allow-scripts')) found.push('a frame is not closed off');
    for (const element of document.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        if (name.startsWith('on')) found.push(`<${element.tagName}> has ${name}`);
        if (/^\s*(?:javascript|vbscript|data:text)/i.test(value) && ['href', 'src', 'action', 'formaction', 'xlink:href'].includes(name)) found.push(`${name}=${value.slice(0, 40)}`);
      }
    }
    return found;
  });
}

async function look(page, hash, wait = 600) {
  await page.goto(`${base}/${hash}`);
  await sleep(wait);
  // Whatever can be opened is opened.
  for (const it of await page.locator('main summary, main [aria-expanded=false]').all()) await it.click({ timeout: 300 }).catch(() => {});
  await sleep(150);
  assert.deepEqual(await intruders(page), [], hash);
}

const context = await person();
const page = await open(context);

const checks = {
  async 'everything is planted'() {
    await plant();
    await live(page);
  },
  async 'no page runs it'() {
    for (const name of ['now', 'sessions', 'usage', 'context', 'latency', 'nodes', 'access', 'config', 'console', 'chat']) await look(page, `#/${name}`);
  },
  async 'no conversation runs it'() {
    await look(page, '#/chat/xss:all', 1500);
    assert.ok((await page.locator('main').textContent()).includes('<script>'), 'it is shown as text');
    for (let number = 0; number < CORPUS.length; number += 1) await look(page, `#/chat/xss:${number}`, 250);
  },
  async 'no canvas runs it'() {
    for (let number = 0; number < CORPUS.length; number += 6) await look(page, `#/nodes/xss:${number}`);
    for (let number = 0; number < CORPUS.length; number += 1) {
      await page.goto(`${base}/#/nodes/xss:${number}?artifact=html`);
      await page.locator('.canvas-one', { has: page.locator('iframe.canvas-frame') }).waitFor();
      assert.deepEqual(await intruders(page), [], `the frame of ${number}`);
    }
  },
  async 'an address from outside is searched for, not run'() {
    for (const text of CORPUS.slice(0, 6)) await look(page, `#/chat/${encodeURIComponent(text)}`, 200);
    await look(page, `#/${encodeURIComponent(CORPUS[0])}?q=${encodeURIComponent(CORPUS[1])}`, 200);
  },
  async 'no page asked anybody else, or went against its policy'() {
    assert.deepEqual(breaches.filter((it) => !it.includes('Blocked script execution in')), []);
  },
};

await runChecks(checks, async () => {
  other.close();
  await close();
}, 300_000);
