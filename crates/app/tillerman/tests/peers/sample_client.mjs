// A client as the protocol's own text has it, in our words: one class for pages and Node, options with headers in the second place of
// the constructor, numbers for requests, promises with a time limit, a switch over events.
import { createRequire } from 'node:module';
const { PEER_URL: url, PEER_TOKEN: token, PEER_MODULES: modules } = process.env;
const WebSocket = modules ? createRequire(modules + '/')('ws') : globalThis.WebSocket;
const check = (name, fine, seen) => {
  if (!fine) process.exitCode = 1;
  console.log(fine ? 'ok' : 'not', name, fine ? '' : JSON.stringify(seen)?.slice(0, 600));
};

class SampleClient {
  last = 0;
  pending = new Map();
  log = [];
  connect() {
    this.ws = token ? new WebSocket(url, { headers: { Authorization: `Bearer ${token}` } }) : new WebSocket(url);
    this.ws.onmessage = (event) => this.heard(JSON.parse(event.data));
    this.closed = new Promise((done) => (this.ws.onclose = (event) => done(event.code)));
    return new Promise((done, failed) => { this.ws.onopen = done; this.ws.onerror = failed; });
  }
  request(method, params = {}) {
    return new Promise((resolve, reject) => {
      const id = ++this.last;
      this.ws.send(JSON.stringify({ id, method, params }));
      const timer = setTimeout(() => this.pending.delete(id) && reject(new Error('no answer')), 30_000);
      this.pending.set(id, { resolve, reject, timer });
    });
  }
  heard(message) {
    if ('event' in message) return this.event(message);
    const waiting = this.pending.get(message.id);
    if (!waiting) return this.log.push(['nobody asked', message]);
    this.pending.delete(message.id);
    clearTimeout(waiting.timer);
    if ('result' in message) waiting.resolve(message.result);
    else waiting.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
  }
  event({ event, data }) {
    switch (event) {
      case 'content': return this.log.push([event, data.text]);
      case 'tool_start': return this.log.push([event, data.tool, data.args]);
      case 'tool_end': return this.log.push([event, data.tool, data.result]);
      case 'run_state': return this.log.push([event, data.state, data.timestamp]);
      case 'done': return this.log.push([event, data.content]);
      case 'error': return this.log.push([event, data.code, data.message]);
      default: return this.log.push([event]);
    }
  }
  send(message, sessionId, attachments = []) {
    return this.request('agent.send', { message, sessionId, attachments });
  }
}

const client = new SampleClient();
await client.connect();
const info = await client.request('system.info');
check('info', typeof info.version === 'string' && Number.isInteger(info.uptime) && info.connections >= 1, info);
check('sessions', Array.isArray((await client.request('sessions.list')).sessions));
check('contexts', Array.isArray((await client.request('system.contextUsage')).sessions));
const answer = await client.send('say 3 words', 'telegram:123456');
check('an answer', answer.response === 'w1 w2 w3' && answer.sessionId === 'telegram:123456', answer);
const texts = client.log.filter(([event]) => event === 'content').map(([, text]) => text).join('');
check('its events', texts === 'w1 w2 w3' && client.log.at(-1)?.[0] === 'done', client.log);
check('tools of a session', (await client.request('tools.list', { sessionId: 'telegram:123456' })).tools.length > 0);
check('tools of nobody in particular', (await client.request('tools.list', { sessionId: undefined })).tools.length > 0);
const tool = await client.send('call shell.exec {"command":"echo hi"} then say done', 'telegram:123456');
check('a tool', tool.content === 'done' && client.log.some(([event, name, result]) => event === 'tool_end' && name === 'shell.exec' && result.output === 'hi\n'), client.log);
const failed = await client.send('fail 401', 'telegram:7').catch((error) => error);
check('a failure is an event and an error', failed.code === 5 && client.log.at(-1)?.[0] === 'error', [failed.code, client.log.at(-1)]);
check('no such method', (await client.request('no.such').catch((error) => error)).code === -3);
check('nothing came that nobody asked for', !client.log.some(([event]) => event === 'nobody asked'));
client.ws.close();
check('good-bye', [1000, 1005].includes(await client.closed));
