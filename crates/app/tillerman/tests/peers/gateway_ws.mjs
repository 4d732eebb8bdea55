// A small client on npm's `ws`, in the shape that clients of this protocol have: numbers for requests, promises for answers.
import { createRequire } from 'node:module';
const WebSocket = createRequire(process.env.PEER_MODULES + '/')('ws');
const [url, token] = [process.env.PEER_URL, process.env.PEER_TOKEN];
let checks = 0;
const check = (name, fine, seen) => { if (fine) { checks += 1; console.log('ok', name); } else console.log('not', name, JSON.stringify(seen)); };

class Client {
  constructor(options) { this.pending = new Map(); this.events = []; this.last = 0; this.ws = new WebSocket(url, options); }
  async ready() {
    this.ws.on('message', (data) => this.heard(JSON.parse(data.toString())));
    this.closed = new Promise((done) => this.ws.on('close', (code, reason) => done({ code, reason: reason.toString() })));
    await new Promise((done, failed) => { this.ws.on('open', done); this.ws.on('error', failed); });
    return this;
  }
  call(method, params) {
    const id = ++this.last;
    this.ws.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
  }
  heard(message) {
    const waiting = this.pending.get(message.id);
    if ('event' in message) { this.events.push(message); return; }
    if (!waiting) { this.unasked = message; return; }
    this.pending.delete(message.id);
    if ('result' in message) waiting.resolve(message.result);
    else waiting.reject(Object.assign(new Error(message.error.message), message.error));
  }
}
const bearer = { headers: { Authorization: `Bearer ${token}` } };
const refused = (promise) => promise.then(() => null, (error) => error);

const one = await new Client(bearer).ready();
const info = await one.call('system.info');
check('info', typeof info.version === 'string' && info.connections >= 1, info);
check('a list of sessions', Array.isArray((await one.call('sessions.list')).sessions));
const tools = (await one.call('tools.list', {})).tools;
check('tools have dotted names', tools.some((tool) => tool.name === 'shell.exec' && tool.inputSchema.type === 'object'), tools.map((tool) => tool.name));
const said = await one.call('agent.send', { message: 'say 200 words', sessionId: 'npm:one', attachments: [] });
const mine = one.events.filter((event) => event.event === 'content').map((event) => event.data.text).join('');
check('what streams is what is answered', said.content.split(' ').length === 200 && mine === said.content, [mine, said]);
const states = one.events.filter((event) => event.event === 'run_state').map((event) => event.data.state).join();
check('states', states === 'start,complete', states);
const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const seen = await one.call('agent.send', { message: 'say 2 words', sessionId: 'npm:one', attachments: [{ mimeType: 'image/png', data: picture, filename: 'dot.png' }] });
check('a picture', seen.content === 'w1 w2', seen);
const odd = await refused(one.call('agent.send', { message: 'x', attachments: [{ mimeType: 'image/png', data: '!' }] }));
check('no picture', odd?.code === -2, odd);
const ran = await one.call('tools.execute', { sessionId: 'npm:one', tool: 'shell.exec', args: { command: "echo 'Hello'" } });
check('a tool by hand', ran.success === true && ran.output === 'Hello\n', ran);
const failed = await one.call('tools.execute', { sessionId: 'npm:one', tool: 'shell.exec', args: { command: 'exit 3' } });
check('a tool that fails is no error', failed.success === false && typeof failed.error === 'string', failed);
check('no such method', (await refused(one.call('no.such')))?.code === -3);
const hung = refused(one.call('agent.send', { message: 'hang', sessionId: 'npm:two' }));
while (!one.events.some((event) => event.event === 'run_state' && event.id === one.last)) await new Promise((next) => setTimeout(next, 10));
const other = await new Client(bearer).ready();
const beside = await other.call('agent.send', { message: 'say 3 words', sessionId: 'npm:three' });
check('another session beside it', beside.content === 'w1 w2 w3', beside);
check('cancelled from another connection', (await other.call('agent.cancel', { sessionId: 'npm:two' })).active === true);
check('who waited is told', (await hung)?.code === 4);
const many = await Promise.all(Array.from({ length: 30 }, (_, n) => other.call('agent.send', { message: `say ${n + 1} words`, sessionId: `npm:m${n}` })));
check('thirty at once', many.every((answer, n) => answer.content.split(' ').length === n + 1));
const big = 'x'.repeat(900_000);
check('a long message', (await other.call('agent.send', { message: big, sessionId: 'npm:big' })).content === 'ok');
other.ws.ping();
check('a ping is answered', await new Promise((done) => { other.ws.on('pong', () => done(true)); setTimeout(() => done(false), 3000); }));
check('good-bye', (await other.call('system.disconnect')).success === true && (await other.closed).code === 1000);
const sub = await new Client(undefined, []).ready().catch((error) => error);
check('without a token it is let in to say who it is', (await refused(sub.call('system.info')))?.code === -4);
check('and says it', (await sub.call('auth.login', { token })).authenticated === true && (await sub.call('system.info')).protocol === 1);
const page = new WebSocket(url, ['tillerman.v1', 'bearer.' + Buffer.from(token).toString('base64url')]);
check('as a page does', await new Promise((done) => { page.on('open', () => done(page.protocol === 'tillerman.v1')); page.on('error', () => done(false)); }));
page.close();
const wrong = new WebSocket(url, { headers: { Authorization: 'Bearer no' } });
const frames = [];
wrong.on('message', (data) => frames.push(JSON.parse(data.toString())));
const ended = await new Promise((done) => wrong.on('close', done));
check('a wrong token', ended === 1008 && frames[0]?.error?.code === -5 && frames[0].id === null, [ended, frames]);
one.ws.send(Buffer.from([1, 2, 3]));
check('bytes are no frame', await new Promise((done) => { const poll = setInterval(() => { if (one.unasked) { clearInterval(poll); done(one.unasked.error?.code === -1); } }, 10); }), one.unasked);
one.ws.close(); sub.ws.close();
process.exit(checks >= 22 ? 0 : 1);
