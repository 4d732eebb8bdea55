// Runs checks one after another. One line per check: `ok NAME` or `FAIL NAME: why`; exit code 1 when one failed. One that does not
// end in its time ends them all: nothing can stop it, and beside it the next would tell of both.
// Arguments of the program are parts of names; without any, all checks run.

/** Above the 30 s after which clients give up on a request. */
const CHECK_MS = 40_000;
/** Longer than any single step takes on a busy machine. */
const PATIENCE_MS = 30_000;

class Overdue extends Error {}

function limited(work, ms, why, Kind = Error) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Kind(why())), ms);
    Promise.resolve(work).then(resolve, reject).finally(() => clearTimeout(late));
  });
}

export const within = (promise, why) => limited(promise, PATIENCE_MS, () => why);

/** Waits until `probe` gives something true. */
export async function until(probe, why) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(typeof why === "function" ? why() : `waited in vain for ${why}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The error of something that must fail. */
export async function refused(promise) {
  const answer = await promise.then((value) => ({ value }), (error) => ({ error }));
  if (!("error" in answer)) throw new Error(`it was accepted: ${JSON.stringify(answer.value)}`);
  return answer.error;
}

/** `after`: called behind each check, whether it failed or not, unless it has not ended. */
export async function runChecks(checks, close, checkMs = CHECK_MS, after = async () => {}) {
  const wanted = process.argv.slice(2);
  const isWanted = (name) => wanted.length === 0 || wanted.some((part) => name.includes(part));
  let failed = 0;
  // What a check did not wait for any more may still fail; the check has said so already.
  process.on("unhandledRejection", () => {});
  const ended = async (failure) => {
    if (!(failure?.why instanceof Overdue)) await after();
    if (failure) throw failure.why;
  };
  const left = Object.entries(checks).filter(([name]) => isWanted(name));
  while (left.length > 0) {
    const [name, work] = left.shift();
    try {
      await limited((async () => work())(), checkMs, () => `still running after ${checkMs} ms`, Overdue).then(() => ended(), (why) => ended({ why }));
      console.log(`ok ${name}`);
    } catch (why) {
      failed++;
      console.log(`FAIL ${name}: ${String(why?.message ?? why).replaceAll("\n", " | ")}`);
      if (process.env.PEER_STACK) console.log(why?.stack);
      if (!(why instanceof Overdue)) continue;
      for (const [behind] of left.splice(0)) console.log(`FAIL ${behind}: not begun, because the one before it does not end`);
    }
  }
  // It may wait for what does not end.
  const closing = limited(Promise.resolve(close()), PATIENCE_MS, () => "what the checks used does not end");
  await closing.catch((why) => {
    failed++;
    console.log(`FAIL closing: ${why.message}`);
  });
  process.exit(failed === 0 ? 0 : 1);
}
