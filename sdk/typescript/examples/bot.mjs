// A tiny bot: a line "NAME: MESSAGE" on stdin is a message of that person, who has a session of their own.
import { createInterface } from 'node:readline';
import { GatewayClient } from '@tillerman/gateway';

const { TILLERMAN_URL: url = 'ws://localhost:18800', TILLERMAN_TOKEN: token } = process.env;
// Node below 22 has no WebSocket: `npm install ws` brings one.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
const client = new GatewayClient(url, { token, WebSocket });

const answers = [];
for await (const line of createInterface({ input: process.stdin })) {
  const [, name, message] = /^(\w+): (.+)$/.exec(line) ?? [];
  if (!name) continue;
  // Nobody is there to be asked, so what is asked about is a no. A gateway asks only about what its configuration
  // names: `tools.confirm: [shell.exec, file.write, file.edit, file.patch]`.
  const run = client.send(message, { sessionId: `bot:${name}`, confirm: () => ({ decision: 'deny', reason: 'the bot only talks' }) });
  const answered = run.result.then(
    ({ content }) => console.log(`@${name} ${content}`),
    (error) => console.log(`@${name} sorry: ${error.message}`),
  );
  answers.push(answered);
}
await Promise.all(answers);
client.close();
