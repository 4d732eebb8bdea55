// Lets a person (here: a rule) decide what tools may do: node permissions.mjs "create notes.txt with hello"
import { GatewayClient } from '@tillerman/gateway';

const { TILLERMAN_URL: url = 'ws://localhost:18800', TILLERMAN_TOKEN: token } = process.env;
// Node below 22 has no WebSocket: `npm install ws` brings one.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
const client = new GatewayClient(url, { token, WebSocket });

// A gateway asks only about what its configuration names: `tools.confirm: [shell.exec, file.write]`.
// What stays in the workspace may be written; anything that asks for more is refused, with a word for the model.
const confirm = (ask) => {
  const allowed = ask.risk !== 'danger-full-access';
  console.log(`${ask.tool}: ${ask.summary}: ${allowed ? 'allowed' : 'denied'}`);
  return allowed ? 'allow' : { decision: 'deny', reason: 'stay in the workspace' };
};
const run = client.send(process.argv[2] ?? 'create notes.txt with hello', { confirm });
console.log((await run.result).content);
client.close();
