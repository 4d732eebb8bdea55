// A browser on the dashboard of a real gateway. Whatever a page must never do is watched on every page of every check: requests to
// other origins, breaches of the policy, errors in the console.
import { createRequire } from 'node:module';
import net from 'node:net';
import { runChecks as runAll, within } from '../runner.mjs';

export const { PEER_URL: socketUrl, PEER_TOKEN: token, PEER_CONTROL: control, PEER_SDK: sdk, PEER_MODULES: modules, PEER_CHROMIUM: executablePath, PEER_FULL: isFull } = process.env;
export const base = socketUrl.replace(/^ws/, 'http');
const require = createRequire(modules + '/');
const { chromium } = require('playwright-core');
const { GatewayClient } = await import(`${sdk}/typescript/dist/index.js`);
const { WebSocket } = require('ws');
/** axe-core's script, put into pages as text. */
export const axeSource = require('axe-core').source;

// Without these it would look for updates that this machine cannot reach.
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
export const browser = await chromium.launch({ executablePath, args: QUIET });

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
/** `kill`, `stop`, `start` or `cut`: what becomes of the gateway. One that is there is not started again. */
export const order = (word) =>
  new Promise((done, failed) => {
    const socket = net.connect(Number(control), '127.0.0.1', () => socket.write(word + '\n'));
    socket.on('data', () => (socket.destroy(), done()));
    socket.on('error', failed);
    socket.on('close', () => failed(new Error(`the gateway could not be told to ${word}`)));
  });
/** Runs checks. One that fails while the gateway is away takes no other with it: after each of them it is there. */
export const runChecks = (checks, close, checkMs) => runAll(checks, close, checkMs, () => order('start'));
/** A program beside the page. */
export const client = (options = {}) => new GatewayClient(socketUrl, { token, WebSocket, backoffMinMs: 20, backoffMaxMs: 200, ...options });

/** What pages did that they must not do. */
export const breaches = [];

function watch(page) {
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && url.host !== new URL(base).host) breaches.push(`a request to ${url}`);
  });
  page.on('console', (message) => {
    const text = message.text();
    if (/Content Security Policy|Refused to/i.test(text)) breaches.push(`the policy: ${text}`);
    // A gateway that is away is told about by the browser itself.
    else if (message.type() === 'error' && !/WebSocket|ERR_CONNECTION|Failed to load resource|ERR_EMPTY_RESPONSE/.test(text)) breaches.push(`the console: ${text}`);
  });
  page.on('pageerror', (why) => breaches.push(`an error: ${why.message}`));
}

/** A person: a browser of their own, logged in unless `login` is false. */
export async function person({ login = true, token: own = token, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  if (login) {
    const answer = await context.request.post(`${base}/api/login`, { data: { token: own }, headers: { Origin: base } });
    if (!answer.ok()) throw new Error(`no login: ${answer.status()}`);
  }
  context.on('page', watch);
  return context;
}

export async function open(context, hash = '') {
  const page = await context.newPage();
  await page.goto(`${base}/${hash}`);
  return page;
}

/** There is a connection, and the page knows what it may do on it. Before that it asks for nothing, and a gateway that is stopped is not missed. */
export async function live(page) {
  await page.locator('#link-state', { hasText: 'live' }).waitFor();
  await page.locator('main[aria-busy="false"]').waitFor();
}

export const words = (count) => Array.from({ length: count }, (_, n) => `w${n + 1}`).join(' ');

/** What axe finds wrong on a page, a line each. */
export async function axe(page) {
  // As a script of the developer's tools: the policy of the page lets no other in.
  await page.evaluate((source) => void (0, eval)(source), axeSource).catch(async () => {
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axeSource });
  });
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.flatMap((it) => it.nodes.map((node) => `${it.id} at ${node.target}: ${node.failureSummary?.split('\n')[1] ?? it.help}`));
}

/** Tasks over 50 ms from now on; `read` gives them in milliseconds. */
export async function longTasks(page) {
  await page.evaluate(() => {
    window.longTasks = [];
    new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((it) => Math.round(it.duration)))).observe({ entryTypes: ['longtask'] });
  });
  return { read: () => page.evaluate(() => window.longTasks) };
}

/** Long tasks of a browser that has the machine to itself; a few are none of ours. Beside other tests their number says nothing. */
const LONG_MAX = 5;
export const judge = (long) => {
  if (isFull && long.length > LONG_MAX) throw new Error(`long tasks: ${long}`);
};

export async function heapBytes(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

export async function close() {
  await within(browser.close(), 'the browser does not end');
}
