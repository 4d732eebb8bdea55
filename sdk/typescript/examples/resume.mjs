// Says what is new in a session since it was last called: node resume.mjs SESSION FILE (which keeps the place)
import { readFile, writeFile } from 'node:fs/promises';
import { GatewayClient } from '@tillerman/gateway';

const [session, file, ...more] = process.argv.slice(2);
if (!session || !file || more.length) {
  console.error('usage: node resume.mjs SESSION FILE');
  process.exit(2);
}
const { TILLERMAN_URL: url = 'ws://localhost:18800', TILLERMAN_TOKEN: token } = process.env;
// Node below 22 has no WebSocket: `npm install ws` brings one.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
const client = new GatewayClient(url, { token, WebSocket });

const after = (await readFile(file, 'utf8').catch(() => '0')).trim();
const { cursor: end } = await client.watch(session).ready;
const watch = client.watch(session, { after });
const events = watch[Symbol.asyncIterator]();
// Up to where it stands now; `for await` would go on with what comes.
while (String(watch.cursor) !== String(end)) {
  const { value: event } = await events.next();
  if (event.event === 'session_changed' && event.data.role) console.log(`${event.data.role}: ${event.data.text}`);
  if (event.event === 'content' && event.data.text) console.log(`assistant: ${event.data.text}`);
}
await writeFile(file, String(watch.cursor));
client.close();
