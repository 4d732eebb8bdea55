// Asks a question and prints the answer as it comes: node ask.mjs "list the rust files"
import { GatewayClient } from '@tillerman/gateway';

const { TILLERMAN_URL: url = 'ws://localhost:18800', TILLERMAN_TOKEN: token } = process.env;
// Node below 22 has no WebSocket: `npm install ws` brings one.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
const client = new GatewayClient(url, { token, WebSocket });

const run = client.send(process.argv[2] ?? 'hello');
for await (const event of run) {
  if (event.event === 'content') process.stdout.write(event.data.text);
  if (event.event === 'tool_start') process.stdout.write(`\n[${event.data.tool}]\n`);
}
const { usage, stopReason } = await run.result;
console.log(`\n(${stopReason}, ${usage.outputTokens} tokens)`);
client.close();
