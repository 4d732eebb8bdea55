// Drives an agent in `--mode rpc` with the real RpcClient and reads its files with the real SessionManager of the
// npm package. One line per check: `ok NAME` or `FAIL NAME: why`; exit code 1 when one failed.
// Arguments are parts of names; without any, all checks run. The settings are environment variables, see world.mjs.
import { close, isNewer } from "./world.mjs";
import { renew as renewTalk, talk, wire } from "./checks-talk.mjs";
import { orders, renew as renewOrders, replies } from "./checks-orders.mjs";
import { files } from "./checks-files.mjs";
import { newer, renew as renewNewer } from "./checks-newer.mjs";

/** Above the 30 s after which RpcClient itself gives up on a request. */
const CHECK_MS = 40_000;
/** An agent that left so many checks without an answer is not asked further. */
const SLOW_FAILURES_MAX = 5;
const SLOW_MS = 10_000;
const wanted = process.argv.slice(2);
let failed = 0;
let passed = 0;
let slow = 0;
// What a check did not wait for any more (a collector of events, say) may still fail; the check has said so already.
process.on("unhandledRejection", () => {});

function limited(work) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`still running after ${CHECK_MS} ms`)), CHECK_MS);
    work().then(resolve, reject).finally(() => clearTimeout(late));
  });
}

// Files are compared by the whole package, which the newer client comes without.
const last = isNewer ? [newer, renewNewer] : [files];
for (const [group, renew] of [[talk, renewTalk], [wire], [orders, renewOrders], [replies, renewOrders], last]) {
  if (wanted.length > 0 && !Object.keys(group).some((name) => wanted.some((part) => name.includes(part)))) continue;
  for (const [name, work] of Object.entries(group)) {
    if (slow >= SLOW_FAILURES_MAX) break;
    const begun = Date.now();
    try {
      await limited(work);
      passed++;
      console.log(`ok ${name}`);
    } catch (why) {
      failed++;
      if (Date.now() - begun > SLOW_MS) slow++;
      console.log(`FAIL ${name}: ${String(why?.message ?? why).replaceAll("\n", " | ")}`);
      if (process.env.PEER_STACK) console.log(why?.stack);
      await renew?.().catch(() => {});
    }
  }
}
await close();
if (slow >= SLOW_FAILURES_MAX) console.log("gave up: the agent does not answer");
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
