// The TypeScript library against a real gateway, which is cut off, killed and restarted meanwhile. No check ends the process: a
// client that is closed must leave nothing behind that keeps Node alive.
import { createRequire } from 'node:module';
import net from 'node:net';
const { PEER_URL: url, PEER_CUT_URL: cutUrl, PEER_TOKEN: token, PEER_CONTROL: control, PEER_SDK: sdk, PEER_MODULES: modules, PEER_CUTS: CUTS = 50 } = process.env;
const lib = await import(`${sdk}/typescript/dist/index.js`);
const { GatewayClient, textAfter } = lib;
const WebSocket = modules ? createRequire(modules + '/')('ws').WebSocket : undefined;
const check = (name, fine, seen) => {
  if (!fine) process.exitCode = 1;
  console.log(fine ? 'ok' : 'not', name, fine ? '' : JSON.stringify(seen)?.slice(0, 600));
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const order = (word) => new Promise((done, failed) => {
  const socket = net.connect(Number(control), '127.0.0.1', () => socket.write(word + '\n'));
  socket.on('data', () => { socket.destroy(); done(); });
  socket.on('error', failed);
});
const client = (options = {}, to = url) => new GatewayClient(to, { token, WebSocket, backoffMinMs: 20, backoffMaxMs: 200, ...options });
const refused = (promise) => promise.then((fine) => ({ fine }), (error) => error);
const words = (count) => Array.from({ length: count }, (_, n) => `w${n + 1}`).join(' ');
const read = async (events, until = () => false) => {
  let [text, list] = ['', []];
  for await (const event of events) { text = textAfter(text, event); list.push(event); if (until(event)) break; }
  return { text, list };
};
const users = async (of, sessionId) => (await of.sessions.get({ sessionId })).history.filter((it) => it.role === 'user').length;
const write = (path) => `call file.write {"path":"${path}","content":"x"} then say done`;

// A store that has lost entries is hard to come by: a wire on which nothing comes.
const { Watch } = await import(`${sdk}/typescript/dist/watch.js`);
const submitted = [];
const still = { isOpen: true, submit: (operation) => submitted.push(operation), withdraw: () => {} };
const lost = new Watch(still, { settled: () => {} }, ['session:ts:x'], { after: 3 });
submitted[0].onEvent({ event: 'lag', cursor: '51', data: { from: 4, to: 51, cursor: '51' } }, 1);
check('after a lag from its cursor on', submitted[0].params().afterSeq === '51', submitted[0].params());
lost.close();

const one = client();
// Methods, runs, errors.
check('a method', (await one.system.info()).protocol === 1);
check('a nested method', (await refused(one.node.capabilities.get())).code === -2);
const run = one.send('say 200 words', { sessionId: 'ts:run' });
const { text, list } = await read(run);
check('a run streams', text === words(200) && (await run.result).content === text, text);
check('its events', list.filter((it) => it.event !== 'content').map((it) => it.data.state ?? it.event).join() === 'start,complete,done', list);
const aside = await read(one.send('call shell.exec {"command":"echo hi"} then say done', { sessionId: 'ts:tool' }));
check('a tool', aside.list.find((it) => it.event === 'tool_end')?.data.result.output === 'hi\n', aside.list);
const bad = await refused(one.sessions.list({ limit: 0 }));
check('an error has a class, a code, a reason and data', bad instanceof lib.InvalidRequestError && bad instanceof lib.GatewayError && bad.code === -2 && bad.reason === 'invalid_params' && bad.data.param === 'limit' && bad.method === 'sessions.list', bad);
check('no such session', (await refused(one.sessions.get({ sessionId: 'ts:none' }))) instanceof lib.SessionNotFoundError);
check('no such method', (await refused(one.call('no.such'))) instanceof lib.MethodNotFoundError);
const failed = one.send('fail 401', { sessionId: 'ts:fail' });
const why = await refused(read(failed));
check('a run that fails', why instanceof lib.InternalError && why.reason === 'model_error' && (await refused(failed.result)) === why, why);
check('a command', (await one.send('/queue', { sessionId: 'ts:run' }).result).command?.ok === true);
check('the session of who names none', (await one.send('say 2 words').result).sessionId === one.sessionId);
const late = await refused(one.tools.execute({ sessionId: 'ts:run', tool: 'shell.exec', args: { command: 'sleep 20' } }, { timeoutMs: 200 }));
check('no answer in time', late instanceof lib.CallTimeoutError, late);

// A watch that begins in the middle of a reply, on a connection that is on the session already.
const mid = one.send('slow 20 say 100 words', { sessionId: 'ts:mid' });
for await (const event of mid) if (event.event === 'content') break;
const stored = await one.events.replay({ sessionId: 'ts:mid' });
const came = await read(one.watch('ts:mid', { after: stored.events.at(-1).cursor }), (event) => event.event === 'content');
check('a watch in mid-reply hears it from its start, at once', came.text.startsWith('w1 ') && came.text.length < 200, came);
await mid.result;

// Cancelling.
const stop = new AbortController();
const long = one.send('slow 20 say 500 words', { sessionId: 'ts:stop', signal: stop.signal });
const heard = refused(read(long, (event) => { if (event.event === 'content') stop.abort(); }));
const ended = await heard;
check('aborted in the middle', ended instanceof lib.RequestCancelledError && ended.reason === 'cancelled' && ended.data.content.startsWith('w1'), ended);
const never = client({}, 'ws://127.0.0.1:9');
const unsent = never.send('say 1 words');
unsent.cancel();
check('cancelled before it was sent', (await refused(unsent.result)).reason === 'cancelled_before_start');
check('nobody is there', (await refused(never.connect())) instanceof lib.ConnectError);
never.close();
const early = one.send(write('early.txt'), { sessionId: 'ts:early', confirm: () => 'allow' });
await sleep(0);
early.cancel();
const earlier = one.send('say 1 words', { sessionId: 'ts:early', signal: AbortSignal.abort() });
check('cancelled at once', (await refused(early.result)).code === 4 && (await refused(earlier.result)).code === 4);
await sleep(100);
const begun = await refused(users(one, 'ts:early'));
check('and never sent', begun.fine === 0 || begun.code === 1, begun);

// What is no JSON fails alone.
const circle = {};
circle.round = circle;
let deep = [];
for (let nth = 0; nth < 200; nth += 1) deep = [deep];
for (const data of [1n, circle, deep]) {
  const why = await refused(one.send('hi', { attachments: [{ mimeType: 'text/plain', data }] }).result);
  check('what is no JSON is refused here', why instanceof lib.InvalidRequestError && why.reason === 'not_json', why);
}
for (const message of [7, null, undefined, { a: 1 }, Symbol('x')]) {
  const why = await refused(one.send(message, { sessionId: 'ts:no-text' }).result);
  check('a message that is no text is refused', why instanceof lib.InvalidRequestError && why.data.param === 'message', why);
}
// What the gateway cannot read has no id, and whoever waits for it is told all the same.
class Torn extends (WebSocket ?? globalThis.WebSocket) {
  send(text) { super.send(text.includes('TORN') ? text.slice(0, -2) : text); }
}
const torn1 = client({ WebSocket: Torn, tokenBy: 'protocol' });
const whole = torn1.send('slow 20 say 20 words', { sessionId: 'ts:whole' });
await read(whole, (event) => event.event === 'content');
const unread = await refused(torn1.send('TORN', { sessionId: 'ts:torn' }).result);
check('a refusal without an id is told', unread instanceof lib.ParseError && unread.code === -1 && !unread.message.includes('one of'), unread);
const two = await Promise.all([refused(torn1.sessions.get({ sessionId: 'TORN' })), refused(torn1.agent.wait({ sessionId: 'ts:whole', runId: 'TORN' }))]);
check('to all that it may mean', two.every((it) => it instanceof lib.ParseError), two.map(String));
check('and to nobody else', (await whole.result).content === words(20) && torn1.state === 'open');
torn1.close();
const inOrder = [];
await Promise.all([0, 1, 2, 3, 4, 5].map((nth) => one.send(`say "n${nth}"`, { sessionId: 'ts:order', confirm: () => 'deny' }).result.then((it) => inOrder.push(it.content))));
check('messages go out in their order', inOrder.join() === 'n0,n1,n2,n3,n4,n5', inOrder);

// Questions.
const asked = [];
const yes = (ask) => { asked.push(ask.callId); return 'allow'; };
check('allowed', (await one.send(write('a.txt'), { sessionId: 'ts:ask', confirm: yes }).result).content === 'done' && asked.length === 1, asked);
const end = async (confirm) => (await read(one.send(write('b.txt'), { sessionId: 'ts:ask2', confirm }))).list.find((it) => it.event === 'tool_end').data.result;
check('denied, with a reason', (await end(async () => ({ decision: 'deny', reason: 'not now' }))).error === 'not now');
check('a handler that throws is no yes', (await end(() => { throw new Error('oh'); })).success === false);
check('nobody to ask is no yes', (await end(undefined)).success === false);
const slow = (ask) => sleep(ask.sessionId === 'ts:both1' ? 50 : 200).then(() => (ask.sessionId === 'ts:both1' ? 'deny' : 'allow'));
const both = await Promise.all(['ts:both1', 'ts:both2'].map((sessionId) => read(one.send(write(`${sessionId.slice(3)}.txt`), { sessionId, confirm: slow }))));
check('two sessions ask for calls of the same name', both.map((it) => it.list.find((event) => event.event === 'tool_end').data.result.success).join() === 'false,true', both);
await one.sessions.create({ sessionId: 'ts:other' });
const watcher = one.watch('ts:other', { confirm: (ask) => sleep(200).then(() => yes(ask)) });
await watcher.ready;
const other = client();
check('answered by who watches', (await other.send(write('c.txt'), { sessionId: 'ts:other', confirm: () => undefined }).result).content === 'done' && asked.length === 2);
const late2 = new Promise((done) => other.send(write('d.txt'), { sessionId: 'ts:other', confirm: (ask) => new Promise(() => ask.signal.addEventListener('abort', () => done(true))) }));
check('who was too late is told', await late2);
watcher.close();
// Answers that never arrive, and two questions about calls of the same name.
const { Asks } = await import(`${sdk}/typescript/dist/asks.js`);
const told = [];
const put = [];
const asks = new Asks({ connection: 1, isOpen: false }, async (_, { askId }) => { told.push(askId); throw new lib.ConnectionLostError('gone'); });
const hear = (askId, who) => (asks.asked('s', { askId, callId: 'call_1', summary: askId }, (ask) => { put.push(ask.summary); return 'allow'; }, who), sleep(10));
for (const askId of ['a', 'a', 'b', 'b']) await hear(askId, one);
check('a lost answer is told again, and to its own question', put.join() === 'a,b' && told.join() === 'a,a,b,b', [put, told]);
asks.done('s', 'b');
asks.settled(one);
await hear('b', one);
check('what is over is not put again', put.join() === 'a,b', put);
await hear('a', one);
check('what its run left behind is', put.join() === 'a,b,a', put);

// Subscriptions.
const news = one.listen(['sessions']);
await news.ready;
const heardOf = read(news, (event) => event.event === 'session' && event.data.sessionId === 'ts:new');
await other.send('say 1 words', { sessionId: 'ts:new' }).result;
check('news of sessions', (await heardOf).list.length > 0);
const all = (await read(one.watch('ts:run', { after: 0 }), (event) => event.event === 'done')).list;
const half = (await read(one.watch('ts:run', { after: all[all.length >> 1].cursor }), (event) => event.event === 'done')).list;
check('from a cursor on', half.length === all.length - (all.length >> 1) - 1 && half.every((event) => event.sessionId === 'ts:run'), [half.length, all.length]);
await one.sessions.create({ sessionId: 'ts:flood' });
const lazy = one.watch('ts:flood', { after: 0 });
const flood = Array.from({ length: 3 }, () => 'say 3000 words');
for (const message of flood) await other.send(message, { sessionId: 'ts:flood' }).result;
let dones = 0;
const caught = await read(lazy, (event) => event.event === 'done' && ++dones === 3);
check('a lazy reader misses nothing', caught.text === words(3000).repeat(3) && new Set(caught.list.map((event) => event.cursor)).size === caught.list.length, caught.list.length);
const doomed = one.watch('ts:flood');
await doomed.ready;
const gone = read(doomed);
await other.sessions.delete({ sessionId: 'ts:flood' });
check('a deleted session is the end', (await gone).list.length >= 0);
check('nobody knows it', (await refused(read(one.watch('ts:flood')))) instanceof lib.SessionNotFoundError);
const burst = await Promise.all(Array.from({ length: 600 }, () => one.system.info()));
check('600 at once are none too many', burst.length === 600);
other.close();

// Who comes.
const wrong = client({ token: 'wrong' });
check('a wrong token', (await refused(wrong.system.info())) instanceof lib.AuthFailedError && wrong.state === 'closed');
const nobody = client({ token: undefined });
check('no token', (await refused(nobody.system.info())) instanceof lib.AuthRequiredError);
check('and then one', (await nobody.login(token)).authenticated === true && (await nobody.system.info()).protocol === 1);
nobody.close();
for (const tokenBy of ['header', 'protocol', 'login']) {
  const it = client({ tokenBy, token: async () => token });
  check(`a token by ${tokenBy}`, (await it.system.info()).protocol === 1);
  it.close();
}
const bye = client();
const open = refused(bye.send('hang', { sessionId: 'ts:bye' }).result);
await bye.system.info();
bye.close();
check('closed', (await open) instanceof lib.ClientClosedError && (await refused(bye.system.info())) instanceof lib.ClientClosedError);

// Cuts.
const cutter = client({}, cutUrl);
await cutter.sessions.create({ sessionId: 'ts:cut' });
const eye = cutter.watch('ts:cut', { after: 0 });
const RUNS = 8;
let ends = 0;
const seen = read(eye, (event) => event.event === 'done' && ++ends === RUNS);
const running = (async () => {
  const results = [];
  for (let n = 0; n < RUNS; n += 1) {
    const it = cutter.send('slow 4 say 120 words', { sessionId: 'ts:cut' });
    const told = await read(it);
    results.push({ told: told.text, content: (await it.result).content, states: told.list.map((event) => event.event + (event.data.state ?? '')).filter((it) => it !== 'content') });
  }
  return results;
})();
let cuts = 0;
for (; cuts < CUTS; cuts += 1) { await sleep(60 + (cuts * 37) % 60); await order('cut'); }
const results = await running;
const watched = await seen;
check('cuts: every run is told once, word for word', results.every((it) => it.told === words(120) && it.content === it.told && new Set(it.states).size === it.states.length && !it.states.includes('retract')), results);
check('cuts: a watcher has no gap', watched.text === words(120).repeat(RUNS), watched.text.length);
const cursors = watched.list.filter((event) => event.event !== 'retract').map((event) => event.cursor);
check('cuts: and no repeat', new Set(cursors).size === cursors.length);
check('cuts: no message is doubled', (await users(one, 'ts:cut')) === RUNS);
const losing = refused(cutter.tools.execute({ sessionId: 'ts:cut', tool: 'shell.exec', args: { command: 'sleep 1' } }));
const looking = refused(cutter.agent.wait({ sessionId: 'ts:cut', idempotencyKey: 'none', timeoutMs: 1 }));
await sleep(150);
await order('cut');
check('what may have been done is not done again', (await losing) instanceof lib.ConnectionLostError);
check('what only looks is answered', (await looking) instanceof lib.InvalidRequestError, await looking);
let wantsYes;
const held = cutter.send(write('e.txt'), { sessionId: 'ts:cutask', confirm: () => new Promise((done) => (wantsYes = done)) });
while (!wantsYes) await sleep(5);
await order('cut');
wantsYes('allow');
check('an answer that is given while the wire is gone arrives', (await held.result).content === 'done');
cutter.close();
// This one takes its time to come back, and the call before the question does not take as long.
const away = client({ backoffMinMs: 2000, backoffMaxMs: 2000 }, cutUrl);
const blind = away.send(`call shell.exec {"command":"sleep 0.4"} then ${write('f.txt')}`, { sessionId: 'ts:cutask2', confirm: yes });
for await (const event of blind) if (event.event === 'tool_start') break;
await order('cut');
await sleep(600);
check('a question that comes while the wire is gone is put', away.state === 'waiting' && (await blind.result).content === 'done', [away.state, await refused(blind.result)]);
away.close();

// Deaths.
const far = client({ timeoutMs: 60_000 });
await far.sessions.create({ sessionId: 'ts:dead' });
const ear = far.watch('ts:dead', { after: 0 });
const wake = read(ear, (event) => event.event === 'done');
const torn = far.send('slow 10 say 150 words', { sessionId: 'ts:dead' });
const tearing = read(torn);
const marks = far.send('call shell.exec {"command":"sleep 0.2; echo 1 >> marks"} then call shell.exec {"command":"sleep 0.2; echo 2 >> marks"} then call shell.exec {"command":"sleep 0.2; echo 3 >> marks"} then say done', { sessionId: 'ts:marks', confirm: yes });
const question = far.send(write('g.txt'), { sessionId: 'ts:deadask', confirm: (ask) => sleep(1500).then(() => (ask.signal.aborted ? undefined : 'allow')) });
await sleep(700);
await order('kill');
const during = far.send('say 5 words', { sessionId: 'ts:during' });
await sleep(300);
await order('start');
check('killed: the run is told whole', (await tearing).text === words(150) && (await torn.result).content === words(150), await refused(torn.result));
check('killed: so is a watcher', (await wake).text === words(150), (await wake).text);
check('killed: what was sent meanwhile is answered', (await during.result).content === words(5));
check('killed: a tool that had run is not run again', ['done'].includes((await marks.result).content.split('\n').pop()), await refused(marks.result));
check('killed: a question is answered', (await question.result).content === 'done');
check('killed: nothing is doubled', (await users(far, 'ts:dead')) === 1 && (await users(far, 'ts:marks')) === 1 && (await users(far, 'ts:during')) === 1);
const calm = far.send('slow 20 say 200 words', { sessionId: 'ts:calm' });
const calming = read(calm);
await sleep(500);
await order('stop');
await order('start');
check('restarted: the run goes on', (await calming).text === words(200) && (await calm.result).content === words(200), await refused(calm.result));
check('restarted: once', (await users(far, 'ts:calm')) === 1);
far.close();
one.close();
