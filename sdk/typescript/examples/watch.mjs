// Shows what happens in all sessions, whoever speaks in them: node watch.mjs [RUNS] (how many to wait for)
import { GatewayClient, textAfter } from '@tillerman/gateway';

const [runs, ...more] = process.argv.slice(2);
if (more.length || (runs !== undefined && !/^0*[1-9][0-9]*$/.test(runs))) {
  console.error('usage: node watch.mjs [RUNS]');
  process.exit(2);
}
const { TILLERMAN_URL: url = 'ws://localhost:18800', TILLERMAN_TOKEN: token } = process.env;
// Node below 22 has no WebSocket: `npm install ws` brings one.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
const client = new GatewayClient(url, { token, WebSocket });

let left = Number(runs ?? Infinity);
const watched = new Set();
async function watch(sessionId, after) {
  if (watched.has(sessionId)) return;
  watched.add(sessionId);
  let text = '';
  for await (const event of client.watch(sessionId, { after })) {
    text = textAfter(text, event);
    if (event.event === 'session_changed' && event.data.role === 'user') console.log(`${sessionId} < ${event.data.text}`);
    if (event.event === 'tool_start') console.log(`${sessionId} [${event.data.tool}]`);
    if (event.event !== 'done') continue;
    console.log(`${sessionId} > ${text}`);
    text = '';
    left -= 1;
    if (left === 0) client.close();
  }
}
const news = client.listen(['sessions']);
await news.ready;
console.log('watching');
try {
  for (const { id } of (await client.sessions.list()).sessions) watch(id).catch(() => {});
  // A session that comes now is watched from its beginning.
  for await (const event of news) if (event.event === 'session' && event.data.live) watch(event.data.sessionId, 0).catch(() => {});
} catch (error) {
  if (client.state !== 'closed') throw error;
}
